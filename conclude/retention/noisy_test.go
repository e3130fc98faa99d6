package retention

import (
	"math/rand/v2"
	"testing"

	"moriens/analysis/grouping"
	kindsplant "moriens/analysis/kinds/plant"
	"moriens/conclude/clustering"
	"moriens/trace"
	"moriens/trace/rundir"
)

// runOf gives planted bursts the calls between them, the last of each iteration, of so many, one of all ranks.
func runOf(p kindsplant.Params, steps int) *trace.Run {
	const inCallNS = 1000
	planted := p.Run()
	run := &trace.Run{
		Nodes: []trace.Node{{Name: "alpha"}}, Worlds: []trace.World{{Executable: "/opt/app", Size: p.Ranks}},
		CallPaths: []trace.CallPath{{}, {Function: "MPI_Allreduce"}}, Communicators: []trace.Communicator{{ID: 1}}, Threads: make([]trace.Thread, p.Ranks),
	}
	paths := map[uint32]uint32{0: 1, planted.After[0]: 1}
	path := func(call uint32) uint32 {
		if paths[call] == 0 {
			paths[call] = uint32(len(run.CallPaths))
			run.CallPaths = append(run.CallPaths, trace.CallPath{Function: "MPI_Sendrecv"})
		}
		return paths[call]
	}
	for rank := range run.Threads {
		run.Communicators[0].Ranks = append(run.Communicators[0].Ranks, rank)
		run.Threads[rank] = trace.Thread{Rank: rank, Calls: trace.Calls{EnterNS: []int64{0}, ExitNS: []int64{inCallNS}, Path: []uint32{1}}}
	}
	perRank := len(planted.DurationNS) / p.Ranks
	for k := range perRank {
		latest := int64(0)
		for rank := range run.Threads {
			t, at := &run.Threads[rank], rank*perRank+k
			b, c, last := &t.Bursts, &t.Calls, t.Calls.Len()-1
			begin, ns := c.ExitNS[last], planted.DurationNS[at]
			b.StartNS, b.DurationNS = append(b.StartNS, begin), append(b.DurationNS, ns)
			b.Before, b.After, b.Cluster = append(b.Before, c.Path[last]), append(b.After, path(planted.After[at])), append(b.Cluster, 0)
			c.EnterNS, c.ExitNS, c.Path = append(c.EnterNS, begin+ns), append(c.ExitNS, begin+ns+inCallNS), append(c.Path, b.After[k])
			latest = max(latest, begin+ns+inCallNS)
		}
		if (k+1)%steps != 0 {
			continue
		}
		for rank := range run.Threads {
			t := &run.Threads[rank]
			t.Calls.ExitNS[k+1] = latest
			c := &t.Collectives
			c.Call, c.Comm, c.Ordinal = append(c.Call, uint32(k+1)), append(c.Comm, 0), append(c.Ordinal, int64(k/steps))
			c.Sent, c.Received, c.Root = append(c.Sent, 8), append(c.Received, 8), append(c.Root, -1)
		}
	}
	for rank := range run.Threads {
		t := &run.Threads[rank]
		t.EndNS = t.Calls.ExitNS[t.Calls.Len()-1]
		run.DurationNS = max(run.DurationNS, t.EndNS)
	}
	return run
}

// Where bursts are disturbed at random, windows give the time of every kind to 2 % where all that is kept gives it to 1
// %, and represent some of it themselves.
func TestWindowsOfNoisyRuns(t *testing.T) {
	const draws = 3
	for _, c := range []struct {
		name        string
		load        kindsplant.Load
		represented float64 // of the time at least, in the mean
	}{
		{"quiet", kindsplant.Quiet, .15}, {"four tasks", kindsplant.Load4, .1}, {"more ranks than cores", kindsplant.EightRanks, .03},
		{"twenty tasks", kindsplant.TwentyTasks, .05}, {"storm", kindsplant.Storm, .005},
	} {
		mean := rundir.Number(0)
		for range draws {
			seed := rand.Uint64()
			run := runOf(kindsplant.FourKinds(seed, 300, c.load), 4)
			if _, err := clustering.Cluster(run, grouping.Options{Workers: 2}); err != nil {
				t.Fatal(err)
			}
			reduced, _ := reduce(t, run, Options{Budget: DefaultBudget, Windows: 2, Outliers: -1, Workers: 2})
			e := reduced.Manifest.Reduction.Error
			if e == nil {
				t.Fatalf("%s, seed %d: no error is stated; missing %q", c.name, seed, reduced.Manifest.Reduction.Missing)
			}
			for i, w := range e.Windows.Clusters {
				if w.ID > 0 && e.Weighted.Clusters[i].Time <= .01 && w.Time > .02 {
					t.Errorf("%s, seed %d: kind %d is off by %.4f from windows, by %.4f by weights", c.name, seed, w.ID, w.Time, e.Weighted.Clusters[i].Time)
				}
			}
			if e.Sources.Nothing > 0 || len(e.Ranks.List) != len(run.Threads) || e.Ranks.Worst == nil {
				t.Fatalf("%s, seed %d: nothing stands for %v of the time; ranks %+v", c.name, seed, e.Sources.Nothing, e.Ranks)
			}
			mean += e.Represented / draws
			t.Logf("%s, seed %d: off by %.4f from windows, at worst %.4f, by %.4f by weights, at worst %.4f; %.3f represented; the worst rank %.4f", c.name, seed,
				e.Windows.Time, e.Windows.WorstTime, e.Weighted.Time, e.Weighted.WorstTime, e.Represented, e.Ranks.Worst.Time)
		}
		if float64(mean) < c.represented {
			t.Errorf("%s: windows represent %.3f of the time, want %g", c.name, mean, c.represented)
		}
	}
}
