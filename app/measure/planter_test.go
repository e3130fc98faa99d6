package measure

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"moriens/collector"
	"moriens/collector/store"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
	"moriens/internal/ticks"
)

// A planter writes a ring as fast as requested, and remembers what found room.
type planter struct {
	process *ringwriter.Process
	ring    *ringwriter.Ring
	paths   []uint32
	name    uint32
	moves   bool // calls have transfers and requests
	patient bool // a call waits for room in the ring, so that none is dropped
	at      uint64
	enter   []uint64
	exit    []uint64
	marks   uint64
	dropped atomic.Uint64
	moved   uint64 // transfers
	open    bool   // a request is under way
}

func (p *planter) call() {
	for p.patient && p.ring.Free() < slotsOfCall {
		time.Sleep(100 * time.Microsecond)
	}
	k := uint64(len(p.enter)) + p.dropped.Load()
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
		p.dropped.Add(1)
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

// write has all planters write until stop is closed, some calls at a time; an even number, so that all requests end.
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

// awaitEnds waits until collectors have received the end of so many processes: all that these recorded has arrived,
// however long it took.
func awaitEnds(t *testing.T, processes int, collectors ...*collector.Collector) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		ended := 0
		for _, c := range collectors {
			ended += c.Journal().Store().Totals().ProcessesEnded
		}
		if ended == processes {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d processes have ended, want %d", ended, processes)
		}
	}
}

// compare checks that the collector holds what found room in the rings, each record once, and counts the rest.
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
	reader := new(store.Reader)
	for _, p := range planters {
		r := rings[p.ring.ID()]
		var enter, exit []uint64
		marks := 0
		for i := range r.Chunks {
			c := reader.Ticks(&r.Chunks[i])
			at := r.Chunks[i].Origin
			for row := range c.Path {
				enter = append(enter, at+c.Burst[row])
				at += c.Burst[row] + c.Call[row]
				exit = append(exit, at)
			}
		}
		for _, m := range r.Marks {
			marks += len(m.What)
		}
		if len(enter) != len(p.enter) || r.End == nil {
			t.Fatalf("ring %016x: %d calls arrived, %d were written; end %v", p.ring.ID(), len(enter), len(p.enter), r.End)
		}
		for i := range enter {
			if enter[i] != p.enter[i] || exit[i] != p.exit[i] {
				t.Fatalf("ring %016x, call %d: %d to %d, written %d to %d", p.ring.ID(), i, enter[i], exit[i], p.enter[i], p.exit[i])
			}
		}
		if p.dropped.Load() == 0 && uint64(marks) != p.marks {
			t.Errorf("ring %016x: %d marks arrived, %d were set", p.ring.ID(), marks, p.marks)
		}
		// Marks and calls that found no room are counted as one.
		counted += r.End.Dropped + uint64(marks)
		lost += p.dropped.Load() + p.marks
		transfers += p.moved
	}
	if counted != lost {
		t.Errorf("%d records dropped or marks, %d were", counted, lost)
	}
	if f.Totals.Dropped == 0 && moved != transfers {
		t.Errorf("%d transfers arrived, %d were made", moved, transfers)
	}
}
