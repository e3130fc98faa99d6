package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"moriens/internal/mpicall"
	"moriens/internal/section"
)

// CallsOnNode reports whether the agent of a process keeps its calls on the node: of its rings only the announcements
// arrived.
func (p *Process) CallsOnNode() bool { return p.Agent.Hello.Cells != "" }

// Filled says what Fill has taken.
type Filled struct {
	Calls   uint64 // rows of calls
	Missing uint64 // rows that did not arrive, as far as others that arrived or the ring's end show them
	Holes   int    // stretches of those
	Refused []error

	rings map[*Ring]*holes
}

// Row is the number that a row of a ring had on its node, by the number that it has now.
func (f *Filled) Row(r *Ring, now uint64) uint64 {
	h := f.rings[r]
	if h == nil {
		return now
	}
	i := sort.Search(len(h.list), func(i int) bool { return h.list[i].row-h.list[i].skipped > now })
	if i > 0 {
		now += h.list[i-1].skipped
	}
	return now
}

// Fill takes what was fetched of processes whose calls are kept on their nodes: sections of calls and of moves, those
// of a part one after the other. They are validated as those that arrive by themselves. Where rows are missing, because
// their windows were evicted, those that follow are numbered without them: the time before the first of them is no
// burst, as where records are lost, and nothing is counted across. Call paths and names have their numbers after
// Renumber.
func (f *Frozen) Fill(parts [][]byte) Filled {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	x := filling{store: f.store, Filled: Filled{rings: make(map[*Ring]*holes)}}
	calls, moves := x.sort(parts)
	x.calls(calls)
	x.marks()
	x.moved(moves)
	return x.Filled
}

// A filling is a Fill under way.
type filling struct {
	Filled
	store *Store
	later []later
}

// A piece is a section that waits for its turn.
type piece struct {
	ring, first uint64
	bytes       []byte
}

// later is what the calls of a block have beside them, which is taken when the calls of all blocks are there.
type later struct {
	ring           *Ring
	firstMark      uint64
	marks          []section.Mark
	counts         [][]int64
	before, inside []uint64 // gaps
}

// holes are what is missing of a ring.
type holes struct {
	next uint64 // row after the latest that arrived
	all  uint64 // rows in all
	list []hole
}

// A hole is rows that did not arrive: those before row, up to where the hole before it ends. skipped is how many all
// holes so far have.
type hole struct{ row, size, skipped uint64 }

func (x *filling) refuse(err error) {
	if err != nil {
		x.Refused = append(x.Refused, err)
	}
}

func (x *filling) of(r *Ring) *holes {
	if x.rings[r] == nil {
		x.rings[r] = new(holes)
	}
	return x.rings[r]
}

// sort finds the sections of parts: those of calls in the order of rings and rows, those of moves as they are.
func (x *filling) sort(parts [][]byte) (calls, moves []piece) {
	read := &x.store.takeApart().section
	for _, bytes := range parts {
		for len(bytes) > 0 {
			rest, err := read.Read(bytes)
			if err != nil {
				x.refuse(err)
				break
			}
			bytes = rest
			p := piece{read.Ring, read.First, read.Bytes()}
			if read.Kind == section.Moves {
				moves = append(moves, p)
			} else {
				calls = append(calls, p)
			}
		}
	}
	slices.SortStableFunc(calls, func(a, b piece) int { return cmp.Or(cmp.Compare(a.ring, b.ring), cmp.Compare(a.first, b.first)) })
	return calls, moves
}

// calls takes all calls, with their collectives, ring by ring, in the order of their rows.
func (x *filling) calls(list []piece) {
	for _, p := range list {
		r := x.store.rings[p.ring]
		if r == nil || !r.Process.CallsOnNode() || r.Calls > 0 && x.rings[r] == nil {
			x.refuse(fmt.Errorf("fetched calls of ring %016x, which is not known, or has its calls", p.ring))
			continue
		}
		if err := x.addCalls(r, p); err != nil {
			x.refuse(fmt.Errorf("ring %016x, call %d: %w", p.ring, p.first, err))
		}
	}
	for _, r := range x.siblings() {
		h := x.of(r)
		if r.Calls > 0 && h.next == 0 { // its calls had arrived
			h.next, h.all = r.Calls, r.Calls
			continue
		}
		if h.all = h.next; r.End != nil && r.End.Calls <= math.MaxUint32 {
			h.all = max(h.all, r.End.Calls)
		}
	}
}

