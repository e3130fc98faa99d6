package cells_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/analysis/moment"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
	moriensv1 "moriens/proto/moriens/v1"
)

func dimsOf(t fataler, spec string) []space.Dim {
	dims, err := space.Parse(spec)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return dims
}

// At any time and for any messages and blocks, the answers of a Store are those of a plain pass over all of them.
func TestStoreMatchesPlainSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells.Small(t, rapid.SampledFrom([]int{1, 3, 4096}).Draw(t, "rows of a chunk"), rapid.SampledFrom([]int{200, 1 << 20}).Draw(t, "bytes of a part"))
		p := &plain{side: .025, minNS: rapid.SampledFrom([]int64{0, 3}).Draw(t, "shortest")}
		config := cells.Config{MinNS: p.minNS, PointsMax: 1 << 20}
		events := [][]string{nil, {"X"}}
		switch rapid.IntRange(0, 2).Draw(t, "space") {
		case 0: // what is found best without counters
			p.dims, p.byCalls, config.By = dimsOf(t, "duration:log"), true, grouping.ByAuto
		case 1:
			p.dims, p.side = dimsOf(t, "PAPI_TOT_INS:log,IPC"), .01
			config.Dims, config.By, config.Side = p.dims, grouping.ByNone, p.side
			events = [][]string{{"PAPI_TOT_INS", "PAPI_TOT_CYC"}, {"X", "PAPI_TOT_CYC", "PAPI_TOT_INS"}}
		case 2:
			p.dims, p.byCalls, p.side = dimsOf(t, "duration:log,X:log"), true, .1
			config.Dims, config.By, config.Side = p.dims, grouping.ByCalls, p.side
			events = [][]string{{"X"}, {"Y", "X"}}
		}
		j := &job{t: t, gaps: rapid.Bool().Draw(t, "gaps")}
		threads := j.introduce(events)
		if config.Dims != nil { // a process without counters is drawn only where that changes no dimension
			threads = append(threads, j.bystander(200, nil))
		}
		j.work(threads, rapid.IntRange(1, 25).Draw(t, "batches"), append([]string{"Z"}, events[1]...))

		k, err := cells.New(config)
		if err != nil {
			t.Fatal(err)
		}
		x := &check{t: t, plain: p, split: map[string]bool{}, coordinator: &coordinator{t: t, store: k, sites: siteNames(messagesOf(j.list))}}
		x.feed(j, func(bool) {
			if rapid.IntRange(0, 2).Draw(t, "asked") == 0 {
				x.everything()
			}
		})
		x.everything()
		if s := k.Stats(); s.Refused != 0 || s.Bursts > 0 && s.Bytes <= 0 || s.Forgotten != 0 {
			t.Fatalf("%+v", s)
		}
	})
}

// bystander is a process of one thread that has no communicators.
func (j *job) bystander(id uint64, events []string) *thread {
	p := &moriensv1.Process{Process: id, Rank: 3, Size: worldSize, Clock: moriensv1.Clock_CLOCK_TSC, Events: events}
	x := &thread{ring: 10 * id, process: p, ordinals: map[uint32]uint64{}}
	j.say(request(p), request(&moriensv1.Ring{Ring: x.ring, Process: p.Process}))
	for path := range uint32(3) {
		j.say(request(&moriensv1.CallPath{Process: p.Process, Path: path + 1, Frames: []*moriensv1.Frame{{Offset: uint64(path)}}}))
	}
	return x
}

// check compares a Store with what is plain.
type check struct {
	t           *rapid.T
	plain       *plain
	coordinator *coordinator
	split       map[string]bool
	labels      map[string]int32
	step        uint32
}

