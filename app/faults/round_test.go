package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/agent/ring"
	"moriens/internal/rendezvous"
	"moriens/internal/testenv"
)

// A fault is something that happens to a run.
type fault int

const (
	killAgent fault = iota
	killCollector
	killRank
	freezeCollector
	freezeAgent
	cutConnections
	fillDisk
	faults           // those that written rings meet; make soak has these besides
	freezeRank fault = iota - 1
	fillSpool
	removeSpool
	removeMeeting
	allFaults
)

func (f fault) String() string {
	return [allFaults]string{
		"kill the agent", "kill the collector", "kill a rank", "freeze the collector", "freeze the agent", "cut connections", "fill the disk",
		"freeze a rank", "fill the spool's disk", "remove the spool", "remove collector.json",
	}[f]
}

// An incident is a fault at a time after the start.
type incident struct {
	fault
	at, lasts time.Duration // lasts: until what was killed is restarted, what was frozen continues, there is room again
	rank      int
}

// A plan is a round. It depends on the round's number alone; its outcome also depends on the machine.
type plan struct {
	ranks, threads, calls int
	incidents             []incident
}

func planOf(seed uint64) plan {
	random := rand.New(rand.NewPCG(seed, 0xfa17))
	p := plan{ranks: 1 + random.IntN(3), threads: 1 + random.IntN(2), calls: 2000 + random.IntN(6000)}
	length := 40 + p.calls/32*2 // ms, roughly
	for range 1 + random.IntN(5) {
		p.incidents = append(p.incidents, incident{
			fault: fault(random.IntN(int(faults))), rank: random.IntN(p.ranks),
			at: time.Duration(random.IntN(length)) * time.Millisecond, lasts: time.Duration(random.IntN(150)) * time.Millisecond,
		})
	}
	slices.SortFunc(p.incidents, func(a, b incident) int { return int(a.at - b.at) })
	return p
}

func (p plan) has(f fault) bool {
	return slices.ContainsFunc(p.incidents, func(i incident) bool { return i.fault == f })
}

func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d ranks of %d threads, %d calls each", p.ranks, p.threads, p.calls)
	for _, i := range p.incidents {
		fmt.Fprintf(&b, "; after %v %v (%v, rank %d)", i.at, i.fault, i.lasts, i.rank)
	}
	return b.String()
}

// A round is a run under measurement.
type round struct {
	t                *testing.T
	work, out, truth string
	disk             *disk // nil: the run directory has room
	collector, agent *process
	proxy            *proxy
	meet             rendezvous.Rendezvous
	shm, rings       string
	agents           string // where agents find the rendezvous that leads to the proxy
}

// roundTime is how long anything in a round may take: a few seconds on a busy machine, half a minute with a fifth of a
// core for eight rounds.
const roundTime = 10 * time.Minute

// startRound starts a collector and an agent that connects to it through the proxy.
func startRound(t *testing.T, moriens string, withDisk bool) *round {
	bytes := 0
	if withDisk {
		bytes = diskBytes
	}
	r := newRound(t, t.TempDir(), bytes)
	r.startCollector(&process{name: "collector", command: []string{moriens, "collect", "--log", "info", "--out", r.out, "--keep-bursts", "all", "--moriens-timeout=10m"}})
	r.startAgent(&process{name: "agent", command: []string{
		moriens, "agent", "--log", "info", "--dir", r.agents, "--shm", r.shm, "--spool", filepath.Join(r.work, "spool"), "--idle", "300ms",
	}})
	return r
}

// newRound makes what a round has besides its processes, in a directory that is there; the run directory on a disk of
// so many bytes, 0: on one with room.
func newRound(t *testing.T, work string, bytes int) *round {
	r := &round{
		t: t, work: work, out: filepath.Join(work, "disk", "run"), truth: filepath.Join(work, "truth"), shm: filepath.Join(work, "shm"),
		agents: filepath.Join(work, "agents"),
	}
	for _, dir := range []string{filepath.Dir(r.out), r.truth, r.shm, r.agents} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if bytes > 0 {
		r.disk = mountDisk(t, filepath.Dir(r.out), bytes)
	}
	return r
}

// startCollector starts it, and the proxy before it.
func (r *round) startCollector(p *process) {
	r.collector = p
	r.collector.start()
	r.t.Cleanup(func() { r.collector.signal(syscall.SIGTERM); <-r.collector.ended })
	var err error
	if r.meet, err = rendezvous.Wait(r.out, roundTime, nil); err != nil {
		r.t.Fatalf("%v\n%s", err, r.collector.text())
	}
	if r.proxy, err = startProxy(r.meet, r.out, r.agents); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(r.proxy.close)
	r.rings = ring.DirectoryPath(r.shm, os.Getuid(), r.meet.Run)
}

func (r *round) startAgent(p *process) {
	r.agent = p
	r.agent.start()
	r.t.Cleanup(func() { r.agent.signal(syscall.SIGTERM); <-r.agent.ended })
}

// happen lets an incident happen. A rank is killed when all have arrived, for the others wait for it.
func (r *round) happen(p plan, i incident, ranks []*exec.Cmd) {
	switch i.fault {
	case killAgent:
		r.agent.kill(i.lasts)
	case killCollector:
		r.collector.kill(i.lasts)
	case killRank:
		awaitRanks(r.truth, p.ranks, p.threads)
		ranks[i.rank].Process.Kill()
	case freezeCollector, freezeAgent:
		frozen := r.collector
		if i.fault == freezeAgent {
			frozen = r.agent
		}
		frozen.signal(syscall.SIGSTOP)
		time.Sleep(i.lasts)
		frozen.signal(syscall.SIGCONT)
	case cutConnections:
		r.proxy.cut()
	case fillDisk:
		if r.disk != nil {
			r.disk.fill(r.t)
			time.Sleep(i.lasts)
			r.disk.free(r.t)
		}
	}
}

// end waits for agent and collector to end by themselves. A collector that finds no room for the results says so, and
// is started again as its user would.
func (r *round) end() {
	deadline := time.After(roundTime)
	wait := func(p *process) {
		said := r.agent.text() + r.collector.text()
		if !p.await(deadline) {
			r.t.Fatalf("%s: not at its end after %v\n%s\n%s", p.name, roundTime, said, p.text())
		}
	}
	wait(r.agent)
	wait(r.collector)
	if exit := (*exec.ExitError)(nil); errors.As(r.collector.status, &exit) && exit.ExitCode() == 1 && r.disk != nil {
		r.collector.start()
		wait(r.collector)
	}
	for _, p := range []*process{r.agent, r.collector} {
		if p.status != nil {
			r.t.Errorf("%s: %v", p.name, p.status)
		}
	}
	if files, err := os.ReadDir(r.rings); err == nil {
		r.t.Errorf("%d files are left in shared memory", len(files))
	}
}

// A disk is a small file system for the run directory.
type disk struct{ dir string }

const diskBytes = 32 << 20

func mountDisk(t *testing.T, dir string, bytes int) *disk {
	testenv.NeedRoot(t)
	if err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		testenv.Lacking(t, "no mounts here: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return &disk{dir}
}

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill leaves no room.
func (d *disk) fill(t *testing.T) {
	f, err := os.Create(d.ballast())
	if err != nil {
		return // there is none already
	}
	defer f.Close()
	block := make([]byte, 1<<16)
	for {
		n, err := f.Write(block)
		if err != nil && n == 0 {
			return
		}
	}
}

func (d *disk) free(t *testing.T) {
	if err := os.Remove(d.ballast()); err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
}
