package faults

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"moriens/internal/mpitest"
)

// start starts the job, and what its way needs besides.
func (r *soakRound) start() {
	p := &r.plan
	env := r.env()
	var args []string
	program := p.program(r.app)
	mpi := libraries[p.mpi]
	switch p.way {
	case byRun:
		args = append([]string{r.moriens(), "run", "--out", r.out, "--shm", r.shm}, append(r.spoolFlags(), r.resultFlags()...)...)
		args = append(append(args, "--"), mpi.Args(p.ranks, "", program...)...)
	case byParts:
		r.startCollector(&process{name: "collector", env: env, command: r.collect()})
		r.startAgent(&process{name: "agent", env: env, command: r.agentOf()})
		args = mpi.Args(p.ranks, r.library, program...)
		env = append(env, "MORIENS_RUN="+r.meet.Run)
	case byPreload:
		args = mpi.Args(p.ranks, "", program...)
		env = append(env, "LD_PRELOAD="+r.library, "MORIENS_DIR="+r.out, fmt.Sprintf("MORIENS_TIMEOUT=%d", int(r.atEnd().Seconds())),
			"MORIENS_OPTIONS="+strings.Join(append(r.spoolFlags(), r.keepFlags()...), " "))
	}
	r.job = exec.Command(args[0], args[1:]...)
	r.job.Dir, r.job.Env = r.work, append(env, jobMark, "MORIENS_SHM="+r.shm, "MINIAPP_OUT="+r.truth)
	for name, to := range map[string]*io.Writer{"stdout": &r.job.Stdout, "stderr": &r.job.Stderr} { // with a pipe Wait would wait for all holders of its end
		f, err := os.Create(filepath.Join(r.work, name))
		if err != nil {
			r.t.Fatal(err)
		}
		defer f.Close()
		*to = f
	}
	if err := r.job.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		r.err = r.job.Wait()
	}()
}

func (r *soakRound) moriens() string { return filepath.Join(filepath.Dir(r.library), "moriens") }

func (r *soakRound) env() []string {
	env := slices.DeleteFunc(mpitest.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "XDG_RUNTIME_DIR=") || strings.HasPrefix(e, "MORIENS_")
	})
	// What the MPI library puts there must not be in want of room because of us.
	env = append(env, mark+r.work, "TMPDIR="+r.tmp, "OMPI_MCA_orte_tmpdir_base="+os.TempDir())
	for name, n := range map[string]int{"MORIENS_RING=": r.plan.ring, "MORIENS_RING_MAX=": r.plan.ringMax} {
		if n > 0 {
			env = append(env, name+strconv.Itoa(n))
		}
	}
	return env
}

func (r *soakRound) spoolFlags() (flags []string) {
	if r.plan.named {
		flags = append(flags, "--spool="+r.spool)
	}
	if r.plan.spoolMiB > 0 {
		flags = append(flags, fmt.Sprintf("--spool-max=%dMiB", r.plan.spoolMiB))
	}
	return flags
}

func (r *soakRound) keepFlags() []string {
	if r.plan.keepAll {
		return []string{"--keep-bursts=all"}
	}
	return nil
}

func (r *soakRound) resultFlags() []string {
	return append(r.keepFlags(), "--moriens-timeout="+r.atEnd().String())
}

// atEnd is how long the end of a run may take. It is well below the guard: what gives up when its time is over does not
// hang.
func (r *soakRound) atEnd() time.Duration { return r.guard * 2 / 5 }

func (r *soakRound) collect() []string {
	return append([]string{r.moriens(), "collect", "--log", "info", "--out", r.out}, r.resultFlags()...)
}

func (r *soakRound) agentOf() []string {
	dir := r.out
	if r.plan.has(cutConnections) {
		dir = r.agents
	}
	return append([]string{r.moriens(), "agent", "--log", "info", "--dir", dir, "--shm", r.shm, "--idle", "1s"}, r.spoolFlags()...)
}
