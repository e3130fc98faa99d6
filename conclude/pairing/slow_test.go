package pairing

import (
	"testing"

	"moriens/conclude/blame"
	"moriens/trace/rundir"
)

// apart makes the way of pairs longer.
func (m *machine) apart(factor int64, slow func(a, b int) bool) {
	usual := m.way
	m.way = func(a, b int, bytes int64) int64 {
		if slow(a, b) {
			return factor * usual(a, b, bytes)
		}
		return usual(a, b, bytes)
	}
}

func TestSlowPair(t *testing.T) {
	m := newMachine(12, 3)
	m.apart(30, func(a, b int) bool { return min(a, b) == 7 && max(a, b) == 10 })
	talk(m, random(t), 100, 1, 3)
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsSlowLink, []int{7, 10}, "7–10 takes 30", "what other pairs between nodes take for 32 KiB", "from n2 to n3")
	for _, f := range p.File.Findings[1:] {
		if f.Kind == rundir.PairsSlowLink || f.Kind == rundir.PairsSlowNode {
			t.Errorf("%+v", f)
		}
	}
}

// All pairs of a slow host are one finding.
func TestSlowHost(t *testing.T) {
	m := newMachine(16, 4)
	m.apart(8, func(a, b int) bool { return m.node[a] != m.node[b] && (m.node[a] == 2 || m.node[b] == 2) })
	talk(m, random(t), 100, 4, 8)
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsSlowNode, []int{8, 9, 10, 11}, "node n2 is slow: all its 8 pairs with other nodes take 8")
	for _, f := range p.File.Findings[1:] {
		if f.Kind == rundir.PairsSlowLink || f.Kind == rundir.PairsSlowNode {
			t.Errorf("%+v", f)
		}
	}
}

// A wavefront of 64 ranks with a slow pair on one node: the third. Between nodes nothing is slow.
func TestWaveWithSlowPair(t *testing.T) {
	m := newMachine(64, 16)
	m.apart(200, func(a, b int) bool { return min(a, b) == 21 && max(a, b) == 22 })
	r := random(t)
	wave(m, 8, 40, func(int) int64 { return 100_000 + r.Int64N(1000) }, func(int, int) int64 { return 4096 })
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsSlowLink, []int{21, 22}, "21–22 takes 200 × what other pairs within a node take for 4 KiB, on n1")
}
