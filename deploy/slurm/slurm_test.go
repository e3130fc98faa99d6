// Package slurm_test runs the batch scripts of this folder on a real Slurm.
package slurm_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/app/control"
	"moriens/collector/health"
	"moriens/internal/mpitest"
	"moriens/internal/rendezvous"
	"moriens/internal/slurmtest"
	"moriens/trace/rundir"
)

// jobTime is how long a job may take on a machine that does other things too.
const jobTime = 10 * time.Minute

// both are the MPI libraries, each with the way in which Slurm starts it.
var both = []struct {
	mpitest.MPI
	slurm string
}{{mpitest.OpenMPI, "pmix"}, {mpitest.MPICH, "pmi2"}}

// A batch is a directory in which jobs are submitted and leave their results.
type batch struct {
	cluster *slurmtest.Cluster
	dir     string
	env     []string
}

// newBatch prepares jobs of programs of one MPI library; the mini-apps leave their counts in the directory's counts.
func newBatch(t *testing.T, c *slurmtest.Cluster, slurmMPI string) *batch {
	t.Helper()
	dir, err := os.MkdirTemp(c.Dir, "jobs-") // which all nodes see
	if err != nil {
		t.Fatal(err)
	}
	b := &batch{cluster: c, dir: dir}
	if err := os.Mkdir(filepath.Join(dir, "counts"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.env = []string{
		"PATH=" + filepath.Dir(mpitest.Program(t)) + ":" + os.Getenv("PATH"), "SLURM_MPI_TYPE=" + slurmMPI,
		"MINIAPP_OUT=" + filepath.Join(dir, "counts"), "OMPI_MCA_mpi_yield_when_idle=1", // several ranks share a core
	}
	return b
}

// submit gives a script to Slurm, from the batch's directory.
func (b *batch) submit(t *testing.T, options []string, script string, program ...string) slurmtest.Job {
	t.Helper()
	args := append([]string{"--chdir=" + b.dir, "--output=" + filepath.Join(b.dir, "out.%j")}, options...)
	return b.cluster.Submit(t, b.env, append(append(args, script), program...)...)
}

// script is the path of one of the scripts of this folder.
func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// changed writes a copy of one of the scripts in which the line that starts the program is another one.
func (b *batch) changed(t *testing.T, name, start string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const line = `srun --no-kill env LD_PRELOAD="$preload" "$@" &`
	if strings.Count(string(text), line) != 1 {
		t.Fatalf("%s does not start the program by %s", name, line)
	}
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), line, start, 1)), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// output is what the job has printed.
func (b *batch) output(job slurmtest.Job) string {
	text, err := os.ReadFile(filepath.Join(b.dir, "out."+job.ID))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// end waits for a job and checks how it ended.
func (b *batch) end(t *testing.T, job slurmtest.Job, want slurmtest.State) {
	t.Helper()
	if got := job.Wait(t, jobTime); got != want {
		t.Fatalf("job is %s, want %s\n%s", got, want, b.output(job))
	}
}

// run is the directory in which the job's script has the results.
func (b *batch) run(job slurmtest.Job) string { return filepath.Join(b.dir, "moriens-"+job.ID) }

func (b *batch) manifest(t *testing.T, job slurmtest.Job) *rundir.Manifest {
	t.Helper()
	return b.manifestIn(t, job, b.run(job))
}

// manifestIn reads the manifest of one of a job's runs.
func (b *batch) manifestIn(t *testing.T, job slurmtest.Job, dir string) *rundir.Manifest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, b.output(job))
	}
	m := new(rundir.Manifest)
	if err := json.Unmarshal(text, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// page waits until the page of a job's collector is as wanted. The collector's host has a name on the nodes alone.
func (b *batch) page(t *testing.T, job slurmtest.Job, wanted func(*health.Page) bool) {
	t.Helper()
	var page *health.Page
	var err error
	for deadline := time.Now().Add(jobTime); ; time.Sleep(50 * time.Millisecond) {
		if page, err = b.ask(t, job); err == nil && wanted(page) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("job %s: %v, the page is %+v\n%s", job.State(), err, page, b.output(job))
		}
	}
}

func (b *batch) ask(t *testing.T, job slurmtest.Job) (*health.Page, error) {
	t.Helper()
	meet, err := rendezvous.Read(b.run(job))
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(meet.Address)
	if err != nil {
		t.Fatal(err)
	}
	meet.Address = net.JoinHostPort("127.0.0.1", port)
	client, err := control.Dial(meet)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return client.Status(ctx)
}

// calls adds up the MPI calls that the ranks of mini-apps say they have made.
func calls(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	total := make(map[string]int64)
	for _, byName := range mpitest.Counts(t, dir) {
		for name, n := range byName {
			total[name] += int64(n)
		}
	}
	return total
}

// whole checks that a result has all calls of one world of so many ranks on so many nodes, and no loss.
func (b *batch) whole(t *testing.T, job slurmtest.Job, ranks, nodes int) {
	t.Helper()
	m := b.manifest(t, job)
	if m.Ranks != ranks || len(m.Worlds) != 1 || m.Worlds[0].Size != ranks || m.Worlds[0].RanksRecorded != ranks {
		t.Errorf("%d ranks in worlds %+v, want one of %d", m.Ranks, m.Worlds, ranks)
	}
	if len(m.Hosts) != nodes {
		t.Errorf("hosts %+v, want %d", m.Hosts, nodes)
	}
	if d := cmp.Diff(calls(t, filepath.Join(b.dir, "counts")), m.MPICalls); d != "" {
		t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
	}
	if l := m.Losses; l.RecordsDropped != 0 || len(l.RanksDied) != 0 || l.RanksMissing != 0 || l.RanksUnrecorded != 0 || l.MessagesRefused != 0 {
		t.Errorf("losses %+v", l)
	}
	if _, err := os.Stat(filepath.Join(b.run(job), "collector.json")); err == nil {
		t.Error("collector.json is still there")
	}
	if t.Failed() {
		t.Log(b.output(job))
	}
}

// clean checks that nothing of a run is left in the nodes' shared memory.
func (b *batch) clean(t *testing.T) {
	t.Helper()
	list := filepath.Join(b.dir, "list")
	if err := os.WriteFile(list, []byte("#!/bin/sh\nsrun --mpi=none sh -c 'ls -d /dev/shm/moriens-*'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	job := b.submit(t, []string{"--nodes=4", "--ntasks-per-node=1"}, list)
	job.Wait(t, jobTime)
	if out := b.output(job); strings.Contains(out, "/dev/shm/moriens-") && !strings.Contains(out, "cannot access") || strings.Count(out, "cannot access") != 4 {
		t.Errorf("shared memory holds:\n%s", out)
	}
}
