package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
	"moriens/internal/ticks"
)

const (
	// meets is how many calls of a rank lie between two that all ranks make together.
	meets = 10
	// every is how often ranks record what calls they would have made since.
	every = 10 * time.Millisecond
	// slots is the usual size of a ring, 2 MiB.
	slots = 1 << 16
)

// A load says what ranks do, and what of it is measured.
type load struct {
	ranks, rate int
	warm, span  time.Duration
}

// ranks are the rings of one node's ranks.
type ranks struct {
	load
	list []*rank
}

type rank struct {
	number  int
	process *ringwriter.Process
	ring    *ringwriter.Ring
	path    uint32 // of its calls
	calls   int
	dropped int
}

// newRanks makes the rings of ranks that have not called MPI yet.
func newRanks(dir string, l load) (*ranks, error) {
	r := &ranks{load: l}
	for n := range l.ranks {
		p, err := ringwriter.New(dir, ringwriter.Identity{Rank: n, Size: l.ranks, World: "w", Events: "PAPI_TOT_INS,PAPI_TOT_CYC", Clock: ticks.Usual()})
		if err != nil {
			return nil, err
		}
		p.Comm(ringwriter.Comm{Number: 1, ID: 99, Rank: n, Size: l.ranks, Ranks: []ringwriter.Ranks{{First: 0, Stride: 1, Count: uint32(l.ranks)}}})
		ring, err := p.Thread(slots)
		if err != nil {
			return nil, err
		}
		path := p.Path(ringwriter.Frame{Module: p.Module("/opt/app", nil), Offset: 1})
		r.list = append(r.list, &rank{number: n, process: p, ring: ring, path: path})
	}
	return r, nil
}

// run has all ranks call MPI until over is closed, and end.
func (r *ranks) run(over <-chan struct{}) error {
	var all sync.WaitGroup
	errs := make([]error, len(r.list))
	began := time.Now()
	for i, x := range r.list {
		all.Go(func() { errs[i] = x.run(r.load, began, over) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (x *rank) run(l load, began time.Time, over <-chan struct{}) error {
	random := rand.New(rand.NewPCG(uint64(x.number), 1))
	tick := time.NewTicker(every)
	defer tick.Stop()
	last, err := ticks.Now(ticks.Usual())
	if l.rate == 0 && err == nil {
		x.call(last, l.ranks, random)
	}
	waits := l.rate == 0 && x.number%2 == 0
	if waits && err == nil {
		x.ring.Enter(mpicall.Barrier, x.path, last+4000, 1, 1)
	}
	for ended := false; err == nil && !ended; {
		var now uint64
		if now, err = ticks.Now(ticks.Usual()); err != nil {
			break
		}
		due := int(time.Since(began).Seconds()*float64(l.rate)) - x.calls
		for i := range due { // evenly since the last time
			x.call(last+(now-last)*uint64(i)/uint64(due), l.ranks, random)
		}
		if due > 0 {
			last = now
		}
		select {
		case <-tick.C:
		case <-over:
			ended = true
		}
	}
	if err != nil {
		return err
	}
	if waits {
		x.ring.Exit(last + 5000)
	}
	x.process.Finalize()
	x.process.Exit()
	if x.dropped > 0 {
		return fmt.Errorf("rank %d: %d of %d calls found the ring full", x.number, x.dropped, x.calls)
	}
	return nil
}

// call records one call.
func (x *rank) call(at uint64, ranks int, random *rand.Rand) {
	cycles := 2_000_000 + random.Int64N(40_000)
	counts := []int64{cycles*3/2 + random.Int64N(10_000), cycles}
	whole := false
	if x.calls%meets == meets-1 {
		whole = x.ring.Enter(mpicall.Allreduce, x.path, at, counts...) && ringwriter.Add(x.ring, shmabi.Collective{
			Kind: shmabi.SlotCollective, Sent: 8, Received: 8, Ordinal: uint32(x.calls / meets), Root: shmabi.RankAny, Comm: 1,
		})
	} else {
		whole = x.ring.Enter(mpicall.Send, x.path, at, counts...) && ringwriter.Add(x.ring, shmabi.Transfer{
			Kind: shmabi.SlotSent, Bytes: 8192, Peer: int32((x.number + 1) % ranks), Tag: 1, Comm: 1,
		})
	}
	x.ring.Exit(at + 3000 + random.Uint64N(500))
	if x.calls++; !whole {
		x.dropped++
	}
}
