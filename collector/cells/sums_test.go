package cells

import (
	"strings"
	"testing"

	"moriens/analysis/grouping"
	moriensv1 "moriens/proto/moriens/v1"
)

// Sums are by the labels that were given, whatever numbers these have on the way.
func TestSums(t *testing.T) {
	at := func(v float64, ns uint64) burst { return burst{at: []float64{v}, ns: ns} }
	all := &crowd{agents: map[uint64]*reference{
		1: {dims: 1, side: 1, parts: 2, threads: [][]burst{{at(.1, 1), at(1.1, 2), at(2.1, 4), at(.2, 8)}}},
		2: {dims: 1, side: 1, parts: 2, threads: [][]burst{{at(1.3, 16)}, {at(3.3, 32)}}},
	}}
	c := New(all, quiet)
	if _, err := c.Survey(t.Context(), byNumber{}); err != nil {
		t.Fatal(err)
	}
	type row struct {
		agent, ring uint64
		label       int32
	}
	for _, labels := range [][]int32{{1, -1, -2, 2}, {-2, -1, 3, 3}} {
		if err := c.Label(t.Context(), labels); err != nil {
			t.Fatal(err)
		}
		got := make(map[row]uint64)
		if err := c.Sums(t.Context(), func(agent uint64, m *moriensv1.CellsSums) error {
			for i, label := range m.Label {
				got[row{agent, m.Ring[i], label}] += m.TotalNs[i]
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		want := map[row]uint64{{1, 0, labels[0]}: 9, {1, 0, labels[1]}: 2, {1, 0, labels[2]}: 4, {2, 0, labels[1]}: 16, {2, 1, labels[3]}: 32}
		if len(got) != len(want) {
			t.Errorf("%v, want %v", got, want)
		}
		for r, ns := range want {
			if got[r] != ns {
				t.Errorf("%v: %+v has %d ns, want %d", labels, r, got[r], ns)
			}
		}
	}
	for _, labels := range [][]int32{{1, 2, 3}, {0, 1, 1, 1}, {grouping.LabelMissing, 1, 1, 1}} {
		if err := c.Label(t.Context(), labels); err == nil || !strings.Contains(err.Error(), "label") {
			t.Errorf("labels %v: %v", labels, err)
		}
	}
}

// What take refuses is its own affair, and no agent's.
func TestSumsAreRefused(t *testing.T) {
	all := &crowd{agents: map[uint64]*reference{1: {dims: 1, side: 1, parts: 2, threads: [][]burst{{{at: []float64{1}, ns: 1}}}}}}
	c := New(all, quiet)
	if _, err := c.Survey(t.Context(), byNumber{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Sums(t.Context(), func(uint64, *moriensv1.CellsSums) error { return errNone }); err != errNone || len(c.Left()) > 0 {
		t.Error(err, c.Left())
	}
	if states := c.AgentStates(); len(states) != 1 || states[0] != (AgentState{Agent: 1}) {
		t.Errorf("%+v", states)
	}
}
