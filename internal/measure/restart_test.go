package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/uplink"
	"moriens/collector/store"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/rendezvous"
	"moriens/internal/shmabi"
	"moriens/internal/ticks"
	"moriens/internal/units"
)

// They make this test's program an agent or a collector of its own, which can be killed or stopped.
const (
	agentEnv   = "MORIENS_TEST_AGENT"
	collectEnv = "MORIENS_TEST_COLLECT"
)

func TestMain(m *testing.M) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var err error
	if dir := os.Getenv(agentEnv); dir != "" {
		err = Agent(AgentConfig{
			Dir: dir, Shm: filepath.Join(dir, "shm"), Wait: 10 * time.Second, Idle: time.Second,
			Spool: Spool{Dir: filepath.Join(dir, "spool")}, Log: log,
		})
	} else if dir := os.Getenv(collectEnv); dir != "" {
		err = Collect(CollectConfig{Out: dir, Listen: "127.0.0.1:0", Options: byDuration, Log: log})
	} else {
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child starts this test's program as something else.
func child(t testing.TB, env, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), env+"="+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd
}

// A planter writes a ring as fast as it is told to, and remembers what found room.
type planter struct {
	process *ringwriter.Process
	ring    *ringwriter.Ring
	paths   []uint32
	name    uint32
	moves   bool // calls have transfers and requests
	at      uint64
	enter   []uint64
	exit    []uint64
	marks   uint64
	dropped uint64
	moved   uint64 // transfers
	open    bool   // a request is under way
}

func (p *planter) call() {
	k := uint64(len(p.enter)) + p.dropped
	enter := p.at + 20 + k%7
	exit := enter + 1 + k%11
	if k%100 == 99 {
		p.ring.Mark(shmabi.MarkEvent, p.name, enter-1, int64(k))
		p.marks++
	}
	call := mpicall.Send
	if p.moves {
		call = [2]mpicall.ID{mpicall.Isend, mpicall.Wait}[k%2]
	}
	if !p.ring.Enter(call, p.paths[k%uint64(len(p.paths))], enter) {
		p.dropped++
		return
	}
	switch {
	case p.moves && k%2 == 0:
		ringwriter.Add(p.ring, shmabi.Transfer{Kind: shmabi.SlotSent, Bytes: k, Request: 7 + k%5, Peer: 0, Tag: int32(k % 1000)})
		p.open = true
	case p.moves && p.open:
		ringwriter.Add(p.ring, shmabi.Request{Kind: shmabi.SlotRequest, Event: shmabi.RequestCompleted, Request: 7 + (k-1)%5, Source: -1, Tag: -1})
		p.moved++
		p.open = false
	}
	p.ring.Exit(exit)
	p.enter, p.exit, p.at = append(p.enter, enter), append(p.exit, exit), exit
}

// plant makes two processes: one with requests, the other with two threads.
func plant(t *testing.T, dir string, slots int) []*planter {
	t.Helper()
	now, err := ticks.Now(shmabi.ClockMonotonicRaw)
	if err != nil {
		t.Fatal(err)
	}
	var list []*planter
	for rank := range 2 {
		process, err := ringwriter.New(dir, ringwriter.Identity{Rank: rank, Size: 2, World: "w"})
		if err != nil {
			t.Fatal(err)
		}
		module := process.Module("/opt/app", nil)
		var paths []uint32
		for k := range 5 {
			paths = append(paths, process.Path(ringwriter.Frame{Module: module, Offset: uint64(k)}))
		}
		name := process.Name("phase")
		for range rank + 1 {
			r, err := process.Thread(slots)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, &planter{process: process, ring: r, paths: paths, name: name, moves: rank == 0, at: now})
		}
	}
	return list
}

// write has all planters write until it is told to stop, some calls at a time.
func write(planters []*planter, stop <-chan struct{}, calls int) {
	var writers sync.WaitGroup
	for _, p := range planters {
		writers.Go(func() {
			for tick := time.NewTicker(time.Millisecond); ; {
				for range calls {
					p.call()
				}
				select {
				case <-stop:
					tick.Stop()
					return
				case <-tick.C:
				}
			}
		})
	}
	writers.Wait()
	for i, p := range planters {
		if i == 0 || planters[i-1].process != p.process {
			p.process.Finalize()
			p.process.Exit()
		}
	}
}

