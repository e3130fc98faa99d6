package profiling

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"moriens/app/question"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// moreKept is what makes call paths known of each rank.
const moreKept = "measure, or analyze, with a larger --keep: then call paths are known of each rank"

// ByClass reports whether nodes of a shape are known of classes of ranks alone.
func (s *Source) ByClass(shape Shape) bool { return newBuilder(s, shape).byClass() }

// mostRanges bounds a list of ranks in a hint.
const mostRanges = 12

// partOfClass says that of ranks that are asked for and of others call paths are known together alone.
func (s *Source) partOfClass(number int32, c *class) error {
	var chosen, all [][2]int
	for t, is := range c.members {
		rank := [2]int{int(t.World), int(t.Rank)}
		if all = append(all, rank); is {
			chosen = append(chosen, rank)
		}
	}
	part, n := rangesOf(chosen)
	whole, _ := rangesOf(all)
	advice := fmt.Sprintf("choose the whole class: --rank %s; --by call and others that need no call paths are of any ranks; or %s", whole, moreKept)
	if strings.HasSuffix(whole, more) {
		advice = fmt.Sprintf("choose whole classes (kept.classes of %s lists their threads); --by call and others that need no call paths are of any ranks; or %s", rundir.ManifestFile, moreKept)
	}
	return question.Misuse(advice, "%s has sums of call paths over classes of ranks; of class %d, of %s, %s %s is a part",
		rundir.ProfileFile, number, units.Counted(len(all), "thread"), units.Plural(n, "rank"), part)
}

// more ends a list that is too long.
const more = ",…"

// rangesOf writes ranks as --rank takes them, and says how many there are.
func rangesOf(ranks [][2]int) (string, int) {
	slices.SortFunc(ranks, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	ranks = slices.Compact(ranks)
	var list []string
	for i := 0; i < len(ranks); {
		first, last := ranks[i], ranks[i]
		for i++; i < len(ranks) && ranks[i][0] == first[0] && ranks[i][1] == last[1]+1; i++ {
			last = ranks[i]
		}
		text := fmt.Sprint(first[1])
		if last != first {
			text = fmt.Sprintf("%d-%d", first[1], last[1])
		}
		if ranks[len(ranks)-1][0] > 0 {
			text = fmt.Sprintf("%d:%s", first[0], text)
		}
		if len(list) == mostRanges {
			return strings.Join(list, ",") + more, len(ranks)
		}
		list = append(list, text)
	}
	return strings.Join(list, ","), len(ranks)
}

// chosenRanks is how many ranks are asked for.
func (w *walk) chosenRanks() int {
	type rank struct{ world, rank int32 }
	ranks := make(map[rank]bool)
	for c := range maps.Values(w.classes) {
		for t, chosen := range c.members {
			if chosen {
				ranks[rank{t.World, t.Rank}] = true
			}
		}
	}
	return len(ranks)
}

// sumsOf are the values of call paths that are known of classes alone; the walk has found who is asked for.
func (w *walk) sumsOf(give func(v *threadValues) error) (unsure int64, err error) {
	sums := &walk{b: w.b, ranks: w.ranks, columns: w.columns, of: ofSums, give: give}
	err = sums.run(func() {})
	return sums.unsure, err
}

// needsClasses reports whether an answer has figures that are known of classes alone.
func (w *walk) needsClasses() bool {
	if w.b.byClass() {
		for _, c := range w.classes {
			if c.summed && c.chosen > 0 {
				return true
			}
		}
	}
	return false
}
