package measure

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/uplink"
	"moriens/conclude"
	"moriens/cshim/ringwriter"
	"moriens/internal/hint"
	"moriens/internal/rendezvous"
	"moriens/trace/rundir"
)

// ranksOf writes the files of ranks of a world of four, which have ended, and of one that could not record.
func ranksOf(t *testing.T, shm, run string, ranks ...int) (dir string) {
	t.Helper()
	dir = ring.DirectoryPath(shm, os.Getuid(), run)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, rank := range ranks {
		p, err := ringwriter.New(dir, ringwriter.Identity{Rank: rank, Size: 4, World: "w", Host: "n1", Executable: "/opt/app", PID: 1000 + rank})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Thread(64); err != nil {
			t.Fatal(err)
		}
		p.Finalize()
		p.Exit()
	}
	if err := ringwriter.Fault(dir, 3, 4, 1003, syscall.ENOSPC); err != nil {
		t.Fatal(err)
	}
	return dir
}

// checkAbsent checks that the results have the four ranks, none of them recorded, each with its reason, and that
// nothing is left in shared memory.
func checkAbsent(t *testing.T, dir string, result *conclude.Result, reason string) {
	t.Helper()
	result.Describe()
	m := result.Manifest
	if m.Complete || !m.Unmeasured() || m.Ranks != 4 || len(m.Worlds) != 1 || len(m.Losses.AgentsUnfinished) != 0 {
		t.Fatalf("complete %v, unmeasured %v, %d ranks, worlds %+v, agents %q", m.Complete, m.Unmeasured(), m.Ranks, m.Worlds, m.Losses.AgentsUnfinished)
	}
	host, _ := os.Hostname()
	for _, want := range []struct {
		ranks        []int
		host, reason string
	}{{[]int{0, 1}, "n1", reason}, {[]int{3}, host, "no space left on device"}, {[]int{2}, "", "no data from them"}} {
		if !slices.ContainsFunc(m.Worlds[0].Unrecorded, func(u rundir.Unrecorded) bool {
			return u.Ranks == len(want.ranks) && slices.Equal(u.List, want.ranks) && u.Host == want.host && strings.Contains(u.Reason, want.reason)
		}) {
			t.Errorf("%v on %s are not in %+v", want.ranks, want.host, m.Worlds[0].Unrecorded)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// Where an agent cannot work a witness shows which ranks go unrecorded: those that connected before it and those that
// connect while it is there. It is done when they are gone. It counts none twice, even if its stream breaks.
func TestWitness(t *testing.T) {
	c := startCollector(t, "127.0.0.1:0")
	shm := t.TempDir()
	dir := ranksOf(t, shm, "run1", 0)
	w, err := agent.NewWitness(agent.WitnessConfig{
		Run: "run1", Shm: shm, Find: uplink.At(c.Rendezvous()), Reason: "a disk is read-only", Idle: time.Hour, Grace: patience, Log: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.NewWitness(agent.WitnessConfig{Run: "run1", Shm: shm, Find: uplink.At(c.Rendezvous()), Log: quiet}); !errors.Is(err, ring.ErrClaimed) {
		t.Errorf("a second one: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- w.Run(context.Background()) }()
	for deadline := time.Now().Add(patience); c.Page().Losses.RanksUnrecorded < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("losses %+v", c.Page().Losses)
		}
	}
	late, err := ringwriter.New(dir, ringwriter.Identity{Rank: 1, Size: 4, World: "w", Host: "n1", Executable: "/opt/app", PID: 1001})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); c.Page().Losses.RanksUnrecorded < 3; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("losses %+v", c.Page().Losses)
		}
	}
	late.Finalize()
	late.Exit()
	w.JobOver()
	if err := <-done; err != nil {
		t.Error(err)
	}
	result, err := concludeAll(t, stopped(c), conclude.Job{}, byDuration)
	if err != nil {
		t.Fatal(err)
	}
	checkAbsent(t, dir, result, "a disk is read-only")
}

// A parent whose agent dies again and again reports the ranks here to the collector on another node. Where the
// collector was in that agent it says how there can be results; where there is none it has nothing to say but why.
func TestBereave(t *testing.T) {
	why := errors.New("the agent died 8 times in a row")
	folder, shm, run := t.TempDir(), t.TempDir(), rendezvous.NewRun()
	config := PreloadConfig{Run: run, Shm: shm, Near: folder, Agent: "b", Log: quiet}
	if err := Bereave(config, why); err != why {
		t.Errorf("no meeting: %v", err)
	}
	c := startRun(t, run, "127.0.0.1:0")
	out := filepath.Join(folder, "run")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := rendezvous.Write(out, c.Rendezvous()); err != nil {
		t.Fatal(err)
	}
	if err := writeMeeting(folder, meeting{Run: run, Host: "b", Dir: out}); err != nil {
		t.Fatal(err)
	}
	if err := Bereave(config, why); !errors.Is(err, why) || !strings.Contains(hint.Of(err), "moriens collect --out "+out) {
		t.Errorf("its own collector: %v, %q", err, hint.Of(err))
	}
	removeMeeting(folder, run)
	if err := writeMeeting(folder, meeting{Run: run, Host: "a", Dir: out}); err != nil {
		t.Fatal(err)
	}
	dir := ranksOf(t, shm, run, 0, 1)
	if err := Bereave(config, why); err.Error() != why.Error() {
		t.Errorf("another's collector: %v", err)
	}
	result, err := concludeAll(t, stopped(c), conclude.Job{}, byDuration)
	if err != nil {
		t.Fatal(err)
	}
	checkAbsent(t, dir, result, why.Error())
}
