package main

import (
	"fmt"
	"os"

	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir/rundirtest"
)

// Of each rank: phases, and rows of calls and of bursts in each.
const (
	phases = 10
	calls  = 20
	bursts = 10
)

// plant writes a run directory whose profile has so many ranks, and returns how many rows that has.
func plant(dir string, ranks int) (rows int, err error) {
	p := rundirtest.Profile(4)
	p.Profile.Rows = make([]parquet.ProfileRow, 0, ranks*phases*(calls+bursts+2))
	counters := make([]parquet.ProfileCounter, len(p.Profile.Counters))
	for i := range counters {
		counters[i].Sum = int64(1000 * (i + 1))
	}
	var paths [phases][calls + bursts]string
	var names [phases]string
	for phase := range phases {
		names[phase] = trace.PhasePath("step", fmt.Sprint("phase ", phase))
		for k := range paths[phase] {
			paths[phase][k] = fmt.Sprintf("MPI_Send@halo.c:%d", 10*phase+k)
		}
	}
	for r := range ranks {
		for phase := range phases {
			for k := range calls + bursts {
				row := parquet.ProfileRow{
					Kind: parquet.ProfileMPI, Rank: int32(r), CallPath: paths[phase][k], InPhase: true, Phase: names[phase], Context: -1, Iterations: int32(k%3 - 1),
					Count: 100, Records: 100, TimeNS: int64(1_000_000 + r*31%977*100 + k), MinNS: 1, MaxNS: 100, SquaresNS2: 1e9, SentBytes: 1 << 20,
				}
				if k >= calls {
					row.Kind, row.Cluster, row.Context, row.Counters = parquet.ProfileComputation, int32(k-calls+1), 1, counters
				}
				row.WholeNS = row.TimeNS
				p.Profile.Rows = append(p.Profile.Rows, row)
			}
		}
	}
	p.Seal()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	return len(p.Profile.Rows), rundirtest.WriteProfile(dir, p, p.Manifest())
}
