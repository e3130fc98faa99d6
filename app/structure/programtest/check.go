package programtest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"moriens/analysis/program"
)

// A Variant is how a program was compiled and run.
type Variant struct {
	Debug bool // with debugging information: names of inlined functions, lines
}

// A Result says how many lines of an outline there are for a number of ranks, how many of them are right, and what is
// wrong. Each fault names the line of the outline, or of what was inferred and is not in it, which counts as a wrong
// one.
type Result struct {
	Essentials, Right int
	Faults            []string
}

// Check compares an inferred program with an outline.
func (o *Outline) Check(p *program.Program, v Variant) Result {
	everywhere := scope{size: int64(p.Ranks)}
	for rank := range everywhere.size {
		everywhere.ranks = append(everywhere.ranks, rank)
	}
	c := &checker{o: o, variant: v, w: &wanted{debug: v.Debug, named: make(map[called]bool)}}
	names := make(map[string]bool)
	namesOf(o.lines, names)
	c.namesIn(p.Body, names, 0)
	r := &reading{named: names, base: o.Name()}
	got := r.items(p.Body, everywhere, nil)
	want := c.w.items(o.lines, everywhere, nil)
	if c.w.err != nil {
		return Result{Faults: []string{fmt.Sprintf("%s: %v", o.Path, c.w.err)}}
	}
	faults, wrong := c.compare(want, got, everywhere)
	wrong += len(r.faults)
	faults = append(r.faults, faults...)
	if len(faults) == 0 && !o.unknown && !o.Dies && p.Certain.Calls < 1 {
		faults = append(faults, fmt.Sprintf("only %.3f of the calls are certain", p.Certain.Calls))
		wrong++
	}
	n := count(want)
	return Result{n, max(0, n-wrong), faults}
}

// count counts items, those of their bodies too.
func count(items []*item) (n int) {
	for _, it := range items {
		n += 1 + count(it.body)
	}
	return n
}

// Calls are the numbers of MPI calls, by function, that an outline has for a number of ranks, of the functions of which
// it says how often each line calls them.
func (o *Outline) Calls(ranks int) (map[string]int64, error) {
	everywhere := scope{size: int64(ranks)}
	for rank := range everywhere.size {
		everywhere.ranks = append(everywhere.ranks, rank)
	}
	c := &checker{o: o, w: &wanted{debug: true}}
	calls, open := make(map[string]int64), make(map[string]bool)
	var walk func(items []*item)
	walk = func(items []*item) {
		for _, it := range items {
			if text, ok := it.want.options["calls"]; ok {
				calls[it.name] += c.w.value(it.want, text, it.figures(everywhere.size))
			} else if it.kind == "MPI" {
				open[it.name] = true
			}
			walk(it.body)
		}
	}
	walk(c.w.items(o.lines, everywhere, nil))
	for name := range open {
		delete(calls, name)
	}
	return calls, c.w.err
}

// figures are the variables of an item's figures, which are of all its ranks.
func (it *item) figures(size int64) variables {
	v := shape(0, size)
	delete(v, "rank")
	v["here"] = int64(len(it.ranks))
	return v
}

func namesOf(lines []*line, names map[string]bool) {
	for _, l := range lines {
		if l.kind == "CALL" {
			names[l.name] = true
		}
		namesOf(l.body, names)
	}
}

type checker struct {
	o       *Outline
	variant Variant
	w       *wanted
}

// namesIn finds the functions of an outline that were inferred, under so many loops.
func (c *checker) namesIn(nodes []*program.Node, names map[string]bool, loops int) {
	for _, n := range nodes {
		inside := loops
		switch {
		case n.Kind == program.KindLoop && n.Trips != nil && n.Trips.Most > 1:
			inside++
		case n.Kind == program.KindCall:
			for name := range names {
				if isNamed(n.Function, name) {
					c.w.named[called{name, loops}] = true
				}
			}
		}
		c.namesIn(n.Body, names, inside)
	}
}

