package cells

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds"
	"moriens/analysis/space"
	"moriens/internal/section"
)

const (
	// maxTicks bounds the ticks of a block, and maxPolls a run of polls, as in the collector's store.
	maxTicks = math.MaxInt64
	maxPolls = 1 << 40
	// maxNS bounds one burst or call, so that the sums of a block do not overflow: 52 days.
	maxNS = 1 << 52
	// pendingMost is how many rows may wait for a clock's rate, which is known 0.1 s after the first process connects.
	pendingMost = 1 << 20
)

// Instead of a unit, of bursts that are in none.
const (
	unitShort   uint32 = math.MaxUint32 - 1
	unitMissing uint32 = math.MaxUint32 - 2
)

// noCount stands for a count that is not there, or was not read.
const noCount = math.MinInt64

// addBlock takes a block's collectives, even where its rows are left out: these count the anchors.
func (k *Store) addBlock(b *section.Block) error {
	r := k.byID[b.Ring]
	if r == nil {
		return fmt.Errorf("cells: a block of unknown ring %016x", b.Ring)
	}
	r.addMarks(b)
	err := k.addContent(r, b)
	r.phases.bound(k.clock(r.process.clock).nsPerTick)
	return err
}

// addContent takes what is in a block beside marks.
func (k *Store) addContent(r *ring, b *section.Block) error {
	if b.Rows+len(b.Collectives) == 0 && len(b.Marks)+len(b.GapsBefore)+len(b.GapsInside) > 0 {
		return nil
	}
	if err := r.check(b); err != nil {
		return fmt.Errorf("cells: ring %016x, call %d: %w", b.Ring, b.First, err)
	}
	return errors.Join(r.addCollectives(b), k.addRows(r, b))
}

// addRows takes the rows of a block, or has them wait for their clock's rate.
func (k *Store) addRows(r *ring, b *section.Block) error {
	clock := k.clock(r.process.clock)
	if clock.nsPerTick > 0 {
		return k.takeRows(r, b, clock.nsPerTick)
	}
	if k.pendingRows+b.Rows > pendingMost {
		k.tally.lost += uint64(b.Rows - len(b.NoBurst))
		return fmt.Errorf("cells: ring %016x, call %d: the rate of the clock is not known, and there is no room for more that waits for it", b.Ring, b.First)
	}
	k.pendingRows += b.Rows
	clock.waiting = append(clock.waiting, waiting{r, b.Clone()})
	return nil
}

// check validates a block as the collector's store does.
func (r *ring) check(b *section.Block) error {
	n := b.Rows
	if n <= 0 || len(b.Site) < n || len(b.Burst) < n || len(b.Call) < n {
		return fmt.Errorf("columns of %d, %d and %d values for %d rows", len(b.Site), len(b.Burst), len(b.Call), n)
	}
	if b.First > math.MaxUint32-uint64(n) {
		return fmt.Errorf("row %d: want at most %d", b.First, math.MaxUint32-n)
	}
	for _, rows := range [][]uint32{b.NoBurst, b.PollsRow, b.NoCounts, b.Paused} {
		for i, row := range rows {
			if int(row) >= n || i > 0 && row <= rows[i-1] {
				return errors.New("a column of rows does not ascend within the rows")
			}
		}
	}
	if err := r.checkCounts(b); err != nil {
		return err
	}
	if len(b.Polls) != len(b.PollsRow) {
		return fmt.Errorf("%d numbers of %d runs of polls", len(b.Polls), len(b.PollsRow))
	}
	for _, polls := range b.Polls {
		if polls < 2 || polls > maxPolls {
			return fmt.Errorf("a run of %d polls", polls)
		}
	}
	for _, c := range b.Collectives {
		if int(c.Row) >= n {
			return fmt.Errorf("a collective in row %d of %d", c.Row, n)
		}
	}
	sum := uint64(0)
	for i, site := range b.Site[:n] {
		if int(site) >= len(b.Sites) {
			return fmt.Errorf("row %d: site %d of %d", i, site, len(b.Sites))
		}
		for _, ticks := range [...]uint64{b.Burst[i], b.Call[i]} {
			if ticks > maxTicks-sum {
				return errors.New("its ticks overflow")
			}
			sum += ticks
		}
	}
	return nil
}

// checkCounts validates a block's counts.
func (r *ring) checkCounts(b *section.Block) error {
	if b.Events != len(r.process.events) || len(b.Counts) < b.Events {
		return fmt.Errorf("counts of %d events of %d, in %d columns", b.Events, len(r.process.events), len(b.Counts))
	}
	for _, column := range b.Counts[:b.Events] {
		if len(column) < b.Rows {
			return fmt.Errorf("%d counts for %d rows", len(column), b.Rows)
		}
	}
	for i, x := range b.NotRead {
		if int(x.Row) >= b.Rows || int(x.Event) >= b.Events || i > 0 && x.Row < b.NotRead[i-1].Row {
			return errors.New("counts that are not read do not ascend within the rows")
		}
	}
	return nil
}

