package fetch

import (
	"cmp"
	"slices"

	"moriens/trace"
)

// rows are calls of a ring: first ≤ i < behind.
type rows struct{ first, behind uint64 }

// callsIn are the rows of calls that lie in a span.
func callsIn(c *trace.Calls, s trace.Span) rows {
	first, _ := slices.BinarySearch(c.EnterNS, s.BeginNS)
	behind := first
	for behind < c.Len() && c.ExitNS[behind] <= s.EndNS {
		behind++
	}
	return rows{uint64(first), uint64(behind)}
}

// merged puts rows together that touch each other.
func merged(list []rows) []rows {
	slices.SortFunc(list, func(a, b rows) int { return cmp.Compare(a.first, b.first) })
	var out []rows
	for _, r := range list {
		if n := len(out); n > 0 && r.first <= out[n-1].behind {
			out[n-1].behind = max(out[n-1].behind, r.behind)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// without are those of some rows that are not among others, which lie apart and ascend.
func without(wanted rows, others []rows) (list []rows) {
	for _, r := range others {
		if from := max(wanted.first, r.first); from < min(wanted.behind, r.behind) {
			if from > wanted.first {
				list = append(list, rows{wanted.first, from})
			}
			wanted.first = r.behind
		}
	}
	if wanted.first < wanted.behind {
		list = append(list, wanted)
	}
	return list
}