// compare sees that the collector holds what found room in the rings, each record once, and counts the rest.
func compare(t *testing.T, f store.Frozen, planters []*planter) {
	t.Helper()
	rings := make(map[uint64]*store.Ring)
	moved := uint64(0)
	for _, p := range f.Processes {
		for _, r := range p.Rings {
			rings[r.Info.Ring] = r
		}
		if p.End == nil || p.TransfersEnd == nil {
			t.Errorf("rank %d has no end", p.Info.Rank)
		}
		moved += p.TransfersEnd.GetTransfers()
	}
	if len(f.Processes) != 2 || len(rings) != len(planters) || f.Totals.Refused != 0 {
		t.Fatalf("%d processes, %d rings, %d messages refused: %v", len(f.Processes), len(rings), f.Totals.Refused, f.Agents[0].Refused)
	}
	lost, counted, transfers := uint64(0), uint64(0), uint64(0)
	for _, p := range planters {
		r := rings[p.ring.ID()]
		var enter, exit []uint64
		marks := 0
		for _, c := range r.Chunks {
			at := c.Origin
			for i := range c.Path {
				enter = append(enter, at+c.Burst[i])
				at += c.Burst[i] + c.Call[i]
				exit = append(exit, at)
			}
		}
		for _, m := range r.Marks {
			marks += len(m.What)
		}
		if len(enter) != len(p.enter) || r.End == nil {
			t.Fatalf("ring %016x: %d calls came, %d were written; end %v", p.ring.ID(), len(enter), len(p.enter), r.End)
		}
		for i := range enter {
			if enter[i] != p.enter[i] || exit[i] != p.exit[i] {
				t.Fatalf("ring %016x, call %d: %d to %d, written %d to %d", p.ring.ID(), i, enter[i], exit[i], p.enter[i], p.exit[i])
			}
		}
		if p.dropped == 0 && uint64(marks) != p.marks {
			t.Errorf("ring %016x: %d marks came, %d were set", p.ring.ID(), marks, p.marks)
		}
		// Marks and calls that found no room are counted as one.
		counted += r.End.Dropped + uint64(marks)
		lost += p.dropped + p.marks
		transfers += p.moved
	}
	if counted != lost {
		t.Errorf("%d records dropped or marks, %d were", counted, lost)
	}
	if f.Totals.Dropped == 0 && moved != transfers {
		t.Errorf("%d transfers came, %d were made", moved, transfers)
	}
}

// TestKilledAgent kills the agent at random moments, starts it again, and finds every record that was written at the
// collector, once.
func TestKilledAgent(t *testing.T) {
	dir := t.TempDir()
	c := startRun(t, "00000000000000ab", "127.0.0.1:0")
	meet := c.Rendezvous()
	if err := rendezvous.Write(dir, meet); err != nil {
		t.Fatal(err)
	}
	shm := filepath.Join(dir, "shm")
	if err := os.Mkdir(shm, 0o700); err != nil {
		t.Fatal(err)
	}
	rings := ring.DirectoryPath(shm, os.Getuid(), meet.Run)
	planters := plant(t, rings, 1<<16)
	stop, written := make(chan struct{}), make(chan struct{})
	go func() { write(planters, stop, 20); close(written) }()

	random := rand.New(rand.NewPCG(5, 2))
	for range killRounds {
		cmd := child(t, agentEnv, dir)
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
	}
	last := child(t, agentEnv, dir)
	time.Sleep(300 * time.Millisecond)
	close(stop)
	<-written
	if err := last.Wait(); err != nil {
		t.Errorf("the last agent: %v", err)
	}
	for _, path := range []string{rings, filepath.Join(dir, "spool", fmt.Sprintf("moriens-%d", os.Getuid()))} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	f := c.Stop()
	if f.Agents[0].Done.GetRestarts() == 0 || len(f.Agents) != 1 {
		t.Errorf("%d agents, done: %v", len(f.Agents), f.Agents[0].Done)
	}
	t.Logf("%d calls of ring 0, %d messages came twice, done: %v", len(planters[0].enter), f.Totals.Duplicates, f.Agents[0].Done)
	compare(t, f, planters)
}

// killRounds is how often TestKilledAgent kills.
const killRounds = 20

// absent is a collector that is not there until it comes.
type absent struct {
	meet rendezvous.Rendezvous
	here atomic.Bool
}

