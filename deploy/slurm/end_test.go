package slurm_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"moriens/collector/health"
	"moriens/internal/mpitest"
	"moriens/internal/slurmtest"
	"moriens/trace/rundir"
)

// endless submits a job of 16 ranks that does not end by itself, and returns when all of them are at work.
func (b *batch) endless(t *testing.T, mpi mpitest.MPI, options []string, args ...string) slurmtest.Job {
	t.Helper()
	job := b.submit(t, append([]string{"--nodes=4", "--ntasks-per-node=4"}, options...), script(t, "sidecar.sbatch"), append([]string{mpi.App(t, "endless")}, args...)...)
	b.reports(t, job, 16)
	return job
}

// reports waits until so many ranks have printed their calls, and the collector knows all of them.
func (b *batch) reports(t *testing.T, job slurmtest.Job, ranks int) {
	t.Helper()
	for deadline := time.Now().Add(jobTime); ; time.Sleep(50 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(b.dir, "counts", "counts.*")); len(found) == ranks {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("job %s: the ranks are not at work\n%s", job.State(), b.output(job))
		}
	}
	b.page(t, job, func(p *health.Page) bool { return p.Ranks.Recorded == ranks })
}

// holds checks that a result has 16 ranks and at least the calls that they had made by a moment, and lost no record.
func (b *batch) holds(t *testing.T, job slurmtest.Job, made map[string]int64) *rundir.Manifest {
	t.Helper()
	m := b.manifest(t, job)
	if m.Ranks != 16 || m.Bursts == 0 || len(m.Worlds) != 1 || m.Worlds[0].RanksRecorded != 16 || m.Losses.RecordsDropped != 0 {
		t.Errorf("%d ranks, %d bursts, worlds %+v, losses %+v", m.Ranks, m.Bursts, m.Worlds, m.Losses)
	}
	for name, n := range made {
		if m.MPICalls[name] < n {
			t.Errorf("%d calls of %s, the ranks had made %d", m.MPICalls[name], name, n)
		}
	}
	return m
}

// A node that dies takes its own ranks along. The data of all ranks up to then is in the result, and the result says
// who was lost.
func TestNodeDies(t *testing.T) {
	c := slurmtest.Start(t, 4, 4)
	b := newBatch(t, c, "pmix")
	// After so many rounds the ranks do nothing more. What they have called is with the collector when their node dies.
	const rounds = 100
	job := b.endless(t, mpitest.OpenMPI, nil, "1000", strconv.Itoa(rounds))
	b.page(t, job, func(p *health.Page) bool { return p.Calls == 16*(1+rounds) })
	made := calls(t, filepath.Join(b.dir, "counts"))
	c.Cut(t, "n3")
	job.Signal(t, "TERM", "--batch") // the others may wait for the dead
	job.Wait(t, jobTime)
	m := b.holds(t, job, made)
	var lost []int
	for _, d := range m.Losses.RanksDied {
		if d.CutOff {
			lost = append(lost, d.Rank)
			if !strings.Contains(d.How, "n3") {
				t.Errorf("rank %d was lost with n3: %s", d.Rank, d.How)
			}
		}
	}
	slices.Sort(lost)
	if !slices.Equal(lost, []int{8, 9, 10, 11}) {
		t.Errorf("cut off: %v, want the ranks of n3, 8 to 11: %+v", lost, m.Losses.RanksDied)
	}
	// With status 0 or 3: some of the analysis may be missing.
	if out, _ := exec.Command(mpitest.Program(t), "status", "--long", b.run(job)).Output(); !strings.Contains(string(out), "ranks 8–11 cut off") {
		t.Errorf("the figures do not name the ranks that were lost:\n%s\n%s", out, b.output(job))
	}
}

// However a job is ordered to end early, everything up to then is analysed.
func TestSignals(t *testing.T) {
	c := slurmtest.Start(t, 4, 4)
	for _, tt := range []struct {
		name    string
		options []string
		signal  []string // nil: the time limit says so
		died    int      // ranks that the signal ended; the others continue unmeasured
	}{
		{"batch script alone", nil, []string{"--batch"}, 0},
		{"ranks and agents", nil, []string{}, 16},
		{"time limit", []string{"--time=60", "--signal=B:TERM@1500"}, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBatch(t, c, "pmix")
			job := b.endless(t, mpitest.OpenMPI, tt.options)
			made := calls(t, filepath.Join(b.dir, "counts"))
			if tt.signal != nil {
				job.Signal(t, "TERM", tt.signal...)
			} else {
				job.Limit(t, 20*time.Minute) // less than 25 are left, and Slurm sends the signal
			}
			job.Wait(t, jobTime)
			m := b.holds(t, job, made)
			for _, d := range m.Losses.RanksDied {
				if d.How != "ended without MPI_Finalize" || d.CutOff {
					t.Errorf("%+v", d)
				}
			}
			if len(m.Losses.RanksDied) != tt.died {
				t.Errorf("died: %+v", m.Losses.RanksDied)
			}
			if out := b.output(job); tt.died == 0 && !strings.Contains(out, "ranks that continued unmeasured: 16") {
				t.Errorf("the ranks that continued are not reported:\n%s", out)
			}
			if t.Failed() {
				t.Log(b.output(job))
			}
		})
	}
}
