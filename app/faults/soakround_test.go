package faults

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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
	killed  bool          // the process with the collector, and only this test restarts it
	nothing bool          // it was before there was anything to resume
	starter int           // of a plain preload: the rank's process that then has to say so
	guard   time.Duration // how long what must end may take
	notes   []string      // for the evidence
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

// soakOne runs a round in a directory that is kept if something was wrong.
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
		guard: guard, found: outcome{faults: map[string][]string{}},
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
	r.happenAll()
	if t.Failed() {
		r.evidence()
	}
	return r.found
}

// happenAll lets the round happen.
func (r *soakRound) happenAll() {
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
		r.note("%v after all had recorded: %v", time.Since(begin).Round(time.Millisecond), i.fault)
		r.meetWith(i, &all)
	}
	hung := time.After(r.guard)
	select {
	case <-r.ended:
	case <-hung:
		r.fail(kindHang, "the job is not at its end %v after the last incident\n%s", r.guard, r.standing())
	}
	all.Wait()
	r.finish()
	r.checkProgram()
	r.checkResults()
	r.checkLeft()
}

// finish waits until agent and collector have ended by themselves. Where the process with the collector was killed, the
// run is concluded as its user would.
func (r *soakRound) finish() {
	if r.killed && r.begun() {
		r.collector = &process{name: "collector", env: r.env(), command: r.collect()}
		r.agent = &process{name: "agent", env: r.env(), command: r.agentOf()}
		for _, p := range []*process{r.collector, r.agent} {
			p.start()
			r.t.Cleanup(func() { p.signal(syscall.SIGTERM); <-p.ended })
		}
	}
	deadline := time.After(r.guard)
	if r.collector != nil {
		for _, p := range []*process{r.agent, r.collector} {
			if !p.await(deadline) {
				r.fail(kindHang, "%s: not at its end after %v", p.name, r.guard)
			}
		}
		if r.collector.status != nil && r.disk != nil {
			r.collector.start()
			if !r.collector.await(time.After(r.guard)) {
				r.fail(kindHang, "collector: not at its end after %v", r.guard)
			}
		}
		for _, p := range []*process{r.agent, r.collector} {
			if p.status != nil && len(r.found.faults[kindHang]) == 0 && !(p == r.collector && r.elsewhere()) && !(p == r.agent && r.agentTooLate()) {
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
			r.fail(kindHang, "these have not ended after %v:\n%s", r.guard, r.standing())
			for _, pid := range r.processes("") {
				syscall.Kill(pid, syscall.SIGCONT)
				syscall.Kill(pid, syscall.SIGQUIT) // which reports where they are
			}
			time.Sleep(time.Second)
			r.endAll(r.processes(""))
		}
	}
}

// note keeps something for the evidence.
func (r *soakRound) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
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

// evidence keeps the output of a round that failed.
func (r *soakRound) evidence() {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n", &r.plan)
	for _, kind := range kinds {
		for _, text := range r.found.faults[kind] {
			fmt.Fprintf(&b, "%s: %s\n", kind, text)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", strings.Join(r.notes, "\n"))
	filepath.WalkDir(r.work, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			fmt.Fprintln(&b, path)
		}
		return nil
	})
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
