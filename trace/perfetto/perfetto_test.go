package perfetto

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/trace"
	"moriens/trace/perfetto/perfettotest"
	"moriens/trace/tracetest"
)

func written(t perfettotest.T, run *trace.Run) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := Write(&file, run); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestHoldsTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		if rapid.Bool().Draw(t, "windows") {
			tracetest.Keep(t, run)
		}
		file := written(t, run)
		perfettotest.Compare(t, run, file)
		if !bytes.Equal(file, written(t, tracetest.Completed(t, run))) {
			t.Fatal("what completed collectives, and starts of persistent ones, change the file")
		}
	})
}

// One of everything, kept windows and one-sided transfers included.
func TestSmall(t *testing.T) {
	run := tracetest.Small()
	run.Threads[0].Transfers = trace.Transfers{
		Call: []uint32{1, 3, 3, 4}, Kind: []trace.TransferKind{trace.Sent, trace.Received, trace.Put, trace.Written}, Peer: []int32{1, 1, 2, -1},
		PeerWorld: []int32{0, 0, 1, 0}, Tag: []int32{7, 8, -1, -1}, Comm: []int32{0, 0, -1, -1}, Bytes: []int64{4096, 10, 1 << 40, 5}, Done: []int32{1, 3, 3, 4},
	}
	run.Threads[0].Calls.Count = []int64{1, 1, 30, 1, 1}
	run.Threads[3].Bursts.Weight = []float64{2.5}
	run.Windows = []trace.Window{
		{BeginNS: 400_000, EndNS: 6_000_000, Threads: []int{0, 1}, Phase: 2, Why: trace.Outlier, Reason: "ranks 0-1, \"far\" off\nthe rest"},
		{BeginNS: 5_000_000, EndNS: 9_000_000, Threads: []int{0}, Phase: -1, Why: trace.Fallback, Reason: "→"},
	}
	run.Threads[0].Kept = []trace.Span{{BeginNS: 400_000, EndNS: 5_000_000}, {BeginNS: 5_000_000, EndNS: 8_500_000, Window: 1}}
	run.Threads[1].Kept = []trace.Span{{BeginNS: 2000, EndNS: 9_100_000}}
	perfettotest.Compare(t, run, written(t, run))
}

// A wait is a slice in its call, on the same track; the critical path has one of its own.
func TestWaits(t *testing.T) {
	for _, run := range []*trace.Run{tracetest.Waiting(), tracetest.WaitingWindows()} {
		file := written(t, run)
		perfettotest.Compare(t, run, file)
		d := perfettotest.Decode(t, file)
		path := make(map[uint64]bool)
		for _, s := range d.Slices {
			path[s.Track] = path[s.Track] || s.Category == "critical path"
		}
		for _, s := range d.Slices {
			if s.Category != "critical path" && path[s.Track] {
				t.Errorf("%s %s is on the track of the critical path", s.Category, s.Name)
			}
			if s.Category != "wait" {
				continue
			}
			if !slices.ContainsFunc(d.Slices, func(c *perfettotest.Event) bool {
				return c.Category == "mpi" && c.Track == s.Track && c.BeginNS == s.BeginNS && s.EndNS <= c.EndNS
			}) {
				t.Errorf("%s, %d to %d ns, lies in no call", s.Name, s.BeginNS, s.EndNS)
			}
		}
	}
}

// Where a thread is running inside MPI, bursts and calls have tracks of their own, on which slices do not overlap.
func TestOverlaps(t *testing.T) {
	run := tracetest.Small()
	run.Threads[0].Calls.EnterNS[1] -= 100_000 // in the burst before it
	file := written(t, run)
	perfettotest.Compare(t, run, file)
	d := perfettotest.Decode(t, file)
	tracks := make(map[string]map[uint64]bool)
	for _, s := range d.Slices {
		if d.ThreadOf(t, s.Track) == "world 0 rank 0 thread 0" {
			if tracks[s.Category] == nil {
				tracks[s.Category] = make(map[uint64]bool)
			}
			tracks[s.Category][s.Track] = true
		}
	}
	for call := range tracks["mpi"] {
		if len(tracks["mpi"]) != 1 || len(tracks["burst"]) != 1 || tracks["burst"][call] {
			t.Errorf("tracks: %v", tracks)
		}
	}
}

// IPC and counters by time are tracks of their thread: the value over each burst, and nothing after it.
func TestRates(t *testing.T) {
	run := tracetest.Small()
	run.Counters[1] = trace.Counter{Name: "PAPI_TOT_CYC", Unit: "cycles"}
	d := perfettotest.Decode(t, written(t, run))
	got := make(map[string]string)
	for id, counts := range d.Counts {
		if name := d.ThreadOf(t, id); name == "world 0 rank 1 thread 0" {
			var text string
			for _, c := range counts {
				text += fmt.Sprintf(" %d:%g", c.BeginNS, c.Value)
			}
			got[d.Tracks[id].Name+" "+d.Tracks[id].Unit] = text
		}
	}
	instructions, cycles, ns := 20_000_000., 7., 6_850_000.
	want := map[string]string{
		"IPC instructions/cycle":                 fmt.Sprintf(" 2150000:%g 9000000:0", instructions/cycles),
		"PAPI_TOT_INS per second instructions/s": fmt.Sprintf(" 2150000:%g 9000000:0", instructions/ns*1e9),
		"PAPI_TOT_CYC per second cycles/s":       fmt.Sprintf(" 2150000:%g 9000000:0", cycles/ns*1e9),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestRefusesBadRuns(t *testing.T) {
	for _, tt := range []struct {
		spoil func(*trace.Run)
		want  string
	}{
		{func(r *trace.Run) { r.Threads[0].Bursts.DurationNS[0] += 1_000_000 }, "world 0 rank 0 thread 0: burst 1"},
		{func(r *trace.Run) { r.Threads[0].Calls.ExitNS[4] = 1 }, "MPI call 4 (8000000 to 1 ns)"},
		{func(r *trace.Run) { r.Messages[0].To = 7 }, "message 0: no such thread"},
		{func(r *trace.Run) { r.Threads[3].Bursts.Counters = nil }, "world 1 rank 2 thread 0: 0 columns"},
	} {
		run := tracetest.Small()
		tt.spoil(run)
		if err := Write(io.Discard, run); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
	if err := Write(failing{}, tracetest.Small()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("error %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func BenchmarkWrite(b *testing.B) {
	run := tracetest.Small()
	t := &run.Threads[3]
	const n = 100_000
	for range n {
		now := t.EndNS
		t.Calls.EnterNS, t.Calls.ExitNS = append(t.Calls.EnterNS, now+2000), append(t.Calls.ExitNS, now+2500)
		t.Calls.Path = append(t.Calls.Path, 2)
		x := &t.Bursts
		x.StartNS, x.DurationNS = append(x.StartNS, now), append(x.DurationNS, 2000)
		x.Before, x.After, x.Cluster = append(x.Before, 2), append(x.After, 2), append(x.Cluster, 2)
		for k := range x.Counters {
			x.Counters[k] = append(x.Counters[k], 123456)
		}
		t.EndNS = now + 2500
	}
	t.Bursts.Phase = nil
	var size counting
	b.ReportAllocs()
	for b.Loop() {
		size = 0
		if err := Write(&size, run); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size)/n, "B/pair")
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "pairs/s")
}

type counting int

func (c *counting) Write(p []byte) (int, error) { *c += counting(len(p)); return len(p), nil }
