package program_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/analysis/program"
	"moriens/analysis/program/programtest"
	"moriens/internal/golden"
)

// Of programs at random the order of lines says the same, whether the machine code was left aside or was never there.
func TestReadingByOrder(t *testing.T) {
	differ := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawnProgram(t, rapid.Bool().Draw(t, "recursion"))
		in := input(p)
		s, err := program.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		own := s.Solve()
		before := written(t, own)
		if s, err = s.ByOrder(); err != nil {
			t.Fatal(err)
		}
		order := s.Solve()
		for i := range in.Functions {
			in.Functions[i].Code = nil
		}
		if s, err = program.Build(in); err != nil {
			t.Fatal(err)
		}
		direct := s.Solve()
		if order.Basis != program.ByOrder || direct.Basis != program.ByOrder {
			t.Fatalf("by %s, and directly by %s", order.Basis, direct.Basis)
		}
		// Notes say of a program that was made without code that there is none.
		order.Why, direct.Why = nil, nil
		if d := cmp.Diff(string(written(t, direct)), string(written(t, order))); d != "" {
			t.Fatal(d)
		}
		if after := written(t, own); !bytes.Equal(before, after) {
			t.Fatal("the program itself has changed")
		}

		// What is kept of it is as good: it is there, or made of the program itself.
		own.Readings = new(program.Readings)
		if err := own.SetOrder(order); err != nil {
			t.Fatal(err)
		}
		if own.Readings.OrderSame == (own.Readings.Order != nil) {
			t.Fatalf("%+v", own.Readings)
		}
		kept := own.Readings.Order
		if kept == nil {
			kept = own.ByOrder()
		} else {
			differ++
		}
		kept.Why = nil
		if got, want := string(written(t, unplaced(kept))), string(written(t, unplaced(order))); got != want {
			t.Fatal(cmp.Diff(want, got))
		}
	})
	if differ == 0 {
		t.Error("no program is another one by the order of lines")
	}
}

// unplaced is a program of which loops have no place: that is where the code and the order of lines find them.
func unplaced(p *program.Program) *program.Program {
	p = reread(p)
	program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
		if n.Kind == program.KindLoop {
			n.Function, n.File, n.Line = "", "", 0
		}
	})
	return p
}

// reread is a copy.
func reread(p *program.Program) *program.Program {
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		panic(err)
	}
	back, err := program.Read(b.Bytes())
	if err != nil {
		panic(err)
	}
	return back
}

// The order of lines is kept if it says anything else of loops and conditions than the code; how they were found is
// nothing else.
func TestSetOrder(t *testing.T) {
	for what, x := range map[string]struct {
		change func(n *program.Node)
		same   bool
	}{
		"nothing":     {func(*program.Node) {}, true},
		"the place":   {func(n *program.Node) { n.Function, n.File, n.Line = "other", "other.c", 7 }, true},
		"trips":       {func(n *program.Node) { n.Trips.Expression = "9" }, false},
		"at least":    {func(n *program.Node) { n.Trips.AtLeast = true }, false},
		"two for one": {func(n *program.Node) { n.StandsFor = 2 }, false},
		"the body":    {func(n *program.Node) { n.Body = n.Body[1:] }, false},
	} {
		p := programtest.Nest()
		p.Readings = new(program.Readings)
		order := reread(programtest.Nest()).ByOrder()
		program.Walk(order.Body, func(n *program.Node, _ []*program.Node) {
			if n.Kind == program.KindLoop && n.Trips.Total == 400 {
				x.change(n)
			}
		})
		if err := p.SetOrder(order); err != nil {
			t.Fatal(err)
		}
		if r := p.Readings; r.OrderSame != x.same || (r.Order == nil) != x.same || !x.same && r.Order != order {
			t.Errorf("%s: %v, %v", what, r.OrderSame, r.Order)
		}
	}
	p := programtest.Nest()
	before := written(t, p)
	order := p.ByOrder()
	if n := len(order.Why); order.Basis != program.ByOrder || n == 0 || !strings.Contains(order.Why[n-1], "finds the same loops") {
		t.Errorf("%s, %q", order.Basis, order.Why)
	}
	program.Walk(order.Body, func(n *program.Node, _ []*program.Node) {
		if n.By == program.ByCode {
			t.Errorf("line %d is by code", n.ID)
		}
	})
	if !bytes.Equal(before, written(t, p)) {
		t.Error("the program itself has changed")
	}
}

