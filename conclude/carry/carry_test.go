package carry_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/conclude/carry"
	"moriens/internal/mpix"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/tracetest"
)

// The first member gets what the members have of a run's threads unchanged, missing columns included.
func TestRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		if rapid.Bool().Draw(t, "cut") {
			tracetest.Keep(t, run)
		}
		run = tracetest.Completed(t, run)
		for i := range run.Threads {
			for range rapid.IntRange(0, 3).Draw(t, "readings") {
				x := &run.Threads[i].Readings
				if x.Counters == nil {
					x.Counters = make([][]int64, len(run.Counters))
				}
				x.TimeNS = append(x.TimeNS, rapid.Int64().Draw(t, "ns"))
				for c := range x.Counters {
					x.Counters[c] = append(x.Counters[c], rapid.Int64().Draw(t, "count"))
				}
			}
		}
		members := rapid.Int32Range(1, 4).Draw(t, "members")
		of := rapid.SliceOfN(rapid.Int32Range(0, members-1), len(run.Threads), len(run.Threads)).Draw(t, "owners")
		got, errs := make([]*trace.Run, members), make([]error, members)
		var wg sync.WaitGroup
		for rank, m := range mpix.Local(int(members)) {
			own := *run
			own.Threads = slices.Clone(run.Threads)
			for i := range own.Threads {
				if th := &own.Threads[i]; int(of[i]) != rank {
					*th = trace.Thread{World: th.World, Rank: th.Rank, Thread: th.Thread, Node: th.Node, BeginNS: th.BeginNS, EndNS: th.EndNS}
				}
			}
			wg.Go(func() {
				defer m.Close()
				got[rank], errs[rank] = carry.Run(team.Threads{Team: m, Of: of}, &own)
			})
		}
		wg.Wait()
		for rank, err := range errs {
			if err != nil {
				t.Fatalf("member %d: %v", rank, err)
			}
			if (rank == 0) != (got[rank] != nil) {
				t.Fatalf("member %d has %v", rank, got[rank])
			}
		}
		if diff := cmp.Diff(run, got[0]); diff != "" {
			t.Fatal(diff)
		}
	})
}
