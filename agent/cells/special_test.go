package cells_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/analysis/sequence"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

func newStore(t fataler, config cells.Config) *cells.Store {
	t.Helper()
	k, err := cells.New(config)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return k
}

// one introduces a process of one thread, alone in its world, with a communicator 1 of all ranks.
func one(events ...string) []*moriensv1.ReportRequest {
	return []*moriensv1.ReportRequest{
		request(&moriensv1.Process{Process: 1, Size: 1, Clock: moriensv1.Clock_CLOCK_TSC, Events: events}), request(&moriensv1.Ring{Ring: 2, Process: 1}),
		request(&moriensv1.Communicator{Communicator: 7, Size: 1, First: []int32{0}, Stride: []int32{1}, Count: []uint32{1}}),
		request(&moriensv1.Member{Process: 1, Comm: 1, Communicator: 7}),
		sample(1), sample(2),
	}
}

// rows are calls of one function, without a path, of a ring that counts nothing: the burst before each takes so many
// ns.
func rows(ring, first uint64, ns ...int64) *sectiontest.Rows {
	x := &sectiontest.Rows{Ring: ring, First: first}
	for _, d := range ns {
		x.Add(1, 0, uint64(float64(d)/nsPerTick), 20)
	}
	return x
}

// met are rows of which some are collective calls.
func met(x *sectiontest.Rows, calls ...section.Collective) *sectiontest.Rows {
	x.Collectives = append(x.Collectives, calls...)
	return x
}

func blocks(list ...*sectiontest.Rows) (blocks []*section.Block) {
	for _, x := range list {
		blocks = append(blocks, x.Block())
	}
	return blocks
}

func asked(c *coordinator, body proto.Message) []*moriensv1.CellsAnswer {
	c.t.Helper()
	return c.must(sectiontest.Wrap(new(moriensv1.CellsAsk), body))
}

func unnamed(uint64, uint32, uint32) string { return "" }

// Bursts of 100, 200, 100 and 400 ns, cut by two anchors; then one is lost, and there are 300 more ns.
func TestByHand(t *testing.T) {
	k := newStore(t, cells.Config{By: grouping.ByNone, Side: .1})
	if want := "dims=auto by=auto side=auto min=0s"; k.Spec() != want {
		t.Errorf("%s, want %s", k.Spec(), want)
	}
	k.Add(one(), nil)
	if want := "dims=duration:log by=none side=0.1 min=0s"; k.Spec() != want {
		t.Errorf("%s, want %s", k.Spec(), want)
	}
	k.Add([]*moriensv1.ReportRequest{
		// Communicator 2 is that of another, larger world.
		request(&moriensv1.Communicator{Communicator: 8, Size: 2, First: []int32{0}, Stride: []int32{1}, Count: []uint32{2}}),
		request(&moriensv1.Member{Process: 1, Comm: 2, Communicator: 8}),
	}, blocks(
		met(rows(2, 0, 100, 200, 100, 400), section.Collective{Row: 0, Comm: 1}, section.Collective{Row: 1, Comm: 2}, section.Collective{Row: 2, Comm: 1, Ordinal: 1}),
		met(rows(2, 9, 300), section.Collective{Row: 0, Comm: 1, Ordinal: 5}),
	))
	k.Lost(3)
	c := &coordinator{t: t, store: k, sites: unnamed}
	c.take()
	if a := c.about; a.Bursts != 5 || a.TimeNs != 1100 || a.Lost != 3 || !slices.Equal(a.Anchored, []uint32{1}) || a.Dimensions != "duration:log" {
		t.Errorf("%v", a)
	}
	if len(c.units) != 4 || c.units[0].count != 2 || c.units[3].key[0] != int64(math.Floor(math.Log(300)/.1)) {
		t.Fatalf("units %+v", c.units)
	}
	hashes := asked(c, &moriensv1.CellsRelabel{Step: 1, Begin: true, Unit: []uint32{0, 1, 1, 1}, Label: []int32{5, 6, 7, 8}})[0].GetHashes()
	want := []struct {
		segment uint64
		labels  []int32
	}{{0, []int32{5}}, {1, []int32{6, 5}}, {2, []int32{7}}, {5, []int32{8}}}
	if hashes.Sequences != 1 || !slices.Equal(hashes.Segment, []uint64{0, 1, 1, 3}) {
		t.Fatalf("%v", hashes)
	}
	for i, w := range want {
		if h := sequence.HashOf(w.labels); hashes.High[i] != h[0] || hashes.Low[i] != h[1] || hashes.Threads[i] != 1 {
			t.Errorf("segment %d: %x%x, want the hash of %v", w.segment, hashes.High[i], hashes.Low[i], w.labels)
		}
	}
	// Labels that are not named are kept; one that is left out is not there, and what was empty is not reported.
	hashes = asked(c, &moriensv1.CellsRelabel{Step: 2, Unit: []uint32{2}, Label: []int32{-1}})[0].GetHashes()
	if !slices.Equal(hashes.Segment, []uint64{0, 1, 4}) {
		t.Errorf("%v", hashes)
	}
	hashes = asked(c, &moriensv1.CellsRelabel{Step: 3, Whole: true})[0].GetHashes()
	if h := sequence.HashOf([]int32{5, 6, 5, 8}); len(hashes.Segment) != 1 || hashes.High[0] != h[0] {
		t.Errorf("%v", hashes)
	}
	s := asked(c, &moriensv1.CellsWant{Segment: []uint64{0}, High: hashes.High, Low: hashes.Low})[0].GetSequences()
	if !slices.Equal(s.Runs, []uint32{4}) || !slices.Equal(s.Label, []int32{5, 6, 5, 8}) {
		t.Errorf("%v", s)
	}
}

