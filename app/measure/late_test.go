package measure

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/uplink"
	"moriens/collector"
	"moriens/conclude/retention"
	"moriens/cshim/ringwriter"
	"moriens/internal/hint"
	"moriens/internal/mpicall"
	"moriens/internal/rendezvous"
	"moriens/internal/testenv"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
)

// ended waits for the end of an agent.
func ended(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(3 * time.Minute):
		t.Fatal("the agent waits")
		return nil
	}
}

// startAgent runs an agent as the command does, which would wait for an hour.
func startAgent(dir string) <-chan error {
	done := make(chan error, 1)
	go func() {
		done <- Agent(AgentConfig{Dir: dir, Shm: filepath.Join(dir, "shm"), Wait: time.Hour, Spool: Spool{Dir: filepath.Join(dir, "spool")}, Options: byDuration, Log: quiet})
	}()
	return done
}

// leaveResults leaves a run directory as a collector that has ended.
func leaveResults(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, rundir.ManifestFile), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := rendezvous.Remove(dir); err != nil {
		t.Fatal(err)
	}
}

// An agent that connects when the results are written is informed at once, and so is one that waits when that happens;
// neither leaves any files.
func TestAgentAfterTheEnd(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T, dir string) <-chan error{
		"comes later": func(t *testing.T, dir string) <-chan error {
			leaveResults(t, dir)
			return startAgent(dir)
		},
		"waits for the collector": func(t *testing.T, dir string) <-chan error {
			done := startAgent(dir)
			leaveResults(t, dir)
			return done
		},
		"does not reach it any more": func(t *testing.T, dir string) <-chan error {
			c := startRun(t, "00000000000000ab", "127.0.0.1:0")
			if err := rendezvous.Write(dir, c.Rendezvous()); err != nil {
				t.Fatal(err)
			}
			stopped(c)
			done := startAgent(dir)
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // it has read where the collector was
				if _, err := os.Stat(filepath.Join(dir, "spool")); err == nil || time.Now().After(deadline) {
					break
				}
			}
			leaveResults(t, dir)
			return done
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "shm"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := ended(t, begin(t, dir)); !errors.Is(err, uplink.ErrOver) || hint.Of(err) == "" {
				t.Errorf("%v, hint %q", err, hint.Of(err))
			}
			for _, left := range []string{"shm", "spool"} {
				if entries, err := os.ReadDir(filepath.Join(dir, left)); len(entries) > 0 {
					t.Errorf("%s has %v, %v", left, entries, err)
				}
			}
		})
	}
}

// The agent of a plain preload, which hosts the collector, may be killed when the run has ended and the results are
// made: the one that is started in its place makes them, asks itself for what it has, and leaves no spool, be there
// room for the results or not.
func TestPreloadAfterTheEnd(t *testing.T) {
	t.Run("room", func(t *testing.T) { preloadAfterTheEnd(t, false) })
	t.Run("no room", func(t *testing.T) { preloadAfterTheEnd(t, true) })
}

