package cells

import "testing"

// A burst that is a little off the edge of its cell is in the unit beside it, and one far from all in none; anchors do
// not count where a thread has none.
func TestBesideTheCell(t *testing.T) {
	one := &reference{dims: 1, side: 1, parts: 9, threads: [][]burst{{{at: []float64{1.01}, ns: 5}}}}
	c := New(&crowd{agents: map[uint64]*reference{1: one}}, quiet)
	if _, err := c.Survey(t.Context(), byNumber{}); err != nil {
		t.Fatal(err)
	}
	if unit, ok := c.Locate(0, 0, []float64{.9999}); !ok || unit != 0 {
		t.Errorf("unit %d, %v", unit, ok)
	}
	if unit, ok := c.Locate(0, 0, []float64{-.1}); ok {
		t.Errorf("unit %d", unit)
	}
	if !c.Whole() {
		t.Error("anchors count, and the thread has none")
	}
}