// feed gives the Store what a job reports, several items at a time, and calls after when it has some.
func (x *check) feed(j *job, after func(last bool)) {
	for rest := j.list; len(rest) > 0; {
		n := rapid.IntRange(1, len(rest)).Draw(x.t, "together")
		blocks := j.blocks(rest[:n])
		x.coordinator.store.Add(messagesOf(rest[:n]), blocks)
		reuse(blocks)
		rest = rest[n:]
		read(x.plain, j.list[:len(j.list)-len(rest)])
		if len(x.plain.processes) > 0 {
			after(len(rest) == 0)
		}
	}
}

func (x *check) everything() {
	if x.coordinator.survey != 0 && rapid.IntRange(0, 4).Draw(x.t, "restart") == 0 {
		x.coordinator.survey = rapid.SampledFrom([]uint64{0, x.coordinator.survey - 1, x.coordinator.survey + 1}).Draw(x.t, "after") // of another life, or of none
	}
	x.coordinator.take()
	x.units()
	if rapid.Bool().Draw(x.t, "split") {
		x.splitSome()
		x.units()
	}
	x.relabel()
	x.sums()
}

// units compares the units.
func (x *check) units() {
	want := x.plain.units(x.split)
	for i := range x.coordinator.units {
		u, name := x.coordinator.units[i], ""
		if u != nil {
			name = x.coordinator.name(i)
		}
		if u == nil || u.count == 0 {
			if !x.split[name] && u != nil {
				x.t.Fatalf("unit %d, %s, has no bursts", i, name)
			}
			continue
		}
		w := want[name]
		if w == nil {
			x.t.Fatalf("unit %d, %s: there is none, or it comes twice", i, name)
		}
		delete(want, name)
		if u.count != w.count || new(big.Int).SetUint64(u.total).Cmp(w.total) != 0 || u.squares.Cmp(w.squares) != 0 {
			x.t.Fatalf("unit %s: %d bursts of %d, %v, want %d of %v, %v", name, u.count, u.total, u.squares, w.count, w.total, w.squares)
		}
		if !slices.Equal(u.lo, w.lo) || !slices.Equal(u.hi, w.hi) {
			x.t.Fatalf("unit %s: %v to %v, want %v to %v", name, u.lo, u.hi, w.lo, w.hi)
		}
		for d := range u.sum {
			if math.Abs(u.sum[d]-w.coords[d]) > 1e-9*math.Abs(w.coords[d])+1e-9 || u.parent != 0 && u.sum[d] != u.lo[d]*float64(u.count) {
				x.t.Fatalf("unit %s: the sum of its coordinates is %v, want %v", name, u.sum, w.coords)
			}
		}
		for c, counter := range x.coordinator.about.Counter {
			s := w.counters[counter]
			if s == nil {
				s = &plainSum{total: new(big.Int), squares: new(big.Int)}
			}
			if c >= len(u.read) || u.read[c] != s.count || u.counter[c].Cmp(s.total) != 0 || u.square[c].Cmp(s.squares) != 0 {
				x.t.Fatalf("unit %s, counter %s: %v, want %+v", name, counter, u, s)
			}
		}
	}
	if len(want) > 0 {
		x.t.Fatalf("units that are not reported: %v", want)
	}
	x.about()
}

// about compares the statements about the node as a whole.
func (x *check) about() {
	a := x.coordinator.about
	var bursts, missing, short, total, missingNS, shortNS uint64
	threads, anchored := map[uint64]uint32{}, map[uint64]uint32{}
	for _, r := range x.plain.rings {
		units := 0
		for _, b := range r.rows {
			switch {
			case !b.burst:
				continue
			case b.status == "missing":
				missing++
				missingNS += uint64(b.ns)
			case b.status == "short":
				short++
				shortNS += uint64(b.ns)
			default:
				units++
			}
			bursts++
			total += uint64(b.ns)
		}
		if units > 0 {
			threads[r.process.Process]++
			if len(r.anchors) > 0 {
				anchored[r.process.Process]++
			}
		}
	}
	got := []uint64{a.Bursts, a.TimeNs, a.Missing, a.MissingNs, a.Short, a.ShortNs}
	if want := []uint64{bursts, total, missing, missingNS, short, shortNS}; !slices.Equal(got, want) {
		x.t.Fatalf("bursts and times: %v, want %v", got, want)
	}
	if len(a.Process) != len(threads) {
		x.t.Fatalf("threads of processes %v, want %v", a.Process, threads)
	}
	for i, process := range a.Process {
		if a.Threads[i] != threads[process] || a.Anchored[i] != anchored[process] {
			x.t.Fatalf("process %d: %d threads, %d with anchors, want %d and %d", process, a.Threads[i], a.Anchored[i], threads[process], anchored[process])
		}
	}
}

