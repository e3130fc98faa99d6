package cells_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/analysis/sequence"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// An answer keeps the number of goroutines that it has begun with, even if GOMAXPROCS changes: the agent changes that
// while ranks run.
func TestAnswerKeepsItsGoroutines(t *testing.T) {
	cells.Small(t, 16, 100)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const rings, segments = 8, 5000 // more than one block
	k := newStore(t, cells.Config{By: grouping.ByNone})
	k.Add([]*moriensv1.ReportRequest{
		sample(1), sample(2), request(&moriensv1.Communicator{Communicator: 7, Size: rings, First: []int32{0}, Stride: []int32{1}, Count: []uint32{rings}}),
	}, nil)
	for i := range uint64(rings) {
		k.Add([]*moriensv1.ReportRequest{
			request(&moriensv1.Process{Process: i, Size: rings, Clock: moriensv1.Clock_CLOCK_TSC}), request(&moriensv1.Ring{Ring: i, Process: i}),
			request(&moriensv1.Member{Process: i, Comm: 1, Communicator: 7}),
		}, nil)
		for first := uint64(0); first < segments; first += 1000 {
			x := &sectiontest.Rows{Ring: i, First: first}
			for row := range uint64(1000) {
				x.Add(1, 0, 100/nsPerTick, 20)
				x.Meet(1, first+row, -1, 0, 0)
			}
			k.Add(nil, blocks(x))
		}
	}
	c := &coordinator{t: t, store: k, sites: unnamed}
	c.take()
	wanted := new(moriensv1.CellsWant)
	reported := uint32(0)
	answer := func(body *moriensv1.CellsAsk, take func(*moriensv1.CellsAnswer)) {
		t.Helper()
		runtime.GOMAXPROCS(1)
		body.Taken = c.survey
		if err := k.Answer(body, func(a *moriensv1.CellsAnswer) error {
			runtime.GOMAXPROCS(rings)
			take(a)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	answer(&moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Relabel{Relabel: &moriensv1.CellsRelabel{Begin: true}}}, func(a *moriensv1.CellsAnswer) {
		h := a.GetHashes()
		for i := range h.GetThreads() {
			reported += h.Threads[i]
			wanted.High, wanted.Low = append(wanted.High, h.High[i]), append(wanted.Low, h.Low[i])
			wanted.Segment = append(wanted.Segment, uint64(min(len(wanted.Segment), 1)))
		}
	})
	sequences := 0
	answer(&moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Want{Want: wanted}}, func(a *moriensv1.CellsAnswer) {
		if sequences += len(a.GetSequences().GetRuns()); a.Error != "" {
			t.Error(a.Error)
		}
	})
	if reported != rings*segments || sequences != segments {
		t.Errorf("%d threads in all segments, %d sequences, want %d and %d", reported, sequences, rings*segments, segments)
	}
}

// TestAskWhileMessagesArrive asks while messages arrive. The final report covers all that arrived.
func TestAskWhileMessagesArrive(t *testing.T) {
	cells.Small(t, 16, 1000)
	k := newStore(t, cells.Config{By: grouping.ByNone})
	k.Add(one(), nil)
	const messages = 300
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range uint64(messages) {
			k.Add(nil, blocks(met(rows(2, 2*i, 100+int64(i), 1000), section.Collective{Comm: 1, Ordinal: i})))
		}
	})
	c := &coordinator{t: t, store: k, sites: unnamed}
	look := func() {
		c.take()
		for i, u := range c.units {
			if u.count > 20 && u.parent == 0 {
				c.split([]uint32{uint32(i)})
				break
			}
		}
		asked(c, &moriensv1.CellsRelabel{Begin: true})
		asked(c, &moriensv1.CellsSum{})
		k.Stats()
	}
	for range 20 {
		look()
	}
	wg.Wait()
	look()
	sum := uint64(0)
	for _, u := range c.units {
		sum += u.count
	}
	if sum != 2*messages || c.about.Bursts != sum {
		t.Errorf("%d bursts in units of %d, want %d", sum, c.about.Bursts, 2*messages)
	}
	segments := 0
	for _, part := range asked(c, &moriensv1.CellsRelabel{Begin: true}) {
		segments += len(part.GetHashes().GetSegment())
	}
	if segments != messages+1 {
		t.Errorf("%d segments, want %d", segments, messages+1)
	}
}

