package cells

import (
	"fmt"
	"runtime"
	"slices"

	"moriens/analysis/cell"
	"moriens/analysis/grouping"
	"moriens/analysis/kinds"
	"moriens/analysis/microcell"
	"moriens/analysis/moment"
	"moriens/analysis/sequence"
	"moriens/internal/relay"
	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
)

// mostThreads bounds the threads of a run.
const mostThreads = 1 << 26

// A member is this agent in a team that finds kinds: its bursts as they were when that began.
type member struct {
	store  *Store
	begin  *moriensv1.CellsBegin
	team   team.Threads
	rings  []*ring // in the order of their threads
	thread []int   // likewise
	views  []view  // likewise
	short  []bool  // by unit
	group  []int32 // by the agent's number: the run's
	by     grouping.By

	bursts microcell.Member
	pairs  []uint32 // per burst, where bursts of all calls are together: index into pairOf
	pairOf []callPair
	events [][]event // by ring
}

// A callPair is the sites round a burst, in a process that has both.
type callPair struct {
	process *process
	sitePair
}

// An event is a collective of all ranks, with how many bursts of the thread are before it.
type event struct {
	at      int
	comm    uint64
	ordinal uint64
}

// An outcome is what a team has found of the bursts here.
type outcome struct {
	*member
	result *grouping.Result
	first  []int // by ring: its first burst
}

// newMember reads what a member is to know.
func (k *Store) newMember(b *moriensv1.CellsBegin) (*member, error) {
	m := &member{store: k, begin: b, by: k.by}
	if b.Rank < 1 || b.Rank >= b.Size || len(b.Owner) != len(b.Owned) || len(b.Ring) != len(b.Thread) || len(b.Before) != len(b.Bursts) || len(b.After) != len(b.Bursts) {
		return nil, fmt.Errorf("cells: member %d of %d, %d and %d runs of owners, %d rings on %d threads, %d groups between %d and %d calls",
			b.Rank, b.Size, len(b.Owner), len(b.Owned), len(b.Ring), len(b.Thread), len(b.Bursts), len(b.Before), len(b.After))
	}
	m.team.Of = []int32{}
	for i, n := range b.Owned {
		if b.Owner[i] >= b.Size || n > mostThreads || len(m.team.Of)+int(n) > mostThreads {
			return nil, fmt.Errorf("cells: %d threads at member %d of %d: want at most %d in all", n, b.Owner[i], b.Size, mostThreads)
		}
		m.team.Of = append(m.team.Of, slices.Repeat([]int32{int32(b.Owner[i])}, int(n))...)
	}
	short, err := k.asked(b.Short)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	m.short = make([]bool, k.units.len())
	for _, unit := range short {
		m.short[unit] = true
	}
	groups := max(1, len(k.groups.list))
	if len(b.Group) != groups {
		return nil, fmt.Errorf("cells: %d groups have numbers of the run: want %d", len(b.Group), groups)
	}
	for i, g := range b.Group {
		if g < kinds.None || int(g) >= len(b.Bursts) {
			return nil, fmt.Errorf("cells: group %d is group %d of the run, of %d", i, g, len(b.Bursts))
		}
	}
	m.group = b.Group
	if err := m.findRings(); err != nil {
		return nil, err
	}
	return m, m.collect()
}

// findRings finds those of the run's threads.
func (m *member) findRings() error {
	k, b := m.store, m.begin
	for i, id := range b.Ring {
		r, t := k.byID[id], int(b.Thread[i])
		switch {
		case r == nil:
			return fmt.Errorf("cells: ring %016x is not known", id)
		case t >= len(m.team.Of) || m.team.Of[t] != int32(b.Rank) || i > 0 && t <= int(b.Thread[i-1]) || slices.Contains(m.rings, r):
			return fmt.Errorf("cells: ring %016x is thread %d of %d, which is another member's, or behind one with a larger number", id, t, len(m.team.Of))
		}
		m.rings, m.thread, m.views = append(m.rings, r), append(m.thread, t), append(m.views, r.view())
	}
	for _, r := range k.rings {
		if r.bursts > 0 && !slices.Contains(m.rings, r) {
			return fmt.Errorf("cells: ring %016x has bursts, and is none of the run's threads", r.id)
		}
	}
	return nil
}

