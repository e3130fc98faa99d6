package cells

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds"
	"moriens/analysis/space"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// maxTicks bounds the ticks of a message, and maxPolls a run of polls, as in the collector's store.
	maxTicks = math.MaxInt64
	maxPolls = 1 << 40
	// maxNS bounds one burst or call, so that the sums of a message do not overflow: 52 days.
	maxNS = 1 << 52
	// pendingMost is how many rows may wait for a clock's rate, which is known 0.1 s after the first process connects.
	pendingMost = 1 << 20
)

// Instead of a unit, of bursts that are in none.
const (
	unitShort   uint32 = math.MaxUint32 - 1
	unitMissing uint32 = math.MaxUint32 - 2
)

// noCount stands for a count that is not there, as in Counts.
const noCount = math.MinInt64

func (k *Store) addCalls(c *moriensv1.Calls) error {
	r := k.byID[c.Ring]
	if r == nil {
		return fmt.Errorf("cells: calls of unknown ring %016x", c.Ring)
	}
	if err := r.check(c); err != nil {
		return fmt.Errorf("cells: ring %016x, call %d: %w", c.Ring, c.First, err)
	}
	clock := k.clock(r.process.clock)
	if clock.nsPerTick == 0 {
		if k.pendingRows += len(c.Function); k.pendingRows > pendingMost {
			k.pendingRows -= len(c.Function)
			k.tally.lost += uint64(len(c.Function) - len(c.NoBurst))
			return fmt.Errorf("cells: ring %016x, call %d: the rate of the clock is not known, and there is no room for more that waits for it", c.Ring, c.First)
		}
		clock.waiting = append(clock.waiting, waiting{r, proto.CloneOf(c)})
		return nil
	}
	return k.takeCalls(r, c, clock.nsPerTick)
}

// check validates a message as the collector's store does.
func (r *ring) check(c *moriensv1.Calls) error {
	n := len(c.Function)
	if n == 0 || len(c.Path) != n || len(c.BurstTicks) != n || len(c.CallTicks) != n {
		return fmt.Errorf("columns of %d, %d, %d and %d rows", n, len(c.Path), len(c.BurstTicks), len(c.CallTicks))
	}
	if c.First > math.MaxUint32-uint64(n) {
		return fmt.Errorf("row %d: want at most %d", c.First, math.MaxUint32-n)
	}
	for _, rows := range [][]uint32{c.NoBurst, c.PollsRow, c.NoCounts, c.Paused} {
		for i, row := range rows {
			if int(row) >= n || i > 0 && row <= rows[i-1] {
				return errors.New("a column of rows does not ascend within the rows")
			}
		}
	}
	if len(c.Polls) != len(c.PollsRow) || len(c.Counts) != len(r.process.events) {
		return fmt.Errorf("%d numbers of %d runs of polls, counts of %d events of %d", len(c.Polls), len(c.PollsRow), len(c.Counts), len(r.process.events))
	}
	for _, column := range c.Counts {
		if len(column.Value) != n-len(c.NoCounts) {
			return fmt.Errorf("%d counts for %d rows without %d", len(column.Value), n, len(c.NoCounts))
		}
	}
	for _, polls := range c.Polls {
		if polls < 2 || polls > maxPolls {
			return fmt.Errorf("a run of %d polls", polls)
		}
	}
	sum := uint64(0)
	for i := range n {
		for _, ticks := range []uint64{c.BurstTicks[i], c.CallTicks[i]} {
			if ticks > maxTicks-sum {
				return errors.New("its ticks overflow")
			}
			sum += ticks
		}
	}
	return nil
}

// takeCalls takes the rows of a message that the ring has not had.
func (k *Store) takeCalls(r *ring, c *moriensv1.Calls, nsPerTick float64) error {
	n := uint64(len(c.Function))
	if c.First+n <= r.rows {
		return nil
	}
	from := 0
	if c.First < r.rows {
		from = int(r.rows - c.First)
	}
	b := &k.columns
	var err error
	if b.sites, err = r.process.sitesOf(c, b.sites[:0]); err != nil {
		return fmt.Errorf("cells: ring %016x, call %d: %w", c.Ring, c.First, err)
	}
	if c.First > r.rows { // what was between is gone
		r.skip(c.First)
	}
	b.gather(r, c, from, nsPerTick)
	s, err := space.New(b.Columns, k.dims)
	if err != nil {
		return fmt.Errorf("cells: ring %016x, call %d: %w", c.Ring, c.First, err)
	}
	selection, err := s.Select(space.Filter{MinNS: k.config.MinNS})
	if err != nil {
		return fmt.Errorf("cells: ring %016x, call %d: %w", c.Ring, c.First, err)
	}
	b.complete = b.complete[:0]
	for i, status := range selection.Status {
		if status == space.Complete {
			b.complete = append(b.complete, int32(i))
		}
	}
	b.coords = s.Coordinates(b.coords[:0], b.complete)
	k.place(r, c, from, selection.Status)
	r.addCalls(c, b.sites, from, nsPerTick)
	return nil
}

