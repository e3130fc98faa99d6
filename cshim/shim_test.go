// Package cshim_test runs libmoriens.so in real MPI programs and compares what it recorded with what
// the programs say they did.
package cshim_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// job is one run of a mini-app under the shim.
type job struct {
	mpi     mpitest.MPI
	preload string
	ranks   int      // 0: 2
	env     []string // more of it
	program []string
	shm     string // MORIENS_SHM; empty: a directory of its own
	out     string // MINIAPP_OUT; empty: a directory of its own
}

// outcome is what a job has left.
type outcome struct {
	dir    string // the run's, in shared memory
	out    string // MINIAPP_OUT
	counts map[int]map[string]int
	stdout string
	stderr string
	err    error // of the launcher
}

func (j job) run(t *testing.T) outcome {
	t.Helper()
	o := j.runUncounted(t)
	o.counts = mpitest.Counts(t, o.out)
	return o
}

// runUncounted runs a program that does not say what it has done.
func (j job) runUncounted(t *testing.T) outcome {
	t.Helper()
	out := j.out
	if out == "" {
		out = t.TempDir()
	}
	if j.shm == "" {
		j.shm = t.TempDir()
	}
	if j.ranks == 0 {
		j.ranks = 2
	}
	args := j.mpi.Args(j.ranks, j.preload, j.program...)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // launchers then end their ranks
	cmd.Env = mpitest.Environ(append([]string{"MORIENS_RUN=test", "MORIENS_SHM=" + j.shm, "MINIAPP_OUT=" + out}, j.env...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Minute
	err := cmd.Run()
	return outcome{
		dir:    ring.DirectoryPath(j.shm, os.Getuid(), "test"),
		out:    out,
		stdout: stdout.String(),
		stderr: stderr.String(),
		err:    err,
	}
}

// process is all that one process has left.
type process struct {
	*ring.Process
	modules    map[uint32]ring.Module
	paths      map[uint32]ring.Path
	comms      map[uint32]ring.Comm
	notes      []string
	names      map[uint32]string
	places     map[uint32]ring.Place
	threads    [][]ring.Record // calls, by thread
	marks      [][]ring.Record // by thread
	dropped    int
	abandoned  int
	paused     int
	inside     int // marks inside calls
	unfinished []ring.Record
	closed     int // rings
}

// calls counts the process's records by function.
func (p *process) calls() map[string]int {
	counts := map[string]int{}
	for _, records := range p.threads {
		for _, rec := range records {
			counts[rec.Call.String()]++
			for _, polls := range rec.Polls {
				counts[polls.Call.String()] += int(polls.Count)
			}
		}
	}
	return counts
}

// read reads all processes of a run's directory, by rank, and checks what must hold of any.
func read(t *testing.T, dir string) (map[int]*process, []ring.Fault) {
	t.Helper()
	found, err := ring.NewDirectory(dir).Scan()
	if err != nil {
		t.Fatal(err)
	}
	byID := map[uint64]*process{}
	byRank := map[int]*process{}
	for _, path := range found.Processes {
		p := readProcess(t, path)
		byID[p.ID] = p
		key := p.Rank
		if filepath.Base(p.Executable) == "child" { // spawned: of another world
			key = p.PID
		}
		if byRank[key] != nil {
			t.Errorf("two processes are rank %d", key)
		}
		byRank[key] = p
	}
	for _, path := range found.Rings {
		readRing(t, path, byID)
	}
	return byRank, found.Faults
}

func readProcess(t *testing.T, path string) *process {
	t.Helper()
	file, err := ring.OpenProcess(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	p := &process{Process: file, modules: map[uint32]ring.Module{}, paths: map[uint32]ring.Path{}, names: map[uint32]string{}, comms: map[uint32]ring.Comm{}}
	p.places = map[uint32]ring.Place{}
	log, err := file.ReadLog()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range log.Modules {
		p.modules[m.ID] = m
	}
	for _, path := range log.Paths {
		p.paths[path.ID] = path
	}
	for _, name := range log.Names {
		p.names[name.Number] = name.Text
	}
	for _, place := range log.Places {
		p.places[place.Number] = place
	}
	for _, c := range log.Comms {
		p.comms[c.Number] = c
	}
	p.notes = log.Notes
	p.threads = make([][]ring.Record, file.Losses().Threads)
	p.marks = make([][]ring.Record, file.Losses().Threads)
	return p
}

func readRing(t *testing.T, path string, processes map[uint64]*process) {
	t.Helper()
	r, err := ring.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := processes[r.Process]
	if p == nil || r.Thread >= len(p.threads) || p.threads[r.Thread] != nil {
		t.Fatalf("%s: no process, or no thread %d in it", path, r.Thread)
	}
	records := make([]ring.Record, r.Slots()+1)
	n, err := r.Read(records)
	if err != nil {
		t.Fatal(err)
	}
	records = records[:n]
	left, unfinished := r.Left()
	if unfinished {
		p.unfinished = append(p.unfinished, left[len(left)-1])
		left = left[:len(left)-1]
	}
	records = append(records, left...)
	p.dropped += int(r.Dropped())
	p.abandoned += int(r.Abandoned())
	p.paused += int(r.Paused())
	p.inside += int(r.MarksInside())
	if r.Closed() {
		p.closed++
	}
	var last uint64
	for i, rec := range records {
		if rec.Enter < last {
			t.Errorf("rank %d thread %d record %d begins at %d, before the last ended at %d", p.Rank, r.Thread, i, rec.Enter, last)
		}
		last = rec.Exit
		if rec.Mark != 0 {
			p.marks[r.Thread] = append(p.marks[r.Thread], rec)
			continue
		}
		p.threads[r.Thread] = append(p.threads[r.Thread], rec)
		path, known := p.paths[rec.Path]
		if !known || len(path.Frames) == 0 || p.modules[path.Frames[0].Module].Path == "" && p.places[path.Frames[0].Place].File == "" {
			t.Errorf("rank %d: %v has path %d, which is %+v", p.Rank, rec.Call, rec.Path, path)
		}
	}
}

// expectExact compares what was recorded with what the program says, rank by rank and call by call.
func expectExact(t *testing.T, o outcome) map[int]*process {
	t.Helper()
	ranks, faults := read(t, o.dir)
	if len(faults) != 0 {
		t.Errorf("faults %v", faults)
	}
	got := map[int]map[string]int{}
	for rank, p := range ranks {
		got[rank] = p.calls()
		if p.dropped != 0 || p.Losses().Unrecorded != 0 || p.Losses().PathsLost != 0 {
			t.Errorf("rank %d: dropped %d, losses %+v", rank, p.dropped, p.Losses())
		}
	}
	if diff := cmp.Diff(o.counts, got); diff != "" {
		t.Errorf("planted, recorded:\n%s\n%s", diff, o.stderr)
	}
	return ranks
}

func expectEnded(t *testing.T, ranks map[int]*process) {
	t.Helper()
	for rank, p := range ranks {
		closed := len(p.threads)
		if first := p.threads[0]; first[len(first)-1].Call == mpicall.SessionFinalize {
			closed = 0 // another session could have followed
		}
		if p.State() != ring.Finalized || len(p.unfinished) != 0 || p.closed != closed {
			t.Errorf("rank %d: %v, unfinished %v, %d of %d rings closed",
				rank, p.State(), p.unfinished, p.closed, len(p.threads))
		}
		expectDead(t, p)
	}
}

// expectDead waits for the process to end: launchers can be gone before their ranks are.
func expectDead(t *testing.T, p *process) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		alive, err := p.Alive()
		if err != nil {
			t.Fatal(err)
		}
		if !alive {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("rank %d still lives", p.Rank)
		}
	}
}

func succeed(t *testing.T, o outcome) {
	t.Helper()
	if o.err != nil || o.stderr != "" {
		t.Errorf("%v\n%s", o.err, o.stderr)
	}
}

func libraryName(mpi mpitest.MPI) string {
	if mpi.Name == mpitest.OpenMPI.Name {
		return "open mpi"
	}
	return "mpich"
}

// expectDistinctSites: a call path belongs to one function of the program itself, because each call of
// the program returns to a place of its own.
func expectDistinctSites(t *testing.T, p *process, app string) {
	t.Helper()
	function := map[uint32]mpicall.ID{}
	for _, rec := range p.threads[0] {
		if other, seen := function[rec.Path]; seen && other != rec.Call {
			t.Errorf("path %d is %v and %v", rec.Path, other, rec.Call)
		}
		function[rec.Path] = rec.Call
		module := p.modules[p.paths[rec.Path].Frames[0].Module]
		if module.Path != app || len(module.BuildID) == 0 {
			t.Fatalf("%v was called from %+v", rec.Call, module)
		}
	}
}

func TestCallSites(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "allcalls")
		o := job{mpi: mpi, preload: library, program: []string{app, "3"}}.run(t)
		succeed(t, o)
		ranks := expectExact(t, o)
		expectEnded(t, ranks)
		for rank, p := range ranks {
			if p.Size != 2 || p.Executable != app || !strings.Contains(strings.ToLower(p.Library), libraryName(mpi)) {
				t.Errorf("rank %d is %+v", rank, p.Identity)
			}
			expectDistinctSites(t, p, app)
		}
	})
}

