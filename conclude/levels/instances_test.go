package levels

import (
	"fmt"
	"slices"
	"testing"

	"moriens/analysis/phase"
	"moriens/trace"
	"moriens/trace/parquet"
)

// However little room there is, all records are gone through twice at most, the rows are no more than there is room
// for, unless a path would have fewer points than it has to, and most of the room is used.
func TestInstancesInTwoPasses(t *testing.T) {
	for _, c := range []struct {
		ranks, iterations int
		fewer             bool // threads that are asked first have half as many instances as others
	}{{3, 5000, false}, {24, 1000, false}, {24, 1000, true}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) { instancesInTwoPasses(t, c.ranks, c.iterations, c.fewer) })
	}
}

func instancesInTwoPasses(t *testing.T, ranks, iterations int, fewer bool) {
	run := halo(ranks, iterations, 1, 0)
	for i := range run.Threads { // an instance of "steps" for each iteration
		th := &run.Threads[i]
		th.Phases = slices.Delete(th.Phases, 0, 1)
		for k := 1; k+1 < th.Bursts.Len(); k += 2 {
			p := &th.Bursts
			if k+2 < p.Len() {
				th.Phases = append(th.Phases, trace.Phase{Name: 1, BeginNS: p.StartNS[k], EndNS: p.StartNS[k+2]})
			}
		}
		if fewer && i%(ranks/leastAsked) == 0 {
			th.Phases = th.Phases[:len(th.Phases)/2]
		}
		th.LocatePhases()
	}
	table := symbolsOf(t, run, 1)
	found := periodsOf(t, run, table)
	p := profileOf(t, run, found, 1)
	for _, bytes := range []int64{1 << 30, 400_000, 100_000, 30_000, 7_000, 100} {
		in, err := p.Phases.Instances(run, alone, found, bytes, 1)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		points := make(map[string]int) // by phase, of the instances themselves
		for i := range in.Rows {
			if r := &in.Rows[i]; !r.OfThread {
				rows++
				if r.What == parquet.InstanceWhole {
					points[r.Phase]++
				}
			}
		}
		room, n := int(bytes/rowBytes), points["steps"]
		t.Logf("%d bytes: %d rows of sums, room for %d, %d points, %d passes", bytes, rows, room, n, in.passes)
		switch {
		case in.passes < 1 || in.passes > 2:
			t.Errorf("%d bytes: %d passes", bytes, in.passes)
		case rows > room && n > leastPoints:
			t.Errorf("%d bytes: %d rows, %d points", bytes, rows, n)
		case n > phase.MostPoints || n < leastPoints/2:
			t.Errorf("%d bytes: %d points", bytes, n)
		case bytes > 1<<20 && in.passes != 1:
			t.Errorf("%d bytes are room for all: %d passes", bytes, in.passes)
		case rows < room/3 && in.passes > 1:
			t.Errorf("%d bytes: %d rows leave most of the room for %d", bytes, rows, room)
		}
	}
}