// fault begins with the line of the outline.
func (c *checker) fault(want *item, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s: %s", filepath.Base(c.o.Path), want.want.number, want.want.text, fmt.Sprintf(format, args...))
}

// compare compares the items of one body, and counts the lines that are wrong.
func (c *checker) compare(want, got []*item, s scope) (faults []string, wrong int) {
	place := make([]int, len(want)) // in got; -1 = not there
	taken := make([]bool, len(got))
	var open []int
	for k, w := range want { // those that are all right first: a wrong one does not take the place of a right one
		place[k] = -1
		for g := range got {
			if taken[g] || !c.alike(w, got[g]) {
				continue
			}
			if d, _ := c.differences(w, got[g], s); len(d) == 0 {
				place[k], taken[g] = g, true
				break
			}
		}
		if place[k] < 0 {
			open = append(open, k)
		}
	}
	for _, k := range open {
		var best []string
		lines := 0
		for g := range got {
			if taken[g] || !c.alike(want[k], got[g]) {
				continue
			}
			if d, n := c.differences(want[k], got[g], s); place[k] < 0 || n < lines {
				best, lines, place[k] = d, n, g
			}
		}
		if place[k] < 0 {
			best, lines = []string{c.fault(want[k], "is missing")}, count(want[k:k+1])
		} else {
			taken[place[k]] = true
		}
		faults, wrong = append(faults, best...), wrong+lines
	}
	for g, it := range got {
		if !taken[g] {
			round := ""
			for _, x := range it.conditions {
				round += ", in " + x.text
			}
			faults = append(faults, fmt.Sprintf("%s: %s is there and not in the outline%s", filepath.Base(c.o.Path), it.at, round))
			wrong++
		}
	}
	order := c.order(want, got, place, s)
	return append(faults, order...), wrong + len(order)
}

// order compares the order of items that were found.
func (c *checker) order(want, got []*item, place []int, s scope) (faults []string) {
	for b := range want {
		for a := range b {
			if place[a] < 0 || place[b] < 0 || place[a] < place[b] || s.exclusive(want[a].conditions, want[b].conditions) {
				continue
			}
			if _, apart := want[a].want.options["apart"]; apart {
				continue
			}
			if _, apart := want[b].want.options["apart"]; apart {
				continue
			}
			faults = append(faults, c.fault(want[b], "stands as %s before %s", got[place[b]].at, got[place[a]].at))
		}
	}
	return faults
}

// alike says whether an inferred item can be the wanted one.
func (c *checker) alike(w, g *item) bool {
	return w.kind == g.kind && (w.kind == "FOR" || isNamed(g.name, w.name))
}

// differences says how an inferred item differs from the wanted one, and in how many lines.
func (c *checker) differences(w, g *item, s scope) (faults []string, wrong int) {
	add := func(format string, args ...any) { faults = append(faults, c.fault(w, format, args...)) }
	n := g.got.node
	if !s.equal(w.conditions, g.conditions) {
		add("stands in %s, want %s: %s", texts(g.conditions), texts(w.conditions), g.at)
	} else if len(w.conditions) > 0 {
		c.innermost(w, g, add)
	}
	inner := scope{s.size, w.ranks, s.loops}
	switch w.kind {
	case "FOR":
		for _, f := range tripFaults(w.want, n.Trips, c.w, &inner) {
			add("%s", f)
		}
		c.copies(w, n, add)
		inner.loops = append([]trips{{n.Trips.Least, n.Trips.Most, n.Variable}}, s.loops...)
	case "CALL":
		if _, recursive := w.want.options["recursive"]; recursive != n.Recursive {
			add("recursive is %v", n.Recursive)
		}
	case "MPI":
		c.figures(w, n, &inner, add)
	}
	wrong = min(len(faults), 1)
	below, more := c.compare(w.body, g.body, inner)
	return append(faults, below...), wrong + more
}