// takeRows takes the rows of a block that the ring has not had.
func (k *Store) takeRows(r *ring, b *section.Block, nsPerTick float64) error {
	if b.First+uint64(b.Rows) <= r.rows {
		return nil
	}
	from := 0
	if b.First < r.rows {
		from = int(r.rows - b.First)
	}
	c := &k.columns
	var err error
	if c.sites, err = r.process.sitesOf(b, c.sites[:0]); err != nil {
		return fmt.Errorf("cells: ring %016x, call %d: %w", b.Ring, b.First, err)
	}
	if b.First > r.rows { // what was between is gone
		r.skip(b.First)
	}
	c.gather(r, b, from, nsPerTick)
	s, err := space.New(c.Columns, k.dims)
	if err != nil {
		return fmt.Errorf("cells: ring %016x, call %d: %w", b.Ring, b.First, err)
	}
	selection, err := s.Select(space.Filter{MinNS: k.config.MinNS})
	if err != nil {
		return fmt.Errorf("cells: ring %016x, call %d: %w", b.Ring, b.First, err)
	}
	c.complete = c.complete[:0]
	for i, status := range selection.Status {
		if status == space.Complete {
			c.complete = append(c.complete, int32(i))
		}
	}
	c.coords = s.Coordinates(c.coords[:0], c.complete)
	where, err := c.locate(r, b, from, nsPerTick)
	if err != nil {
		return fmt.Errorf("cells: ring %016x, call %d: %w", b.Ring, b.First, err)
	}
	k.place(r, b, from, selection.Status, &where)
	c.addCalls(r, b, from, &where)
	return nil
}

// gather puts the bursts of a block, from a row on, into columns, and moves the ring's last call to the block's.
func (c *columns) gather(r *ring, b *section.Block, from int, nsPerTick float64) {
	c.rows, c.before, c.after, c.DurationNS = c.rows[:0], c.before[:0], c.after[:0], c.DurationNS[:0]
	noBurst, paused := b.NoBurst, b.Paused
	for i, site := range b.Site[:b.Rows] {
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
		at := c.sites[site]
		if !without {
			c.rows = append(c.rows, int32(i))
			c.before, c.after = append(c.before, r.last), append(c.after, at)
			c.DurationNS = append(c.DurationNS, inNS(b.Burst[i], nsPerTick))
		}
		if row := uint32(r.rows) + uint32(i-from); without && (len(paused) > 0 && int(paused[0]) == i || row > 0 && b.Burst[i] > 0) {
			r.gap(row)
		}
		r.last = at
	}
	if a := &r.phases.ahead; a.is && len(c.rows) > 0 && int(c.rows[0]) == from { // its parts have that rate
		c.DurationNS[0] = inNS(b.Burst[from], a.nsPerTick)
	}
	c.gatherCounts(b)
	for axis, event := range r.process.axes {
		c.Counters[axis] = c.Counters[axis][:0]
		for i := range c.rows {
			v := space.NotRead
			if event >= 0 {
				v = max(c.counts[i*b.Events+event], space.NotRead)
			}
			c.Counters[axis] = append(c.Counters[axis], v)
		}
	}
}

// gatherCounts puts the counts of all events in the bursts of the columns into one list, burst by burst.
func (c *columns) gatherCounts(b *section.Block) {
	events := b.Events
	c.counts = slices.Grow(c.counts[:0], events*len(c.rows))[:events*len(c.rows)]
	for event, column := range b.Counts[:events] {
		at := event
		for _, row := range c.rows {
			c.counts[at] = column[row]
			at += events
		}
	}
	burst := 0
	has := func(row uint32) bool { // of rows that do not descend
		for burst < len(c.rows) && uint32(c.rows[burst]) < row {
			burst++
		}
		return burst < len(c.rows) && uint32(c.rows[burst]) == row
	}
	for _, x := range b.NotRead {
		if has(x.Row) {
			c.counts[burst*events+int(x.Event)] = noCount
		}
	}
	burst = 0
	for _, row := range b.NoCounts {
		if has(row) {
			for event := range events {
				c.counts[burst*events+event] = noCount
			}
		}
	}
}

// inNS is what ticks take, rounded as the collector rounds times: the end of the run finds a burst in the cell that it
// had here, and one of a tick has a duration.
func inNS(ticks uint64, nsPerTick float64) int64 {
	return int64(min(math.Round(float64(ticks)*nsPerTick), maxNS))
}

// place gives each burst of the columns its unit, and counts it.
func (k *Store) place(r *ring, b *section.Block, from int, status []space.Status, where *located) {
	c, cuts := &k.columns, where.each.Bursts
	sites, events := k.by == grouping.ByNone, len(r.process.events)
	next, complete := from, 0
	without := func(to int) { // rows without a burst
		for ; next < to; next++ {
			r.append(rowOf{site: c.sites[b.Site[next]]}, sites)
		}
	}
	for i, row := range c.rows {
		without(int(row))
		next++
		x := burst{ring: r.number, row: uint32(r.rows), site: c.after[i], ns: c.DurationNS[i], counts: c.counts[i*events:][:events]}
		var path int32
		path, x.cuts, cuts = where.burst(i, cuts)
		if i == 0 && where.settled.burst {
			x.takeApartAhead(&where.settled, &r.phases.stream)
		} else {
			x.takeApart(&c.stretch)
		}
		x.in = inOf(path, len(x.cuts) > 0)
		r.append(k.placeOne(r, &x, i, status[i], &complete), sites)
	}
	without(b.Rows)
}

// placeOne takes a burst of the columns.
func (k *Store) placeOne(r *ring, x *burst, i int, status space.Status, complete *int) rowOf {
	c, dims := &k.columns, len(k.dims)
	r.phases.counts(x.row, x.in)
	k.tally.bursts++
	k.tally.total.Add(uint64(x.ns))
	of, at := unitShort, []float64(nil)
	switch status {
	case space.Complete:
		at = c.coords[*complete*dims:][:dims]
		*complete++
		of = k.unitOf(r.process, c.before[i], c.after[i], at)
	case space.Missing:
		of = unitMissing
	}
	r.sums.add(sumKey{x.site, of, x.in}, x)
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
		k.units.add(of, at, x, r.process.events)
		k.points.add(&k.units, of, x)
	}
	return kept
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
