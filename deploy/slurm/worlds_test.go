package slurm_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/internal/slurmtest"
)

// Programs that a script starts one after the other, on different nodes and with a pause between, are worlds of one
// run: no agent ends before the script says so, not even on a node where nothing runs for long.
func TestTwoSteps(t *testing.T) {
	c := slurmtest.Start(t, 4, 4)
	b := newBatch(t, c, "pmi2")
	const step = `srun --no-kill --nodes=%d --ntasks=%d --nodelist=%s env LD_PRELOAD="$preload" MINIAPP_OUT=%s "$@"`
	first, second := t.TempDir(), t.TempDir()
	// No agent hears of a rank for longer than an agent waits that was started by hand.
	text := fmt.Sprintf("{ "+step+"; sleep 6; "+step+"; } &", 1, 2, "n2", first, 2, 4, "n3,n4", second)
	job := b.submit(t, []string{"--nodes=4", "--ntasks-per-node=4"}, b.changed(t, "sidecar.sbatch", text), append([]string{mpitest.MPICH.App(t, "planted")}, few...)...)
	b.end(t, job, "COMPLETED")
	m := b.manifest(t, job)
	want := calls(t, first)
	for name, n := range calls(t, second) {
		want[name] += n
	}
	if d := cmp.Diff(want, m.MPICalls); d != "" {
		t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
	}
	var sizes []int
	for _, w := range m.Worlds {
		sizes = append(sizes, w.Size)
		if w.RanksRecorded != w.Size {
			t.Errorf("world %+v", w)
		}
	}
	if d := cmp.Diff([]int{2, 4}, sizes); d != "" || m.Ranks != 6 || len(m.Losses.RanksDied) != 0 {
		t.Errorf("%d ranks, losses %+v, worlds by size:\n%s", m.Ranks, m.Losses, d)
	}
	b.clean(t)
}

// Jobs of one user that share nodes have a run each.
func TestArray(t *testing.T) {
	c := slurmtest.Start(t, 2, 4)
	b := newBatch(t, c, "pmi2")
	const tasks = 2
	// The counts of each are its own; both run at the same time, or one would wait for the other for ever.
	text := `export MINIAPP_OUT=$PWD/counts/$SLURM_ARRAY_TASK_ID; mkdir "$MINIAPP_OUT"; until [ $(ls counts | wc -l) = 2 ]; do sleep 0.1; done
srun --no-kill env LD_PRELOAD="$preload" "$@" &`
	args := append([]string{mpitest.MPICH.App(t, "planted")}, few...)
	job := b.submit(t, []string{"--nodes=2", "--ntasks-per-node=2", fmt.Sprintf("--array=1-%d", tasks)},
		b.changed(t, "sidecar.sbatch", text), args...)
	runs := make(map[string]bool)
	for task := 1; task <= tasks; task++ {
		one := job.Task(t, task)
		b.end(t, one, "COMPLETED")
		m := b.manifest(t, one)
		if d := cmp.Diff(calls(t, filepath.Join(b.dir, "counts", fmt.Sprint(task))), m.MPICalls); d != "" {
			t.Errorf("task %d: MPI calls differ (-made +recorded):\n%s", task, d)
		}
		if m.Ranks != 4 || len(m.Worlds) != 1 || len(m.Hosts) != 2 {
			t.Errorf("task %d: %d ranks, worlds %+v, hosts %+v", task, m.Ranks, m.Worlds, m.Hosts)
		}
		runs[m.Run] = true
	}
	if len(runs) != tasks {
		t.Errorf("runs %v", runs)
	}
}

// A program that fails at once, before MPI, fails as it does without us, and the result says that there is nothing.
func TestStepFails(t *testing.T) {
	c := slurmtest.Start(t, 2, 2)
	b := newBatch(t, c, "pmix")
	job := b.submit(t, []string{"--nodes=2", "--ntasks-per-node=1"}, script(t, "sidecar.sbatch"), "sh", "-c", "exit 7")
	b.end(t, job, "FAILED")
	if code := job.ExitCode(); code != "7:0" {
		t.Errorf("exit code %s", code)
	}
	if m := b.manifest(t, job); m.Empty == "" {
		t.Errorf("manifest %+v", m)
	}
	if out := b.output(job); !strings.Contains(out, "no bursts: ") || !strings.Contains(out, "hint: ") {
		t.Errorf("output:\n%s", out)
	}
}

// Where moriens is not installed the program runs, unmeasured, and the job is what it would have been.
func TestWithoutMoriens(t *testing.T) {
	c := slurmtest.Start(t, 2, 2)
	b := newBatch(t, c, "pmix")
	b.env[0] = "PATH=/usr/sbin:/usr/bin:/bin"
	job := b.submit(t, []string{"--nodes=2", "--ntasks-per-node=1"}, script(t, "sidecar.sbatch"), append([]string{mpitest.OpenMPI.App(t, "planted")}, few...)...)
	b.end(t, job, "COMPLETED")
	if got := calls(t, filepath.Join(b.dir, "counts")); got["MPI_Init"] != 2 {
		t.Errorf("the program did not run as it should: %v", got)
	}
}
