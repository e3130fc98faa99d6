package collector

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"moriens/collector/journal"
	"moriens/internal/anchor"
	"moriens/internal/mpix"
	moriensv1 "moriens/proto/moriens/v1"
)

// startAll starts so many collectors of one run.
func startAll(t *testing.T, n int) []*Collector {
	t.Helper()
	team, all, dir := mpix.Local(n), make([]*Collector, n), filepath.Join(t.TempDir(), "journal")
	together(n, func(i int) {
		var err error
		all[i], err = Start(Config{Team: team[i], Journal: dir, Run: "0123456789abcdef", Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Error(err)
			return
		}
		all[i].Join()
	})
	if t.Failed() {
		t.FailNow()
	}
	return all
}

func together(n int, do func(i int)) {
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() { do(i) })
	}
	done.Wait()
}

// What the first collector has the agents hold on to, the agents of all are asked for.
func TestKeepReachesAll(t *testing.T) {
	all := startAll(t, 3)
	wake := make(chan bool, 1)
	line := all[2].requester.Join(42, func() { wake <- true })
	defer line.Leave()
	wanted := []anchor.ID{3, 5}
	if kept := (peersRequester{all[0]}).Keep(t.Context(), moriensv1.Keep_WHY_PINNED, "a test", wanted, 7, 9); len(kept) != 0 {
		t.Errorf("the first has no agents, and %v have kept windows", kept)
	}
	<-wake
	var asked moriensv1.ReportResponse
	line.Ask(&asked)
	if k := asked.Keep; k.GetWhy() != moriensv1.Keep_WHY_PINNED || k.GetReason() != "a test" || !slices.Equal(k.GetWindow(), []uint64{3, 5}) || !slices.Equal(k.GetProcess(), []uint64{7, 9}) {
		t.Errorf("asked for %v", k)
	}
	together(3, func(i int) { stopped(all[i]) })
}

// stopped ends a collector's run without waiting for agents.
func stopped(c *Collector) {
	c.Freeze("")
	c.Release()
	c.Close(Outcome{})
}

// A signal that one collector gets ends the run of all; each learns by what.
func TestAskedElsewhere(t *testing.T) {
	all := startAll(t, 2)
	all[1].Ask("SIGUSR1")
	all[1].Ask("SIGTERM") // arrives too late
	<-all[0].Asked()
	if by := all[0].By(); by != "SIGUSR1" {
		t.Errorf("asked by %s", by)
	}
	all[0].Finish()
	<-all[1].Finishing()
	frozen := make(chan bool)
	go func() {
		<-all[1].Adjourned()
		if by, err := all[1].Verdict(); by != "SIGUSR1" || err != nil {
			t.Errorf("ended by %q, %v", by, err)
		}
		all[1].Freeze("SIGUSR1")
		close(frozen)
	}()
	all[0].Freeze(all[0].By())
	<-frozen
	together(2, func(i int) { all[i].Close(Outcome{}) })
}

// A collector that is lost is noticed by the others, and by one that is asked whether all are there: it must not end
// the run then.
func TestLostCollector(t *testing.T) {
	all := startAll(t, 3)
	if !all[0].Complete() {
		t.Error("all are there, and one says otherwise")
	}
	all[2].peers.team.(mpix.Transport).Abort(1)
	if all[0].Complete() {
		t.Error("one is lost, and another says that all are there")
	}
	for _, c := range all {
		<-c.Adjourned()
		if _, err := c.Verdict(); err == nil {
			t.Error("it is not noticed")
		}
	}
	together(3, func(i int) { all[i].Close(Outcome{}) })
}

// The only collector of a run has all agents, and no other collector to receive from.
func TestOnlyCollector(t *testing.T) {
	c := &Collector{}
	if !c.Complete() || c.Asked() != nil || c.Adjourned() != nil {
		t.Error("it waits for others")
	}
}

// Micro-cells are asked for by one collector alone: several are refused them, all of them.
func TestCellsOfSeveralCollectors(t *testing.T) {
	for _, members := range []int{1, 2} {
		team, errs, dir := mpix.Local(members), make([]error, members), filepath.Join(t.TempDir(), "journal")
		together(members, func(i int) {
			var c *Collector
			c, errs[i] = Start(Config{Team: team[i], Journal: dir, Run: "0123456789abcdef", Listen: "127.0.0.1:0", Cells: "cells", Log: slog.New(slog.DiscardHandler)})
			if errs[i] == nil {
				stopped(c)
			}
		})
		for i, err := range errs {
			if refused := errors.Is(err, errSeveral); refused != (members > 1) || err != nil && !refused {
				t.Errorf("collector %d of %d: %v", i, members, err)
			}
		}
		if journal.Exists(dir) != (members == 1) {
			t.Errorf("%d collectors: there is a journal: %v", members, journal.Exists(dir))
		}
	}
}

// An agent that was sent to a collector and has not connected there is waited for, but not for ever.
func TestAgentOnItsWay(t *testing.T) {
	w := newPeers(mpix.Local(2)[0], nil, "start")
	if to := w.place(&moriensv1.Hello{Agent: 1}); to != nil {
		t.Fatalf("the first agent belongs to %v", to)
	}
	to := w.place(&moriensv1.Hello{Agent: 2})
	if to == nil || to.Member != 1 || to.Start != "start" {
		t.Fatalf("the second agent belongs to %v", to)
	}
	again := w.place(&moriensv1.Hello{Agent: 2})
	if again == nil || again.Member != 1 || w.sentOn() != 2 {
		t.Errorf("asking again it belongs to %v, %d were sent on", again, w.sentOn())
	}
	if connected, expected := w.attendance(time.Hour); connected != 0 || expected != 1 {
		t.Errorf("%d connected, %d are expected", connected, expected)
	}
	if _, expected := w.attendance(0); expected != 0 {
		t.Errorf("%d are expected for ever", expected)
	}
	for want := range 2 {
		w.take(1, report{Agents: []uint64{2}, Expected: want})
		if connected, expected := w.attendance(time.Hour); connected != 1 || expected != want {
			t.Errorf("%d connected, %d are expected; want 1 and %d", connected, expected, want)
		}
	}

	// Another collector takes the agents that the first has sent since both began, and no others.
	other := newPeers(mpix.Local(2)[1], nil, "start")
	for _, tt := range []struct {
		hello *moriensv1.Hello
		here  bool
	}{
		{&moriensv1.Hello{Agent: 2, Start: "start", Member: 1}, true}, {&moriensv1.Hello{Agent: 2, Start: "start"}, false},
		{&moriensv1.Hello{Agent: 2, Start: "before", Member: 1}, false}, {&moriensv1.Hello{Agent: 2}, false},
	} {
		to := other.place(tt.hello)
		if tt.here != (to == nil) || to != nil && to.Member != 0 {
			t.Errorf("%v belongs to %v", tt.hello, to)
		}
	}
}
