package profiling

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"moriens/app/question"
	"moriens/internal/units"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// A class is what a walk has found of a class of ranks.
type class struct {
	members      map[calltree.Thread]bool // whether they are asked for
	first, last  calltree.Thread          // in the order of the file, and of the latest row
	chosen, left int32                    // of the members, those that are asked for and those that are not
	summed       bool                     // it has rows
}

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

// member notes that a thread is of a class.
func (w *walk) member(r *parquet.ProfileRow, t calltree.Thread, chosen bool) *class {
	c := w.classes[r.Class]
	if c == nil {
		c = &class{members: make(map[calltree.Thread]bool), first: t, last: calltree.Thread{Thread: ofRank}}
		if w.classes == nil {
			w.classes = make(map[int32]*class)
		}
		w.classes[r.Class] = c
	}
	if c.last == t {
		return c
	}
	c.last = t
	if _, known := c.members[t]; known {
		return c
	}
	if c.members[t] = chosen; chosen {
		c.chosen++
	} else {
		c.left++
	}
	return c
}

// ofClass takes in a row of a class, or one of a thread for its class.
func (w *walk) ofClass(r *parquet.ProfileRow, kind string, summed bool) error {
	if r.Class < -1 || min(r.World, r.Rank, r.Thread) < 0 || min(r.Count, r.Records, r.TimeNS, r.ExclusiveNS, r.WholeNS, r.EstimatedNS) < 0 {
		return fmt.Errorf("a row of kind %s has a figure below 0", r.Kind)
	}
	if !w.b.byClass() {
		return nil
	}
	var c *class
	if summed {
		if c = w.classes[r.Class]; c == nil {
			return fmt.Errorf("a row of kind %s is of class %d, which has no thread before it", r.Kind, r.Class)
		}
		c.summed = true
	} else if kind != parquet.ProfileTraffic {
		t := calltree.Thread{World: r.World, Rank: r.Rank, Thread: r.Thread}
		if n := len(w.seen); n == 0 || w.seen[n-1] != [2]int{int(t.World), int(t.Rank)} {
			w.seen = append(w.seen, [2]int{int(t.World), int(t.Rank)})
		}
		c = w.member(r, t, w.ranks == nil || w.ranks.Has(int(r.World), int(r.Rank)))
	} else {
		c = w.classes[r.Class]
	}
	switch {
	case w.of == ofThreads, c == nil, c.chosen == 0:
		return nil
	case w.of == ofSums && (!summed || !w.b.of.Whole(kind)):
		return nil
	case w.of == ofClasses && !summed && r.Paths > 0: // its class has it
		return nil
	case !summed && w.ranks != nil && !w.ranks.Has(int(r.World), int(r.Rank)):
		return nil
	}
	p := w.b.place(r)
	if p.node < 0 || w.b.failed != nil {
		return nil
	}
	own := kind == parquet.ProfilePhase
	w.phased = w.phased || own
	w.doubt(r, p)
	w.now.thread = calltree.Thread{}
	if w.of == ofClasses {
		w.now.thread = c.first
		w.now.thread.Class = r.Class
	}
	g := w.gathered
	if _, known := g.threads[w.now.thread]; !known {
		g.threads[w.now.thread] = int32(len(g.list))
		g.list = append(g.list, w.now.thread)
	}
	w.gather(r, p, own)
	return nil
}

// wholeClasses refuses a list of ranks that has a part of a class of which call paths are known together alone.
func (w *walk) wholeClasses() error {
	numbers := slices.Sorted(maps.Keys(w.classes))
	for _, number := range numbers {
		if c := w.classes[number]; c.summed && c.chosen > 0 && c.left > 0 {
			return w.b.src.partOfClass(number, c)
		}
	}
	return nil
}
