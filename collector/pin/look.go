package pin

import (
	"fmt"
	"slices"
	"time"

	"moriens/analysis/period"
	"moriens/collector/pace"
	"moriens/collector/store"
)

// A look is one at what a rank did since the last.
type look struct {
	pins     *Pins
	view     *store.RingView
	follower *follower
	places   []uint32
	total    uint32 // rows that there are
	list     []wish
}

// meets reports whether the ring has any meetings, and takes those of the calls that are looked at. It leaves out calls
// for which there is no time.
func (l *look) meets() bool {
	f := l.follower
	l.total = rows(l.view, f.at)
	if most := l.pins.budget.rows(); l.total-f.at.row > most {
		f.jump(l.view, &l.pins.reader, l.places, l.total-most)
	}
	l.pins.meetings = l.pins.meetings[:0]
	if !f.meets() || l.total > f.at.row {
		l.pins.meetings = f.meetings(l.pins.store, l.view.Ring, f.at.row, l.pins.meetings)
	}
	if !f.meets() {
		f.jump(l.view, &l.pins.reader, l.places, l.total)
	}
	return f.meets()
}

func (l *look) run() {
	p, f := l.pins, l.follower
	if p.shapes.delimiter == 0 && !l.begin() {
		f.jump(l.view, &l.pins.reader, l.places, l.total)
		return
	}
	for range mostSearches {
		if f.stuck != nil && !l.resolve() {
			return
		}
		if f.follow(l.view, &l.pins.reader, l.places, p.shapes, l.total, l); f.stuck == nil {
			break
		}
	}
	n := min(l.total, recentBursts)
	if f.deeper && n >= min(2*p.tried, recentBursts) && p.budget.affords(n) {
		l.search(l.total-n, l.total, settled)
		f.deeper = false
	}
}

// mostSearches is how many searches a look takes where calls do not fit.
const mostSearches = 4

// begin searches the latest calls where no iterations are known yet: few at first, then twice as many each time.
func (l *look) begin() bool {
	p := l.pins
	n := min(l.total, recentBursts, max(fewBursts, 2*p.tried))
	if p.tried > 0 && n < min(2*p.tried, recentBursts) || !p.budget.affords(n) {
		return false
	}
	l.search(l.total-n, l.total, once)
	l.follower.jump(l.view, &l.pins.reader, l.places, l.total-n)
	return true
}

// resolve searches the calls around those that do not fit, if there is credit for it.
func (l *look) resolve() bool {
	f := l.follower
	from := f.at.row - min(f.at.row, fewBursts/2)
	to := min(l.total, from+fewBursts)
	from = min(from, to-min(to, fewBursts), f.stuck.from)
	if !l.pins.budget.affords(to - from) {
		return false
	}
	l.search(from, to, once)
	f.stuck.settle(once)
	f.jump(l.view, &l.pins.reader, l.places, from)
	return true
}

// settle says that what was in doubt was searched for.
func (d *doubt) settle(l level) {
	d.shape.level = max(d.shape.level, l)
	if d.ns > 0 {
		of := d.shape.duration(d.ns)
		of.level = max(of.level, l)
	}
}

// search finds the iterations in rows, and what of them to pin, and learns what these rows call.
func (l *look) search(from, to uint32, how level) {
	p := l.pins
	took := pace.Processor(func() {
		meetings := l.follower.meetings(p.store, l.view.Ring, from, nil)
		if len(meetings) == 0 {
			return
		}
		at := move(l.view, l.follower.at, from)
		seen, err := newSight(source{l.view, &l.pins.reader, l.places}, meetings, at, int(to-from), p.options)
		var phases []period.Phase
		if err == nil {
			phases, err = seen.phases()
		}
		if err != nil {
			p.log.Error("the windows to be pinned", "error", err)
			return
		}
		l.list = append(l.list, p.wishes(seen, phases)...)
		l.learn(seen, phases, at, to, how)
	})
	p.searched += took
	p.budget.searched(int(to-from), took)
	p.tried = max(p.tried, to-from)
}

