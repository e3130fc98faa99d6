package slurm_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"moriens/internal/mpitest"
	"moriens/internal/slurmtest"
)

// preload prepares a batch whose scripts find libmoriens.so, with moriens beside it.
func preload(t *testing.T, c *slurmtest.Cluster, slurmMPI string) *batch {
	t.Helper()
	b := newBatch(t, c, slurmMPI)
	// The usual minute for the end can be too little on a machine that does other things too.
	b.env = append(b.env, "MORIENS_LIB="+filepath.Join(filepath.Dir(mpitest.Program(t)), "libmoriens.so"), "MORIENS_TIMEOUT=600")
	return b
}

// Nothing is started by hand, and all ranks of all nodes are in the result.
func TestPreload(t *testing.T) {
	c := slurmtest.Start(t, 4, 4)
	for _, mpi := range both {
		t.Run(mpi.Name, func(t *testing.T) {
			b := preload(t, c, mpi.slurm)
			job := b.submit(t, []string{"--nodes=4", "--ntasks-per-node=4"}, script(t, "preload.sbatch"), append([]string{mpi.App(t, "planted")}, few...)...)
			b.end(t, job, "COMPLETED")
			b.whole(t, job, 16, 4)
			b.clean(t)
		})
	}
}

// reaper does on a node what Slurm's proctrack/cgroup does everywhere: when the last of a node's 4 tasks has exited,
// what the step has started there and still runs is killed. Namespaces separate the nodes of this machine.
const reaper = `#!/bin/sh
count=/dev/shm/exited.$SLURM_JOB_ID
echo >>$count
echo "task $SLURM_PROCID" >>@KILLED@
[ "$(wc -l <$count)" = 4 ] || exit 0
rm $count
node=$(readlink /proc/self/ns/mnt)
for process in /proc/[0-9]*; do
	[ "$(readlink $process/ns/mnt)" = "$node" ] || continue
	case $(readlink $process/exe) in */moriens)
		echo "$(basename $process)" >>@KILLED@
		kill -9 "$(basename $process)" ;;
	esac
done
`

// A batch system kills what a step has left behind the moment its tasks exit. The results are complete by then.
func TestPreloadIsReaped(t *testing.T) {
	c := slurmtest.Start(t, 4, 4)
	for _, mpi := range both {
		t.Run(mpi.Name, func(t *testing.T) {
			b := preload(t, c, mpi.slurm)
			epilog, killed := filepath.Join(b.dir, "epilog"), filepath.Join(b.dir, "killed")
			if err := os.WriteFile(epilog, []byte(strings.ReplaceAll(reaper, "@KILLED@", killed)), 0o755); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile("preload.sbatch")
			if err != nil {
				t.Fatal(err)
			}
			reaped := filepath.Join(b.dir, "reaped.sbatch")
			if strings.Count(string(text), "\nsrun ") != 1 {
				t.Fatal("preload.sbatch does not start the program by srun")
			}
			if err := os.WriteFile(reaped, []byte(strings.Replace(string(text), "\nsrun ", "\nsrun --task-epilog="+epilog+" ", 1)), 0o755); err != nil {
				t.Fatal(err)
			}
			job := b.submit(t, []string{"--nodes=4", "--ntasks-per-node=4"}, reaped, append([]string{mpi.App(t, "planted")}, few...)...)
			b.end(t, job, "COMPLETED")
			b.whole(t, job, 16, 4)
			list, _ := os.ReadFile(killed)
			if n := strings.Count(string(list), "task "); n != 16 {
				t.Errorf("%d tasks were seen to exit", n)
			}
			t.Logf("%d processes were killed", strings.Count(string(list), "\n")-16)
		})
	}
}

// TERM before the time limit ends measuring, with all that the ranks have done by then.
func TestPreloadIsEnded(t *testing.T) {
	c := slurmtest.Start(t, 4, 4)
	b := preload(t, c, "pmix")
	job := b.submit(t, []string{"--nodes=4", "--ntasks-per-node=4"}, script(t, "preload.sbatch"), mpitest.OpenMPI.App(t, "endless"))
	b.reports(t, job, 16)
	made := calls(t, filepath.Join(b.dir, "counts"))
	job.Signal(t, "TERM", "--batch")
	job.Wait(t, jobTime)
	m := b.holds(t, job, made)
	if m.EndedBy == "" {
		t.Errorf("the result does not say what ended it\n%s", b.output(job))
	}
}

// Two programs of one script are two runs.
func TestPreloadTwice(t *testing.T) {
	c := slurmtest.Start(t, 4, 4)
	b := preload(t, c, "pmix")
	text, err := os.ReadFile("preload.sbatch")
	if err != nil {
		t.Fatal(err)
	}
	twice := filepath.Join(b.dir, "twice.sbatch")
	const line = "wait $!\n"
	if strings.Count(string(text), line) != 1 {
		t.Fatal("preload.sbatch does not wait for its program once")
	}
	again := line + `srun env LD_PRELOAD="$library" "$@"` + "\n"
	if err := os.WriteFile(twice, []byte(strings.Replace(string(text), line, again, 1)), 0o755); err != nil {
		t.Fatal(err)
	}
	job := b.submit(t, []string{"--nodes=4", "--ntasks-per-node=4"}, twice, append([]string{mpitest.OpenMPI.App(t, "planted")}, few...)...)
	b.end(t, job, "COMPLETED")
	for n := range 2 {
		dir := b.run(job)
		if n > 0 {
			dir += "-" + strconv.Itoa(n+1)
		}
		m := b.manifestIn(t, job, dir)
		if m.Ranks != 16 || m.MPICalls["MPI_Finalize"] != 16 || m.Losses.RecordsDropped != 0 {
			t.Errorf("%s: %d ranks, calls %v, losses %+v", dir, m.Ranks, m.MPICalls, m.Losses)
		}
	}
}
