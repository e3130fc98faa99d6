package faults

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"moriens/internal/mpitest"
)

// A soakRound is a round with a real job, in one of the ways.
type soakRound struct {
	*round
	plan    soakPlan
	app     string
	library string // libmoriens.so, with the program beside it
	tmp     string // TMPDIR of all
	spool   string // where the spool is
	small   *disk  // that has it; nil: it has room
	job     *exec.Cmd
	ended   chan struct{} // closed when the job's command has ended
	err     error         // valid then
	killed  bool          // the process with the collector, and nobody starts it again but we
	found   outcome
}

// An outcome is what the oracles have found of a round.
type outcome struct {
	made, recorded, counted int
	stated                  int // calls that are not counted one by one, of a result that says that it is not complete
	faults                  map[string][]string
}

// Kinds of what must not be.
const (
	kindHang      = "hang"
	kindSilent    = "silent loss"
	kindTwice     = "duplicate"
	kindLeftover  = "leftover"
	kindProgram   = "program"
	kindStatement = "statement"
)

var kinds = []string{kindHang, kindSilent, kindTwice, kindLeftover, kindProgram, kindStatement}

func (r *soakRound) fail(kind, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.t.Errorf("%s: %s", kind, text)
	r.found.faults[kind] = append(r.found.faults[kind], text)
}

// mark is in the environment of every process of a round, with its directory.
const mark, jobMark = "MORIENS_SOAK=", "MORIENS_SOAK_JOB=1"

