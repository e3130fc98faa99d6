package pin

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/internal/anchor"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// A rank is one that a test has do what it likes.
type rank struct {
	t        testing.TB
	store    *store.Store
	agent    *store.Agent
	sequence uint64
	ordinal  uint64
	calls    *sectiontest.Rows
}

func newRank(t testing.TB, s *store.Store, number int32) *rank {
	t.Helper()
	return newRankOf(t, s, number, 2)
}

// newRankOf is a rank of so many.
func newRankOf(t testing.TB, s *store.Store, number int32, size uint32) *rank {
	t.Helper()
	a, _, err := s.Greet(&moriensv1.Hello{Agent: uint64(number) + 1, Host: "alpha"})
	if err != nil {
		t.Fatal(err)
	}
	r := &rank{t: t, store: s, agent: a}
	id := uint64(number) + 100
	r.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
		Process: id, Rank: number, Size: int32(size), Clock: moriensv1.Clock_CLOCK_TSC,
	}}})
	r.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: id, Process: id}}})
	r.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
		Communicator: 1, Id: 7, Size: size, Peers: size, First: []int32{0}, Stride: []int32{1}, Count: []uint32{size},
	}}})
	r.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: id, Comm: 1, Communicator: 1, Rank: uint32(number)}}})
	for _, at := range []uint64{1, 1_000_000_001} {
		r.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
			Clock: moriensv1.Clock_CLOCK_TSC, Ticks: at, MonotonicNs: int64(at),
		}}})
	}
	r.calls = &sectiontest.Rows{Ring: id, Origin: 1000}
	return r
}

func (r *rank) send(m *moriensv1.ReportRequest) {
	r.t.Helper()
	r.sequence++
	m.Sequence = r.sequence
	if _, err := r.store.Apply(r.agent, m); err != nil {
		r.t.Fatal(err)
	}
}

// call is a burst and the call after it.
func (r *rank) call(name string, burst uint64) {
	r.t.Helper()
	id, known := mpicall.ByName(name)
	if !known {
		r.t.Fatal(name)
	}
	if len(r.calls.Function) == section.MaxRows {
		r.flush()
	}
	r.calls.Add(uint32(id), 0, burst, 1000)
	if name == "MPI_Allreduce" || name == "MPI_Barrier" {
		r.calls.Meet(1, r.ordinal, -1, 0, 0)
		r.ordinal++
	}
}

// done hands over what the rank did.
func (r *rank) done() {
	r.t.Helper()
	r.send(r.calls.Message())
}

// iterate has a rank do so many iterations, of which one takes longer by so much.
func iterate(r *rank, iterations, odd int, more uint64) {
	for i := range iterations {
		burst := 100_000 + uint64(i%3)*1000
		if i == odd {
			burst += more
		}
		r.call("MPI_Send", burst)
		r.call("MPI_Recv", 20_000)
		r.call("MPI_Allreduce", 30_000)
	}
}

type keeps struct{ list []wish }