// Where there is no room for all points those of the largest units go, and these cannot be split; their sums and
// sequences are what they were.
func TestPointsForgotten(t *testing.T) {
	k := newStore(t, cells.Config{By: grouping.ByNone, Side: 1, PointsMax: 4000})
	k.Add(one(), nil)
	row := uint64(0)
	for i := range int64(2000) {
		list := []int64{10_000 + i%100}
		if i%100 == 0 {
			list = append(list, 100_000+i, 1_000_000+i)
		}
		k.Add(nil, blocks(rows(2, row, list...)))
		row += uint64(len(list))
	}
	s := k.Stats()
	if s.Forgotten != 1 || s.PointsBytes > 4000 || s.PointsBytes < 100 {
		t.Fatalf("%+v", s)
	}
	c := &coordinator{t: t, store: k, sites: unnamed}
	c.take()
	if len(c.units) != 3 {
		t.Fatalf("%d units", len(c.units))
	}
	if unknown := c.split([]uint32{0, 1, 2}); !slices.Equal(unknown, []uint32{0}) {
		t.Errorf("unknown: %v, want the crowded one", unknown)
	}
	if len(c.units) != 3+20+20 || c.units[0].count != 2000 || c.units[3].count != 1 || c.units[3].parent == 0 {
		t.Errorf("%d units, %+v", len(c.units), c.units[0])
	}
	k.Add(nil, blocks(rows(2, row, 100_000, 100_001, 10_000)))
	c.take()
	if c.about.Whole || len(c.units) != 3+40+1 || c.units[3].count != 2 || c.units[43].count != 1 || c.units[0].count != 2001 {
		t.Errorf("whole %v, %d units; at a place there are %d bursts", c.about.Whole, len(c.units), c.units[3].count)
	}
	if bytes := k.Stats().PointsBytes; bytes != 0 {
		t.Errorf("places hold %d bytes of points", bytes)
	}
	if again := c.split([]uint32{1}); len(again) > 0 || c.units[3].count != 2 || len(c.units) != 44 {
		t.Errorf("split again: unknown %v, %d bursts at a place, %d units", again, c.units[3].count, len(c.units))
	}
}

// An agent whose answer was broken off does not know what it has reported: the next survey reports everything. Numbers
// of units from before a restart of the agent are refused.
func TestBrokenAnswers(t *testing.T) {
	k := newStore(t, cells.Config{By: grouping.ByNone})
	k.Add(one(), nil)
	k.Add(nil, blocks(rows(2, 0, 100, 200, 300)))
	c := &coordinator{t: t, store: k, sites: unnamed}
	c.take()
	c.take()
	if c.about.Whole {
		t.Fatal("a second survey reports everything")
	}
	broken := errors.New("broken")
	for _, ask := range []*moriensv1.CellsAsk{
		{Body: &moriensv1.CellsAsk_Survey{Survey: &moriensv1.CellsSurvey{After: c.survey}}},
		{Taken: c.survey, Body: &moriensv1.CellsAsk_Split{Split: &moriensv1.CellsSplit{Unit: []uint32{0}}}},
	} {
		if err := k.Answer(ask, func(*moriensv1.CellsAnswer) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("%v, want %v", err, broken)
		}
		c.take()
		if !c.about.Whole {
			t.Errorf("after %v the survey does not report everything", ask)
		}
	}
	if last := c.units[len(c.units)-1]; last.parent != 1 || last.count != 1 || c.units[0].count != 0 {
		t.Errorf("%+v, %+v: want a place of unit 0", c.units[0], last)
	}
	other := &coordinator{t: t, store: newStore(t, cells.Config{}), sites: unnamed}
	other.survey = c.survey
	if _, problem := other.ask(&moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Sum{Sum: &moriensv1.CellsSum{}}}); !strings.Contains(problem, "survey") {
		t.Errorf("%q: want that the survey is of another", problem)
	}
	other.survey = 0
	other.take()
	if !other.about.Whole || other.about.Bursts != 0 {
		t.Errorf("of nothing: %v", other.about)
	}
}