// soakOne runs a round in a directory that stays if something was wrong.
func soakOne(t *testing.T, p soakPlan, app, library, dir string, guard time.Duration) (found outcome) {
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	shm, err := os.MkdirTemp("/dev/shm", "soak-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.RemoveAll(shm)
		if !t.Failed() {
			os.RemoveAll(dir)
		}
	})
	bytes := 0
	if p.limited && os.Geteuid() == 0 {
		bytes = soakDisk
	}
	r := &soakRound{
		round: newRound(t, dir, bytes), plan: p, app: app, library: library, tmp: filepath.Join(dir, "tmp"), ended: make(chan struct{}),
		found: outcome{faults: map[string][]string{}},
	}
	r.shm = shm
	t.Cleanup(func() { r.endAll(r.processes("")) }) // before what they use goes
	r.spool = r.tmp
	if p.named {
		r.spool = filepath.Join(dir, "spool")
		if err := os.Mkdir(r.spool, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if p.smallMiB > 0 && os.Geteuid() == 0 {
		r.small = mountDisk(t, r.spool, p.smallMiB<<20)
	}
	r.happenAll(guard)
	if t.Failed() {
		r.evidence()
	}
	return r.found
}

// happenAll lets the round happen.
func (r *soakRound) happenAll(guard time.Duration) {
	var all sync.WaitGroup
	rest := r.plan.incidents
	for len(rest) > 0 && rest[0].at == before {
		r.meetWith(rest[0], &all)
		rest = rest[1:]
	}
	r.start()
	waitForRecords(r.t, r.truth, r.plan.ranks, r.ended)
	begin := time.Now()
	for _, i := range rest {
		time.Sleep(i.at - time.Since(begin))
		r.meetWith(i, &all)
	}
	hung := time.After(guard)
	select {
	case <-r.ended:
	case <-hung:
		r.fail(kindHang, "the job is not at its end %v after the last incident\n%s", guard, r.standing())
	}
	all.Wait()
	r.finish(guard)
	r.checkProgram()
	r.checkResults()
	r.checkLeft()
}

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
		env = append(env, "LD_PRELOAD="+r.library, "MORIENS_DIR="+r.out, "MORIENS_TIMEOUT=120",
			"MORIENS_OPTIONS="+strings.Join(append(r.spoolFlags(), r.keepFlags()...), " "))
	}
	r.job = exec.Command(args[0], args[1:]...)
	r.job.Dir, r.job.Env = r.work, append(env, jobMark, "MORIENS_SHM="+r.shm, "MINIAPP_OUT="+r.truth)
	for name, to := range map[string]*io.Writer{"stdout": &r.job.Stdout, "stderr": &r.job.Stderr} { // a pipe would have us wait for whoever has its end
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

func (r *soakRound) resultFlags() []string { return append(r.keepFlags(), "--moriens-timeout=10m") }

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

// meetWith lets an incident happen; what it lasts is waited for by all.
func (r *soakRound) meetWith(i incident, all *sync.WaitGroup) {
	later := func(undo func()) {
		all.Go(func() {
			time.Sleep(i.lasts)
			undo()
		})
	}
	freeze := func(signal func(syscall.Signal)) {
		signal(syscall.SIGSTOP)
		later(func() { signal(syscall.SIGCONT) })
	}
	rank := func(s syscall.Signal) { signalOne(r.t, r.truth, i.rank, s) }
	switch i.fault {
	case killAgent, killCollector:
		r.kill(i)
	case freezeAgent, freezeCollector:
		freeze(r.signaller(i.fault))
	case freezeRank:
		freeze(rank)
	case killRank:
		rank(syscall.SIGKILL)
	case cutConnections:
		r.proxy.cut()
	case fillDisk:
		fillFor(r.t, r.disk, later)
	case fillSpool:
		fillFor(r.t, r.small, later)
	case removeSpool:
		dirs, _ := filepath.Glob(filepath.Join(r.spool, "moriens*"))
		for _, dir := range dirs {
			if !strings.Contains(dir, "socket") { // that is another thing
				os.RemoveAll(dir)
			}
		}
	case removeMeeting:
		os.Remove(filepath.Join(r.out, "collector.json"))
	}
}

func fillFor(t *testing.T, d *disk, later func(func())) {
	if d != nil {
		d.fill(t)
		later(func() { d.free(t) })
	}
}

// kill kills what has the agent, or the collector. Of the parts it is started again by themselves; under a plain preload the agent's parent does so, unless
// it is killed too.
func (r *soakRound) kill(i incident) {
	switch {
	case r.plan.way == byParts && i.fault == killAgent:
		r.agent.kill(i.lasts)
	case r.plan.way == byParts:
		r.collector.kill(i.lasts)
	case r.plan.way == byRun:
		select {
		case <-r.ended:
		default:
			r.killed = true
			r.job.Process.Signal(syscall.SIGKILL) // that it has ended is no error
		}
	default:
		parent, agent := r.preloaded()
		if i.fault == killCollector && parent > 0 {
			r.killed = true
			syscall.Kill(parent, syscall.SIGKILL)
		}
		if agent > 0 {
			syscall.Kill(agent, syscall.SIGKILL)
		}
	}
}

// signaller signals what has the agent, or the collector.
func (r *soakRound) signaller(f fault) func(syscall.Signal) {
	switch {
	case r.plan.way == byParts && f == freezeAgent:
		return r.agent.signal
	case r.plan.way == byParts:
		return r.collector.signal
	case r.plan.way == byRun:
		return func(s syscall.Signal) { r.job.Process.Signal(s) }
	}
	_, agent := r.preloaded()
	return func(s syscall.Signal) {
		if agent > 0 {
			syscall.Kill(agent, s)
		}
	}
}

// preloaded are the processes of a plain preload's agent; 0 = it is not there.
func (r *soakRound) preloaded() (parent, agent int) {
	for _, pid := range r.processes("") {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		args := strings.Split(string(line), "\x00")
		switch {
		case len(args) < 2 || args[1] != "preloaded":
		case slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--agent=") }):
			agent = pid
		default:
			parent = pid
		}
	}
	return parent, agent
}

// processes lists the round's own, by their environment: those that have this in it too.
func (r *soakRound) processes(with string) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		data, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ")) // of one that has ended it is empty
		env := strings.Split(string(data), "\x00")
		if slices.Contains(env, mark+r.work) && (with == "" || slices.Contains(env, with)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// standing says where the round's processes are.
func (r *soakRound) standing() string {
	var b strings.Builder
	for _, pid := range r.processes("") {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", pid))
		fmt.Fprintf(&b, "%d %s [%s]\n", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '}), state)
	}
	return b.String()
}

// endAll ends processes, and waits until they are gone.
func (r *soakRound) endAll(pids []int) {
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	for deadline := time.Now().Add(time.Minute); len(r.processes("")) > 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		for _, pid := range r.processes("") {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// finish waits until agent and collector have ended by themselves. Where the process with the collector was killed, the run is concluded as its user would.
func (r *soakRound) finish(guard time.Duration) {
	if r.killed && exists(filepath.Join(r.out, "journal")) {
		r.collector = &process{name: "collector", env: r.env(), command: r.collect()}
		r.agent = &process{name: "agent", env: r.env(), command: r.agentOf()}
		for _, p := range []*process{r.collector, r.agent} {
			p.start()
			r.t.Cleanup(func() { p.signal(syscall.SIGTERM); <-p.ended })
		}
	}
	deadline := time.After(guard)
	if r.collector != nil {
		for _, p := range []*process{r.agent, r.collector} {
			if !p.await(deadline) {
				r.fail(kindHang, "%s: not at its end after %v", p.name, guard)
			}
		}
		if r.collector.status != nil && r.disk != nil {
			r.collector.start()
			if !r.collector.await(time.After(guard)) {
				r.fail(kindHang, "collector: not at its end after %v", guard)
			}
		}
		for _, p := range []*process{r.agent, r.collector} {
			if p.status != nil && len(r.found.faults[kindHang]) == 0 && !(p == r.collector && r.elsewhere()) {
				r.fail(kindStatement, "%s: %v: %s", p.name, p.status, lastLine(p.text()))
			}
		}
	}
	for hung := false; len(r.processes("")) > 0 && !hung; time.Sleep(10 * time.Millisecond) {
		select {
		case <-deadline:
			hung = true
		case <-r.t.Context().Done():
			return
		default:
		}
		if hung {
			r.fail(kindHang, "these have not ended after %v:\n%s", guard, r.standing())
			for _, pid := range r.processes("") {
				syscall.Kill(pid, syscall.SIGCONT)
				syscall.Kill(pid, syscall.SIGQUIT) // which tells where they are
			}
			time.Sleep(time.Second)
			r.endAll(r.processes(""))
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-2):], " / ")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// said is what the job, and moriens in it, has said.
func (r *soakRound) said(name string) string {
	data, err := os.ReadFile(filepath.Join(r.work, name))
	if err != nil {
		r.t.Error(err)
	}
	return string(data)
}

// evidence leaves, of a round that failed, what was said.
func (r *soakRound) evidence() {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n", &r.plan)
	for _, kind := range kinds {
		for _, text := range r.found.faults[kind] {
			fmt.Fprintf(&b, "%s: %s\n", kind, text)
		}
	}
	for _, p := range []*process{r.agent, r.collector} {
		if p != nil {
			fmt.Fprintf(&b, "\n%s\n", p.whole())
		}
	}
	for _, name := range []string{"stdout", "stderr", "disk/run/summary.txt", "disk/run/moriens.log", "disk/run/manifest.json"} {
		if data, err := os.ReadFile(filepath.Join(r.work, name)); err == nil {
			fmt.Fprintf(&b, "\n== %s\n%s", name, data)
		}
	}
	if err := os.WriteFile(filepath.Join(r.work, "evidence.txt"), []byte(b.String()), 0o600); err != nil {
		r.t.Error(err)
	}
	r.t.Logf("%v\nmore in %s", &r.plan, filepath.Join(r.work, "evidence.txt"))
}