// each gives the rows of a view, below a number, with what was kept of them; last is the site of the row before, 0
// where that is not known.
func (v *view) each(end uint32, do func(row uint32, x rowOf, last uint32)) {
	next, last := uint32(0), uint32(0)
	for _, c := range v.chunks {
		if c.first != next {
			last = 0
		}
		for i := range c.len() {
			if c.first+uint32(i) >= end {
				return
			}
			x := rowOf{unit: c.at(i), step: c.steps[i]}
			if c.sites != nil {
				x.site = c.sites.at(i)
			}
			do(c.first+uint32(i), x, last)
			last = x.site
		}
		next = c.first + uint32(c.len())
	}
}

// at is a row's unit.
func (c *chunk) at(i int) uint32 {
	if c.narrow != nil {
		return c.units[c.narrow[i]]
	}
	return c.units[c.wide[i]]
}

// end is the number after the last row.
func (v *view) end() uint32 {
	if n := len(v.chunks); n > 0 {
		return v.chunks[n-1].first + uint32(v.chunks[n-1].len())
	}
	return 0
}

// clustered reports whether a burst of a unit, plus 1, is clustered. Places added since then belong to a clustered
// unit.
func (m *member) clustered(unit uint32) bool {
	return unit != none && (int(unit) > len(m.short) || !m.short[unit-1])
}

// collect puts the bursts into columns.
func (m *member) collect() error {
	k, to := m.store, &m.bursts
	b := &to.Bursts
	b.Dims, b.Timed, b.Side, b.Steady = len(k.dims), grouping.Timed(k.dims), k.side, grouping.Steady(k.dims)
	b.Groups, b.Nodes = len(m.begin.Bursts), m.team.Of
	for i, n := range m.begin.Bursts {
		to.Groups = append(to.Groups, &grouping.Clustered{Group: grouping.Group{Before: m.begin.Before[i], After: m.begin.After[i], Bursts: int(n)}})
	}
	b.Ends, b.Gaps = make([]int, len(m.team.Of)), make([][]int32, len(m.team.Of))
	number := make(map[callPair]uint32)
	for i, r := range m.rings {
		first := len(b.Group)
		gaps := r.gaps
		var rows []uint32
		var bad error
		m.views[i].each(m.views[i].end(), func(row uint32, x rowOf, last uint32) {
			for len(gaps) > 0 && gaps[0] <= row {
				b.Gaps[m.thread[i]] = append(b.Gaps[m.thread[i]], int32(len(b.Group)-first))
				gaps = gaps[1:]
			}
			if !m.clustered(x.unit) {
				return
			}
			unit := x.unit - 1
			group := m.group[k.units.group[unit]]
			if group < 0 && bad == nil {
				bad = fmt.Errorf("cells: unit %d is clustered, its group %d is not", unit, k.units.group[unit])
			}
			b.Cell, b.Group = append(b.Cell, k.units.keyOf(unit)...), append(b.Group, group)
			to.Step, rows = append(to.Step, x.step), append(rows, row)
			if m.by == grouping.ByNone {
				pair := callPair{r.process, sitePair{last, x.site}}
				at, known := number[pair]
				if !known {
					at = uint32(len(m.pairOf))
					number[pair], m.pairOf = at, append(m.pairOf, pair)
				}
				m.pairs = append(m.pairs, at)
			}
		})
		if bad != nil {
			return bad
		}
		b.Gaps[m.thread[i]] = slices.Compact(b.Gaps[m.thread[i]])
		var events []event
		r.anchors.each(func(row, comm uint32, ordinal uint64) {
			at, _ := slices.BinarySearch(rows, row+1)
			events = append(events, event{at, r.process.anchors[comm], ordinal})
		})
		m.events = append(m.events, events)
		b.Ends[m.thread[i]] = len(b.Group)
	}
	last := 0
	for t := range b.Ends {
		last = max(last, b.Ends[t])
		b.Ends[t] = last
	}
	if b.Length = b.Cell; !b.Timed {
		b.Length = make([]int32, len(to.Step))
		for i, step := range to.Step {
			b.Length[i] = grouping.LengthCell(kinds.OfStep(int32(step)), b.Side)
		}
	}
	return nil
}

