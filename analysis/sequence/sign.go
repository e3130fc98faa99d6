package sequence

import (
	"moriens/analysis/team"
	"moriens/internal/mix"
)

// signLabels gives labels signs that tell them apart by what they are, not by their number: their time,
// how many bursts they have, and, by one round of colour refinement, where in which pieces they are.
// Of labels that agree in all that settle makes a choice.
func (a *aligner) signLabels(segments []segment) error {
	a.sign = make([]uint64, a.Count)
	for label, l := range a.labels {
		a.sign[label] = mix.Bits(mix.Bits(uint64(l.TimeNS)) + uint64(l.Bursts))
	}
	places := make([]int64, a.Count) // sums that wrap, and so in any order
	for _, s := range segments {
		if len(s.pieces) < 2 {
			continue
		}
		for _, x := range s.pieces {
			h := mix.Bits(a.signOf(x.labels) + uint64(x.threads) + uint64(s.number)<<32)
			for i, label := range x.labels {
				places[label] += int64(mix.Bits(h + uint64(i)))
			}
		}
	}
	if err := a.Team.AllReduce(places, team.Sum); err != nil {
		return err
	}
	for label := range a.sign {
		a.sign[label] = mix.Bits(a.sign[label] + uint64(places[label]))
	}
	return nil
}

func (a *aligner) signOf(labels []int32) uint64 {
	h := uint64(len(labels))
	for _, label := range labels {
		h = mix.Bits(h ^ a.sign[label])
	}
	return h
}
