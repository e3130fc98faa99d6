package console

import (
	"fmt"
	"slices"

	"moriens/internal/units"
	"moriens/trace/rundir"
)

// died names the ranks that died, those of one world with one reason together: with a node go all ranks that it had.
func died(m *rundir.Manifest) []string {
	type death struct {
		world  int
		how    string
		cutOff bool
	}
	var order []death
	ranks := make(map[death][]int)
	for _, d := range m.Losses.RanksDied {
		k := death{d.World, d.How, d.CutOff}
		if ranks[k] == nil {
			order = append(order, k)
		}
		ranks[k] = append(ranks[k], d.Rank)
	}
	var parts []string
	for _, k := range order {
		who, what := rankList(ranks[k]), "died"
		if len(m.Worlds) > 1 {
			who += fmt.Sprintf(" of world %d", k.world)
		}
		if k.cutOff {
			what = "cut off"
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", who, what, k.how))
	}
	return parts
}

// rankList is "rank 3" or "ranks 0, 4–7".
func rankList(ranks []int) string {
	slices.Sort(ranks)
	text, runs := "", 0
	for i := 0; i < len(ranks); runs++ {
		last := i
		for last+1 < len(ranks) && ranks[last+1] == ranks[last]+1 {
			last++
		}
		if runs > 0 {
			text += ", "
		}
		text += fmt.Sprint(ranks[i])
		if last > i {
			text += fmt.Sprintf("–%d", ranks[last])
		}
		i = last + 1
	}
	if len(ranks) == 1 {
		return "rank " + text
	}
	return "ranks " + text
}

// diedTroubles says of ranks that died, and of those of which the end is not known, what of them is in the results.
// before is a tool that may have answered MPI_Finalize in our place; empty: there is none.
func diedTroubles(deaths []rundir.RankDied, before string) []Trouble {
	var dead, cutOff []rundir.RankDied
	for _, d := range deaths {
		if d.CutOff {
			cutOff = append(cutOff, d)
		} else {
			dead = append(dead, d)
		}
	}
	var list []Trouble
	if len(dead) > 0 {
		hint := "timeline.svg and trace.prv show the last calls"
		if before != "" {
			hint += "; or " + before + ", which" + beforeLibrary + ", handled MPI_Finalize: put libmoriens.so first in LD_PRELOAD"
		}
		list = append(list, Trouble{
			fmt.Sprintf("%s did not call MPI_Finalize (%s); the results contain everything recorded up to that point", units.Counted(len(dead), "rank"), first(dead)),
			hint,
		})
	}
	if len(cutOff) > 0 {
		list = append(list, Trouble{
			fmt.Sprintf("%s cut off (%s); the results contain everything received up to that point", were(len(cutOff), "rank"), first(cutOff)),
			"did a node fail? its ranks' last records are lost",
		})
	}
	return list
}

func first(deaths []rundir.RankDied) string {
	what := fmt.Sprintf("rank %d: %s", deaths[0].Rank, deaths[0].How)
	if n := len(deaths); n > 1 {
		what += fmt.Sprintf(", and %d more", n-1)
	}
	return what
}

func were(n int, what string) string {
	if n == 1 {
		return units.Counted(n, what) + " was"
	}
	return units.Counted(n, what) + " were"
}