// Each mistake in a request is reported, and nothing changes.
func TestWrongAsks(t *testing.T) {
	k := newStore(t, cells.Config{By: grouping.ByNone})
	k.Add(one(), nil)
	k.Add(nil, blocks(rows(2, 0, 100, 200, 300)))
	c := &coordinator{t: t, store: k, sites: unnamed}
	c.take()
	c.split([]uint32{2})
	split := func(units ...uint32) *moriensv1.CellsAsk {
		return &moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Split{Split: &moriensv1.CellsSplit{Unit: units}}}
	}
	relabel := func(r *moriensv1.CellsRelabel) *moriensv1.CellsAsk {
		return &moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Relabel{Relabel: r}}
	}
	want := func(w *moriensv1.CellsWant) *moriensv1.CellsAsk {
		return &moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Want{Want: w}}
	}
	for name, tt := range map[string]struct {
		ask  *moriensv1.CellsAsk
		says string
	}{
		"nothing":             {&moriensv1.CellsAsk{}, "nothing"},
		"a unit too many":     {split(4), "below 4"},
		"sums that wrap":      {split(1, math.MaxUint32, math.MaxUint32), "below 4"},
		"a unit twice":        {split(1, 0), "ascending"},
		"a place":             {split(3), "is a place"},
		"labels too few":      {relabel(&moriensv1.CellsRelabel{Unit: []uint32{0}}), "0 labels for 1"},
		"a label below -1":    {relabel(&moriensv1.CellsRelabel{Step: 4, Unit: []uint32{0}, Label: []int32{-2}}), "label -2"},
		"columns":             {want(&moriensv1.CellsWant{Segment: []uint64{0}, High: []uint64{1}}), "hashes of 1 and 0"},
		"segments that wrap":  {want(&moriensv1.CellsWant{Segment: []uint64{9, math.MaxUint64}, High: []uint64{1, 1}, Low: []uint64{1, 1}}), "segment 8"},
		"no such sequence":    {want(&moriensv1.CellsWant{Segment: []uint64{0}, High: []uint64{1}, Low: []uint64{1}}), "no sequence"},
		"a segment too many":  {want(&moriensv1.CellsWant{Segment: []uint64{math.MaxUint64}, High: []uint64{1}, Low: []uint64{1}}), "no sequence"},
		"a step that is past": {relabel(&moriensv1.CellsRelabel{Step: 3}), "labelling 3 behind 4"},
	} {
		asked(c, &moriensv1.CellsRelabel{Step: 4, Begin: true})
		if _, problem := c.ask(tt.ask); !strings.Contains(problem, tt.says) {
			t.Errorf("%s: %q, want %q in it", name, problem, tt.says)
		}
	}
	if parts := asked(c, &moriensv1.CellsRelabel{Step: 5}); len(parts[0].GetHashes().High) != 1 {
		t.Errorf("%v: want one sequence", parts)
	}
}

func TestWrongConfig(t *testing.T) {
	for _, config := range []cells.Config{
		{Side: -1}, {Side: math.NaN()}, {Side: math.Inf(1)}, {MinNS: -1}, {PointsMax: -1}, {By: grouping.ByAuto + 1}, {Dims: dimsOf(t, "duration:lin")},
		{Side: 1e-9}, {Side: 2.04e-8}, {Side: 1e-9, Dims: dimsOf(t, "duration:lin,IPC:log")},
	} {
		if _, err := cells.New(config); err == nil {
			t.Errorf("%+v: no error", config)
		}
	}
	for _, config := range []cells.Config{{Dims: dimsOf(t, "duration:lin"), Side: 1}, {Dims: dimsOf(t, "IPC:lin"), Side: 1e-9}} {
		if _, err := cells.New(config); err != nil {
			t.Error(err)
		}
	}
	// The longest burst has a cell of the least side that is allowed.
	k := newStore(t, cells.Config{By: grouping.ByNone, Side: 2.05e-8})
	k.Add(one(), nil)
	k.Add(nil, blocks(rows(2, 0, 1<<52)))
	if s := k.Stats(); s.Units != 1 {
		t.Errorf("%+v: want a burst in a cell", s)
	}
}

