package overview_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/trace"
	"moriens/trace/overview"
	"moriens/trace/tracetest"
)

// striped is a run of threads that go round MPI and clusters 1 and 2, which take 20, 50 and 30 % of the time.
func striped(threads, rounds int) *trace.Run {
	run := &trace.Run{Clusters: []trace.Cluster{{ID: 1}, {ID: 2}}, DurationNS: int64(rounds) * 1000}
	for i := range threads {
		t := trace.Thread{Rank: i, EndNS: run.DurationNS}
		for k := range rounds {
			at := int64(k) * 1000
			t.Calls.EnterNS, t.Calls.ExitNS = append(t.Calls.EnterNS, at), append(t.Calls.ExitNS, at+100)
			t.Bursts.StartNS, t.Bursts.DurationNS = append(t.Bursts.StartNS, at+100), append(t.Bursts.DurationNS, 500)
			t.Calls.EnterNS, t.Calls.ExitNS = append(t.Calls.EnterNS, at+600), append(t.Calls.ExitNS, at+700)
			t.Bursts.StartNS, t.Bursts.DurationNS = append(t.Bursts.StartNS, at+700), append(t.Bursts.DurationNS, 300)
			t.Bursts.Cluster = append(t.Bursts.Cluster, 1, 2)
		}
		run.Threads = append(run.Threads, t)
	}
	return run
}

func TestSharesOfCells(t *testing.T) {
	const rounds = 20_000 // 20 of them in a bin
	o := overview.Of(striped(3, rounds), overview.DefaultBytes)
	if o.Bins != 1000 || len(o.Rows) != 3 {
		t.Fatalf("%d bins, rows %v", o.Bins, o.Rows)
	}
	want := map[int]float64{overview.MPI: .2, overview.Cluster + 1: .5, overview.Cluster + 2: .3}
	for row := range o.Rows {
		seen := make(map[int]float64)
		for _, code := range o.Cell[row*o.Bins : (row+1)*o.Bins] {
			seen[int(code)] += 1. / float64(o.Bins)
		}
		for code, share := range want {
			if math.Abs(seen[code]-share) > .002 {
				t.Errorf("row %d: code %d in %.3f of the cells, has %.3f of the time", row, code, seen[code], share)
			}
		}
	}
	for i, share := range o.Share {
		if exact := want[int(o.Cell[i])] * 255; math.Abs(float64(share)-exact) > 9 {
			t.Fatalf("cell %d: code %d has %d/255 of it, should have %.0f", i, o.Cell[i], share, exact)
		}
	}
	for code, share := range want {
		sum := 0.
		for bin := range o.Bins {
			sum += float64(o.Profile[bin*len(o.Codes)+code])
		}
		if exact := share * 3 * rounds * 1e-6; math.Abs(sum-exact) > 1e-6 {
			t.Errorf("code %d: %v s in the profile, want %v", code, sum, exact)
		}
	}
}

func TestManyThreads(t *testing.T) {
	run := striped(3000, 5)
	o := overview.Of(run, overview.DefaultBytes)
	if len(o.Rows) != 1000 || o.Bins < 250 {
		t.Errorf("%d rows, %d bins", len(o.Rows), o.Bins)
	}
	var b bytes.Buffer
	if err := o.Write(&b); err != nil {
		t.Fatal(err)
	}
	if b.Len() > overview.DefaultBytes {
		t.Errorf("%d bytes", b.Len())
	}
	for i := range run.Threads {
		run.Threads[i].Bursts.Cluster = slices.Repeat([]int32{int32(i + 1)}, 10)
		run.Clusters = append(run.Clusters, trace.Cluster{})
	}
	if o := overview.Of(run, overview.DefaultBytes); len(o.Codes) != overview.Cluster+1+overview.MaxClusters || slices.Max(o.Cell) >= uint16(len(o.Codes)) {
		t.Errorf("%d codes for 3,002 clusters", len(o.Codes))
	}
}

// The seconds of all codes are those of all threads, and every cell shows something that is there.
func TestAnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		size := rapid.IntRange(1, 20_000).Draw(t, "bytes")
		o := overview.Of(run, size)
		sums := make([]float64, len(o.Codes))
		for i, s := range o.Profile {
			if s < 0 {
				t.Fatalf("%v s", s)
			}
			sums[i%len(o.Codes)] += float64(s)
		}
		var mpi, bursts float64
		for i := range run.Threads {
			th := &run.Threads[i]
			for k := range th.Calls.EnterNS {
				mpi += float64(th.Calls.ExitNS[k]-th.Calls.EnterNS[k]) / 1e9
			}
			for _, d := range th.Bursts.DurationNS {
				bursts += float64(d) / 1e9
			}
		}
		clustered := 0.
		for _, s := range sums[overview.Noise:] {
			clustered += s
		}
		if far(sums[overview.MPI], mpi) || far(clustered, bursts) {
			t.Fatalf("%v s in MPI, %v in bursts; want %v and %v", sums[overview.MPI], clustered, mpi, bursts)
		}
		comesBack(t, o, len(run.Threads))
		if again := overview.Of(run, size); !cmp.Equal(o, again) {
			t.Fatal("the same run gives another overview")
		}
	})
}

func far(got, want float64) bool { return math.Abs(got-want) > 1e-5*max(1, want) }

func TestDamaged(t *testing.T) {
	run := striped(5, 10)
	var b bytes.Buffer
	if err := overview.Of(run, 1000).Write(&b); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	for n := range len(whole) {
		if _, err := overview.Read(bytes.NewReader(whole[:n]), 5); err == nil {
			t.Fatalf("%d of %d bytes are taken for an overview", n, len(whole))
		}
	}
	if _, err := overview.Read(bytes.NewReader(whole), 6); err == nil || !strings.Contains(err.Error(), "5 threads, 6 are known") {
		t.Errorf("of another run: %v", err)
	}
}

// comesBack writes an overview and reads it.
func comesBack(t rapid.TB, o *overview.Overview, threads int) {
	t.Helper()
	var b bytes.Buffer
	if err := o.Write(&b); err != nil {
		t.Fatal(err)
	}
	read, err := overview.Read(&b, threads)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o, read); diff != "" {
		t.Fatal(diff)
	}
}

// Time with calls that were lost has a code of its own, the last, in a run that has such.
func TestLost(t *testing.T) {
	run := &trace.Run{DurationNS: 1000, Threads: []trace.Thread{{
		EndNS: 1000,
		Calls: trace.Calls{EnterNS: []int64{0, 900}, ExitNS: []int64{100, 1000}, Path: []uint32{0, 0}},
		Lost:  []trace.Span{{BeginNS: 100, EndNS: 900}},
	}}}
	for _, o := range []*overview.Overview{overview.Of(run, overview.DefaultBytes), overview.Part(run, overview.Section{EndNS: 1000, Rows: 1, Bins: 10})} {
		lost := 0
		for _, code := range o.Cell {
			if code == overview.Lost {
				lost++
			} else if code != overview.MPI {
				t.Fatalf("a cell has code %d", code)
			}
		}
		if lost*10 != len(o.Cell)*8 {
			t.Errorf("%d of %d cells are lost", lost, len(o.Cell))
		}
	}
	o := overview.Of(run, overview.DefaultBytes)
	sum := 0.
	for bin := range o.Bins {
		sum += float64(o.Profile[(bin+1)*len(o.Codes)-1])
	}
	if o.Codes[len(o.Codes)-1] != overview.Lost || math.Abs(sum-800e-9) > 1e-12 {
		t.Errorf("codes %v, %v s lost", o.Codes, sum)
	}
}
