package sequence

// mix is the mixing function of SplitMix64 (Steele, Lea and Flood, OOPSLA'14).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// signLabels gives labels signs that tell them apart by what they are, not by their number: their time,
// how many bursts they have, and, by one round of colour refinement, where in which pieces they are.
// Of labels that agree in all that settle makes a choice.
func (a *aligner) signLabels(segments []segment) {
	a.sign = make([]uint64, a.Count)
	for label, l := range a.labels {
		a.sign[label] = mix(mix(uint64(l.TimeNS)) + uint64(l.Bursts))
	}
	places := make([]uint64, a.Count)
	for s := range segments {
		if len(segments[s].pieces) < 2 {
			continue
		}
		for _, x := range segments[s].pieces {
			h := mix(a.signOf(x.labels) + uint64(x.threads) + uint64(s)<<32)
			for i, label := range x.labels {
				places[label] += mix(h + uint64(i))
			}
		}
	}
	for label := range a.sign {
		a.sign[label] = mix(a.sign[label] + places[label])
	}
}

func (a *aligner) signOf(labels []int32) uint64 {
	h := uint64(len(labels))
	for _, label := range labels {
		h = mix(h ^ a.sign[label])
	}
	return h
}