// Bursts with a coordinate 2^31 sides or more from 0 are in no cell: they lack data, and their number is reported.
func TestOutside(t *testing.T) {
	k := newStore(t, cells.Config{Dims: dimsOf(t, "duration:lin"), Side: 1e-6}) // 2,147 ns and less have a cell
	k.Add(one(), nil)
	k.Add(nil, blocks(rows(2, 0, 2000, 2400, 2400, 1e6, 0)))
	c := &coordinator{t: t, store: k, sites: unnamed}
	for range 2 {
		c.take()
		if a := c.about; a.Bursts != 5 || a.Missing != 3 || a.MissingNs != 2*2400+1e6 || a.Outside != 3 || len(c.units) != 2 {
			t.Errorf("%v, %d units: want 3 of 5 bursts outside of all cells", a, len(c.units))
		}
	}
	sums := asked(c, &moriensv1.CellsSum{})[0].GetSums()
	if i := slices.Index(sums.Label, grouping.LabelMissing); i < 0 || sums.Count[i] != 3 {
		t.Errorf("%v: want 3 bursts that lack data", sums)
	}
}

// Messages and blocks that are not what they seem are counted, and what follows is taken.
func TestRefused(t *testing.T) {
	spoil := func(f func(b *section.Block)) *section.Block {
		b := rows(2, 0, 1, 2).Block()
		f(b)
		return b
	}
	for name, what := range map[string]any{
		"columns of sites":     spoil(func(b *section.Block) { b.Site = b.Site[:1] }),
		"columns of bursts":    spoil(func(b *section.Block) { b.Burst = b.Burst[:1] }),
		"columns of calls":     spoil(func(b *section.Block) { b.Call = b.Call[:1] }),
		"no rows":              rows(2, 0).Block(),
		"an unknown ring":      rows(3, 0, 1).Block(),
		"an unknown path":      spoil(func(b *section.Block) { b.Sites[0].Path = 4 }),
		"a site too many":      spoil(func(b *section.Block) { b.Site[1] = 1 }),
		"rows outside":         spoil(func(b *section.Block) { b.NoBurst = []uint32{2} }),
		"rows that go back":    spoil(func(b *section.Block) { b.PollsRow, b.Polls = []uint32{1, 0}, []uint64{2, 2} }),
		"no polls":             spoil(func(b *section.Block) { b.PollsRow, b.Polls = []uint32{1}, []uint64{1} }),
		"polls without number": spoil(func(b *section.Block) { b.PollsRow = []uint32{1} }),
		"counts":               spoil(func(b *section.Block) { b.Grow(2, 1) }),
		"ticks":                spoil(func(b *section.Block) { b.Burst[1] = math.MaxUint64 }),
		"rows too many":        rows(2, math.MaxUint32, 1).Block(),
		"a process of none":    request(&moriensv1.Process{Process: 9}),
		"a ring of none":       request(&moriensv1.Ring{Ring: 9, Process: 9}),
		"a path of none":       request(&moriensv1.CallPath{Process: 9}),
		"a member of none":     request(&moriensv1.Member{Process: 9}),
		"a communicator":       request(&moriensv1.Communicator{Communicator: 3, First: []int32{0}}),
		"a collective outside": met(rows(2, 0, 1, 2), section.Collective{Row: 2, Comm: 1}).Block(),
		"ordinals that go back": met(rows(2, 0, 1, 2), section.Collective{Row: 0, Comm: 1, Ordinal: 5},
			section.Collective{Row: 1, Comm: 1, Ordinal: 4}).Block(),
		"rows of anchors that go back": met(rows(2, 0, 1, 2), section.Collective{Row: 1, Comm: 1, Ordinal: 5},
			section.Collective{Row: 0, Comm: 1, Ordinal: 6}).Block(),
		"collectives without rows": met(&sectiontest.Rows{Ring: 2, GapsBefore: []uint64{1}}, section.Collective{Comm: 1}).Block(),
	} {
		k := newStore(t, cells.Config{By: grouping.ByNone})
		k.Add(one(), nil)
		switch what := what.(type) {
		case *moriensv1.ReportRequest:
			k.Add([]*moriensv1.ReportRequest{what}, blocks(rows(2, 0, 1, 2)))
		case *section.Block:
			k.Add(nil, []*section.Block{what, rows(2, 0, 1, 2).Block()})
		}
		if s := k.Stats(); s.Refused != 1 || s.Bursts != 2 {
			t.Errorf("%s: %+v, want one refused, and 2 bursts", name, s)
		}
	}
}

