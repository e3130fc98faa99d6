package levels

import (
	"encoding/json"
	"testing"

	"moriens/internal/golden"
	"moriens/trace"
	"moriens/trace/tracetest"
)

// The words of the run directory, as docs/format describes them.
func TestWords(t *testing.T) {
	run := halo(2, 50, 1, 20)
	table := symbolsOf(t, run, 1)
	phases := periodsOf(t, run, table)
	p := profileOf(t, run, phases, 1)
	s := structureOf(t, run, table, 1)
	_, text := filesOf(t, run, p, s, table)
	golden.Check(t, "structure.json", text)

	spans := spansOf(run, []int{0}, 41, 45)
	kept, _, err := Keep(run, alone, spans, nil, 20, 1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Evaluate(run, Kept{Bursts: kept, Spans: spans, Exact: p.Profile, Structure: s, Table: table, Phases: phases, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if text, err = json.MarshalIndent(f, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "fidelity.json", append(text, '\n'))
}

// A run of nothing has levels of nothing.
func TestNothing(t *testing.T) {
	for name, run := range map[string]*trace.Run{"no threads": {CallPaths: []trace.CallPath{{}}}, "one of everything": tracetest.Small()} {
		table := symbolsOf(t, run, 1)
		p := profileOf(t, run, nil, 1)
		s := structureOf(t, run, table, 1)
		spans := make([][]trace.Span, len(run.Threads))
		kept, _, err := Keep(run, alone, spans, nil, 0, 1)
		if err != nil {
			t.Fatal(name, err)
		}
		f, err := Evaluate(run, Kept{Bursts: kept, Spans: spans, Exact: p.Profile, Structure: s, Table: table, Workers: 1})
		if err != nil {
			t.Fatal(name, err)
		}
		if want := min(1, len(run.Threads)); int(f.Windows.Time) != want || int(f.Weighted.Time) != want {
			t.Errorf("%s: of nothing kept the error is %v and %v", name, f.Windows.Time, f.Weighted.Time)
		}
		_, text := filesOf(t, run, p, s, table)
		if file := parseStructure(t, text); len(file.Threads) != len(run.Threads) {
			t.Errorf("%s: %s", name, text)
		}
	}
}