// gather puts the bursts of a message, from a row on, into columns, and moves the ring's last call to the message's.
func (b *columns) gather(r *ring, c *moriensv1.Calls, from int, nsPerTick float64) {
	b.rows, b.before, b.after, b.DurationNS = b.rows[:0], b.before[:0], b.after[:0], b.DurationNS[:0]
	noBurst, paused := c.NoBurst, c.Paused
	for i, at := range b.sites {
		without := len(noBurst) > 0 && int(noBurst[0]) == i
		if without {
			noBurst = noBurst[1:]
		}
		for len(paused) > 0 && int(paused[0]) < i {
			paused = paused[1:]
		}
		if i < from {
			continue
		}
		if !without {
			b.rows = append(b.rows, int32(i))
			b.before, b.after = append(b.before, r.last), append(b.after, at)
			b.DurationNS = append(b.DurationNS, inNS(c.BurstTicks[i], nsPerTick))
		}
		if row := uint32(r.rows) + uint32(i-from); without && (len(paused) > 0 && int(paused[0]) == i || row > 0 && c.BurstTicks[i] > 0) {
			r.gap(row)
		}
		r.last = at
	}
	for axis, event := range r.process.axes {
		b.Counters[axis] = b.Counters[axis][:0]
		if event < 0 {
			for range b.rows {
				b.Counters[axis] = append(b.Counters[axis], space.NotRead)
			}
			continue
		}
		eachCount(c, event, b.rows, func(v int64) { b.Counters[axis] = append(b.Counters[axis], max(v, space.NotRead)) })
	}
}

// inNS is what ticks take, rounded as the collector rounds times: the end of the run finds a burst in the cell that it
// had here, and one of a tick has a duration.
func inNS(ticks uint64, nsPerTick float64) int64 {
	return int64(min(math.Round(float64(ticks)*nsPerTick), maxNS))
}

// eachCount calls visit with an event's count in each of some rows, noCount where there is none.
func eachCount(c *moriensv1.Calls, event int, rows []int32, visit func(v int64)) {
	values, noCounts := c.Counts[event].Value, c.NoCounts
	for _, row := range rows {
		for len(noCounts) > 0 && int32(noCounts[0]) < row {
			noCounts = noCounts[1:]
		}
		if len(noCounts) > 0 && int32(noCounts[0]) == row {
			visit(noCount)
			continue
		}
		visit(values[int(row)-(len(c.NoCounts)-len(noCounts))])
	}
}

// place gives each burst of the columns its unit, and counts it.
func (k *Store) place(r *ring, c *moriensv1.Calls, from int, status []space.Status) {
	b := &k.columns
	b.gatherValues(r, c)
	sites := k.by == grouping.ByNone
	next, complete := from, 0
	for i, row := range b.rows {
		for ; next < int(row); next++ {
			r.append(rowOf{site: b.sites[next]}, sites)
		}
		next++
		r.append(k.placeOne(r, i, status[i], &complete), sites)
	}
	for ; next < len(c.Function); next++ {
		r.append(rowOf{site: b.sites[next]}, sites)
	}
}

// placeOne takes a burst of the columns.
func (k *Store) placeOne(r *ring, i int, status space.Status, complete *int) rowOf {
	b, events, dims := &k.columns, len(r.process.events), len(k.dims)
	x := burst{ring: r.number, row: uint32(r.rows), site: b.after[i], ns: b.DurationNS[i], counts: b.values[i*events:][:events]}
	k.tally.bursts++
	k.tally.total.Add(uint64(x.ns))
	of, at := unitShort, []float64(nil)
	switch status {
	case space.Complete:
		at = b.coords[*complete*dims:][:dims]
		*complete++
		of = k.unitOf(r.process, b.before[i], b.after[i], at)
	case space.Missing:
		of = unitMissing
	}
	r.sums.add(sumKey{x.site, of}, &x)
	kept := rowOf{unit: none, site: x.site}
	switch of {
	case unitShort:
		k.tally.short++
		k.tally.shortNS.Add(uint64(x.ns))
	case unitMissing:
		k.tally.missing++
		k.tally.missingNS.Add(uint64(x.ns))
	default:
		r.bursts++
		kept.unit, kept.step = of+1, uint16(kinds.Step(x.ns))
		k.units.add(of, at, &x, r.process.events)
		k.points.add(&k.units, of, &x)
	}
	return kept
}

// gatherValues puts the counts of all events in the bursts of the columns into one list, burst by burst.
func (b *columns) gatherValues(r *ring, c *moriensv1.Calls) {
	events := len(r.process.events)
	b.values = slices.Grow(b.values[:0], events*len(b.rows))[:events*len(b.rows)]
	for event := range events {
		at := event
		eachCount(c, event, b.rows, func(v int64) {
			b.values[at] = v
			at += events
		})
	}
}

// unitOf is the unit of a burst at a point; unitMissing where no cell can hold it.
func (k *Store) unitOf(p *process, before, after uint32, at []float64) uint32 {
	key, err := k.cells.KeyOf(at)
	if err != nil {
		if k.tally.outside++; k.tally.outside == 1 {
			k.config.Log.Warn("micro-cells: a burst counts as missing data; similar ones will too", "error", err)
		}
		return unitMissing
	}
	group := uint32(0)
	if k.by == grouping.ByCalls {
		group = k.groups.of(p, sitePair{before, after})
	}
	return k.units.of(group, key, at)
}
