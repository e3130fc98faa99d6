package program

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// rankRule says in words on which ranks something is, among those of which it is known: the first form of those below
// that holds for each of them. Both lists are sorted; yes is a part of of.
func rankRule(yes, of []int, size int) string {
	in := make(map[int]bool, len(yes))
	for _, r := range yes {
		in[r] = true
	}
	holds := func(rule func(r int) bool) bool {
		for _, r := range of {
			if rule(r) != in[r] {
				return false
			}
		}
		return true
	}
	equal := func(k int, text string) string {
		switch {
		case holds(func(r int) bool { return r == k }):
			return "rank == " + text
		case holds(func(r int) bool { return r != k }):
			return "rank != " + text
		}
		return ""
	}
	if text := equal(0, "0"); text != "" {
		return text
	}
	if len(yes) == 1 || len(of)-len(yes) == 1 {
		if text := equal(size-1, "size-1"); text != "" {
			return text
		}
		for _, k := range of {
			if (len(yes) == 1) == in[k] {
				if text := equal(k, strconv.Itoa(k)); text != "" {
					return text
				}
			}
		}
	}
	for _, rule := range []func() string{
		func() string { return remainderRule(size, holds) },
		func() string { return rangeRule(yes, of, in, holds) },
		func() string { return gridRule(size, holds) },
	} {
		if text := rule(); text != "" {
			return text
		}
	}
	return "rank in " + listOf(yes)
}

// remainderRule is a rule on the remainder of ranks; "": there is none.
func remainderRule(size int, holds func(rule func(r int) bool) bool) string {
	for m := 2; m <= min(size/2, 64); m++ {
		for k := range m {
			if holds(func(r int) bool { return r%m == k }) {
				return fmt.Sprintf("rank %% %d == %d", m, k)
			}
			if m > 2 && holds(func(r int) bool { return r%m != k }) {
				return fmt.Sprintf("rank %% %d != %d", m, k)
			}
		}
	}
	return ""
}

// rangeRule is a rule on where ranks lie; "": there is none.
func rangeRule(yes, of []int, in map[int]bool, holds func(rule func(r int) bool) bool) string {
	for _, k := range of {
		if holds(func(r int) bool { return r < k }) {
			return fmt.Sprintf("rank < %d", k)
		}
		if holds(func(r int) bool { return r >= k }) {
			return fmt.Sprintf("rank >= %d", k)
		}
	}
	if len(yes) == 0 {
		return ""
	}
	first, last := yes[0], yes[len(yes)-1]
	if holds(func(r int) bool { return first <= r && r <= last }) {
		return fmt.Sprintf("rank in %d..%d", first, last)
	}
	low, high := lowest(of, in, false), highest(of, in, false)
	if holds(func(r int) bool { return r < low || r > high }) {
		return fmt.Sprintf("rank not in %d..%d", low, high)
	}
	if len(yes) > 2 {
		if by := yes[1] - yes[0]; by > 1 && holds(func(r int) bool { return first <= r && r <= last && (r-first)%by == 0 }) {
			return fmt.Sprintf("rank in %d..%d:%d", first, last, by)
		}
	}
	return ""
}

// gridRule is one on a row, or a plane, of a grid; "": there is none.
func gridRule(size int, holds func(rule func(r int) bool) bool) string {
	for m := 2; m <= size/2; m++ {
		if size%m != 0 {
			continue
		}
		for n := 2; n <= size/m; n++ {
			for k := range n {
				if holds(func(r int) bool { return r/m%n == k }) {
					return fmt.Sprintf("rank / %d %% %d == %d", m, n, k)
				}
			}
		}
	}
	return ""
}

func lowest(of []int, in map[int]bool, want bool) int {
	for _, r := range of {
		if in[r] == want {
			return r
		}
	}
	return -1
}

func highest(of []int, in map[int]bool, want bool) int {
	for _, r := range slices.Backward(of) {
		if in[r] == want {
			return r
		}
	}
	return -1
}

// listOf writes sorted ranks in short: "0..62:2, 65, 70..72".
func listOf(ranks []int) string {
	var parts []string
	for i := 0; i < len(ranks); {
		k := i + 1
		by := 0
		if k < len(ranks) {
			by = ranks[k] - ranks[i]
		}
		for k < len(ranks) && ranks[k]-ranks[k-1] == by {
			k++
		}
		switch {
		case k-i == 1, k-i == 2 && by > 1:
			parts = append(parts, strconv.Itoa(ranks[i]))
			k = i + 1
		case by == 1:
			parts = append(parts, fmt.Sprintf("%d..%d", ranks[i], ranks[k-1]))
		default:
			parts = append(parts, fmt.Sprintf("%d..%d:%d", ranks[i], ranks[k-1], by))
		}
		i = k
	}
	return strings.Join(parts, ", ")
}