func (x *check) splitSome() {
	var units []uint32
	for i, u := range x.coordinator.units {
		if u != nil && u.parent == 0 && rapid.IntRange(0, 3).Draw(x.t, "this one") == 0 {
			units = append(units, uint32(i))
			x.split[x.coordinator.name(i)] = true
		}
	}
	if unknown := x.coordinator.split(units); len(unknown) > 0 {
		x.t.Fatalf("units %v are not known", unknown)
	}
}

// relabel compares hashes, and sequences.
func (x *check) relabel() {
	x.step++
	ask := &moriensv1.CellsRelabel{Step: x.step, Begin: x.labels == nil || rapid.Bool().Draw(x.t, "begin"), Whole: rapid.Bool().Draw(x.t, "whole")}
	if ask.Begin {
		x.labels = map[string]int32{}
	}
	var named []uint32
	for i, u := range x.coordinator.units {
		if u != nil && rapid.Bool().Draw(x.t, "named") {
			named = append(named, uint32(i))
			label := int32(rapid.IntRange(-1, 2).Draw(x.t, "label"))
			ask.Label = append(ask.Label, label)
			x.labels[x.coordinator.name(i)] = label
		}
	}
	ask.Unit = differences(named)
	type key struct {
		segment uint64
		hash    sequence.Hash
	}
	want, pieces := map[key]uint32{}, map[key][]int32{}
	sequences := uint32(0)
	for _, r := range x.plain.rings {
		list := r.pieces(func(b *plainRow) int32 { return x.labels[b.unit(x.split)] }, ask.Whole)
		for _, p := range list {
			k := key{p.segment, sequence.HashOf(p.labels)}
			want[k]++
			pieces[k] = p.labels
		}
		if len(list) > 0 {
			sequences++
		}
	}
	var wanted moriensv1.CellsWant
	var order []key
	last := uint64(0)
	for n, part := range x.coordinator.must(&moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Relabel{Relabel: ask}}) {
		h := part.GetHashes()
		if n == 0 && h.Sequences != sequences {
			x.t.Fatalf("%d sequences, want %d", h.Sequences, sequences)
		}
		segment := uint64(0)
		for i, d := range h.Segment {
			segment += d
			k := key{segment, sequence.Hash{h.High[i], h.Low[i]}}
			if want[k] != h.Threads[i] || segment < last {
				x.t.Fatalf("segment %d, %x: %d threads, want %d of %v", segment, k.hash, h.Threads[i], want[k], want)
			}
			last = segment
			delete(want, k)
			if rapid.Bool().Draw(x.t, "wanted") {
				order = append(order, k)
			}
		}
	}
	if len(want) > 0 {
		x.t.Fatalf("sequences that are not reported: %v", want)
	}
	at := uint64(0)
	for _, k := range order {
		wanted.Segment, wanted.High, wanted.Low = append(wanted.Segment, k.segment-at), append(wanted.High, k.hash[0]), append(wanted.Low, k.hash[1])
		at = k.segment
	}
	var got [][]int32
	var all moriensv1.CellsSequences
	for _, part := range x.coordinator.must(&moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Want{Want: &wanted}}) {
		s := part.GetSequences()
		all.Runs, all.Label, all.Length = append(all.Runs, s.GetRuns()...), append(all.Label, s.GetLabel()...), append(all.Length, s.GetLength()...)
	}
	run := 0
	for _, runs := range all.Runs {
		var labels []int32
		for range runs {
			labels = append(labels, slices.Repeat([]int32{all.Label[run]}, int(all.Length[run]))...)
			run++
		}
		got = append(got, labels)
	}
	if len(got) != len(order) {
		x.t.Fatalf("%d sequences, want %d", len(got), len(order))
	}
	for i, k := range order {
		if !slices.Equal(got[i], pieces[k]) {
			x.t.Fatalf("segment %d, %x: %v, want %v", k.segment, k.hash, got[i], pieces[k])
		}
	}
}

