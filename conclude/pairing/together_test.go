package pairing

import (
	"slices"
	"testing"

	"moriens/conclude/blame"
	"moriens/trace/rundir"
)

// sizedHalo exchanges halos of several sizes on a torus of 4 × 4 ranks: each call completes eight messages.
func sizedHalo(t *testing.T, m *machine, iterations int, sizes ...int64) *Pairing {
	t.Helper()
	return unevenHalo(t, m, 5000, iterations, sizes...)
}

// unevenHalo is a sizedHalo whose ranks compute up to so many ns longer than others.
func unevenHalo(t *testing.T, m *machine, longer int64, iterations int, sizes ...int64) *Pairing {
	t.Helper()
	r := random(t)
	m.eager = 2 << 20
	for i := range iterations {
		for rank := range 16 {
			m.do(rank, compute(500_000+r.Int64N(longer)))
			m.do(rank, exchange(sizes[i%len(sizes)], around(rank, 4, 4)...)...)
		}
	}
	return measured(t, m.run(t), blame.Options{})
}

var haloSizes = []int64{8192, 65536, 1024, 262144}

// onlySlow tests that no other link or node is said to be slow, and no pair heavy.
func onlySlow(t *testing.T, p *Pairing) {
	t.Helper()
	for i, f := range p.File.Findings {
		if f.Kind != rundir.PairsPlacing && i > 0 {
			t.Errorf("%+v", f)
		}
	}
}

func TestCleanHaloOfSizes(t *testing.T) {
	p := sizedHalo(t, newMachine(16, 4), 160, haloSizes...)
	none(t, p)
	for _, l := range p.File.Lines { // within a node calls may wait for messages from other nodes
		least, most := .18, .22
		if l.SameNode {
			least = .09
		}
		if perByte := 1e9 / float64(l.Bandwidth); !(perByte > least && perByte < most) || !l.AtMost {
			t.Errorf("%g ns a byte, want %g to %g: %+v", perByte, least, most, l)
		}
	}
}

// All messages that the two ranks receive are completed together with those that the slow link delays, and others wait
// for both ranks.
func TestSlowPairOfWaitall(t *testing.T) {
	m := newMachine(16, 4)
	m.apart(30, func(a, b int) bool { return min(a, b) == 7 && max(a, b) == 11 })
	p := sizedHalo(t, m, 160, haloSizes...)
	firstIs(t, p, rundir.PairsSlowLink, []int{7, 11}, "7–11 takes ", "what other pairs between nodes take", "from n1 to n2")
	onlySlow(t, p)
}

func TestSlowPairWithinANodeOfWaitall(t *testing.T) {
	m := newMachine(16, 4)
	m.apart(60, func(a, b int) bool { return min(a, b) == 5 && max(a, b) == 6 })
	p := sizedHalo(t, m, 160, haloSizes...)
	firstIs(t, p, rundir.PairsSlowLink, []int{5, 6}, "5–6 takes ", "what other pairs within a node take", "on n1")
	onlySlow(t, p)
}

// For which of its slow links a rank waits last changes where ranks compute for different times: else some draws show
// half of the node's links alone, which proves nothing about the node.
func TestSlowHostOfWaitall(t *testing.T) {
	m := newMachine(16, 4)
	m.apart(20, func(a, b int) bool { return m.node[a] != m.node[b] && (m.node[a] == 2 || m.node[b] == 2) })
	p := unevenHalo(t, m, 50_000, 160, haloSizes...)
	firstIs(t, p, rundir.PairsSlowNode, nil, "node n2 is slow: ", "with other nodes take ")
	onlySlow(t, p)
}

// Ranks with slow links seem to have no other ones: their node is not slow, as its other ranks may be quick.
func TestSlowLinksAreNoSlowHost(t *testing.T) {
	for _, slow := range [][][2]int{{{0, 3}, {4, 5}, {8, 9}, {12, 13}}, {{0, 4}, {3, 15}, {4, 7}}} {
		m := newMachine(16, 4)
		m.apart(50, func(a, b int) bool { return slices.Contains(slow, [2]int{min(a, b), max(a, b)}) })
		p := sizedHalo(t, m, 160, haloSizes...)
		if list := kinds(p); slices.Contains(list, rundir.PairsSlowNode) || !slices.Contains(list, rundir.PairsSlowLink) {
			t.Errorf("%v: %v", slow, list)
		}
	}
}

func TestOddSizeOfWaitall(t *testing.T) {
	m := newMachine(16, 16)
	m.way = func(a, b int, bytes int64) int64 {
		if bytes == 7040 {
			bytes = 164032
		}
		return 1500 + bytes*2
	}
	p := sizedHalo(t, m, 160, 64, 512, 1024, 3456, 7040, 16384, 65536, 164032)
	firstIs(t, p, rundir.PairsIrregular, nil, "messages of 7,040 B within a node take", "as long as 164,032 B")
}
