package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
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

// Fill takes what was fetched of processes whose calls are kept on their nodes: Calls, Marks, Transfers, Collectives
// and Gaps. It is validated as what arrives by itself, and must not be used by others afterwards. Where rows are
// missing, because their windows were evicted, those that follow are numbered without them: the time before the first
// of them is no burst, as where records are lost, and nothing is counted across. Call paths and names have their
// numbers after Renumber.
func (f *Frozen) Fill(messages []*moriensv1.ReportRequest) Filled {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	x := filling{store: f.store, Filled: Filled{rings: make(map[*Ring]*holes)}}
	x.calls(messages)
	x.marks(messages)
	x.moved(messages)
	return x.Filled
}

// A filling is a Fill under way.
type filling struct {
	Filled
	store *Store
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

// calls takes all calls, ring by ring, in the order of their rows.
func (x *filling) calls(messages []*moriensv1.ReportRequest) {
	var list []*moriensv1.Calls
	for _, m := range messages {
		if c := m.GetCalls(); c != nil {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *moriensv1.Calls) int {
		return cmp.Or(cmp.Compare(a.Ring, b.Ring), cmp.Compare(a.First, b.First))
	})
	for _, c := range list {
		r := x.store.rings[c.Ring]
		if r == nil || !r.Process.CallsOnNode() || r.Calls > 0 && x.rings[r] == nil {
			x.refuse(fmt.Errorf("fetched calls of ring %016x, which is not known, or has its calls", c.Ring))
			continue
		}
		x.refuse(x.addCalls(r, c))
	}
	for r, h := range x.rings {
		h.all = h.next
		if r.End != nil && r.End.Calls > h.next && r.End.Calls <= math.MaxUint32 {
			h.all = r.End.Calls
			x.miss(h, h.all)
			r.Gaps.Before = append(r.Gaps.Before, h.all)
		}
	}
}

func (x *filling) addCalls(r *Ring, c *moriensv1.Calls) error {
	h := x.of(r)
	first, n := c.First, uint64(len(c.Function))
	if first < h.next || first > math.MaxUint32 {
		return fmt.Errorf("ring %016x, call %d: fetched behind call %d", c.Ring, first, int64(h.next)-1)
	}
	missing := first > h.next
	if missing {
		if len(c.NoBurst) == 0 || c.NoBurst[0] != 0 {
			c.NoBurst = slices.Insert(c.NoBurst, 0, 0)
		}
		if end := r.origin + r.ticks; r.Calls > 0 && c.OriginTicks > end && c.OriginTicks < maxTicks {
			r.ticks += c.OriginTicks - end
		}
	}
	c.First = r.Calls
	if err := x.ending(r, func() error { return x.store.addCalls(c) }); err != nil {
		return err
	}
	if missing {
		x.miss(h, first)
		r.Gaps.Before = append(r.Gaps.Before, first)
	}
	h.next = first + n
	x.Calls += n
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
func (x *filling) marks(messages []*moriensv1.ReportRequest) {
	var list []*moriensv1.Marks
	for _, m := range messages {
		if k := m.GetMarks(); k != nil {
			if r := x.store.rings[k.Ring]; r != nil && r.marks == 0 {
				list = append(list, k)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *moriensv1.Marks) int {
		return cmp.Or(cmp.Compare(a.Ring, b.Ring), cmp.Compare(a.First, b.First))
	})
	for _, k := range list {
		r := x.store.rings[k.Ring]
		k.First = r.marks
		x.refuse(x.ending(r, func() error { return x.store.addMarks(k) }))
	}
}

// moved takes what calls have moved, by the rows that they had, and gives it those that they have now.
func (x *filling) moved(messages []*moriensv1.ReportRequest) {
	received := make(map[*Ring]uint64)
	for r, h := range x.rings {
		received[r] = r.Calls
		r.Calls = h.all
	}
	for _, m := range messages {
		switch b := m.Body.(type) {
		case *moriensv1.ReportRequest_Transfers:
			x.refuse(x.store.addTransfers(b.Transfers))
		case *moriensv1.ReportRequest_Collectives:
			x.refuse(x.store.addCollectives(b.Collectives))
		case *moriensv1.ReportRequest_Gaps:
			x.refuse(x.store.addGaps(b.Gaps))
		case *moriensv1.ReportRequest_Calls, *moriensv1.ReportRequest_Marks:
		default:
			x.refuse(fmt.Errorf("a window contains an unexpected message: %T", m.Body))
		}
	}
	for r := range x.rings {
		r.Calls = received[r]
	}
	for r, h := range x.rings {
		if len(h.list) > 0 || slices.ContainsFunc(r.Process.Rings, func(o *Ring) bool { return x.rings[o] != nil && len(x.rings[o].list) > 0 }) {
			x.renumber(r, h)
		}
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
				done = x.of(other)
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
	f.arrange([]holding{{paths: s.paths.list, places: s.paths.places, names: s.names.list, clocks: s.clocks}})
}
