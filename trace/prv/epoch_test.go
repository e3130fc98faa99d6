package prv

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"os"
	"testing"

	"moriens/internal/testenv"
	"moriens/trace"
)

var epochs = []struct {
	file                                    string
	ranks, bursts, counted, calls, messages int
	lengthSeconds, computingSeconds         float64
	communicators                           int
	firstCounter, lastCounter               string
	sendrecvs                               int
}{
	{"epoch_2proc.prv.gz", 2, 3494, 3492, 3488, 1156, 11.528, 22.91, 3, "PAPI_TOT_INS", "RESOURCE_STALLS", 2568},
	{"epoch_4proc.prv.gz", 4, 7508, 7504, 7496, 2556, 6.082, 23.68, 5, "PAPI_TOT_INS", "RESOURCE_STALLS", 5472},
}

func TestReadsRealTraces(t *testing.T) {
	for _, want := range epochs {
		t.Run(want.file, func(t *testing.T) {
			r, err := ReadFile(testenv.RealTrace(t, want.file), Options{})
			if err != nil {
				t.Fatal(err)
			}
			run := r.Run
			bursts, counted, calls, sendrecvs := 0, 0, 0, 0
			var timeNS int64
			for i := range run.Threads {
				th := &run.Threads[i]
				bursts += th.Bursts.Len()
				calls += th.Calls.Len()
				for k, d := range th.Bursts.DurationNS {
					timeNS += d
					complete := true
					for _, column := range th.Bursts.Counters {
						complete = complete && column[k] != trace.NoCount
					}
					if complete {
						counted++
					}
				}
				for _, p := range th.Calls.Path {
					if run.CallPaths[p].Function == "MPI_Sendrecv" {
						sendrecvs++
						if len(run.CallPaths[p].Frames) == 0 {
							t.Fatalf("rank %d: an MPI_Sendrecv without its callers", th.Rank)
						}
					}
				}
				if first, last := run.CallPaths[th.Calls.Path[0]].Function, run.CallPaths[th.Calls.Path[th.Calls.Len()-1]].Function; first != "MPI_Init" || last != "MPI_Finalize" {
					t.Errorf("rank %d: calls from %s to %s", th.Rank, first, last)
				}
			}
			for _, x := range []struct {
				what      string
				got, want int
			}{
				{"ranks", len(run.Threads), want.ranks}, {"bursts", bursts, want.bursts}, {"bursts with counters", counted, want.counted},
				{"calls", calls, want.calls}, {"messages", len(run.Messages), want.messages}, {"counters", len(run.Counters), 8},
				{"communicators", len(run.Communicators), want.communicators}, {"MPI_Sendrecv", sendrecvs, want.sendrecvs},
			} {
				if x.got != x.want {
					t.Errorf("%s: %d, want %d", x.what, x.got, x.want)
				}
			}
			if got := float64(timeNS) / 1e9; math.Abs(got-want.computingSeconds) > .005 {
				t.Errorf("computing time %.3f s, want %.2f", got, want.computingSeconds)
			}
			if got := float64(run.DurationNS) / 1e9; math.Abs(got-want.lengthSeconds) > .001 {
				t.Errorf("length %.3f s, want %.3f", got, want.lengthSeconds)
			}
			if got := run.Counters[0].Name; got != want.firstCounter {
				t.Errorf("first counter %q, want %q", got, want.firstCounter)
			}
			if got := run.Counters[7].Name; got != want.lastCounter {
				t.Errorf("last counter %q, want %q", got, want.lastCounter)
			}
		})
	}
}

// The second burst of rank 1 of epoch_2proc, by hand from the file.
func TestCountersAreThoseOfTheEnd(t *testing.T) {
	r, err := ReadFile(testenv.RealTrace(t, "epoch_2proc.prv.gz"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &r.Run.Threads[0].Bursts
	if b.StartNS[1] != 4793967 || b.DurationNS[1] != 386486071-4793967 {
		t.Fatalf("burst from %d for %d ns", b.StartNS[1], b.DurationNS[1])
	}
	if ins, cyc := b.Counters[0][1], b.Counters[1][1]; ins != 244054119 || cyc != 254009703 {
		t.Errorf("%d instructions in %d cycles, want 244054119 in 254009703", ins, cyc)
	}
	if after := r.Run.CallPaths[b.After[1]].Function; after != "MPI_Init" {
		t.Errorf("followed by %s, want MPI_Init", after)
	}
}

// What is read from a real trace, written and read again, is the same.
func TestRewritesRealTraces(t *testing.T) {
	for _, e := range epochs {
		r, err := ReadFile(testenv.RealTrace(t, e.file), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Run.Counters {
			r.Run.Counters[i].Unit = ""
		}
		diff(t, r.Run, roundTrip(t, r.Run))
	}
}

func BenchmarkRead(b *testing.B) {
	f, err := os.Open(testenv.RealTrace(b, "epoch_4proc.prv.gz"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		b.Fatal(err)
	}
	for _, mode := range []struct {
		name string
		in   func() io.Reader
	}{
		{"ordered", func() io.Reader { return bytes.NewReader(text) }},
		{"sorting", func() io.Reader { return io.MultiReader(bytes.NewReader(text)) }}, // as after disorder: it cannot go back
	} {
		b.Run(mode.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(mode.in(), Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
