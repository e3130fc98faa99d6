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
	type form struct {
		text string
		rule func(r int) bool
	}
	var forms []form
	add := func(text string, rule func(r int) bool) { forms = append(forms, form{text, rule}) }
	equal := func(k int, text string) {
		add("rank == "+text, func(r int) bool { return r == k })
		add("rank != "+text, func(r int) bool { return r != k })
	}
	equal(0, "0")
	if len(yes) == 1 || len(of)-len(yes) == 1 {
		equal(size-1, "size-1")
		for _, k := range of {
			if (len(yes) == 1) == in[k] {
				equal(k, strconv.Itoa(k))
			}
		}
	}
	for m := 2; m <= min(size/2, 64); m++ {
		for k := range m {
			add(fmt.Sprintf("rank %% %d == %d", m, k), func(r int) bool { return r%m == k })
			if m > 2 {
				add(fmt.Sprintf("rank %% %d != %d", m, k), func(r int) bool { return r%m != k })
			}
		}
	}
	for _, k := range of {
		add(fmt.Sprintf("rank < %d", k), func(r int) bool { return r < k })
		add(fmt.Sprintf("rank >= %d", k), func(r int) bool { return r >= k })
	}
	if len(yes) > 0 {
		first, last := yes[0], yes[len(yes)-1]
		add(fmt.Sprintf("rank in %d..%d", first, last), func(r int) bool { return first <= r && r <= last })
		add(fmt.Sprintf("rank not in %d..%d", lowest(of, in, false), highest(of, in, false)), func(r int) bool {
			return r < lowest(of, in, false) || r > highest(of, in, false)
		})
		if len(yes) > 2 {
			if by := yes[1] - yes[0]; by > 1 {
				add(fmt.Sprintf("rank in %d..%d:%d", first, last, by), func(r int) bool { return first <= r && r <= last && (r-first)%by == 0 })
			}
		}
	}
	for m := 2; m <= size/2; m++ { // a row, or a plane, of a grid
		if size%m != 0 {
			continue
		}
		for n := 2; n <= size/m; n++ {
			for k := range n {
				add(fmt.Sprintf("rank / %d %% %d == %d", m, n, k), func(r int) bool { return r/m%n == k })
			}
		}
	}
	for _, f := range forms {
		if holds(f.rule) {
			return f.text
		}
	}
	return "rank in " + listOf(yes)
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