func (k *keeps) Keep(_ context.Context, why moriensv1.Keep_Why, reason string, w []anchor.ID, processes ...uint64) []windows.Kept {
	if why != moriensv1.Keep_WHY_PINNED || len(processes) > 0 {
		panic("not a pin for all")
	}
	k.list = append(k.list, wish{w, reason})
	return nil
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// asRun are the options of a run.
var asRun = grouping.Options{By: grouping.ByAuto, Filter: space.Filter{Auto: true}}

// Phases that make the same calls and compute for other times each have their pin, as they are phases at the run's end.
func TestPhasesOfTheSameCalls(t *testing.T) {
	s := store.New()
	r := newRank(t, s, 0)
	r.call("MPI_Init", 0)
	for phase := range 2 {
		for i := range 60 {
			r.call("MPI_Send", 100_000+uint64(phase)*400_000+uint64(i%3)*1000)
			r.call("MPI_Recv", 200_000)
			r.call("MPI_Allreduce", 300_000)
		}
	}
	r.done()
	list := New(s, nil, asRun, quiet).look()
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	for phase, x := range list {
		for _, w := range x.windows {
			if n := int(w.Anchors()); n/60 != phase {
				t.Errorf("phase %d: pinned behind %d meetings", phase, n)
			}
		}
	}
}

// Where durations show less than the calls, iterations are found by those: with a burst of any length in each there is
// one kind.
func TestNoisyIterations(t *testing.T) {
	s := store.New()
	r := newRank(t, s, 0)
	r.call("MPI_Init", 0)
	random := rand.New(rand.NewPCG(5, 6))
	for range 80 {
		r.call("MPI_Send", 300_000)
		r.call("MPI_Recv", 50_000<<random.IntN(4))
		r.call("MPI_Isend", 250_000)
		r.call("MPI_Wait", 200_000)
		r.call("MPI_Allreduce", 350_000)
	}
	r.done()
	list := New(s, nil, asRun, quiet).look()
	if len(list) != 1 || !strings.HasPrefix(list[0].reason, "represents 80 iterations") {
		t.Errorf("%+v", list)
	}
}

// Of each kind of iterations two are pinned, and those that take long; what is pinned once is not pinned again.
func TestPins(t *testing.T) {
	s := store.New()
	r := newRank(t, s, 0)
	r.call("MPI_Init", 0)
	iterate(r, 60, 41, 900_000)
	for range 30 { // another phase
		r.call("MPI_Bcast", 300_000)
		r.call("MPI_Barrier", 50_000)
	}
	r.done()
	p := New(s, nil, asRun, quiet)
	list := p.look()
	kinds := 0
	var far []anchor.ID
	for _, x := range list {
		if strings.HasPrefix(x.reason, "represents") {
			kinds++
			if len(x.windows) < 2 || len(x.windows) > 3 {
				t.Errorf("%s: windows %v", x.reason, x.windows)
			}
			if slices.Contains(x.windows, anchor.After(41)) {
				t.Errorf("%s: the odd iteration represents the others", x.reason)
			}
		} else {
			far = append(far, x.windows...)
		}
	}
	if kinds != 2 || !slices.Contains(far, anchor.After(41)) || len(far) > 2 {
		t.Errorf("%d kinds of iterations; far windows %v, want %v; %+v", kinds, far, anchor.After(41), list)
	}
	if again := p.look(); len(again) > 0 {
		t.Errorf("pinned again: %+v", again)
	}
}

// Ranks take turns, so that what one of them does oddly is seen; those without meetings say nothing of windows.
func TestTurns(t *testing.T) {
	s := store.New()
	a, b := newRank(t, s, 0), newRank(t, s, 1)
	iterate(a, 40, -1, 0)
	iterate(b, 40, 25, 2_000_000)
	a.done()
	b.done()
	p := New(s, nil, asRun, quiet)
	if list := p.look(); len(list) != 1 || !strings.Contains(list[0].reason, "by rank 0") {
		t.Errorf("%+v", list)
	}
	if list := p.look(); len(list) != 1 || !slices.Contains(list[0].windows, anchor.After(25)) || !strings.Contains(list[0].reason, "rank 1") {
		t.Errorf("%+v", list)
	}
	silent := store.New()
	c := newRank(t, silent, 0)
	for range 40 {
		c.call("MPI_Send", 1000)
	}
	c.done()
	if list := New(silent, nil, asRun, quiet).look(); list != nil {
		t.Errorf("%+v", list)
	}
	if list := New(store.New(), nil, asRun, quiet).look(); list != nil {
		t.Errorf("of nothing: %+v", list)
	}
}

// However many iterations take long, so many are pinned and no more.
func TestPinsAreBounded(t *testing.T) {
	s := store.New()
	r := newRank(t, s, 0)
	for i := range 400 {
		burst := uint64(100_000)
		if i%5 == 0 {
			burst = 2_000_000 + uint64(i)
		}
		r.call("MPI_Send", burst)
		r.call("MPI_Allreduce", 30_000)
	}
	r.done()
	p := New(s, new(keeps), asRun, quiet)
	n := 0
	for range 10 {
		n += len(p.look())
	}
	if n == 0 || n > mostKinds+mostFar {
		t.Errorf("%d pins", n)
	}
}

// A run's pins reach the Requester.
func TestRun(t *testing.T) {
	s := store.New()
	r := newRank(t, s, 0)
	iterate(r, 40, -1, 0)
	r.done()
	k := new(keeps)
	p := New(s, k, asRun, quiet)
	for _, x := range p.look() {
		p.pin(t.Context(), x)
	}
	if len(k.list) != 1 || len(k.list[0].windows) < 2 {
		t.Errorf("%+v", k.list)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	p.Run(ctx) // ends with its context
}
