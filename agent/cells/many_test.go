package cells_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/analysis/sequence"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// Thousands of segments, in which some ranks do the same and some do not, of rows of thousands of units: the hashes and
// the sequences are those of the rows.
func TestManySegments(t *testing.T) {
	const ranks, perRank, kinds = 5, 30_000, 2000
	k := newStore(t, cells.Config{By: grouping.ByNone, Side: 1e-4})
	k.Add([]*moriensv1.ReportRequest{
		sample(1), sample(2), request(&moriensv1.Communicator{Communicator: 1, Size: ranks, First: []int32{0}, Stride: []int32{1}, Count: []uint32{ranks}}),
	}, nil)
	r := rand.New(rand.NewPCG(3, 4))
	type key struct {
		segment uint64
		hash    sequence.Hash
	}
	want := map[key]uint32{}
	sequences := map[key][]int32{}
	kind := map[int64]int{} // of a duration
	duration := func(kind int) int64 { return 1000 + 10*int64(kind) }
	for n := range kinds {
		kind[duration(n)] = n
	}
	for rank := range uint64(ranks) {
		k.Add([]*moriensv1.ReportRequest{
			request(&moriensv1.Process{Process: rank, Rank: int32(rank), Size: ranks, Clock: moriensv1.Clock_CLOCK_TSC}),
			request(&moriensv1.Ring{Ring: rank, Process: rank}), request(&moriensv1.Member{Process: rank, Comm: 1, Communicator: 1}),
		}, nil)
		x := &sectiontest.Rows{Ring: rank}
		var labels []int32
		segment := uint64(0)
		note := func() {
			if len(labels) > 0 {
				at := key{segment, sequence.HashOf(labels)}
				want[at]++
				sequences[at] = labels
			}
			labels = nil
		}
		for row := range perRank {
			n := row % kinds
			if row < perRank/2 && r.IntN(40) == 0 {
				n = r.IntN(kinds)
			}
			if len(x.Function) == section.MaxRows {
				k.Add(nil, blocks(x))
				x = &sectiontest.Rows{Ring: rank, First: uint64(row)}
			}
			x.Add(1, 0, uint64(float64(duration(n))/nsPerTick), 20)
			if label := int32(n%7) - 1; label >= 0 {
				labels = append(labels, label)
			}
			if row%5 == 3 {
				x.Meet(1, segment, -1, 0, 0)
				note()
				segment++
			}
		}
		note()
		k.Add(nil, blocks(x))
	}
	c := &coordinator{t: t, store: k, sites: unnamed}
	c.take()
	ask := &moriensv1.CellsRelabel{Begin: true}
	for i, u := range c.units {
		ask.Unit = append(ask.Unit, uint32(min(i, 1)))
		ask.Label = append(ask.Label, int32(kind[int64(u.total/u.count)]%7)-1)
	}
	var order []key
	segment := uint64(0)
	parts := asked(c, ask)
	for _, part := range parts {
		h := part.GetHashes()
		segment = 0
		for i, d := range h.Segment {
			segment += d
			at := key{segment, sequence.Hash{h.High[i], h.Low[i]}}
			if want[at] != h.Threads[i] {
				t.Fatalf("segment %d, %x: %d threads, want %d", segment, at.hash, h.Threads[i], want[at])
			}
			delete(want, at)
			order = append(order, at)
		}
	}
	if len(want) > 0 || len(order) < perRank/5 || !slices.IsSortedFunc(order, func(a, b key) int { return int(a.segment) - int(b.segment) }) {
		t.Fatalf("%d sequences are reported, and %d are not", len(order), len(want))
	}
	w := &moriensv1.CellsWant{}
	last := uint64(0)
	for _, at := range order {
		w.Segment, w.High, w.Low = append(w.Segment, at.segment-last), append(w.High, at.hash[0]), append(w.Low, at.hash[1])
		last = at.segment
	}
	at := 0
	for _, part := range asked(c, w) {
		s := part.GetSequences()
		for _, runs := range s.Runs {
			var labels []int32
			for i := range runs {
				labels = append(labels, slices.Repeat([]int32{s.Label[i]}, int(s.Length[i]))...)
			}
			s.Label, s.Length = s.Label[runs:], s.Length[runs:]
			if !slices.Equal(labels, sequences[order[at]]) {
				t.Fatalf("segment %d: %v, want %v", order[at].segment, labels, sequences[order[at]])
			}
			at++
		}
	}
	if at != len(order) {
		t.Fatalf("%d sequences, want %d", at, len(order))
	}
}

// So many groups that no message has room for all: they arrive in parts, each once and in order, and so do later ones.
func TestManyGroups(t *testing.T) {
	const functions = 50
	cells.Small(t, 4096, 10_000)
	k := newStore(t, cells.Config{By: grouping.ByCalls})
	k.Add(one(), nil)
	c := &coordinator{t: t, store: k, most: 12_500, sites: func(_ uint64, _, function uint32) string { return fmt.Sprint(function) }}
	var want []string
	seen, row, before := map[string]bool{}, uint64(0), uint32(0)
	add := func(from, to int) {
		x := &sectiontest.Rows{Ring: 2, First: row}
		for a := from; a < to; a++ {
			for b := range functions {
				for _, function := range []uint32{uint32(a + 1), uint32(b + 1)} {
					if len(x.Function) == section.MaxRows {
						k.Add(nil, blocks(x))
						x = &sectiontest.Rows{Ring: 2, First: row}
					}
					x.Add(function, 0, 1000, 20)
					if name := fmt.Sprint(before, "|", function); row > 0 && !seen[name] {
						seen[name] = true
						want = append(want, name)
					}
					before = function
					row++
				}
			}
		}
		k.Add(nil, blocks(x))
	}
	for _, more := range [][2]int{{0, functions - 1}, {functions - 1, functions}} {
		add(more[0], more[1])
		c.take()
		groups := slices.DeleteFunc(slices.Clone(c.groups), func(name string) bool { return !seen[name] }) // except those without a call before
		if !slices.Equal(groups, want) {
			t.Fatalf("%d groups, want %d", len(groups), len(want))
		}
	}
	if len(want) < 2000 || len(c.units) < len(want) {
		t.Errorf("%d groups, %d units", len(want), len(c.units))
	}
}
