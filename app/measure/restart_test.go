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
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/uplink"
	"moriens/analysis/grouping"
	"moriens/conclude"
	"moriens/cshim/ringwriter"
	"moriens/internal/rendezvous"
	"moriens/internal/units"
)

// They make this test's program an agent or a collector of its own, which can be killed or stopped.
const (
	agentEnv      = "MORIENS_TEST_AGENT"
	agentCellsEnv = "MORIENS_TEST_AGENT_CELLS"
	collectEnv    = "MORIENS_TEST_COLLECT"
	// spoolMaxEnv bounds the agent's spool.
	spoolMaxEnv = "MORIENS_TEST_SPOOL_MAX"
)

func TestMain(m *testing.M) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var err error
	as := func(dir string, kept *Cells) error {
		var spoolMax units.Bytes
		if bound := os.Getenv(spoolMaxEnv); bound != "" {
			if err := spoolMax.UnmarshalText([]byte(bound)); err != nil {
				return err
			}
		}
		return Agent(AgentConfig{
			Dir: dir, Shm: filepath.Join(dir, "shm"), Wait: 10 * time.Second, Idle: time.Second,
			Spool: Spool{Dir: filepath.Join(dir, "spool"), Max: spoolMax}, Cells: kept, Options: byDuration, Log: log,
		})
	}
	if dir := os.Getenv(agentEnv); dir != "" {
		err = as(dir, nil)
	} else if dir := os.Getenv(agentCellsEnv); dir != "" {
		err = as(dir, new(Cells))
	} else if dir := os.Getenv(collectEnv); dir != "" {
		err = Collect(CollectConfig{Out: dir, Listen: "127.0.0.1:0", Options: byDuration, Keep: Keep{Timeout: patience}, Log: log})
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

// TestKilledAgent kills the agent at random moments, starts it again, and finds every record that was written at the
// collector, once.
func TestKilledAgent(t *testing.T) {
	t.Parallel()
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

	killAgents(t, agentEnv, dir, rand.New(rand.NewPCG(5, 2)))
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
	f := stopped(c)
	if f.Agents[0].Done.GetRestarts() == 0 || len(f.Agents) != 1 {
		t.Errorf("%d agents, done: %v", len(f.Agents), f.Agents[0].Done)
	}
	t.Logf("%d calls of ring 0, %d messages arrived twice, done: %v", len(planters[0].enter), f.Totals.Duplicates, f.Agents[0].Done)
	compare(t, f, planters)
}

// TestRemovedSpool removes the spool under the agent, which makes it again, and kills it: nothing is lost, as the
// collector has what the earlier agent has left there, and to the collector the next agent is the same one.
func TestRemovedSpool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startRun(t, "00000000000000ac", "127.0.0.1:0")
	meet := c.Rendezvous()
	if err := rendezvous.Write(dir, meet); err != nil {
		t.Fatal(err)
	}
	shm := filepath.Join(dir, "shm")
	if err := os.Mkdir(shm, 0o700); err != nil {
		t.Fatal(err)
	}
	planters := plant(t, ring.DirectoryPath(shm, os.Getuid(), meet.Run), 1<<16)
	stop, written := make(chan struct{}), make(chan struct{})
	go func() { write(planters, stop, 6); close(written) }()
	spool := func(more int64) (path string) { // once more than so much is in the outbox, and the windows know of the rings
		t.Helper()
		const head = 64 // more than that of an empty file
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if found, _ := filepath.Glob(filepath.Join(dir, "spool", "*", "*", "identity.json")); len(found) == 1 &&
				bytesBelow(t, dir, "outbox") > more && bytesBelow(t, dir, "state") > head {
				return filepath.Dir(found[0])
			}
		}
		t.Fatal("there is no spool")
		return ""
	}
	for range 2 {
		left, err := filepath.Glob(filepath.Join(dir, "spool", "*", "*", "outbox", "*"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := child(t, agentEnv, dir)
		awaitGone(t, left)
		removed := filepath.Join(t.TempDir(), "removed") // first renamed, so that the agent makes no new files in what is being removed
		if err := os.Rename(spool(100), removed); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(removed); err != nil {
			t.Fatal(err)
		}
		spool(100)
		cmd.Process.Kill()
		cmd.Wait()
	}
	last := child(t, agentEnv, dir)
	close(stop)
	<-written
	if err := last.Wait(); err != nil {
		t.Errorf("the last agent: %v", err)
	}
	f := stopped(c)
	if len(f.Agents) != 1 || f.Agents[0].Done.GetRestarts() != 2 || f.Agents[0].Done.GetWindows().GetError() != "" {
		t.Errorf("%d agents, done: %v", len(f.Agents), f.Agents[0].Done)
	}
	compare(t, f, planters)
}

// TestForgottenSpool kills an agent that has read a ring before the collector has arrived, and removes its spool: what
// it has read is lost, and the next one says so.
func TestForgottenSpool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startRun(t, "00000000000000ad", "127.0.0.1:0")
	meet := c.Rendezvous()
	nobody := meet
	nobody.Address = "127.0.0.1:1"
	if err := rendezvous.Write(dir, nobody); err != nil {
		t.Fatal(err)
	}
	shm := filepath.Join(dir, "shm")
	if err := os.Mkdir(shm, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := ringwriter.New(ring.DirectoryPath(shm, os.Getuid(), meet.Run), ringwriter.Identity{Size: 1, PID: os.Getpid(), World: "w"})
	if err != nil {
		t.Fatal(err)
	}
	const slots, lost, arrived = 1 << 10, 5, 3
	w, err := p.Thread(slots)
	if err != nil {
		t.Fatal(err)
	}
	call := named(t, "MPI_Barrier")
	path := p.Path(ringwriter.Frame{Offset: 16})
	write := func(from, n int) {
		for k := range n {
			at := uint64(from+k+1) * 1000
			if !w.Call(call, path, at, at+100) {
				t.Fatal("the ring is full")
			}
		}
	}
	first := child(t, agentEnv, dir)
	write(0, lost)
	awaitRoom(t, w, slots)
	first.Process.Kill()
	first.Wait()
	if err := os.RemoveAll(filepath.Join(dir, "spool")); err != nil {
		t.Fatal(err)
	}
	if err := rendezvous.Write(dir, meet); err != nil {
		t.Fatal(err)
	}
	last := child(t, agentEnv, dir)
	write(lost, arrived)
	p.Finalize()
	p.Exit()
	if err := last.Wait(); err != nil {
		t.Errorf("the last agent: %v", err)
	}
	r, err := concludeAll(t, stopped(c), conclude.Job{Run: meet.Run}, grouping.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Describe()
	m := r.Manifest
	if m.MPICalls["MPI_Barrier"] != arrived || m.Losses.FilesUnreadable != 1 || m.Complete {
		t.Errorf("calls %v, losses %+v, complete: %t", m.MPICalls, m.Losses, m.Complete)
	}
	if notes := strings.Join(m.Notes, "\n"); !strings.Contains(notes, "were read by an agent that died and whose spool is missing") {
		t.Error(notes)
	}
}

// awaitGone waits until an agent has removed files of the outbox that it has found: the collector has acknowledged what
// is in them.
func awaitGone(t *testing.T, files []string) {
	t.Helper()
	for deadline := time.Now().Add(patience); len(files) > 0; {
		if _, err := os.Stat(files[0]); errors.Is(err, fs.ErrNotExist) {
			files = files[1:]
			continue
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v are still there", files)
		}
		time.Sleep(time.Millisecond)
	}
}

// killAgents starts an agent again and again, and kills it at a random moment: every other time counted from when it
// has written something.
func killAgents(t *testing.T, env, dir string, random *rand.Rand) {
	t.Helper()
	for round := range 20 {
		before := bytesBelow(t, dir, "outbox")
		cmd := child(t, env, dir)
		for deadline := time.Now().Add(patience); round%2 == 0 && bytesBelow(t, dir, "outbox") == before; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the agent writes nothing")
			}
		}
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// absent is a collector that is not there until it starts.
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

// logged is a log that waits for one message.
type logged struct {
	slog.Handler
	message string
	once    *sync.Once
	seen    chan struct{}
}

func awaitLog(message string) logged {
	return logged{slog.DiscardHandler, message, new(sync.Once), make(chan struct{})}
}

func (h logged) Enabled(context.Context, slog.Level) bool { return true }

func (h logged) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, h.message) {
		h.once.Do(func() { close(h.seen) })
	}
	return nil
}

