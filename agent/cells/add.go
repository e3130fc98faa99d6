package cells

import (
	"fmt"
	"slices"

	"moriens/analysis/space"
	"moriens/internal/anchor"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// maxSize bounds the ranks of a world, and maxEvents what a process counts, as in the collector's store.
const (
	maxSize   = 1 << 24
	maxEvents = 8
)

// A process is one MPI process.
type process struct {
	id     uint64
	size   int64
	clock  moriensv1.Clock
	events []int // their numbers among Store.counters
	// Where the dimensions' counters are among its events; -1: it does not count that.
	axes   []int
	frames map[uint32]uint64 // hash of a call path's innermost frame, by its number
	// Functions called from call paths, in order of arrival; the first stands for an unknown one.
	sites   []site
	siteOf  map[section.Site]uint32
	groupOf map[sitePair]uint32
	// What was looked up last, by some bits: the same few recur, and a map costs ten times as much.
	recentGroups [256]pairGroup
	anchors      map[uint32]uint64 // communicators of all ranks, by the process's number
	rings        []*ring
}

// A clock is one of the node's tick counters.
type clock struct {
	began      bool // there was a sample, the first of which said this
	firstTicks uint64
	firstNS    int64
	nsPerTick  float64   // 0: not known yet
	waiting    []waiting // until it is
}

// A waiting block is one that waits for its clock's rate.
type waiting struct {
	ring  *ring
	block *section.Block
}

// Add takes a transaction: the definitions among its messages, then its blocks, those of a ring in the order of their
// rows. The caller still owns both. What arrives twice counts once, as definitions and rows when the agent resumes with
// what it has kept. A malformed message or block is left out, logged, and counted.
func (k *Store) Add(messages []*moriensv1.ReportRequest, blocks []*section.Block) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range messages {
		k.refuse(k.add(m))
	}
	for _, b := range blocks {
		k.refuse(k.addBlock(b))
	}
}

// refuse counts a message or block that is left out, if there is an error.
func (k *Store) refuse(err error) {
	if err == nil {
		return
	}
	if k.tally.refused == 0 {
		k.config.Log.Error("micro-cells: a message is ignored; further ones will be too", "error", err)
	}
	k.tally.refused++
}

func (k *Store) add(m *moriensv1.ReportRequest) error {
	switch b := m.Body.(type) {
	case *moriensv1.ReportRequest_Process:
		return k.addProcess(b.Process)
	case *moriensv1.ReportRequest_Ring:
		return k.addRing(b.Ring)
	case *moriensv1.ReportRequest_CallPath:
		p := k.processes[b.CallPath.Process]
		if p == nil {
			return fmt.Errorf("cells: call path of unknown process %016x", b.CallPath.Process)
		}
		p.frames[b.CallPath.Path] = hashPlace(b.CallPath.Frames)
	case *moriensv1.ReportRequest_Communicator:
		c := b.Communicator
		if len(c.Stride) != len(c.First) || len(c.Count) != len(c.First) {
			return fmt.Errorf("cells: communicator %d: columns of %d, %d and %d rows", c.Communicator, len(c.First), len(c.Stride), len(c.Count))
		}
		if anchor.OfAllRanks(c, int64(c.Size)) {
			k.communicators[c.Communicator] = allRanks{c.Id, int64(c.Size)}
		}
	case *moriensv1.ReportRequest_Member:
		p := k.processes[b.Member.Process]
		if p == nil {
			return fmt.Errorf("cells: member process %016x is unknown", b.Member.Process)
		}
		if c, known := k.communicators[b.Member.Communicator]; known && c.size == p.size {
			p.anchors[b.Member.Comm] = c.id
		}
	case *moriensv1.ReportRequest_ClockSample:
		k.addSample(b.ClockSample)
	}
	return nil
}

func (k *Store) addProcess(p *moriensv1.Process) error {
	if k.processes[p.Process] != nil {
		return nil
	}
	if len(p.Events) > maxEvents || p.Size < 1 || p.Size > maxSize {
		return fmt.Errorf("cells: process %016x: %d events, one of %d ranks: want at most %d and %d", p.Process, len(p.Events), p.Size, maxEvents, maxSize)
	}
	if k.cells == nil {
		if err := k.choose(p.Events); err != nil {
			return err
		}
	}
	own := &process{
		id: p.Process, size: int64(p.Size), clock: p.Clock, frames: make(map[uint32]uint64), sites: make([]site, 1),
		siteOf: make(map[section.Site]uint32), groupOf: make(map[sitePair]uint32), anchors: make(map[uint32]uint64),
	}
	for _, name := range p.Events {
		at := slices.Index(k.counters, name)
		if at < 0 {
			at = len(k.counters)
			k.counters = append(k.counters, name)
			k.units.widen(1 + len(k.counters))
		}
		own.events = append(own.events, at)
	}
	for _, name := range k.columns.CounterNames {
		own.axes = append(own.axes, slices.Index(p.Events, name))
	}
	k.processes[own.id] = own
	k.order = append(k.order, own)
	return nil
}

func (k *Store) addRing(r *moriensv1.Ring) error {
	p := k.processes[r.Process]
	if p == nil {
		return fmt.Errorf("cells: ring %016x of unknown process %016x", r.Ring, r.Process)
	}
	if k.byID[r.Ring] != nil {
		return nil
	}
	own := &ring{id: r.Ring, process: p, number: uint32(len(k.rings))}
	own.sums = newSums()
	p.rings = append(p.rings, own)
	k.rings = append(k.rings, own)
	k.byID[r.Ring] = own
	return nil
}

// addSample takes a reading of a clock, and the calls that have waited for it.
func (k *Store) addSample(s *moriensv1.ClockSample) {
	c := k.clock(s.Clock)
	if !c.began {
		c.began, c.firstTicks, c.firstNS = true, s.Ticks, s.MonotonicNs
		return
	}
	if s.Ticks > c.firstTicks && s.MonotonicNs > c.firstNS { // the longest baseline there is
		c.nsPerTick = float64(s.MonotonicNs-c.firstNS) / float64(s.Ticks-c.firstTicks)
	}
	if c.nsPerTick == 0 {
		return
	}
	waiting := c.waiting
	c.waiting = nil
	for _, w := range waiting {
		k.pendingRows -= w.block.Rows
		k.refuse(k.takeRows(w.ring, w.block, c.nsPerTick))
	}
}

func (k *Store) clock(kind moriensv1.Clock) *clock {
	c := k.clocks[kind]
	if c == nil {
		c = new(clock)
		k.clocks[kind] = c
	}
	return c
}

// columns are the bursts of a block at work. Each has the memory of the last.
type columns struct {
	space.Columns          // durations, and the counters of dimensions
	rows          []int32  // of the block
	sites         []uint32 // of the block, as the process numbers them
	before, after []uint32
	counts        []int64 // of all events
	complete      []int32
	callNS        []int64 // of the block's rows that are taken
	callRows      []int32 // of the sums of calls, plus 1, by the block's sites
	coords        []float64
	stretch       stretchOf
}

// choose makes columns for the counters that dimensions need.
func (c *columns) choose(dims []space.Dim) {
	for _, d := range dims {
		for _, name := range []string{d.Num, d.Den} {
			if name != "" && name != space.Duration && !slices.Contains(c.CounterNames, name) {
				c.CounterNames = append(c.CounterNames, name)
				c.Counters = append(c.Counters, nil)
			}
		}
	}
}