// siblings are all rings of the processes of which calls were taken.
func (x *filling) siblings() (list []*Ring) {
	for _, p := range x.store.processes {
		if slices.ContainsFunc(p.Rings, func(r *Ring) bool { return x.rings[r] != nil }) {
			list = append(list, p.Rings...)
		}
	}
	return list
}

func (x *filling) addCalls(r *Ring, p piece) error {
	d := x.store.reader
	x.store.whole = false
	if _, err := d.section.Read(p.bytes); err != nil {
		return err
	}
	b, err := d.calls(r)
	if err != nil {
		return err
	}
	if b.Rows > 0 || b.Unfinished {
		if err := x.addRows(r, b); err != nil {
			return err
		}
	}
	x.later = append(x.later, later{r, b.FirstMark, slices.Clone(b.Marks), section.CloneCounts(b.MarkCounts), slices.Clone(b.GapsBefore), slices.Clone(b.GapsInside)})
	return r.addCollectives(b)
}

// addRows takes the rows of a block, which has their numbers of before again afterwards.
func (x *filling) addRows(r *Ring, b *section.Block) error {
	h := x.of(r)
	first := b.First
	if first < h.next || first > math.MaxUint32 {
		return fmt.Errorf("fetched behind call %d", int64(h.next)-1)
	}
	missing := first > h.next
	if missing {
		b.NoBurst = burstless(b.NoBurst)
		if end := r.origin + r.ticks; r.Calls > 0 && b.Origin > end && b.Origin < maxTicks {
			r.ticks += b.Origin - end
		}
	}
	b.First = r.Calls
	if err := x.ending(r, func() error { return x.store.addRows(r, b) }); err != nil {
		return err
	}
	b.First = first
	if missing {
		x.miss(h, first)
		r.Gaps.Before = append(r.Gaps.Before, first)
	}
	h.next = first + uint64(b.Rows)
	x.Calls += uint64(b.Rows)
	return nil
}

// ending has a ring take what belongs before its end, though that has arrived.
func (x *filling) ending(r *Ring, do func() error) error {
	end := r.End
	r.End = nil
	defer func() { r.End = end }()
	return do()
}

// miss says that there is no row between the latest one and this one.
func (x *filling) miss(h *holes, row uint64) {
	size := row - h.next
	skipped := size
	if n := len(h.list); n > 0 {
		skipped += h.list[n-1].skipped
	}
	h.list = append(h.list, hole{row, size, skipped})
	x.Missing += size
	x.Holes++
}

// marks takes all marks of rings of which none arrived unasked; missing ones are as if they had never existed.
func (x *filling) marks() {
	unmarked := make(map[*Ring]bool)
	for _, l := range x.later {
		unmarked[l.ring] = l.ring.marks == 0
	}
	list := slices.DeleteFunc(slices.Clone(x.later), func(l later) bool { return len(l.marks) == 0 || !unmarked[l.ring] })
	slices.SortStableFunc(list, func(a, b later) int { return cmp.Compare(a.firstMark, b.firstMark) })
	for _, l := range list {
		if err := x.ending(l.ring, func() error { return l.ring.addMarks(l.ring.marks, l.marks, l.counts) }); err != nil {
			x.refuse(fmt.Errorf("ring %016x, %w", l.ring.Info.Ring, err))
		}
	}
}

// moved takes what calls have moved and the gaps, by the rows that they had, and gives it those that they have now.
func (x *filling) moved(moves []piece) {
	received := make(map[*Ring]uint64)
	for r, h := range x.rings {
		received[r] = r.Calls
		r.Calls = h.all
	}
	for _, p := range moves {
		_, err := x.store.reader.section.Read(p.bytes)
		if err == nil {
			err = x.store.addMoves(x.completed)
		}
		x.refuse(err)
	}
	for _, l := range x.later {
		if err := l.ring.addGaps(l.before, l.inside); err != nil {
			x.refuse(fmt.Errorf("ring %016x: %w", l.ring.Info.Ring, err))
		}
	}
	for r := range x.rings {
		r.Calls = received[r]
	}
	x.missAtEnd()
	for r, h := range x.rings {
		if slices.ContainsFunc(r.Process.Rings, func(o *Ring) bool { return len(x.rings[o].list) > 0 }) {
			x.renumber(r, h)
		}
	}
}