func (h logged) WithAttrs([]slog.Attr) slog.Handler { return h }

// TestAbsentCollector starts the collector when ranks have long been running: all waits in the spool, and where that
// has no more room than these 1 MiB the rings drop and count.
func TestAbsentCollector(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		max   units.Bytes
		calls int
		full  bool
	}{{"with room", 0, 20, false}, {"without room", 1 << 20, 400, true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := startCollector(t, "127.0.0.1:0")
			shm := t.TempDir()
			away := &absent{meet: c.Rendezvous()}
			planters := plant(t, ring.DirectoryPath(shm, os.Getuid(), "run1"), 1<<12)
			for _, p := range planters {
				p.patient = !tt.full
			}
			log := awaitLog("the spool is full")
			node, err := agent.New(agent.Config{Run: "run1", Shm: shm, Find: away.find, Spool: t.TempDir(), SpoolMax: tt.max, Log: slog.New(log)})
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- node.Run(context.Background()) }()
			stop, written := make(chan struct{}), make(chan struct{})
			go func() { write(planters, stop, tt.calls); close(written) }()
			if tt.full {
				<-log.seen
				for before := planters[0].dropped.Load(); planters[0].dropped.Load() == before; time.Sleep(time.Millisecond) {
				}
			} else {
				time.Sleep(time.Second)
			}
			away.here.Store(true)
			time.Sleep(200 * time.Millisecond)
			close(stop)
			<-written
			awaitEnds(t, 2, c)
			node.JobOver()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			f := stopped(c)
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
	t.Parallel()
	out, shm := filepath.Join(t.TempDir(), "run"), t.TempDir()
	cmd := child(t, collectEnv, out)
	meet, err := rendezvous.Wait(out, patience, nil)
	if err != nil {
		t.Fatal(err)
	}
	planters := plant(t, ring.DirectoryPath(shm, os.Getuid(), meet.Run), 1<<12)
	for _, p := range planters {
		p.patient = true
	}
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
	var arrived, wrote uint64
	for _, n := range manifest.Calls {
		arrived += n
	}
	for _, p := range planters {
		wrote += uint64(len(p.enter))
	}
	if arrived != wrote || manifest.Dropped != 0 || wrote == 0 {
		t.Errorf("%d calls arrived, %d were written; %d dropped", arrived, wrote, manifest.Dropped)
	}
	t.Logf("%d calls", wrote)
}
