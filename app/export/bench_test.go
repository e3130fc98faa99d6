package export

import (
	"fmt"
	"testing"

	"moriens/trace"
	"moriens/trace/rundir"
)

// repeated is a run of 8 ranks with n bursts and as many calls, each with two counters.
func repeated(n int) *trace.Run {
	run := &trace.Run{
		Nodes: []trace.Node{{Name: "node"}}, Worlds: []trace.World{{Executable: "app", Size: 8}},
		CallPaths: []trace.CallPath{{}, {Function: "MPI_Allreduce"}, {Function: "MPI_Sendrecv"}},
		Counters:  []trace.Counter{{Name: "PAPI_TOT_INS"}, {Name: "PAPI_TOT_CYC"}},
		Clusters:  []trace.Cluster{{ID: 1}, {ID: 2}},
	}
	for rank := range 8 {
		k := n / 8
		t := trace.Thread{Rank: rank, EndNS: int64(k) * 100_000}
		t.Calls = trace.Calls{EnterNS: make([]int64, k), ExitNS: make([]int64, k), Path: make([]uint32, k)}
		b := &t.Bursts
		b.StartNS, b.DurationNS, b.Cluster = make([]int64, k), make([]int64, k), make([]int32, k)
		b.Before, b.After, b.Counters = make([]uint32, k), make([]uint32, k), [][]int64{make([]int64, k), make([]int64, k)}
		for i := range k {
			at := int64(i) * 100_000
			noise := int64(i) * 7919 % 997
			t.Calls.EnterNS[i], t.Calls.ExitNS[i], t.Calls.Path[i] = at, at+10_000+noise, uint32(1+i%2)
			b.StartNS[i], b.DurationNS[i], b.Cluster[i] = at+10_000+noise, 90_000-noise, int32(1+i%2)
			b.Before[i], b.After[i] = uint32(1+i%2), uint32(2-i%2)
			b.Counters[0][i], b.Counters[1][i] = 200_000+noise, 180_000+3*noise
		}
		run.Threads = append(run.Threads, t)
		run.DurationNS = t.EndNS
	}
	return run
}

// What each format takes for a burst and a call, and what memory beside the run: -benchtime 1x.
func BenchmarkFormats(b *testing.B) {
	for _, n := range []int{1e6, 1e7} {
		run := repeated(n)
		for _, format := range []string{Paraver, Perfetto, Parquet, CSV} {
			b.Run(fmt.Sprintf("%s/%.0e", format, float64(n)), func(b *testing.B) {
				b.ReportAllocs()
				bytes := 0
				for b.Loop() {
					bytes = 0
					c := Config{Format: format, Out: "x.prv"}
					for _, f := range c.files(run) {
						var size counting
						if err := f.write(&size); err != nil {
							b.Fatal(err)
						}
						bytes += int(size)
					}
				}
				b.ReportMetric(float64(bytes)/float64(n), "B/burst")
				b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds(), "bursts/s")
			})
		}
	}
}

type counting int

func (c *counting) Write(p []byte) (int, error) { *c += counting(len(p)); return len(p), nil }

// What reading a run directory takes: -benchtime 1x.
func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	const n = 1_000_000
	if _, err := rundir.Write(&rundir.Content{Run: repeated(n), Manifest: &rundir.Manifest{}, Clusters: &rundir.Clusters{}}, dir); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := rundir.Read(dir); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "bursts/s")
}