// When an agent resumes with what it has kept, some rows arrive again, and others are gone: repeated rows count once,
// and the calls before missing ones are not known.
func TestRowsThatArriveAgain(t *testing.T) {
	k := newStore(t, cells.Config{By: grouping.ByCalls, Side: .1})
	k.Add(one(), nil)
	anchor := func(row uint32, ordinal uint64) section.Collective {
		return section.Collective{Row: row, Comm: 1, Ordinal: ordinal}
	}
	alone := func(row, ordinal uint64) *sectiontest.Rows { // an anchor of whose row the path is not defined
		x := met(rows(2, row, 100), anchor(0, ordinal))
		x.Path[0] = 9
		return x
	}
	k.Add(nil, blocks(
		met(rows(2, 0, 100, 100), anchor(1, 0)), met(rows(2, 1, 100, 100, 100), anchor(0, 0)), // row 1 is there
		alone(8, 4), met(rows(2, 9, 100, 100, 100), anchor(1, 9)), // 4 to 8 are gone
	))
	k.Add(nil, blocks(met(rows(2, 9, 100, 100, 100), anchor(1, 9)), alone(12, 10), rows(2, 13, 100)))
	if s := k.Stats(); s.Refused != 2 || s.Bursts != 8 {
		t.Fatalf("%+v: want 8 bursts, and the rows without a path refused", s)
	}
	c := &coordinator{t: t, store: k, sites: func(_ uint64, _, function uint32) string { return []string{"none", "some"}[function] }}
	c.take()
	if !slices.Equal(c.groups, []string{"none|some", "some|some"}) || c.units[0].count != 3 || c.units[1].count != 5 {
		t.Fatalf("groups %v", c.groups)
	}
	h := asked(c, &moriensv1.CellsRelabel{Begin: true})[0].GetHashes()
	if !slices.Equal(h.Segment, []uint64{0, 1, 8, 1, 1}) { // 9 anchors lie before that of row 10, whatever was before the rows that are gone
		t.Fatalf("%v: want segments 0, 1, 9, 10 and 11", h)
	}
	for i, segment := range []uint64{0, 1, 9, 10, 11} {
		w := &moriensv1.CellsWant{Segment: []uint64{segment}, High: h.High[i : i+1], Low: h.Low[i : i+1]}
		if s := asked(c, w)[0].GetSequences(); !slices.Equal(s.Length, []uint32{uint32([]int{2, 2, 2, 1, 1}[i])}) {
			t.Errorf("segment %d: %v", segment, s)
		}
	}
	sums := asked(c, &moriensv1.CellsSum{})[0].GetSums()
	if !slices.Equal(sums.Count, []uint64{8, 8}) {
		t.Errorf("%v: want 8 bursts and 8 calls", sums)
	}
}

// Sequences are those of the latest labelling, whatever has been split and has arrived since.
func TestSequencesAfterSplit(t *testing.T) {
	cells.Small(t, 2, 1000)
	k := newStore(t, cells.Config{By: grouping.ByNone, Side: .1})
	k.Add(one(), nil)
	k.Add(nil, blocks(rows(2, 0, 1000, 1001, 5000, 1001))) // whole chunks
	c := &coordinator{t: t, store: k, sites: unnamed}
	c.take()
	h := asked(c, &moriensv1.CellsRelabel{Begin: true, Unit: []uint32{0, 1}, Label: []int32{4, 6}})[0].GetHashes()
	c.split([]uint32{0})
	k.Add(nil, blocks(rows(2, 4, 1000, 5000)))
	s := asked(c, &moriensv1.CellsWant{Segment: []uint64{0}, High: h.High, Low: h.Low})[0].GetSequences()
	if !slices.Equal(s.Label, []int32{4, 6, 4}) || !slices.Equal(s.Length, []uint32{2, 1, 1}) {
		t.Errorf("%v: want labels 4 4 6 4", s)
	}
	h = asked(c, &moriensv1.CellsRelabel{Unit: []uint32{2, 1}, Label: []int32{7, 8}})[0].GetHashes()
	want := sequence.HashOf([]int32{7, 8, 6, 8, 7, 6})
	if len(h.High) != 1 || h.High[0] != want[0] || h.Low[0] != want[1] {
		t.Errorf("%v: want the hash of 7 8 6 8 7 6", h)
	}
}