func TestThreads(t *testing.T) {
	const threads = 6
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, program: []string{mpi.App(t, "threads"), "6", "200"}}.run(t)
		succeed(t, o)
		ranks := expectExact(t, o)
		expectEnded(t, ranks)
		for rank, p := range ranks {
			if len(p.threads) != threads+1 {
				t.Errorf("rank %d: %d rings", rank, len(p.threads))
			}
			for thread := 1; thread <= threads; thread++ {
				if got := len(p.threads[thread]); got != 3*200 {
					t.Errorf("rank %d: thread %d made %d calls", rank, thread, got)
				}
				expectExchange(t, p, thread)
			}
		}
	})
}

// expectExchange: each thread of testdata/miniapp/threads.c has a tag of its own, and receives, sends and waits in
// turn.
func expectExchange(t *testing.T, p *process, thread int) {
	t.Helper()
	records := p.threads[thread]
	peer, tag := int32(1-p.Rank), records[0].Transfers[0].Tag
	for i, rec := range records {
		var made []ring.Transfer
		var ended []ring.Request
		switch rec.Call {
		case mpicall.Irecv:
			made = []ring.Transfer{{Kind: ring.Received, Bytes: 4, Request: rec.Transfers[0].Request, Peer: peer, Tag: tag, Comm: 1}}
		case mpicall.Send:
			made = []ring.Transfer{{Kind: ring.Sent, Bytes: 4, Peer: peer, Tag: tag, Comm: 1}}
		case mpicall.Wait:
			ended = []ring.Request{{Event: ring.Completed, Handle: records[i-2].Transfers[0].Request, Bytes: 4, Source: peer, Tag: tag}}
		}
		if diff := cmp.Diff(made, rec.Transfers, cmpopts.EquateEmpty()) + cmp.Diff(ended, rec.Requests, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("rank %d, thread %d, record %d:\n%s", p.Rank, thread, i, diff)
		}
	}
}

