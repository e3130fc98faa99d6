package program

import (
	"cmp"
	"fmt"
	"slices"
)

// Call paths have calls left out where a function calls itself deeper than is kept. Such a path stands for many depths,
// so the loops of that function, and of no other, are those of the order of lines.

// abridged are the functions of which call paths have calls left out.
func (s *solver) abridged() map[int]bool {
	if s.folded == nil {
		s.folded = make(map[int]bool)
		for i := range s.input.Paths {
			if f := s.input.Paths[i].Recursion; f > 0 {
				s.folded[f-1] = true
			}
		}
	}
	return s.folded
}

// deeper says of which functions the depth of calls is not known, and what else there is to say: each sentence once.
func (s *solver) deeper(why []string) (list []string) {
	left := make(map[int]int) // by function: the calls of it that are on paths at most where none is left out
	for f := range s.abridged() {
		left[f] = 0
	}
	for i := range s.input.Paths {
		p := &s.input.Paths[i]
		open := make(map[int]int)
		for k := range p.Steps {
			open[p.Steps[k].Function]++
		}
		for f, n := range open {
			if old, ok := left[f]; ok && p.Recursion == 0 {
				left[f] = max(old, n)
			}
		}
	}
	for _, f := range sorted(s.abridged()) {
		name := cmp.Or(s.input.Functions[f].Name, "?")
		text := fmt.Sprintf("Call paths do not have all calls of %s that were open where these were more than %d: at which depth a call was made, and how often it called itself, is not known there, and its loops are those of the order of lines.", name, left[f])
		list = append(list, text)
	}
	for _, text := range why {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}