// completed is how many calls of a ring may have completed what others posted: any number where its end has not
// arrived. A window that was evicted may hold the call that completed what a window that was not has posted.
func (x *filling) completed(r *Ring) uint64 {
	h := x.rings[r]
	switch {
	case h == nil:
		return r.Calls
	case r.End == nil:
		return math.MaxUint32
	}
	return h.all
}

// missAtEnd says which rows are missing behind all others of their rings, as far as the ring's end shows them, or what
// they completed.
func (x *filling) missAtEnd() {
	for r := range x.rings {
		for k := range r.Transfers {
			t := &r.Transfers[k]
			for i, row := range t.Done {
				done := r
				if other := t.DoneRing[i]; other != nil {
					done = other
				}
				h := x.rings[done]
				h.all = max(h.all, uint64(row+1))
			}
		}
	}
	for r, h := range x.rings {
		if h.all == h.next {
			continue
		}
		if r.Calls > 0 {
			r.Gaps.Before = append(r.Gaps.Before, h.all)
		}
		x.miss(h, h.all)
	}
}

// now is the number that a row has now, and whether it is there.
func (h *holes) now(row uint64) (uint64, bool) {
	i := sort.Search(len(h.list), func(i int) bool { return h.list[i].row > row })
	if i < len(h.list) && row >= h.list[i].row-h.list[i].size {
		return 0, false
	}
	if i > 0 {
		row -= h.list[i-1].skipped
	}
	return row, true
}

// behind is the number now of the first row from this on that is there, or how many there are.
func (h *holes) behind(row uint64) uint64 {
	for _, x := range h.list {
		if row < x.row && row >= x.row-x.size {
			return x.row - x.skipped
		}
	}
	now, _ := h.now(row)
	return now
}

// renumber gives what calls of a ring have moved the rows that those have now.
func (x *filling) renumber(r *Ring, h *holes) {
	there := func(row uint32) bool {
		_, is := h.now(uint64(row))
		return is
	}
	for k := range r.Transfers {
		t := r.Transfers[k].of(there)
		for i, row := range t.Row {
			now, _ := h.now(uint64(row))
			t.Row[i] = uint32(now)
			done := h
			if other := t.DoneRing[i]; other != nil {
				done = x.rings[other]
			}
			if t.Done[i] < 0 {
				continue
			}
			if now, is := done.now(uint64(t.Done[i])); is {
				t.Done[i] = int64(now)
			} else {
				t.Done[i] = -1
			}
		}
		r.Transfers[k] = t
	}
	r.Transfers = slices.DeleteFunc(r.Transfers, func(t Transfers) bool { return t.Len() == 0 })
	for k := range r.Collectives {
		r.Collectives[k] = r.Collectives[k].renumbered(h)
	}
	for i, row := range r.Gaps.Before {
		r.Gaps.Before[i] = h.behind(row)
	}
	inside := r.Gaps.Inside[:0]
	for _, row := range r.Gaps.Inside {
		if now, is := h.now(row); is {
			inside = append(inside, now)
		}
	}
	r.Gaps.Inside = inside
}

func (c *Collectives) renumbered(h *holes) Collectives {
	var part Collectives
	for i, row := range c.Row {
		now, is := h.now(uint64(row))
		if !is {
			continue
		}
		part.Row, part.Comm, part.Ordinal = append(part.Row, uint32(now)), append(part.Comm, c.Comm[i]), append(part.Ordinal, c.Ordinal[i])
		part.Sent, part.Received, part.Root = append(part.Sent, c.Sent[i]), append(part.Received, c.Received[i]), append(part.Root, c.Root[i])
	}
	return part
}

// Path is the store's number of an MPI function called from a call path of a process, which has one from now on; 0,
// unknown, where there is no such thing.
func (s *Store) Path(process uint64, function, path uint32) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.processes[process]
	if p == nil || function > math.MaxUint16 || !mpicall.ID(function).Known() {
		return 0
	}
	if _, known := p.local[path]; !known && path != 0 {
		return 0
	}
	return s.paths.number(p, mpicall.ID(function), path)
}

// Number is Store.Path.
func (f *Frozen) Number(process uint64, function, path uint32) uint32 {
	return f.store.Path(process, function, path)
}

// Renumber gives CallPaths and MarkNames what Fill and Number have brought, and the totals. The numbers of before are
// void.
func (f *Frozen) Renumber() {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	s := f.store
	f.Totals = s.sum()
	f.arrange([]holding{{paths: s.paths.list, places: s.paths.places, names: s.names.list, clocks: s.clocks, codes: s.codes}})
}
