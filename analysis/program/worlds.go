package program

import (
	"fmt"
	"slices"
	"strings"
)

// Where processes were started in several worlds, each has ranks of its own, from 0. Lists of ranks number all of them,
// one world after the other; texts name the world, and ranks as they are in it.

// A numbering is that of the ranks of all worlds.
type numbering struct {
	size  int   // ranks of all worlds
	first []int // rank of each world that is its first among all
	sizes []int
}

func numberingOf(worlds []int) numbering {
	n := numbering{sizes: worlds}
	for _, size := range worlds {
		n.first = append(n.first, n.size)
		n.size += size
	}
	return n
}

// worldOf is the world of one of all ranks, and its number there.
func (s *numbering) worldOf(rank int) (world, local int) {
	world = len(s.first) - 1
	for world > 0 && s.first[world] > rank {
		world--
	}
	return world, rank - s.first[world]
}

// named lists sorted ranks: of several worlds each part with its world, "0:1, 1:0..3".
func (s *numbering) named(ranks []int) string {
	if len(s.first) < 2 {
		return listOf(ranks)
	}
	in := make([][]int, len(s.first))
	for _, r := range ranks {
		w, local := s.worldOf(r)
		in[w] = append(in[w], local)
	}
	var list []string
	for w := range in {
		if len(in[w]) > 0 {
			list = append(list, fmt.Sprintf("%d:%s", w, strings.ReplaceAll(listOf(in[w]), ", ", fmt.Sprintf(", %d:", w))))
		}
	}
	return strings.Join(list, ", ")
}

// whichRanks says in words on which of some ranks something is; both lists are sorted.
func (s *numbering) whichRanks(yes, of []int) string {
	if len(s.first) < 2 {
		return rankRule(yes, of, s.size)
	}
	in, all := make([][]int, len(s.first)), make([][]int, len(s.first))
	for _, r := range of {
		w, local := s.worldOf(r)
		all[w] = append(all[w], local)
		if _, is := slices.BinarySearch(yes, r); is {
			in[w] = append(in[w], local)
		}
	}
	var whole, parts []int // worlds of which all, or some, of these ranks are
	several := 0
	for w := range all {
		if len(all[w]) > 0 {
			several++
		}
		switch {
		case len(in[w]) == 0:
		case len(in[w]) == len(all[w]):
			whole = append(whole, w)
		default:
			parts = append(parts, w)
		}
	}
	switch {
	case len(parts) == 0:
		return "world " + listOf(whole)
	case len(parts) == 1 && len(whole) == 0:
		text := rankRule(in[parts[0]], all[parts[0]], s.sizes[parts[0]])
		if several > 1 {
			text = fmt.Sprintf("world %d and %s", parts[0], text)
		}
		return text
	}
	return "rank in " + s.named(yes)
}

// worlds says which there are.
func (s *solver) worlds() (why []string) {
	if len(s.input.Worlds) < 2 {
		return nil
	}
	var list []string
	for w, n := range s.input.Worlds {
		ranks := make([]int, n)
		for r := range ranks {
			ranks[r] = r
		}
		list = append(list, fmt.Sprintf("world %d with the ranks %s", w, listOf(ranks)))
	}
	return []string{fmt.Sprintf("There are %d worlds: %s.", len(list), strings.Join(list, ", "))}
}