func (a *absent) find() (rendezvous.Rendezvous, error) {
	if !a.here.Load() {
		return rendezvous.Rendezvous{}, fs.ErrNotExist
	}
	return a.meet, nil
}

// bytesBelow is what the files of all folders of a name below a directory hold.
func bytesBelow(t *testing.T, dir, parent string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Base(filepath.Dir(path)) != parent {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return n
}

// awaitFull waits until an outbox has stopped growing near its bound; a second later the rings are full too.
func awaitFull(t *testing.T, dir string, maxBytes int64) {
	t.Helper()
	outboxes, since := int64(0), time.Now()
	for deadline := since.Add(time.Minute); time.Since(since) < time.Second || outboxes < maxBytes/2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the outbox has %d bytes", outboxes)
		}
		if n := bytesBelow(t, dir, "outbox"); n != outboxes {
			outboxes, since = n, time.Now()
		}
	}
}

// TestAbsentCollector has the collector come when ranks have long been running: all waits in the spool, and where
// that has no more room than these 1 MiB the rings drop and count.
func TestAbsentCollector(t *testing.T) {
	for _, tt := range []struct {
		name  string
		max   units.Bytes
		calls int
		full  bool
	}{{"with room", 0, 20, false}, {"without room", 1 << 20, 400, true}} {
		t.Run(tt.name, func(t *testing.T) {
			c := startCollector(t, "127.0.0.1:0")
			shm := t.TempDir()
			away := &absent{meet: c.Rendezvous()}
			planters := plant(t, ring.DirectoryPath(shm, os.Getuid(), "run1"), 1<<12)
			spool := t.TempDir()
			node, err := agent.New(agent.Config{Run: "run1", Shm: shm, Find: away.find, Spool: spool, SpoolMax: tt.max, Log: quiet})
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- node.Run(context.Background()) }()
			stop, written := make(chan struct{}), make(chan struct{})
			go func() { write(planters, stop, tt.calls); close(written) }()
			time.Sleep(time.Second)
			if tt.full {
				awaitFull(t, spool, int64(tt.max))
			}
			away.here.Store(true)
			time.Sleep(200 * time.Millisecond)
			close(stop)
			<-written
			node.JobOver()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			f := c.Stop()
			d := f.Agents[0].Done
			if (d.SpoolFullNs > 0) != tt.full || (f.Totals.Dropped > 0) != tt.full || tt.full && d.SpoolPeakBytes > 2<<20 {
				t.Errorf("dropped %d, %v", f.Totals.Dropped, d)
			}
			t.Logf("%d calls of ring 0, dropped %d, %v", len(planters[0].enter), f.Totals.Dropped, d)
			compare(t, f, planters)
		})
	}
}

// TestFrozenCollector stops a collector for a while: the ranks do not notice, and nothing is lost.
func TestFrozenCollector(t *testing.T) {
	out, shm := filepath.Join(t.TempDir(), "run"), t.TempDir()
	cmd := child(t, collectEnv, out)
	meet, err := rendezvous.Wait(out, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	planters := plant(t, ring.DirectoryPath(shm, os.Getuid(), meet.Run), 1<<12)
	node, err := agent.New(agent.Config{Run: meet.Run, Shm: shm, Find: uplink.At(meet), Spool: t.TempDir(), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- node.Run(context.Background()) }()
	stop, written := make(chan struct{}), make(chan struct{})
	go func() { write(planters, stop, 20); close(written) }()
	time.Sleep(200 * time.Millisecond)
	cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(2 * time.Second)
	cmd.Process.Signal(syscall.SIGCONT)
	time.Sleep(200 * time.Millisecond)
	close(stop)
	<-written
	node.JobOver()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(out, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Calls   map[string]uint64 `json:"mpi_calls"`
		Dropped uint64            `json:"dropped"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	var came, wrote, dropped uint64
	for _, n := range manifest.Calls {
		came += n
	}
	for _, p := range planters {
		wrote += uint64(len(p.enter))
		dropped += p.dropped
	}
	if came != wrote || manifest.Dropped != dropped || wrote == 0 {
		t.Errorf("%d calls came, %d were written; %d dropped, %d were", came, wrote, manifest.Dropped, dropped)
	}
	t.Logf("%d calls, %d dropped", wrote, dropped)
}