// innermost compares what is said of a condition beside where it holds.
func (c *checker) innermost(w, g *item, add func(string, ...any)) {
	want, got := w.conditions[len(w.conditions)-1], g.conditions[len(g.conditions)-1]
	// Without lines either of two that exclude each other comes first.
	if c.variant.Debug && want.otherwise && !got.otherwise {
		add("is not an ELSE: %s", got.text)
	}
	if want.happened >= 0 && want.happened != got.happened || want.of >= 0 && want.of != got.of {
		add("%s happened %d of %d times, want %d of %d", got.text, got.happened, got.of, want.happened, want.of)
	}
}

// copies compares how many loops, or copies of its body, a loop stands for.
func (c *checker) copies(w *item, n *program.Node, add func(string, ...any)) {
	if _, unrolled := w.want.options["unrolled"]; unrolled && n.Unrolled < 2 {
		add("is not said to be unrolled")
	}
	loops := 0
	if text, ok := w.want.options["loops"]; ok {
		loops = int(c.w.value(w.want, text, variables{}))
	}
	if max(n.StandsFor, 1) != max(loops, 1) {
		add("stands for %d loops", max(n.StandsFor, 1))
	}
}

// figures compares those of an MPI call.
func (c *checker) figures(w *item, n *program.Node, s *scope, add func(string, ...any)) {
	v := w.figures(s.size)
	for key, text := range w.want.options {
		x := c.w.value(w.want, text, v)
		switch key {
		case "calls":
			if n.Count != x {
				add("%d calls, want %d", n.Count, x)
			}
		case "bytes":
			if n.Bytes == nil || n.Bytes.Least != x || n.Bytes.Most != x {
				add("bytes are %+v, want %d", n.Bytes, x)
			}
		case "root":
			if n.Root == nil || int64(*n.Root) != x {
				add("the root is not %d", x)
			}
		}
	}
	if label := w.want.label; label != "" && c.variant.Debug {
		if place := c.o.labels[label]; n.Line != place || filepath.Base(n.File) != c.o.source {
			add("is line %s:%d, want %s:%d", n.File, n.Line, c.o.source, place)
		}
	}
	for _, way := range []string{"to", "from"} {
		c.peers(w, n, way, s, add)
	}
}

// peers compares whom messages go to, or are from. What is said of ranks that have no peer does not matter.
func (c *checker) peers(w *item, n *program.Node, way string, s *scope, add func(string, ...any)) {
	var want []wantedPeer
	for _, p := range w.want.peers {
		if p.way == way {
			want = append(want, p)
		}
	}
	if len(want) == 0 {
		return
	}
	said := slices.DeleteFunc(slices.Clone(n.Peers), func(p program.Peer) bool { return p.Way != way })
	if len(said) != 1 {
		add("peers are %+v", n.Peers)
		return
	}
	text := strings.TrimPrefix(said[0].Text, way+" ")
	got, ok := peersOf(text, s.size)
	for _, p := range want {
		peers, _ := peersOf(p.text, s.size)
		if !ok {
			if p.kind == "" || p.kind != said[0].Kind {
				add("%s %q (%s) names no peer that can be evaluated", way, said[0].Text, said[0].Kind)
			}
			continue
		}
		for _, rank := range w.ranks {
			if p.holds != nil && !p.holds.holds(shape(rank, s.size)) {
				continue
			}
			a, b := peers(rank), got(rank)
			if len(a) > 0 && !maps.Equal(a, b) {
				add("%s %q of rank %d is %v, want %v", way, said[0].Text, rank, keys(b), keys(a))
				break
			}
		}
	}
}

func texts(list []*condition) string {
	if len(list) == 0 {
		return "no condition"
	}
	var all []string
	for _, c := range list {
		all = append(all, c.text)
	}
	return strings.Join(all, " in ")
}
