package conclude

import (
	"slices"

	"moriens/analysis/clock"
	"moriens/internal/team"
)

// known is what a member of a team knows of calls of all members that count for the comparison of clocks: one that moved messages between nodes which were
// received here, and collectives. Of each collective one member, its host, is told who took part, judges whether they agree on what it was, and tells
// them.
type known struct {
	history *history
	all     []clock.Thread // with the columns of this member's
	traffic clock.Traffic  // by places in threads
	threads []clock.Thread // of each only what was told
	rows    [][]int32      // of the run, of what was told
}

func newKnown(h *history, threads []clock.Thread) *known {
	k := &known{history: h, all: threads, threads: make([]clock.Thread, len(threads)), rows: make([][]int32, len(threads))}
	for i := range threads {
		k.threads[i].Node = threads[i].Node
	}
	return k
}

// add takes in a call, by its node's clock.
func (k *known) add(p clock.Place, enterNS, exitNS int64) clock.Place {
	t := &k.threads[p.Thread]
	t.EnterNS, t.ExitNS = append(t.EnterNS, enterNS), append(t.ExitNS, exitNS)
	k.rows[p.Thread] = append(k.rows[p.Thread], p.Row)
	return clock.Place{Thread: p.Thread, Row: int32(len(t.EnterNS) - 1)}
}

func (k *known) messages(pairs []pair) {
	for i := range pairs {
		p := &pairs[i]
		if k.all[p.send.thread].Node == k.all[p.done.thread].Node {
			continue
		}
		k.traffic.Messages = append(k.traffic.Messages, clock.Message{
			Send: k.add(p.send.clock(), p.sentNS, p.sentNS), Recv: k.add(p.done.clock(), 0, k.all[p.done.thread].ExitNS[p.done.row]),
		})
	}
}

// visitWidth is how many numbers a visitor takes on its way to the host of its collective.
const visitWidth = 10

// meet gives the collectives in which calls of this member's threads took part.
func (k *known) meet(keys [][]meetingKey, visits [][]visitor, functions []function) ([]clock.Collective, error) {
	members := k.history.team.Size()
	parts := make([][]int64, members)
	for thread := range keys {
		for i, key := range keys[thread] {
			v := &visits[thread][i]
			moves := int64(0)
			if v.moves {
				moves = 1
			}
			host := mix(mix(0, key.comm), key.ordinal) % uint64(members)
			parts[host] = append(parts[host], int64(key.comm), int64(key.ordinal), int64(v.rank), int64(v.root), int64(v.function), moves,
				int64(v.place.Thread), int64(v.place.Row), k.all[thread].EnterNS[v.place.Row], k.all[thread].ExitNS[v.place.Row])
		}
		keys[thread], visits[thread] = nil, nil
	}
	lists, err := team.Exchange(k.history.team, parts)
	if err != nil {
		return nil, err
	}
	keys, visits = make([][]meetingKey, members), make([][]visitor, members)
	for from, rows := range lists {
		for ; len(rows) >= visitWidth; rows = rows[visitWidth:] {
			keys[from] = append(keys[from], meetingKey{uint64(rows[0]), uint64(rows[1])})
			visits[from] = append(visits[from], visitor{
				rank: int32(rows[2]), root: int32(rows[3]), function: int32(rows[4]), moves: rows[5] != 0,
				place: k.add(clock.Place{Thread: int32(rows[6]), Row: int32(rows[7])}, rows[8], rows[9]),
			})
		}
		lists[from] = nil
	}
	answers := make([][]int64, members)
	for _, visitors := range together(keys, visits) {
		if m, ok := meeting(visitors, functions); ok {
			m.ID = uint64(len(k.traffic.Collectives)*members + k.history.team.Rank())
			k.traffic.Collectives = append(k.traffic.Collectives, m)
			k.answer(answers, &m)
		}
	}
	lists, err = team.Exchange(k.history.team, answers)
	if err != nil {
		return nil, err
	}
	var list []clock.Collective
	for _, numbers := range lists {
		for len(numbers) > 0 {
			var c clock.Collective
			c, numbers = collectiveOf(numbers)
			list = append(list, c)
		}
	}
	return list, nil
}

// answer tells the members that have threads in a collective of what its calls wait for.
func (k *known) answer(answers [][]int64, c *clock.Collective) {
	owner := func(m clock.Member) int { return k.history.team.Owner(int(m.Start.Thread)) }
	var owners []int // that have some
	for _, m := range c.Members {
		if i, found := slices.BinarySearch(owners, owner(m)); !found {
			owners = slices.Insert(owners, i, owner(m))
		}
	}
	for _, to := range owners {
		members, others := c.Members, []int(nil)
		root := c.Members[c.Root]
		switch {
		case c.Flow == clock.AllToAll, c.Flow == clock.ToRoot && owner(root) == to:
			others = slices.DeleteFunc(slices.Clone(owners), func(o int) bool { return o == to })
		case c.Flow == clock.ToRoot:
			others = []int{owner(root)}
		}
		if c.Flow != clock.Prefix {
			members = nil
			for i, m := range c.Members {
				if owner(m) == to || c.Flow == clock.FromRoot && i == c.Root {
					members = append(members, m)
				}
			}
		}
		at := slices.Index(members, root)
		if c.Flow == clock.AllToAll || c.Flow == clock.Prefix {
			at = 0
		}
		list := append(answers[to], int64(c.ID), int64(c.Flow), int64(at), int64(len(others)), int64(len(members)))
		for _, o := range others {
			list = append(list, int64(o))
		}
		for _, m := range members {
			list = append(list, int64(m.Start.Thread), int64(k.rows[m.Start.Thread][m.Start.Row]))
		}
		answers[to] = list
	}
}

// collectiveOf reads one of an answer, and returns what follows it.
func collectiveOf(numbers []int64) (c clock.Collective, rest []int64) {
	c = clock.Collective{ID: uint64(numbers[0]), Flow: clock.Flow(numbers[1]), Root: int(numbers[2])}
	others, members := numbers[3], numbers[4]
	numbers = numbers[5:]
	for _, o := range numbers[:others] {
		c.Others = append(c.Others, int32(o))
	}
	numbers = numbers[others:]
	for i := range members {
		p := clock.Place{Thread: int32(numbers[2*i]), Row: int32(numbers[2*i+1])}
		c.Members = append(c.Members, clock.Member{Start: p, End: p})
	}
	return c, numbers[2*members:]
}