func TestCxx(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, program: []string{mpi.App(t, "cxx")}}.run(t)
		succeed(t, o)
		ranks := expectExact(t, o)
		expectEnded(t, ranks)
		expectGolden(t, "cxx", ranks)
	})
}

// localHost builds a program that is not MPI's and loads plugins that are.
func localHost(t *testing.T) string {
	t.Helper()
	testenv.Need(t, "gcc")
	host := filepath.Join(t.TempDir(), "host")
	source := filepath.Join(mpitest.Root(t), "testdata", "miniapp", "host.c")
	if out, err := exec.Command("gcc", "-o", host, source, "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return host
}

// TestLocalLibrary loads MPI with a plugin, where no global symbol leads to it.
func TestLocalLibrary(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		plugins := []string{mpi.App(t, "plugin.so")}
		for _, binding := range mpitest.Bindings {
			plugins = append(plugins, mpi.Fortran(t, "pluginf.so", binding))
		}
		for _, plugin := range plugins {
			o := job{mpi: mpi, preload: library, program: []string{localHost(t), plugin}}.run(t)
			succeed(t, o)
			ranks := expectExact(t, o)
			expectEnded(t, ranks)
			expectGolden(t, strings.TrimSuffix(filepath.Base(plugin), ".so"), ranks)
		}
	})
}
