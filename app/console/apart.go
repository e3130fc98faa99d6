package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"moriens/trace"
	"moriens/trace/rundir"
)

// distinguish names the calls round each kind, and where several have the same, what distinguishes them: a
// caller by name, a phase of the program, a caller by line or offset, else their lengths.
func distinguish(r *Results, rows []timeRow) {
	var shown []trace.Cluster
	for i := range rows {
		shown = append(shown, *rows[i].cluster)
	}
	names := sites(r.Run, shown)
	alike := make(map[string][]int)
	for i := range rows {
		rows[i].calls = strings.ReplaceAll(callsRound(r.Run, rows[i].cluster, names), "MPI_", "")
		alike[rows[i].calls] = append(alike[rows[i].calls], i)
	}
	for _, group := range alike {
		if len(group) < 2 {
			continue
		}
		for _, words := range []func() []string{
			func() []string { return callers(r.Run, rows, group, byName) },
			func() []string { return phases(r.Clusters, rows, group) },
			func() []string { return callers(r.Run, rows, group, byPlace) },
			func() []string { return lengths(rows, group) },
		} {
			if mark(rows, group, withLengths(rows, group, words())) {
				break
			}
		}
	}
}

// mark distinguishes the rows of a group by these words, where all are there and differ.
func mark(rows []timeRow, group []int, words []string) bool {
	seen := make(map[string]bool)
	for _, w := range words {
		if w == "" || seen[w] {
			return false
		}
		seen[w] = true
	}
	for k := range words {
		rows[group[k]].apart = words[k]
	}
	return len(words) == len(group)
}

// mostly is the share of a kind, 0 to 1, that is named by one caller, of its bursts, or phase, of its time.
const mostly = .75

// callers are the callers by which the calls before or after a group differ, those by name or those by line. They are
// nil where a kind has no caller with most of its bursts, or where that does not distinguish all.
func callers(run *trace.Run, rows []timeRow, group []int, name func(f *trace.Frame) string) []string {
	for _, side := range []func(x *trace.Cluster) (whole, places []trace.PathCount){
		func(x *trace.Cluster) (whole, places []trace.PathCount) { return x.WholeBefore, x.Before },
		func(x *trace.Cluster) (whole, places []trace.PathCount) { return x.WholeAfter, x.After },
	} {
		stacks := make([][]string, len(group))
		for k, i := range group {
			whole, places := side(rows[i].cluster)
			stacks[k] = stack(run, whole, max(burstsOf(whole), burstsOf(places)), name)
		}
		if words := departing(stacks); !slices.Contains(words, "") {
			return words
		}
	}
	return nil
}

func byName(f *trace.Frame) string {
	if f.Function == trace.Folded {
		return ""
	}
	return trace.Frame{Function: f.Function}.Brief()
}

func byPlace(f *trace.Frame) string {
	if f.Function == trace.Folded {
		return ""
	}
	return f.Brief()
}

func burstsOf(paths []trace.PathCount) (n int) {
	for _, p := range paths {
		n += p.Bursts
	}
	return n
}

// stack names the callers of most of so many bursts, innermost first, as far out as most have the same. The paths are
// those of the most frequent ones.
func stack(run *trace.Run, paths []trace.PathCount, total int, name func(f *trace.Frame) string) (names []string) {
	for depth := 1; ; depth++ {
		bursts := make(map[string]int)
		var same []trace.PathCount
		for _, p := range paths {
			if frames := run.CallPaths[p.Path].Frames; depth < len(frames) {
				bursts[name(&frames[depth])] += p.Bursts
			}
		}
		for _, most := range slices.Sorted(maps.Keys(bursts)) {
			if float64(bursts[most]) < mostly*float64(total) {
				continue
			}
			for _, p := range paths {
				if frames := run.CallPaths[p.Path].Frames; depth < len(frames) && name(&frames[depth]) == most {
					same = append(same, p)
				}
			}
			names = append(names, most)
		}
		if len(names) < depth {
			return names
		}
		paths = same
	}
}

// withLengths adds the length of their bursts to words that are alike: "from solve, long". It is nil where a word is
// missing, or all are alike.
func withLengths(rows []timeRow, group []int, words []string) []string {
	alike := make(map[string][]int)
	for k, w := range words {
		alike[w] = append(alike[w], k)
	}
	if len(alike) < 2 || alike[""] != nil {
		return nil
	}
	words = slices.Clone(words)
	for _, same := range alike {
		if len(same) == 1 {
			continue
		}
		var members []int
		for _, k := range same {
			members = append(members, group[k])
		}
		for i, length := range lengths(rows, members) {
			words[same[i]] += ", " + length
		}
	}
	return words
}

// departing says of each stack where it departs from others: "from solve", or "from smooth < coarse" where another
// departs only there. Stacks that do not depart from each other have the same words.
func departing(stacks [][]string) []string {
	words := make([]string, len(stacks))
	rest := make([]int, len(stacks)) // those alike so far
	for i := range rest {
		rest[i] = i
	}
	groups := [][]int{rest}
	for depth := 0; len(groups) > 0; depth++ {
		var next [][]int
		for _, group := range groups {
			parts := make(map[string][]int)
			known := true
			for _, i := range group {
				if known = known && depth < len(stacks[i]); known {
					parts[stacks[i][depth]] = append(parts[stacks[i][depth]], i)
				}
			}
			if !known || len(parts) > 1 && parts[""] != nil {
				continue
			}
			for name, part := range parts {
				for _, i := range part {
					switch {
					case len(parts) == 1:
					case words[i] == "":
						words[i] = "from " + name
					default:
						words[i] += " < " + name
					}
				}
				if len(part) > 1 {
					next = append(next, part)
				}
			}
		}
		groups = next
	}
	return words
}

// phases are the phases that the program named in which most of the time of each kind of a group is.
func phases(c *rundir.Clusters, rows []timeRow, group []int) []string {
	var words []string
	for _, i := range group {
		text, longest, all := "", rundir.Number(0), rundir.Number(0)
		for k := range c.Phases {
			p := &c.Phases[k]
			for _, x := range p.Clusters {
				if x.ID != rows[i].cluster.ID {
					continue
				}
				all += x.Seconds
				if x.Seconds > longest && !p.Outside {
					text, longest = "in "+shorten(p.Name), x.Seconds
				}
			}
		}
		if longest < mostly*all {
			text = ""
		}
		words = append(words, text)
	}
	return words
}

// ordinal is the number of a row, of which there are few.
func ordinal(n int) string {
	if n <= 3 {
		return [...]string{"", "1st", "2nd", "3rd"}[n]
	}
	return fmt.Sprintf("%dth", n)
}

// lengths order a group by how long its bursts are.
func lengths(rows []timeRow, group []int) []string {
	length := func(i int) float64 { return rows[i].mean() }
	order := slices.Clone(group)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(length(b), length(a)) })
	var words []string
	for _, i := range group {
		switch k := slices.Index(order, i); {
		case k == 0 && len(group) == 2:
			words = append(words, "long")
		case k == 1 && len(group) == 2:
			words = append(words, "short")
		case k == 0:
			words = append(words, "longest")
		case k == len(group)-1:
			words = append(words, "shortest")
		default:
			words = append(words, ordinal(k+1)+" longest")
		}
	}
	return words
}