// learn makes delimiters of the phases that were found, and has the stretches between them fit from now on.
func (l *look) learn(seen *sight, phases []period.Phase, from cursor, to uint32, how level) {
	s := l.pins.shapes
	if how == settled && to-from.row < recentBursts {
		how = once
	}
	t := teacher{shapes: s, level: how, blocks: make(map[*shape]*block)}
	for i := range phases {
		begins := iterationsOf(&phases[i])
		if begins == nil {
			continue
		}
		x := seen.delimiter(begins, func(x pair) bool { return s.delimiter&s.at(x).bit != 0 })
		s.delimit(x)
		for k := range begins[1:] {
			s.longest = max(s.longest, min(recentBursts, 4*int(seen.rowOf(begins[k+1])-seen.rowOf(begins[k]))))
		}
		t.phases = append(t.phases, taught{seen.rowOf(begins[0]), seen.rowOf(begins[len(begins)-1]), phases[i].MedianNS})
	}
	f := follower{at: from}
	f.jump(l.view, &l.pins.reader, l.places, from.row)
	f.follow(l.view, &l.pins.reader, l.places, s, to, &t)
	t.end()
}

// A teacher has all stretches fit that it gets.
type teacher struct {
	shapes *shapes
	level  level
	phases []taught
	blocks map[*shape]*block
}

// A taught is the rows of a phase.
type taught struct {
	from, to uint32
	medianNS int64
}

func (t *teacher) closed(x *stretch, cut bool, row uint32, ns int64) bool {
	s := t.shapes.of(shapeKey{x.pairs, cut})
	if s == nil {
		return true
	}
	s.level, s.seen = max(s.level, t.level), 0
	if !cut {
		return true
	}
	for _, phase := range t.phases {
		if x.from >= phase.from && row <= phase.to {
			s.medianNS = max(s.medianNS, phase.medianNS)
		}
	}
	b := t.blocks[s]
	if b == nil {
		b = new(block)
		t.blocks[s] = b
	}
	if median, full := b.add(ns); full {
		t.know(s, median)
	}
	return true
}

func (t *teacher) know(s *shape, medianNS int64) {
	d := s.duration(medianNS)
	d.level = max(d.level, t.level)
}

// end takes the durations of which there were too few for a block.
func (t *teacher) end() {
	for s, b := range t.blocks {
		if list := b.ns[:b.n]; len(list) > 0 {
			slices.Sort(list)
			t.know(s, list[len(list)/2])
		}
	}
}

// closed compares a stretch with what is known.
func (l *look) closed(x *stretch, cut bool, row uint32, ns int64) bool {
	p, f := l.pins, l.follower
	s := p.shapes.of(shapeKey{x.pairs, cut})
	if s == nil { // the program is irregular
		f.deeper = true
		return true
	}
	if s.seen++; cut && s.medianNS > 0 && ns >= farFactor*s.medianNS {
		l.pinFar(x, row, ns, s.medianNS)
	}
	if len(p.kinds) >= mostKinds {
		return true
	}
	switch {
	case s.level == unseen && (s.seen >= leastIterations || !cut):
		f.stuck = &doubt{shape: s, from: x.from}
		return false
	case s.level == once && s.seen >= leastIterations:
		f.deeper = true
	}
	if !cut || s.level == unseen {
		return true
	}
	return l.lasts(f.block(s), s, x, ns)
}

// lasts compares how long stretches take with what is known. Two blocks that follow each other are in doubt, one alone
// is chance.
func (l *look) lasts(b *block, s *shape, x *stretch, ns int64) bool {
	median, full := b.add(ns)
	if !full {
		return true
	}
	d := s.duration(median)
	strange := d.level == unseen
	again := strange && b.strange && b.class == d.class
	b.strange, b.class = strange, d.class
	if again {
		l.follower.stuck = &doubt{shape: s, ns: median, from: x.from}
		return false
	}
	l.follower.deeper = l.follower.deeper || d.level == once
	return true
}

// block is that of a shape on this rank.
func (f *follower) block(s *shape) *block {
	b := f.blocks[s]
	if b == nil {
		if f.blocks == nil || len(f.blocks) >= mostBlocks {
			f.blocks = make(map[*shape]*block)
		}
		b = new(block)
		f.blocks[s] = b
	}
	return b
}

// mostBlocks is of how many shapes durations are held for each rank.
const mostBlocks = 16

// pinFar pins a stretch that takes long.
func (l *look) pinFar(x *stretch, row uint32, ns, medianNS int64) {
	p := l.pins
	if p.farPins >= mostFar || len(p.meetings) == 0 {
		return
	}
	w := windowsOf(p.meetings, x.from, row)
	if len(w) == 0 || len(w) > mostWindows || p.far[w[0]] {
		return
	}
	p.farPins++
	p.far[w[0]] = true
	l.list = append(l.list, wish{w, fmt.Sprintf("an iteration of %v on rank %d, median %v", time.Duration(ns), l.view.Ring.Process.Info.Rank, time.Duration(medianNS))})
}
