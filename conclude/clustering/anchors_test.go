package clustering

import (
	"math"
	"reflect"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
	"moriens/internal/team"
	"moriens/trace"
)

// twoRanks is a run in which each rank calls a collective of the world after each burst: rank 0 has bursts of 10, 20
// and 10 us, rank 1 only the last of these.
func twoRanks() *trace.Run {
	run := &trace.Run{
		Worlds: []trace.World{{Size: 2}}, CallPaths: []trace.CallPath{{}, {Function: "MPI_Barrier"}},
		Communicators: []trace.Communicator{{ID: 1, Ranks: []int{0, 1}}, {ID: 2, Ranks: []int{0}}, {ID: 3, Ranks: []int{0, 1}, Window: true}},
	}
	thread := func(rank int, durations ...int64) trace.Thread {
		t := trace.Thread{Rank: rank}
		at := int64(0)
		for i, d := range durations {
			if d > 0 {
				t.Bursts.StartNS = append(t.Bursts.StartNS, at)
				t.Bursts.DurationNS = append(t.Bursts.DurationNS, d)
				t.Bursts.Before, t.Bursts.After = append(t.Bursts.Before, 1), append(t.Bursts.After, 1)
				t.Bursts.Cluster = append(t.Bursts.Cluster, 0)
			}
			at += d
			t.Calls.EnterNS, t.Calls.ExitNS = append(t.Calls.EnterNS, at), append(t.Calls.ExitNS, at+5)
			t.Calls.Path = append(t.Calls.Path, 1)
			c := &t.Collectives
			c.Call, c.Comm, c.Ordinal = append(c.Call, uint32(i)), append(c.Comm, 0), append(c.Ordinal, int64(i))
			c.Sent, c.Received, c.Root = append(c.Sent, 0), append(c.Received, 0), append(c.Root, -1)
			at += 5
		}
		t.EndNS = at
		return t
	}
	run.Threads = []trace.Thread{thread(0, 10_000, 20_000, 10_000), thread(1, 0, 0, 10_000)}
	return run
}

func anchorsOf(t *testing.T, run *trace.Run) [][]sequence.Anchor {
	list, err := anchors(run, team.Threads{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAnchors(t *testing.T) {
	want := [][]sequence.Anchor{
		{{At: 1, Event: 0}, {At: 2, Event: 1}, {At: 3, Event: 2}},
		{{At: 0, Event: 0}, {At: 0, Event: 1}, {At: 1, Event: 2}},
	}
	if got := anchorsOf(t, twoRanks()); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for name, spoil := range map[string]func(*trace.Run){
		"two worlds":               func(r *trace.Run) { r.Worlds = append(r.Worlds, trace.World{Size: 1}) },
		"not all ranks":            func(r *trace.Run) { r.Worlds[0].Size = 3 },
		"a window":                 func(r *trace.Run) { r.Communicators[0].Window = true },
		"numbers that are unknown": func(r *trace.Run) { clear(r.Threads[0].Collectives.Ordinal) },
		"no communicator known": func(r *trace.Run) {
			for i := range r.Threads {
				for k := range r.Threads[i].Collectives.Comm {
					r.Threads[i].Collectives.Comm[k] = -1
				}
			}
		},
	} {
		run := twoRanks()
		spoil(run)
		if got := anchorsOf(t, run); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The collectives say that rank 1's burst is rank 0's third, where the sequences alone would do with the first.
func TestAnchorsDecide(t *testing.T) {
	options := grouping.Options{
		Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}, By: grouping.ByNone, Fixed: &grouping.Density{Eps: .1, MinPts: 1},
	}
	run := twoRanks()
	r, err := Cluster(run, options)
	if err != nil {
		t.Fatal(err)
	}
	// The bursts of 10 us are in two columns either way: 3 of 4. Anchored or not shows only where both would fit.
	if want := (.75*30 + .5*20) / 50; math.Abs(float64(r.Clusters.Score)-want) > 1e-12 {
		t.Errorf("score %v, want %v", r.Clusters.Score, want)
	}
	run = twoRanks()
	run.Threads[1].Collectives.Ordinal = []int64{3, 4, 5} // three others: nothing that rank 0 did is the same
	run.Threads[0].Collectives.Ordinal = []int64{0, 1, 3}
	if r, err = Cluster(run, options); err != nil {
		t.Fatal(err)
	}
	if want := .5; math.Abs(float64(r.Clusters.Score)-want) > 1e-12 {
		t.Errorf("score %v, want %v", r.Clusters.Score, want)
	}
}
