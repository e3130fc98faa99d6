package overview_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/overview"
)

// waiting is striped where of each first call 60 % are a wait at N-to-N, and of each second one 50 % a late sender.
func waiting(threads, rounds int) *trace.Run {
	run := striped(threads, rounds)
	for i := range run.Threads {
		t := &run.Threads[i]
		for call, ns := range t.Calls.EnterNS {
			kind, waited := trace.AtNToN, int64(60)
			if call%2 == 1 {
				kind, waited = trace.LateSender, 50
			}
			t.Waits.Call, t.Waits.Kind = append(t.Waits.Call, uint32(call)), append(t.Waits.Kind, kind)
			t.Waits.UntilNS, t.Waits.For = append(t.Waits.UntilNS, ns+waited), append(t.Waits.For, 0)
		}
	}
	return run
}

// Along a row each kind of wait has the part of the cells that it has of the time; cells and profile are what they are
// without waits.
func TestWaits(t *testing.T) {
	const rounds = 20_000
	run := waiting(3, rounds)
	o, without := overview.Of(run, overview.DefaultBytes), overview.Of(striped(3, rounds), overview.DefaultBytes)
	for row := range o.Rows {
		seen := make(map[trace.WaitKind]float64)
		for at := row * o.Bins; at < (row+1)*o.Bins; at++ {
			if o.Cell[at] == overview.MPI {
				seen[trace.WaitKind(o.Wait[at])] += 1 / float64(o.Bins)
			} else if o.Wait[at] != 0 {
				t.Fatalf("cell %d shows code %d and waits", at, o.Cell[at])
			}
		}
		for kind, share := range map[trace.WaitKind]float64{0: .09, trace.AtNToN: .06, trace.LateSender: .05} {
			if math.Abs(seen[kind]-share) > .003 {
				t.Errorf("row %d: kind %q in %.3f of the cells, has %.3f of the time", row, kind, seen[kind], share)
			}
		}
	}
	want := map[int]float64{int(trace.AtNToN): 60. / 200, int(trace.LateSender): 50. / 200}
	for i, share := range o.Waiting {
		if exact := want[i%trace.WaitKinds] * 255; math.Abs(float64(share)-exact) > 1 {
			t.Fatalf("bin %d: kind %d has %d/255 of the time in MPI, should have %.0f", i/trace.WaitKinds, i%trace.WaitKinds, share, exact)
		}
	}
	if len(o.Waiting) != trace.WaitKinds*o.Bins {
		t.Errorf("%d shares of waits in %d bins", len(o.Waiting), o.Bins)
	}
	comesBack(t, o, 3)
	o.Wait, o.Waiting = nil, nil
	if diff := cmp.Diff(without, o); diff != "" {
		t.Error(diff)
	}
}

// The critical path is in the rows of its threads, with its parts of each bin; of a bin that it is on many rows in, in
// those that have most.
func TestPath(t *testing.T) {
	run := striped(6, 1000)
	bin := run.DurationNS / 1000
	stretch := func(begin, end int64) trace.Stretch { return trace.Stretch{BeginNS: begin, EndNS: end} }
	run.Threads[2].Critical = []trace.Stretch{stretch(0, 3*bin), stretch(4*bin+bin/4, 5*bin)}
	run.Threads[0].Critical = []trace.Stretch{stretch(3*bin, 4*bin+bin/4)}
	shares := []int64{5, 10, 15, 20, 40, 10}
	begin := 5 * bin
	for i, share := range shares {
		end := begin + bin*share/100
		run.Threads[i].Critical = append(run.Threads[i].Critical, stretch(begin, end))
		begin = end
	}
	o := overview.Of(run, overview.DefaultBytes)
	want := overview.Path{Row: make([]uint16, 4*o.Bins), Share: make([]uint8, 4*o.Bins)}
	copy(want.Row, []uint16{2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 1, 2, 3, 4})
	copy(want.Share, []uint8{255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 68, 187, 0, 0, 34, 34, 51, 102})
	if diff := cmp.Diff(want, o.Path); diff != "" {
		t.Error(diff)
	}
	comesBack(t, o, len(run.Threads))
	o.Path = overview.Path{}
	if diff := cmp.Diff(overview.Of(striped(6, 1000), overview.DefaultBytes), o); diff != "" {
		t.Error(diff)
	}
}

// A bin a nanosecond shows to each what the thread does.
func TestWaitsOfPart(t *testing.T) {
	run := waiting(2, 10)
	o := overview.Part(run, overview.Section{First: 1, Last: 1, BeginNS: 2620, EndNS: 3080, Rows: 1, Bins: 460})
	for bin, kind := range o.Wait {
		want := uint8(0)
		switch ns := (o.BeginNS + int64(bin)) % 1000; {
		case ns < 60:
			want = uint8(trace.AtNToN)
		case ns >= 600 && ns < 650:
			want = uint8(trace.LateSender)
		}
		if kind != want {
			t.Fatalf("at %d ns it shows %d, not %d", o.BeginNS+int64(bin), kind, want)
		}
	}
	if len(o.Wait) != 460 || !slices.Contains(o.Wait, uint8(trace.AtNToN)) {
		t.Errorf("%d bins", len(o.Wait))
	}
}

// Members that share the threads of rows draw what one of them alone does.
func TestWaitsShared(t *testing.T) {
	run := waiting(70, 20)
	for i := range run.Threads {
		run.Threads[i].Critical = []trace.Stretch{{BeginNS: int64(i) * 200, EndNS: int64(i+1) * 200}}
	}
	const bytes = 1000 // two threads a row
	of := make([]int32, len(run.Threads))
	for i := range of {
		of[i] = int32(i/3) % 3
	}
	drawn, err := mpixtest.Run(3, func(m team.Team) (*overview.Overview, error) {
		part := *run
		part.Threads = slices.Clone(run.Threads)
		for i := range part.Threads {
			if of[i] != int32(m.Rank()) {
				part.Threads[i] = trace.Thread{Rank: i, EndNS: run.DurationNS, Critical: run.Threads[i].Critical} // which all know
			}
		}
		return overview.Shared(&part, team.Threads{Team: m, Of: of}, bytes)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := overview.Of(run, bytes)
	if len(want.Rows) != 35 || !slices.Contains(want.Wait, uint8(trace.LateSender)) || len(want.Path.Row) == 0 || !slices.Contains(want.Path.Row, 34) {
		t.Fatalf("%d rows, path %v", len(want.Rows), want.Path)
	}
	for rank, o := range drawn {
		if diff := cmp.Diff(want, o); diff != "" {
			t.Errorf("member %d: %s", rank, diff)
		}
	}
}

// Waits and the critical path cost little: the file is no larger than one may be.
func TestWaitsOfManyThreads(t *testing.T) {
	run := waiting(3000, 50)
	for i := range run.Threads { // which all have it, one after the other, in each round
		for round := range int64(50) {
			run.Threads[i].Critical = append(run.Threads[i].Critical, trace.Stretch{BeginNS: round*1000 + int64(i/3), EndNS: round*1000 + int64(i/3) + 1})
		}
	}
	var b bytes.Buffer
	if err := overview.Of(run, overview.DefaultBytes).Write(&b); err != nil {
		t.Fatal(err)
	}
	if b.Len() > overview.DefaultBytes {
		t.Errorf("%d bytes", b.Len())
	}
}