// find finds kinds together with the others.
func (m *member) find(by relay.Caller) (*outcome, error) {
	m.team.Team = relay.Member{Caller: by, Of: int(m.begin.Size), Number: int(m.begin.Rank)}
	b := &m.bursts.Bursts
	b.Team = m.team
	if m.begin.Anchors {
		if err := m.placeAnchors(); err != nil {
			return nil, err
		}
	}
	if m.by == grouping.ByNone {
		if err := m.numberCalls(); err != nil {
			return nil, err
		}
	}
	m.bursts.Units = m.units
	o := grouping.Options{
		Dims: m.store.dims, By: m.by, Unaligned: m.begin.Unaligned, Unstrated: m.begin.Unstrated, Crowded: m.begin.Crowded, Resolution: m.begin.Resolution,
		MinPts: int(m.begin.MinPoints), JobThreads: int(m.begin.JobThreads), Workers: runtime.GOMAXPROCS(0),
	}
	if m.begin.Density {
		o.Kinds = grouping.KindsByDensity
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	r, err := m.bursts.Find(o)
	if err != nil {
		return nil, err
	}
	f := &outcome{member: m, result: r}
	for _, t := range m.thread {
		first := 0
		if t > 0 {
			first = b.Ends[t-1]
		}
		f.first = append(f.first, first)
	}
	m.pairs, m.pairOf, m.events = nil, nil, nil
	m.bursts.Bursts.Cell, m.bursts.Bursts.Length, m.bursts.Bursts.Call, m.bursts.Bursts.Group = nil, nil, nil, nil
	return f, nil
}

// placeAnchors takes the collectives of the communicator of all ranks that has most of them, as where all bursts are in
// one place.
func (m *member) placeAnchors() error {
	calls := make(map[uint64]int64)
	for _, events := range m.events {
		for _, e := range events {
			calls[e.comm]++
		}
	}
	comm, some, err := relay.Most(m.team, calls)
	if err != nil || !some {
		return err
	}
	m.bursts.Bursts.Anchors = make([][]sequence.Anchor, len(m.team.Of))
	for i, events := range m.events {
		t := m.thread[i]
		for _, e := range events {
			if e.comm == comm {
				m.bursts.Bursts.Anchors[t] = append(m.bursts.Bursts.Anchors[t], sequence.Anchor{At: e.at, Event: e.ordinal})
			}
		}
	}
	return nil
}

// numberCalls has the collector number the calls round the bursts.
func (m *member) numberCalls() error {
	list := make([]relay.Calls, len(m.pairOf))
	m.store.mu.Lock()
	for i, pair := range m.pairOf {
		before, after := pair.process.sites[pair.before], pair.process.sites[pair.after]
		list[i] = relay.Calls{Process: pair.process.id, Before: [2]uint32{uint32(before.Function), before.Path}, After: [2]uint32{uint32(after.Function), after.Path}}
	}
	m.store.mu.Unlock()
	numbers, err := relay.Ask(m.team, list)
	if err != nil {
		return err
	}
	m.bursts.Bursts.Call = make([]int64, len(m.pairs))
	for i, pair := range m.pairs {
		m.bursts.Bursts.Call[i] = numbers[pair]
	}
	return nil
}

// units are those of the bursts as they are now, and what is in them.
func (m *member) units() (of []int32, units []microcell.Unit) {
	k := m.store
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, r := range m.rings {
		v := r.view()
		v.each(m.views[i].end(), func(_ uint32, x rowOf, _ uint32) {
			if m.clustered(x.unit) {
				of = append(of, int32(x.unit-1))
			}
		})
	}
	u := &k.units
	for unit := range uint32(u.len()) {
		moments := slices.Clone(u.moments[int(unit)*u.stride:][:u.stride])
		c := cell.Cell{Count: moments[0].N}
		for j := range u.dims {
			at := int(unit)*u.dims + j
			c.Key[j], c.Lo[j], c.Hi[j], c.Sum[j] = u.key[at], u.lo[at], u.hi[at], u.sumOf(unit, j)
		}
		units = append(units, microcell.Unit{Cell: c, Duration: moments[0], Counters: append([]moment.Exact(nil), moments[1:]...), Place: u.parent[unit] != 0})
	}
	return of, units
}
