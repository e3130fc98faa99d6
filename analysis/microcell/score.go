package microcell

import (
	"fmt"
	"slices"

	"moriens/analysis/refine"
	"moriens/analysis/sequence"
)

// scored names labels by what sequences show of them: a unit that was split is as it was while its places have one
// label.
type scored struct {
	hash  sequence.Hash
	count int
}

// score scores the labels of rows, and remembers scores: rounds start from the first step and ask for the same labels.
func (c *computation) score(labels []int32, count int) (*sequence.Score, error) {
	all := slices.Repeat([]int32{refine.Absent}, len(c.units))
	for row, i := range c.order {
		all[i] = labels[row]
	}
	key := scored{sequence.HashOf(c.shown(all)), count}
	if s, known := c.scores[key]; known {
		return s, nil
	}
	s, err := c.source.Score(all, count)
	if err != nil {
		return nil, err
	}
	if s == nil || len(s.Labels) != count {
		return nil, fmt.Errorf("microcell: the source gives no score of %d labels", count)
	}
	c.scores[key] = s
	return s, nil
}

// inPieces is in place of the label of a unit whose places have several.
const inPieces int32 = -2

// shown are the labels of the units that there were at the beginning, and after one in pieces those of its places.
func (c *computation) shown(labels []int32) []int32 {
	var list []int32
	for i := range c.set.Units {
		places := c.places[int32(i)]
		switch {
		case len(places) == 0:
			list = append(list, labels[i])
		case !slices.ContainsFunc(places, func(p int32) bool { return labels[p] != labels[places[0]] }):
			list = append(list, labels[places[0]])
		default:
			list = append(list, inPieces)
			for _, p := range places {
				list = append(list, labels[p])
			}
		}
	}
	return list
}

// A stepper asks Options.Stop between the steps of the refinement, but for those that a round before has made: these
// take no time.
type stepper struct {
	made, most int
}

func (s *stepper) begin() { s.made = 0 }

// next reports whether to end before a step.
func (s *stepper) next(stop func() bool) bool {
	s.made++
	if s.made <= s.most {
		return false
	}
	s.most = s.made
	return stop()
}

func (c *computation) refinement() refine.Options {
	o := c.options.Refinement()
	if stop := o.Stop; stop != nil {
		o.Stop = func() bool { return c.steps.next(stop) }
	}
	return o
}