// Counts that are not what they seem are refused, and so are marks or gaps of no ring; those of a ring are no calls.
func TestRefusedCounts(t *testing.T) {
	spoil := func(f func(b *section.Block)) *section.Block {
		x := rows(2, 0, 1, 2)
		x.Counts = [][]int64{{3, 4}}
		b := x.Block()
		f(b)
		return b
	}
	for name, tt := range map[string]struct {
		block   *section.Block
		refused uint64
	}{
		"none":              {rows(2, 0, 1, 2).Block(), 1},
		"of no column":      {spoil(func(b *section.Block) { b.Counts = nil }), 1},
		"a short column":    {spoil(func(b *section.Block) { b.Counts[0] = b.Counts[0][:1] }), 1},
		"rows without":      {spoil(func(b *section.Block) { b.NoCounts = []uint32{2} }), 1},
		"not read outside":  {spoil(func(b *section.Block) { b.NotRead = []section.NotRead{{Row: 2}} }), 1},
		"not read, no such": {spoil(func(b *section.Block) { b.NotRead = []section.NotRead{{Event: 1}} }), 1},
		"not read, back":    {spoil(func(b *section.Block) { b.NotRead = []section.NotRead{{Row: 1}, {Row: 0}} }), 1},
		"marks of no ring":  {&section.Block{Ring: 3, Marks: []section.Mark{{What: section.Event}}}, 1},
		"marks":             {&section.Block{Ring: 2, Marks: []section.Mark{{What: section.Event}}}, 0},
		"gaps":              {&section.Block{Ring: 2, GapsInside: []uint64{7}}, 0},
	} {
		k := newStore(t, cells.Config{By: grouping.ByNone})
		k.Add(one("X"), nil)
		k.Add(nil, []*section.Block{tt.block, spoil(func(*section.Block) {})})
		if s := k.Stats(); s.Refused != tt.refused || s.Bursts != 2 {
			t.Errorf("%s: %+v, want %d refused, and 2 bursts", name, s, tt.refused)
		}
	}
}

// Ticks of half a nanosecond are rounded to nanoseconds, as the collector rounds times: one alone is no burst without a
// duration.
func TestRounded(t *testing.T) {
	k := newStore(t, cells.Config{By: grouping.ByNone})
	k.Add(one(), nil)
	k.Add(nil, blocks(&sectiontest.Rows{Ring: 2, Burst: []uint64{1, 3, 4, 0}, Call: make([]uint64, 4), Function: []uint32{1, 1, 1, 1}}))
	c := &coordinator{t: t, store: k, sites: unnamed}
	c.take()
	if a := c.about; a.Bursts != 4 || a.TimeNs != 1+2+2 || a.Missing != 1 {
		t.Errorf("%v: want 4 bursts of 5 ns, one of them without a logarithm", a)
	}
}

// Calls wait until their clock's rate is known. There is no room for all; the rest is counted.
func TestWaiting(t *testing.T) {
	k := newStore(t, cells.Config{By: grouping.ByNone})
	k.Add(one()[:5], nil)
	many := make([]int64, section.MaxRows)
	for first := uint64(0); first < 1<<20; first += section.MaxRows {
		k.Add(nil, blocks(rows(2, first, many...)))
	}
	if s := k.Stats(); s.Bursts != 0 || s.Lost != 0 {
		t.Errorf("%+v", s)
	}
	k.Add(nil, blocks(rows(2, 1<<20, 7, 7)))
	if s := k.Stats(); s.Bursts != 0 || s.Lost != 2 {
		t.Errorf("%+v: want that 2 are lost", s)
	}
	k.Add([]*moriensv1.ReportRequest{sample(1), sample(2)}, nil)
	if s := k.Stats(); s.Bursts != 1<<20 || s.Lost != 2 {
		t.Errorf("%+v: want %d bursts", s, 1<<20)
	}
}

// Each block of which a definition never arrives counts as refused.
func TestNeverDefinedIsRefused(t *testing.T) {
	k := newStore(t, cells.Config{By: grouping.ByNone})
	k.Add(one()[:5], nil)
	for i := range uint64(3) {
		x := rows(2, i, 100)
		x.Path[0] = 9 // which is not defined
		k.Add(nil, blocks(x))
	}
	k.Add([]*moriensv1.ReportRequest{sample(2)}, blocks(rows(2, 3, 100)))
	if s := k.Stats(); s.Refused != 3 || s.Bursts != 1 {
		t.Errorf("%+v: want 3 blocks refused and one burst", s)
	}
}