func preloadAfterTheEnd(t *testing.T, full bool) {
	dir := t.TempDir()
	out := filepath.Join(dir, "run")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	if full {
		t.Setenv("TMPDIR", t.TempDir()) // where the results go then
		if err := syscall.Mount("none", out, "tmpfs", 0, "size=8m"); err != nil {
			testenv.Lacking(t, "cannot mount a tmpfs here: "+err.Error())
		}
		disk := out
		t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	}
	shm, spools, run := filepath.Join(dir, "shm"), filepath.Join(dir, "spool"), "00000000000000ae"
	rings := ring.DirectoryPath(shm, os.Getuid(), run)
	if err := os.MkdirAll(rings, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := collector.Start(collector.Config{Journal: filepath.Join(out, rundir.JournalDir), Run: run, Listen: "127.0.0.1:0", Command: rendezvous.CommandPreload, Linger: patience, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := rendezvous.Write(dir, c.Rendezvous()); err != nil {
		t.Fatal(err)
	}
	p, err := ringwriter.New(rings, ringwriter.Identity{Size: 1, PID: os.Getpid(), World: "w"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.Thread(1 << 10)
	if err != nil {
		t.Fatal(err)
	}
	for at := uint64(1000); at < 20_000; at += 1000 {
		if !w.Call(mpicall.Barrier, 0, at, at+100) {
			t.Fatal("the ring is full")
		}
	}
	p.Finalize()
	p.Exit()
	before := child(t, agentEnv, dir)
	wait, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.WaitAgents(wait); err != nil {
		t.Fatal(err)
	}
	c.Freeze("")
	before.Process.Kill()
	before.Wait()
	c.Close(collector.Outcome{})
	if found, _ := filepath.Glob(filepath.Join(spools, "*", "*")); len(found) != 1 {
		t.Fatalf("the agent has left %q", found)
	}

	if full {
		ballast, err := os.Create(filepath.Join(out, "ballast"))
		if err != nil {
			t.Fatal(err)
		}
		for block := make([]byte, 4096); err == nil; {
			_, err = ballast.Write(block)
		}
		ballast.Close()
	}
	fd := int(os.Stderr.Fd()) // which a preload makes its log
	stderr, err := unix.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { unix.Dup3(stderr, fd, 0); unix.Close(stderr) }()
	host := preload{
		PreloadConfig: PreloadConfig{
			Run: run, Shm: shm, Near: dir, Dir: out, Alone: true, Timeout: patience, Agent: "agent", Words: io.Discard, Spool: Spool{Dir: spools},
			Options: byDuration, Keep: Keep{Options: retention.Options{All: true}, Timeout: patience}, Log: quiet,
		},
		folder: dir, directory: rings,
	}
	err = host.host(make(chan os.Signal), out)
	if full != errors.Is(err, syscall.ENOSPC) || !full && err != nil {
		t.Error(err)
	}
	if full {
		results, _ := filepath.Glob(filepath.Join(os.TempDir(), "run-*"))
		if len(results) != 1 {
			t.Fatalf("results are in %q", results)
		}
		out = results[0]
	}
	m, err := rundir.ReadManifest(out)
	if err != nil || m.MPICalls["MPI_Barrier"] != 19 || m.Losses.TransfersLost != 0 || len(m.Reduction.Missing) > 0 {
		t.Errorf("%v, %v, %+v, missing %q", err, m.MPICalls, m.Losses, m.Reduction.Missing)
	}
	for _, left := range []string{shm, spools, filepath.Join(out, rendezvous.File), filepath.Join(out, rundir.JournalDir)} {
		if entries, err := filepath.Glob(filepath.Join(left, "*")); len(entries) > 0 || err != nil {
			t.Errorf("%s has %v, %v", left, entries, err)
		}
	}
}

// While the results are made the collector rejects an agent that has not connected before, whether or not there is a
// rank that it could read.
func TestAgentWhileTheEndIsMade(t *testing.T) {
	t.Parallel()
	for _, rank := range []bool{false, true} {
		c := startCollector(t, "127.0.0.1:0")
		c.Freeze("")
		shm, spools := t.TempDir(), t.TempDir()
		dir := ring.DirectoryPath(shm, os.Getuid(), "run1")
		var p *ringwriter.Process
		if rank {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			var err error
			if p, err = ringwriter.New(dir, ringwriter.Identity{Size: 1, World: "w"}); err != nil {
				t.Fatal(err)
			}
		}
		node, err := agent.New(agent.Config{Run: "run1", Shm: shm, Log: quiet, Clocks: new(exactClock), Spool: spools, Find: uplink.At(c.Rendezvous())})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- node.Run(context.Background()) }()
		if err := ended(t, done); !errors.Is(err, uplink.ErrOver) {
			t.Errorf("%v", err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("rank %v: its rings: %v", rank, err)
		}
		if entries, _ := os.ReadDir(spools); len(entries) > 0 {
			t.Errorf("rank %v: the spool has %v", rank, entries)
		}
		if p != nil {
			p.Finalize()
		}
		c.Close(collector.Outcome{})
	}
}

// A collector whose rendezvous is removed writes it again: an agent that starts then finds it, and the run ends as if
// nothing had happened.
func TestRendezvousRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	collect := child(t, collectEnv, dir)
	meet, err := rendezvous.Wait(dir, patience, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := rendezvous.Remove(dir); err != nil {
		t.Fatal(err)
	}
	again, err := rendezvous.Wait(dir, 3*time.Minute, nil)
	if err != nil || !again.Equal(meet) {
		t.Fatalf("%+v, %v, was %+v", again, err, meet)
	}
	outbox := openOutbox(t)
	u, _ := startUplink(t, outbox, again, meet.Run)
	sendRing(t, outbox, 50)
	flush(t, u)
	collect.Wait() // with a status of its own: no clocks were reported
	if _, err := os.Stat(filepath.Join(dir, rendezvous.File)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the rendezvous of a run that has ended: %v", err)
	}
	if _, err := rundir.ReadManifest(dir); err != nil {
		t.Error(err)
	}
}

// Where no agent can connect any more the end of a run is not waited for, even if one has connected that is not done.
func TestNoAgentToWaitFor(t *testing.T) {
	c := startRun(t, "00000000000000ae", "127.0.0.1:0")
	if _, _, err := c.Journal().Store().Greet(&moriensv1.Hello{Run: "00000000000000ae", Agent: 1}); err != nil {
		t.Fatal(err)
	}
	ctx, nobody := context.WithCancel(t.Context())
	ended := make(chan string)
	go func() { ended <- awaitEnd(ctx, c, nil) }()
	select {
	case by := <-ended:
		t.Fatalf("it ended by %q while an agent is there", by)
	case <-time.After(200 * time.Millisecond):
	}
	nobody()
	if by := <-ended; by != "" {
		t.Errorf("it ended by %q", by)
	}
}
