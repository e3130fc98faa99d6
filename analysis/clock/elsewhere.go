package clock

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/internal/team"
)

// away stands in the place of a thread for what another member of the team reports: the row is the number of its slot.
const away = -1

// elsewhere is what an ordering has to do with the other members of a team.
type elsewhere struct {
	slots  []slot
	number map[Place]int32 // of the slots, by calls of other members' threads
	out    [][]int64       // for each member: slots there, and what they wait for
}

// A slot is a time that another member reports.
type slot struct {
	known   bool
	ns      int64
	waiting []waiter
}

// A remote is a slot of another member.
type remote struct{ member, slot int32 }

// An awaited is an entry that another member waits for.
type awaited struct {
	row int32
	remote
}

// here reports whether a thread is this member's.
func (o *ordering) here(thread int32) bool { return o.number == nil || o.team.Mine(int(thread)) }

// locate is where the entry of a call is found: of another member's thread, in a slot.
func (o *ordering) locate(p Place) Place {
	if o.here(p.Thread) {
		return p
	}
	n, known := o.number[p]
	if !known {
		n = o.newSlot()
		o.number[p] = n
	}
	return Place{away, n}
}

func (o *ordering) newSlot() int32 {
	o.slots = append(o.slots, slot{})
	return int32(len(o.slots) - 1)
}

func (o *ordering) send(to remote, ns int64) {
	o.out[to.member] = append(o.out[to.member], int64(to.slot), ns)
}

// connect finds what the calls of this member's threads wait for, by thread, and sends the others which of these they
// have.
func (o *ordering) connect(t *Traffic) ([][]need, error) {
	for i := range t.Collectives {
		o.meetings = append(o.meetings, meeting{collective: &t.Collectives[i]})
	}
	if o.team.Size() == 1 {
		needs := o.needsOf(t)
		o.countMembers()
		return needs, nil
	}
	o.number = make(map[Place]int32)
	o.out = make([][]int64, o.team.Size())
	partials := make([][]int64, o.team.Size()) // of each member: a collective's id, and the slot
	for i := range o.meetings {
		m := &o.meetings[i]
		if m.collective.Root < 0 {
			continue // it sends, and does not receive
		}
		for _, other := range m.collective.Others {
			n := o.newSlot()
			m.partials = append(m.partials, n)
			partials[other] = append(partials[other], int64(m.collective.ID), int64(n))
		}
	}
	needs := o.needsOf(t)
	for i := range t.Collectives {
		if c := &t.Collectives[i]; c.Flow == Prefix {
			for _, m := range c.Members {
				o.locate(m.Start)
			}
		}
	}
	entries := make([][]int64, o.team.Size()) // likewise: thread, row, slot
	for p, n := range o.number {
		owner := o.team.Owner(int(p.Thread))
		entries[owner] = append(entries[owner], int64(p.Thread), int64(p.Row), int64(n))
	}
	if err := o.promise(entries, partials); err != nil {
		return nil, err
	}
	o.countMembers()
	for i := range o.meetings {
		if m := &o.meetings[i]; len(m.waiters) > 0 {
			m.watched = true
			o.advance(int32(i))
		}
	}
	return needs, nil
}

// promise has each member remember what the others wait for.
func (o *ordering) promise(entries, partials [][]int64) error {
	entries, err := team.Exchange(o.team, entries)
	if err != nil {
		return err
	}
	partials, err = team.Exchange(o.team, partials)
	if err != nil {
		return err
	}
	byID := make(map[uint64]int)
	for i := range o.meetings {
		if c := o.meetings[i].collective; len(c.Others) > 0 {
			byID[c.ID] = i
		}
	}
	var wrong error
	for member := range entries {
		for list := entries[member]; len(list) >= 3; list = list[3:] {
			thread, row := list[0], list[1]
			if !o.team.Mine(int(thread)) || row >= int64(len(o.threads[thread].EnterNS)) {
				wrong = fmt.Errorf("clock: member %d waits for call %d of thread %d, which is not here", member, row, thread)
				continue
			}
			s := &o.states[thread]
			s.awaited = append(s.awaited, awaited{int32(row), remote{int32(member), int32(list[2])}})
		}
		for list := partials[member]; len(list) >= 2; list = list[2:] {
			i, known := byID[uint64(list[0])]
			if !known {
				wrong = fmt.Errorf("clock: member %d waits for collective %x, which is not here", member, uint64(list[0]))
				continue
			}
			o.meetings[i].waiters = append(o.meetings[i].waiters, remote{int32(member), int32(list[1])})
		}
	}
	for i := range o.states {
		slices.SortFunc(o.states[i].awaited, func(a, b awaited) int { return cmp.Compare(a.row, b.row) })
	}
	return team.Agree(o.team, wrong)
}

// meet sends the others what they wait for, and receives from them. If no member has anything to send, the first
// waiting thread is released: it is part of a cycle. meet reports whether all threads of all members have reached their
// ends.
func (o *ordering) meet(stop bool) (through bool, err error) {
	const none = math.MinInt64
	var pending, stopped int64
	for _, list := range o.out {
		pending += int64(len(list))
	}
	if stop {
		stopped = 1
	}
	first := int64(none) // the lowest thread that waits, negated
	for i := range o.states {
		if o.states[i].blocked {
			first = -int64(i)
			break
		}
	}
	state := []int64{pending, first, stopped}
	if err := o.team.AllReduce(state, team.Max); err != nil {
		return false, err
	}
	pending, first, stopped = state[0], state[1], state[2]
	switch {
	case pending == 0 && first == none:
		return true, o.addUp()
	case stopped != 0 && !o.Stopped:
		o.Stopped, o.loose = true, true
		for i := range o.states {
			o.states[i].needs = nil
			o.wake(int32(i))
		}
	case pending > 0:
		return false, o.exchange()
	default:
		if s := &o.states[-first]; s.blocked {
			s.needs = s.needs[1:]
			o.Unordered++
			o.loose = true
			o.wake(int32(-first))
		}
	}
	return false, nil
}

func (o *ordering) exchange() error {
	lists, err := team.Exchange(o.team, o.out)
	if err != nil {
		return err
	}
	for i := range o.out {
		o.out[i] = o.out[i][:0]
	}
	for _, list := range lists {
		for ; len(list) >= 2; list = list[2:] {
			x := &o.slots[list[0]]
			x.known, x.ns = true, list[1]
			waiting := x.waiting
			x.waiting = nil
			for _, w := range waiting {
				if w.thread < 0 {
					o.advance(w.meeting)
				} else {
					o.wake(w.thread)
				}
			}
		}
	}
	return nil
}

// addUp makes what had to be done by all workers, and at all members, one.
func (o *ordering) addUp() error {
	for k := range o.walkers {
		o.add(&o.walkers[k].Ordered)
	}
	sums, most := []int64{int64(o.Late), o.TotalNS, int64(o.Unordered)}, []int64{o.LargestNS, o.OffNS}
	if err := o.team.AllReduce(sums, team.Sum); err != nil {
		return err
	}
	if err := o.team.AllReduce(most, team.Max); err != nil {
		return err
	}
	o.Late, o.TotalNS, o.Unordered, o.LargestNS, o.OffNS = int(sums[0]), sums[1], int(sums[2]), most[0], most[1]
	return nil
}
