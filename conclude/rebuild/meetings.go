package rebuild

import (
	"slices"

	"moriens/analysis/clock"
	"moriens/conclude/match"
	"moriens/internal/team"
)

// meetings are the calls of all members, as far as a member of a team has them, that count for the comparison of
// clocks: those that sent messages between nodes which were received here, and collectives. The participants of each
// collective go to one member, its host, which checks whether they agree on what it was and answers them.
type meetings struct {
	team    team.Threads
	all     []clock.Thread // with the columns of this member's
	traffic clock.Traffic  // by places in threads
	threads []clock.Thread // of each only the calls that count here
	rows    [][]int32      // of the run, of those calls
}

func newMeetings(t team.Threads, threads []clock.Thread) *meetings {
	k := &meetings{team: t, all: threads, threads: make([]clock.Thread, len(threads)), rows: make([][]int32, len(threads))}
	for i := range threads {
		k.threads[i].Node = threads[i].Node
	}
	return k
}

// add takes in a call, by its node's clock.
func (k *meetings) add(p clock.Place, enterNS, exitNS int64) clock.Place {
	t := &k.threads[p.Thread]
	t.EnterNS, t.ExitNS = append(t.EnterNS, enterNS), append(t.ExitNS, exitNS)
	k.rows[p.Thread] = append(k.rows[p.Thread], p.Row)
	return clock.Place{Thread: p.Thread, Row: int32(len(t.EnterNS) - 1)}
}

func (k *meetings) messages(pairs []match.Pair) {
	for i := range pairs {
		p := &pairs[i]
		if k.all[p.Send.Thread].Node == k.all[p.Done.Thread].Node {
			continue
		}
		k.traffic.Messages = append(k.traffic.Messages, clock.Message{
			Send: k.add(clockPlace(p.Send), p.SentNS, p.SentNS), Recv: k.add(clockPlace(p.Done), 0, k.all[p.Done.Thread].ExitNS[p.Done.Row]),
		})
	}
}

// participantWidth is how many numbers a participant takes on its way to the host of its collective.
const participantWidth = 10

// meet gives the collectives in which calls of this member's threads took part.
func (k *meetings) meet(keys [][]operation, entries [][]participant, functions []function) ([]clock.Collective, error) {
	members := k.team.Size()
	parts := make([][]int64, members)
	for thread := range keys {
		for i, key := range keys[thread] {
			v := &entries[thread][i]
			moves := int64(0)
			if v.moves {
				moves = 1
			}
			host := mix(mix(0, key.comm), key.ordinal) % uint64(members)
			parts[host] = append(parts[host], int64(key.comm), int64(key.ordinal), int64(v.rank), int64(v.root), int64(v.function), moves,
				int64(v.place.Thread), int64(v.place.Row), k.all[thread].EnterNS[v.place.Row], k.all[thread].ExitNS[v.place.Row])
		}
		keys[thread], entries[thread] = nil, nil
	}
	lists, err := team.Exchange(k.team, parts)
	if err != nil {
		return nil, err
	}
	keys, entries = make([][]operation, members), make([][]participant, members)
	for from, rows := range lists {
		for ; len(rows) >= participantWidth; rows = rows[participantWidth:] {
			keys[from] = append(keys[from], operation{uint64(rows[0]), uint64(rows[1])})
			entries[from] = append(entries[from], participant{
				rank: int32(rows[2]), root: int32(rows[3]), function: int32(rows[4]), moves: rows[5] != 0,
				place: k.add(clock.Place{Thread: int32(rows[6]), Row: int32(rows[7])}, rows[8], rows[9]),
			})
		}
		lists[from] = nil
	}
	answers := make([][]int64, members)
	for _, participants := range together(keys, entries) {
		if m, ok := collective(participants, functions); ok {
			m.ID = uint64(len(k.traffic.Collectives)*members + k.team.Rank())
			k.traffic.Collectives = append(k.traffic.Collectives, m)
			k.answer(answers, &m)
		}
	}
	lists, err = team.Exchange(k.team, answers)
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

// answer informs the members that have threads in a collective of what its calls wait for.
func (k *meetings) answer(answers [][]int64, c *clock.Collective) {
	owner := func(m clock.Member) int { return k.team.Owner(int(m.Start.Thread)) }
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

func clockPlace(p match.Place) clock.Place { return clock.Place{Thread: p.Thread, Row: int32(p.Row)} }