// Readings are written and read as they are, alone and beside their program.
func TestReadingsWrittenAndRead(t *testing.T) {
	for name, p := range map[string]*program.Program{"compared": programtest.Compared(), "same": programtest.Same()} {
		if err := p.Check(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := written(t, p)
		golden.Check(t, name+".json", text)
		back, err := program.Read(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again := written(t, back); !bytes.Equal(again, text) {
			t.Errorf("%s: %s", name, cmp.Diff(string(text), string(again)))
		}
		if r := back.Readings; r.OrderSame != p.Readings.OrderSame || !reflect.DeepEqual(r.Thesis.Plot, p.Readings.Thesis.Plot) {
			t.Errorf("%s: %+v", name, r)
		}
		pairs := [][2]*program.Program{{p.Readings.Thesis.Program, back.Readings.Thesis.Program}, {p.Readings.Order, back.Readings.Order}}
		for i, x := range pairs {
			if (x[0] == nil) != (x[1] == nil) {
				t.Errorf("%s: reading %d is lost", name, i)
			} else if x[0] != nil && !bytes.Equal(written(t, x[0]), written(t, x[1])) {
				t.Errorf("%s: reading %d: %s", name, i, cmp.Diff(string(written(t, x[0])), string(written(t, x[1]))))
			}
		}
		if shown := p.Select(program.View{All: true}); shown.Readings != nil {
			t.Errorf("%s: a view has readings", name)
		}
	}
}

// Damaged readings are refused, and the error says which one and what.
func TestRefusedReadings(t *testing.T) {
	const head, reading = `{"format":1,"ranks":4,"certain":{"calls":1,"time":1},"basis":`, `{"format":1,"ranks":4,"certain":{},"basis":"order","body":[`
	const published = `"thesis":{"program":` + reading + `]},"plot":`
	for text, want := range map[string]string{
		`7`:                             "the readings: json: cannot unmarshal number",
		`{"order":7}`:                   "the reading order: json: cannot unmarshal number",
		`{"order":{}}`:                  "the reading order: it has no format number",
		`{"order":{"format":2}}`:        "the reading order: it has format 2",
		`{"order":` + reading + `{}]}}`: "the reading order: behind node 0 follows node 0",
		`{"order":` + reading + `{"id":1,"kind":"loop","by":"order"}]}}`: "the reading order: node 1: the loop has no trips",
		`{"order":` + strings.Replace(reading, "4", "3", 1) + `]}}`:      "the reading order has 3 ranks, not 4",
		`{"order":` + reading + `],"readings":{"order_same":true}}}`:     "the reading order has readings",
		`{"order_same":true,"order":` + reading + `]}}`:                  "the reading order is said to be the same, and is another one",
		`{"order_same":1}`: "the readings: json: cannot unmarshal number",
		`{"thesis":{}}`:    "the reading thesis has no program",
		`{"thesis":{"program":{"format":1,"ranks":4,"certain":{},"body":[]}}}`:   `the reading thesis: its basis is ""`,
		`{` + published + `{"delta":2}}}`:                                        "the reading thesis: the plot has figures that cannot be",
		`{` + published + `{"loops":-1}}}`:                                       "the reading thesis: the plot has figures that cannot be",
		`{` + published + `{"points":[[1,2,3]]}}}`:                               "the reading thesis: a point has 3 figures, not 6",
		`{` + published + `{"points":[{}]}}}`:                                    "the reading thesis: json: cannot unmarshal object",
		`{` + published + `{"loops":1,"points":[[1,1,1,1,1,0],[1,1,1,1,1,1]]}}}`: "the reading thesis: point 2 of the plot has figures that cannot be",
		`{` + published + `{"loops":1,"points":[[1,0,1,1,1,0]]}}}`:               "the reading thesis: point 1 of the plot has figures that cannot be",
		`{` + published + `{"loops":1,"points":[[-1,1,1,1,1,0]]}}}`:              "the reading thesis: json: cannot unmarshal number -1",
	} {
		if _, err := program.Read([]byte(head + `"code","body":[],"readings":` + text + `}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A large program has readings of a half of its room at most, and gives none of them up; nor is what was given changed.
func TestFoldReadings(t *testing.T) {
	p := programtest.Compared()
	body, order, published, points := p.Body, p.Readings.Order.Body, p.Readings.Thesis.Program.Body, p.Readings.Thesis.Plot.Points
	long := func(list []*program.Node) (all []*program.Node) {
		for id := 0; len(all) < 300; {
			for _, n := range list {
				c := copied(n, &id)
				program.Walk([]*program.Node{c}, func(n *program.Node, _ []*program.Node) { n.Share /= 1000 })
				all = append(all, c)
			}
		}
		return all
	}
	p.Body, p.Readings.Order.Body, p.Readings.Thesis.Program.Body = long(body), long(order), long(published)
	for path := range 500 {
		for _, x := range points {
			x.Path += uint32(path) * 100
			p.Readings.Thesis.Plot.Points = append(p.Readings.Thesis.Plot.Points, x)
		}
	}
	p = reread(p) // copies have times that their kind of line has not
	before := written(t, p)
	_, ns, calls := sums(p)
	for room := len(before) + 1; room > 20_000; room = room * 2 / 3 {
		f, err := program.Fold(p, room)
		if err != nil {
			t.Fatal(err)
		}
		text := written(t, f)
		if len(text) > room {
			t.Errorf("%d bytes for %d", len(text), room)
		}
		back, err := program.Read(text)
		if err != nil {
			t.Fatalf("of %d bytes: %v", room, err)
		}
		if r := back.Readings; r == nil || r.Order == nil || r.Thesis == nil || len(r.Thesis.Plot.Points) == 0 || len(back.Body) == 0 {
			t.Errorf("of %d bytes: %+v", room, r)
		}
		if _, n, c := sums(back); n != ns || c != calls {
			t.Errorf("of %d bytes: %d ns of %d calls, want %d of %d", room, n, c, ns, calls)
		}
		alone := *back
		alone.Readings = nil
		if readings := len(text) - len(written(t, &alone)); room < len(before) && readings > room/2+1000 {
			t.Errorf("readings have %d of %d bytes", readings, room)
		}
	}
	if !bytes.Equal(before, written(t, p)) {
		t.Error("folding has changed what was given")
	}
}

// emptyPlot is how many bytes a plot without points has at most.
const emptyPlot = 120

// A plot that is too large joins ranks first, and then leaves out what explains least; how many points, and threads,
// there are is said.
func TestFoldPlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := programtest.Same()
		plot := &p.Readings.Thesis.Plot
		plot.Points, plot.Others = nil, rapid.IntRange(0, 9).Draw(t, "left out before")
		for range rapid.IntRange(1, 300).Draw(t, "points") {
			plot.Points = append(plot.Points, program.Point{
				Path: uint32(rapid.IntRange(1, 40).Draw(t, "path")), Ranks: rapid.IntRange(1, 9).Draw(t, "ranks"), Repetitions: int64(rapid.IntRange(1, 1e6).Draw(t, "repetitions")),
				MeanNS: float64(rapid.IntRange(0, 1e9).Draw(t, "mean")), Delta: float64(rapid.IntRange(0, 1e6).Draw(t, "delta")) / 1e6, Loop: int32(rapid.IntRange(-1, 1).Draw(t, "loop")),
			})
		}
		before := slices.Clone(plot.Points)
		size := program.PlotBytes(plot)
		most := rapid.IntRange(emptyPlot, max(emptyPlot, size)+10).Draw(t, "bytes")
		f, err := program.FoldPlot(plot, most)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(before, plot.Points) {
			t.Fatal("folding has changed what was given")
		}
		if size <= most {
			if !reflect.DeepEqual(f, plot) {
				t.Fatalf("%d bytes fit into %d, and were folded", size, most)
			}
			return
		}
		if n := program.PlotBytes(f); n > most {
			t.Fatalf("%d bytes for %d", n, most)
		}
		type key struct {
			path uint32
			loop int32
		}
		threads, sum := make(map[key]int), make(map[key]float64)
		for _, x := range before {
			threads[key{x.Path, x.Loop}] += x.Ranks
			sum[key{x.Path, x.Loop}] += x.Delta * float64(x.Ranks)
		}
		if !f.Joined || len(f.Points)+f.Others != len(threads)+plot.Others {
			t.Fatalf("%d points, and %d others, of %d and %d", len(f.Points), f.Others, len(threads), plot.Others)
		}
		least := 1.0
		for _, x := range f.Points {
			k := key{x.Path, x.Loop}
			if x.Ranks != threads[k] || !near(x.Delta, sum[k]/float64(x.Ranks)) {
				t.Fatalf("%+v, want %d threads and δ %g", x, threads[k], sum[k]/float64(x.Ranks))
			}
			least = min(least, x.Delta)
			delete(threads, k)
		}
		for k, n := range threads {
			if d := sum[k] / float64(n); d > least && !near(d, least) {
				t.Fatalf("δ %g is left out, %g is there", d, least)
			}
		}
	})
}