// sums compares level 1.
func (x *check) sums() {
	want := map[string]*plainSums{}
	add := func(key string, ns int64, calls uint64, counts map[string]int64) {
		s := want[key]
		if s == nil {
			s = &plainSums{min: ns, max: ns, counters: map[string]*plainSums{}}
			want[key] = s
		}
		s.add(ns)
		s.calls += calls
		for name, v := range counts {
			if s.counters[name] == nil {
				s.counters[name] = &plainSums{min: v, max: v}
			}
			s.counters[name].add(v)
		}
	}
	for _, r := range x.plain.rings {
		for i := range r.rows {
			b := &r.rows[i]
			add(fmt.Sprintf("%d call %d %d 0", r.id, b.path, b.function), b.callNS, b.calls, nil)
			label := map[string]int32{"short": -2, "missing": -3, "unit": x.labels[b.unit(x.split)]}[b.status]
			if b.burst {
				add(fmt.Sprintf("%d burst %d %d %d", r.id, b.path, b.function, label), b.ns, 1, b.counts)
			}
		}
	}
	counters := x.coordinator.about.Counter
	for _, part := range x.coordinator.must(&moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Sum{Sum: &moriensv1.CellsSum{}}}) {
		m := part.GetSums()
		bursts := 0
		for i, ring := range m.Ring {
			kind := "burst"
			if m.Call[i] {
				kind = "call"
			}
			key := fmt.Sprintf("%d %s %d %d %d", ring, kind, m.Path[i], m.Function[i], m.Label[i])
			w := want[key]
			delete(want, key)
			if w == nil || w.calls != m.Count[i] || !w.equal(m.Records[i], int64(m.TotalNs[i]), m.SquaresLow[i], m.SquaresHigh[i], int64(m.MinNs[i]), int64(m.MaxNs[i])) {
				x.t.Fatalf("%s: row %d of %v, want %+v", key, i, m, w)
			}
			if m.Call[i] {
				continue
			}
			for c, name := range counters {
				k := bursts*len(counters) + c
				s := w.counters[name]
				if s == nil {
					s = new(plainSums)
				}
				if !s.equal(m.Read[k], m.Counter[k], m.CounterSquaresLow[k], m.CounterSquaresHigh[k], m.CounterMin[k], m.CounterMax[k]) {
					x.t.Fatalf("%s: counter %s of row %d of %v, want %+v", key, name, i, m, s)
				}
			}
			bursts++
		}
	}
	if len(want) > 0 {
		x.t.Fatalf("sums that are not reported: %v", want)
	}
}

// plainSums are of some numbers.
type plainSums struct {
	calls, records uint64
	total          int64
	squares        big.Int
	min, max       int64
	counters       map[string]*plainSums
}

func (s *plainSums) add(v int64) {
	s.records++
	s.total += v
	s.squares.Add(&s.squares, new(big.Int).Mul(big.NewInt(v), big.NewInt(v)))
	s.min, s.max = min(s.min, v), max(s.max, v)
}

func (s *plainSums) equal(records uint64, total int64, low, high uint64, least, most int64) bool {
	return s.records == records && s.total == total && s.squares.Cmp(moment.Big([]uint64{low, high})) == 0 && s.min == least && s.max == most
}
