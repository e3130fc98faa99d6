package measure

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/agent"
	"moriens/agent/uplink"
	"moriens/collector"
	"moriens/conclude"
	"moriens/conclude/retention"
	"moriens/internal/mpitest"
	"moriens/internal/stage"
	"moriens/trace"
)

// Each collective of a real job that does not block, and each start of a persistent one, has the call that completed
// it, where the windows of the whole run are fetched.
func TestCompletedCollectives(t *testing.T) {
	t.Parallel()
	const ranks, rounds = 2, 100
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		run := recordedWhole(t, mpi.Args(ranks, mpitest.Library(t), mpi.App(t, "completed"), fmt.Sprint(rounds)))
		if len(run.Threads) != ranks {
			t.Fatalf("%d threads", len(run.Threads))
		}
		var starts [ranks][]start
		for i := range run.Threads {
			x := completedIn(t, run, &run.Threads[i])
			want := map[string]int{"MPI_Ibarrier": rounds, "MPI_Iallreduce": 2 * rounds, "MPI_Ibcast": rounds, "MPI_Barrier": 1}
			if starts[i] = x.starts; len(x.starts) > 0 {
				want["MPI_Allreduce_init"], want["MPI_Bcast_init"], want["MPI_Start"], want["MPI_Startall"] = 1, 1, rounds, 2*rounds
			}
			if d := cmp.Diff(want, x.collectives); d != "" {
				t.Errorf("thread %d: collectives (-want +got):\n%s", i, d)
			}
		}
		if d := cmp.Diff(starts[0], starts[1]); d != "" || (mpi.Name == mpitest.MPICH.Name) != (len(starts[0]) > 0) {
			t.Errorf("%d starts; those of the ranks differ:\n%s", len(starts[0]), d)
		}
	})
}

// recordedWhole is a run of a job, all of which is kept.
func recordedWhole(t *testing.T, command []string) *trace.Run {
	t.Helper()
	c, err := collector.Start(collector.Config{Journal: t.TempDir() + "/journal", Run: "run1", Listen: "127.0.0.1:0", Log: quiet, Options: byDuration, Linger: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(collector.Outcome{})
	shm := t.TempDir()
	node, err := agent.New(agent.Config{Run: "run1", Shm: shm, Find: uplink.At(c.Rendezvous()), Spool: t.TempDir(), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- node.Run(context.Background()) }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = mpitest.Environ("MORIENS_RUN=run1", "MORIENS_SHM="+shm, "MINIAPP_OUT="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	node.JobOver()
	if err := c.WaitAgents(ctx); err != nil {
		t.Fatal(err)
	}
	result, err := conclude.Conclude(ctx, conclude.End{
		Frozen: c.Freeze(""), Job: conclude.Job{Run: "run1"}, Options: byDuration, Keep: retention.Options{All: true}, Stages: stage.New(0), Windows: c.Windows(),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return result.Run
}

// A start of a persistent collective, by what ranks have alike.
type start struct {
	Comm     int32
	Ordinal  int64
	Instance int32
	Bytes    int64 // the more of what the rank gives and gets
}

// collected is what a thread of the mini-app has done.
type collected struct {
	collectives map[string]int // by the function that began them
	starts      []start
}

// completedIn checks which call completed each collective of a thread.
func completedIn(t *testing.T, run *trace.Run, th *trace.Thread) collected {
	t.Helper()
	function := func(row int32) string {
		if row < 0 || int(row) >= th.Calls.Len() {
			return "none"
		}
		return run.CallPaths[th.Calls.Path[row]].Function
	}
	x, c := collected{collectives: make(map[string]int)}, &th.Collectives
	if c.Done == nil {
		t.Fatal("of no collective it is known which call completed it")
	}
	for k, call := range c.Call {
		began, row := function(int32(call)), int32(call)
		x.collectives[began]++
		want, by := row+1, "MPI_Wait"
		switch began {
		case "MPI_Barrier":
			want, by = row, began
		case "MPI_Iallreduce", "MPI_Startall":
			by = "MPI_Waitall"
			if function(want) == began {
				want++
			}
		case "MPI_Ibcast":
			for by = "MPI_Test"; function(want+1) == by; want++ {
			}
		case "MPI_Allreduce_init", "MPI_Bcast_init":
			want, by = -1, "none"
		}
		if done := c.Done[k]; done != want || function(done) != by {
			t.Errorf("row %d, %s: completed by row %d, %s; want %d, %s", row, began, done, function(done), want, by)
		}
		if c.Started(k) != (began == "MPI_Start" || began == "MPI_Startall") {
			t.Errorf("row %d, %s: start %d", row, began, c.Instance[k])
		}
		if c.Started(k) {
			x.starts = append(x.starts, start{c.Comm[k], c.Ordinal[k], c.Instance[k], max(c.Sent[k], c.Received[k])})
		}
	}
	return x
}
