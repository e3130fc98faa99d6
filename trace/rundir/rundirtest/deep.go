package rundirtest

import (
	"fmt"
	"math/rand/v2"

	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// Deep is a program of so many ranks, in which three places call MPI on 16 call paths each, and two on one. Each rank
// takes as long as it happens to. The threads of the run are the ranks.
func Deep(ranks int) *Profiled {
	random := rand.New(rand.NewPCG(3, 8))
	frame := func(function string, line int) trace.Frame {
		return trace.Frame{Module: "app", Offset: uint64(1000*len(function) + line), Function: function, File: "/src/" + function + ".c", Line: line}
	}
	run := &trace.Run{CallPaths: []trace.CallPath{{}}}
	for _, place := range []trace.CallPath{
		{Function: "MPI_Send", Frames: []trace.Frame{frame("comm", 7)}}, {Function: "MPI_Wait", Frames: []trace.Frame{frame("comm", 19)}},
		{Function: "MPI_Wait", Frames: []trace.Frame{frame("synchronise", 5)}},
	} {
		for _, outer := range []string{"solve", "relax", "output", "forces"} {
			for line := range 4 {
				run.CallPaths = append(run.CallPaths, trace.CallPath{Function: place.Function, Frames: []trace.Frame{place.Frames[0], frame(outer, 30+line), frame("main", 9)}})
			}
		}
	}
	run.CallPaths = append(run.CallPaths, trace.CallPath{Function: "MPI_Barrier", Frames: []trace.Frame{frame("main", 3)}}, trace.CallPath{Function: "MPI_Finalize"})
	run.PathNames = run.Names()
	p := &Profiled{Paths: run}
	p.Profile.Format = parquet.ProfileFormat
	p.Profile.Counters = []trace.Counter{{Name: "PAPI_TOT_INS", Unit: "instructions"}, {Name: "PAPI_TOT_CYC", Unit: "cycles"}}
	phases := []string{"", trace.PhasePath("adi"), trace.PhasePath("adi", "x")}
	for r := range ranks {
		run.Threads = append(run.Threads, trace.Thread{Rank: r})
		moved := make(map[string]bool)
		for _, phase := range phases {
			for path := 1; path < len(run.CallPaths); path++ {
				if random.IntN(6) == 0 {
					continue
				}
				ns := 1 + random.Int64N(1_000_000)
				row := parquet.ProfileRow{
					Kind: parquet.ProfileMPI, Rank: int32(r), CallPath: run.PathNames[path], Phase: phase, InPhase: phase != "", Iterations: -1,
					Count: 1 + random.Int64N(9), TimeNS: ns, WholeNS: ns + random.Int64N(9), MinNS: 1 + random.Int64N(5), MaxNS: ns, SquaresNS2: float64(random.IntN(1000)),
				}
				row.Records = row.Count
				if path%5 == 0 { // its bytes are known of the rank alone
					row.InTraffic = true
					moved[row.CallPath] = true
				} else {
					row.SentBytes, row.ReceivedBytes = random.Int64N(1<<20), random.Int64N(9)
				}
				p.Profile.Rows = append(p.Profile.Rows, row)
				row.Kind, row.InTraffic, row.SentBytes, row.ReceivedBytes = parquet.ProfileComputation, false, 0, 0
				row.Cluster, row.Context, row.TimeNS, row.EstimatedNS = int32(path%4), int32(1+path%2), 2*ns, ns/4
				row.OfKind = row.Cluster
				if len(run.CallPaths[path].Frames) < 3 {
					row.Context = -1
				}
				row.Counters = []parquet.ProfileCounter{{Sum: 3 * ns, Min: random.Int64N(9), Max: 10, Missing: int64(path % 2)}, {Sum: 2 * ns, Max: 12, Missing: int64(path % 2)}}
				p.Profile.Rows = append(p.Profile.Rows, row)
			}
		}
		for _, path := range run.PathNames {
			if moved[path] {
				p.Profile.Rows = append(p.Profile.Rows, parquet.ProfileRow{
					Kind: parquet.ProfileTraffic, Rank: int32(r), CallPath: path, Iterations: -1, Count: 3, Records: 3, SentBytes: random.Int64N(1 << 30), ReceivedBytes: 7,
				})
			}
		}
	}
	p.Seal()
	for r := range ranks {
		p.Hosts = append(p.Hosts, rundir.PairsHost{Name: fmt.Sprintf("n%d", r), Ranks: fmt.Sprintf("[%d]", r)})
	}
	return p
}
