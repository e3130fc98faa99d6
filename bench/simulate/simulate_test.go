package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"moriens/agent/cells"
	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// What was planted is found, and the labels are those of the clustering of all bursts; how long it takes is not
// checked.
func TestEnd(t *testing.T) {
	for _, o := range []options{{equal: true, Points: 1 << 20}, {equal: true, Points: 1 << 20, counters: true, eps: .02, minPts: 20}} {
		e, err := measure(job{Agents: 5, Ranks: 20, Bursts: 60, Counters: o.counters, Noise: 1}, &o)
		if err != nil {
			t.Fatal(err)
		}
		if !e.Certificate.Exact || !e.SameEps || e.Differ != 0 || e.Equal == "" || e.Bursts != 100*e.Job.bursts() || e.Threads != 100 {
			t.Errorf("%+v", e)
		}
		if !o.counters && (e.Found != e.Kinds || e.Kinds < 15 || e.Segments != e.Job.iterations()+1) {
			t.Errorf("%d of %d kinds, %d segments, lost %q", e.Found, e.Kinds, e.Segments, e.Lost)
		}
		for _, name := range []string{"survey", "cluster", "score", "label", "sums"} {
			checkStage(t, e, name)
		}
	}
}

// checkStage has what travels be what the model says, up to a fifth and some headers; the model knows nothing of how
// much there is to say.
func checkStage(t *testing.T, e *end, name string) {
	t.Helper()
	for i := range e.Stages {
		s := &e.Stages[i]
		if s.Name != name {
			continue
		}
		m := e.model(s)
		for _, x := range [2][2]float64{{float64(s.Way.Down.Bytes), m.Down}, {float64(s.Way.Up.Bytes), m.Up}} {
			if math.Abs(x[0]-x[1]) > x[0]/5+300*float64(e.Job.Agents) {
				t.Errorf("%s: %v bytes, by the model %v", name, x[0], x[1])
			}
		}
		if name != "cluster" && (s.Way.Up.Messages < int64(e.Job.Agents) || s.Compressed == 0) {
			t.Errorf("%s: %+v", name, s)
		}
		return
	}
	t.Errorf("no stage %s", name)
}

// A kind that is distinguished by less than its spread is not found, and said.
func TestLostKind(t *testing.T) {
	e, err := measure(job{Agents: 2, Ranks: 20, Bursts: 60, Noise: 15}, &options{Points: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if e.Found == e.Kinds || len(e.Lost) != e.Kinds-e.Found || failures([]*end{e}) == nil {
		t.Errorf("%d of %d, %q", e.Found, e.Kinds, e.Lost)
	}
}

// What an agent receives has every planted burst once, as long as it is.
func TestBlocks(t *testing.T) {
	j := job{Agents: 1, Ranks: 3, Bursts: 3000, Noise: 1, Counters: true}
	bursts, meetings, row := j.of(1), 0, uint64(0)
	for _, b := range j.calls(1) {
		for i, c := range b.Collectives {
			meetings++
			if i > 0 && c.Row <= b.Collectives[i-1].Row || int(c.Row) >= b.Rows || b.Sites[b.Site[c.Row]].Function != uint16(mpicall.Allreduce) {
				t.Fatalf("a meeting in row %d, or they go back", c.Row)
			}
		}
		if b.First != row {
			t.Fatalf("a block begins with row %d, want %d", b.First, row)
		}
		for i, ticks := range b.Burst[:b.Rows] {
			if row++; row == 1 {
				continue // MPI_Init
			}
			want, path := bursts[row-2], b.Sites[b.Site[i]].Path
			if ticks != ticksPerNS*want.ns || int(path) != want.place || b.Counts[0][i] != want.counts[0] || b.Counts[1][i] != want.counts[1] {
				t.Fatalf("row %d: %d ticks at %d, want %+v", row-1, ticks, path, want)
			}
		}
	}
	if int(row) != len(bursts)+1 || meetings != j.iterations() || len(bursts) != j.bursts() {
		t.Errorf("%d rows of %d bursts, %d meetings of %d", row, len(bursts), meetings, j.iterations())
	}
	if functions(len(phases[0])+len(phases[1])) != uint32(mpicall.Allreduce) || functions(0) != 0 {
		t.Error("calls are not where they are made")
	}
}

// An agent that rejects a message ends the measurement.
func TestRefused(t *testing.T) {
	if _, err := newCrowd(job{Agents: 1, Ranks: 1, Bursts: 10, Noise: 1}, cells.Config{Side: -1}); err == nil {
		t.Error("a side below 0 is taken")
	}
	k, err := cells.New(cells.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{stores: []*cells.Store{k}}
	if err := c.Ask(t.Context(), 1, &moriensv1.CellsAsk{}, func(a *moriensv1.CellsAnswer) error {
		if a.Error == "" || !a.Last {
			t.Errorf("%v", a)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// A row for each run, and for each of its stages; every combination of numbers.
func TestTables(t *testing.T) {
	o := options{Agents: "2", Ranks: "4", Bursts: "30", Sides: "0", Points: 1 << 20, noise: 1, one: true}
	var out bytes.Buffer
	if err := o.run(&out); err != nil {
		t.Fatal(err)
	}
	e := new(end)
	if err := json.Unmarshal(out.Bytes(), e); err != nil {
		t.Fatal(err)
	}
	other := *e
	other.Lost, other.Equal, other.Differ, other.SameEps = []string{"one is not there"}, "2 of 3 labels differ", 2, true
	other.Kinds = other.Found + 1
	other.Certificate.Exact, other.Certificate.Units = false, 7
	out.Reset()
	if err := printTables(&out, []*end{e, &other}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 2 | 8 | ", "| yes | ", "| no: 7 units", "| sums | 1 | 2, 2 | ", "one is not there\n", "2 of 3 labels differ\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := failures([]*end{&other}); err == nil || strings.Contains(err.Error(), "certified") {
		t.Error(err)
	}
	other.Certificate.Exact = true
	if err := failures([]*end{&other}); err == nil || !strings.Contains(err.Error(), "certified") {
		t.Error(err)
	}
	o.Agents, o.Sides = "1,2", "0,.5"
	if jobs, sides, err := o.jobs(); err != nil || len(jobs) != 2 || len(sides) != 2 || jobs[1].Agents != 2 || sides[1] != .5 {
		t.Error(jobs, sides, err)
	}
	for _, bad := range []options{{Agents: "0", Ranks: "1", Bursts: "1", Sides: "0"}, {Agents: "1", Ranks: "x", Bursts: "1", Sides: "0"}, {Agents: "1", Ranks: "1", Bursts: "1", Sides: "-1"}} {
		if err := bad.run(&out); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
