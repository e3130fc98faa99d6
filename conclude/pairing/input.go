package pairing

import (
	"slices"
	"strings"

	"moriens/analysis/pairs"
	"moriens/analysis/waits"
	"moriens/conclude/blame"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// hostsOf are the ranks of the run by node and world.
func hostsOf(run *trace.Run) []rundir.PairsHost {
	type place struct{ node, world int }
	at := make(map[place]int)
	var hosts []rundir.PairsHost
	var lists [][]int
	for i := range run.Threads {
		t := &run.Threads[i]
		p := place{t.Node, t.World}
		n, known := at[p]
		if !known {
			n = len(hosts)
			at[p] = n
			hosts, lists = append(hosts, rundir.PairsHost{Name: run.NodeName(t.Node), World: t.World}), append(lists, nil)
		}
		if last := len(lists[n]); last == 0 || lists[n][last-1] != t.Rank {
			lists[n] = append(lists[n], t.Rank)
		}
	}
	for n := range hosts {
		hosts[n].Ranks = rundir.RankList(lists[n])
	}
	return hosts
}

// input is collective: it is a run as analysis/pairs takes it, and what calls waited in messages of windows that were
// chosen by chance, by thread.
func (d *describer) input(owners team.Threads) (*pairs.Run, [][]int64, error) {
	run := d.run
	in := &pairs.Run{Threads: make([]pairs.Thread, len(run.Threads)), Tests: make([]bool, len(run.CallPaths)), Workers: d.Workers}
	begins := make([]bool, len(run.CallPaths))
	for i := range run.CallPaths {
		function := run.CallPaths[i].Function
		in.Tests[i], begins[i] = waits.Tests(function), waits.Begins(function)
	}
	for i := range run.Threads {
		t := &run.Threads[i]
		in.Threads[i] = pairs.Thread{World: int32(t.World), Rank: int32(t.Rank), Node: int32(t.Node), EnterNS: t.Calls.EnterNS, ExitNS: t.Calls.ExitNS, Path: t.Calls.Path}
		if d.late != nil {
			in.Threads[i].Waits = d.late.Waits[i]
		}
	}
	sample := make([][]int64, len(run.Threads))
	if d.sumsAlone() {
		return in, sample, nil
	}
	sent := blame.SentRows(run)
	done, err := completing(run, owners)
	if err != nil {
		return nil, nil, err
	}
	list := make([]pairs.Message, 0, len(run.Messages))
	for i := range run.Messages {
		m := &run.Messages[i]
		halved := uint8(0)
		if d.counted {
			n, known := d.halved(i)
			if !known {
				continue
			}
			halved = n
		}
		x := pairs.Message{Halved: halved, From: int32(m.From), To: int32(m.To), SendNS: m.SendNS, Bytes: m.Bytes, Send: -1, Sent: -1, Done: done[i]}
		if owners.Mine(m.From) {
			x.Send, x.Sent = int32(run.Threads[m.From].Calls.EnteredAt(m.SendNS)), sent[i]
			if x.Send >= 0 && x.Sent < 0 && !begins[run.Threads[m.From].Calls.Path[x.Send]] {
				x.Sent = x.Send
			}
		}
		list = append(list, x)
	}
	if d.counted && d.late != nil {
		for i := range sample {
			if owners.Mine(i) {
				sample[i] = d.lates(i)
			}
		}
	}
	in.Messages, in.Message = len(list), func(i int) pairs.Message { return list[i] }
	return in, sample, nil
}

// completing is collective: it finds the calls that completed the receives of messages to ranks of this member. Members
// that share a rank tell each other what is on their threads.
func completing(run *trace.Run, owners team.Threads) ([]pairs.Place, error) {
	shared := sharedRanks(run, owners)
	list, words := make([]pairs.Place, len(run.Messages)), make([][]int64, len(run.Threads)) // a message, and its call
	for i := range run.Messages {
		m, none := &run.Messages[i], pairs.Place{Thread: int32(run.Messages[i].To), Row: -1}
		list[i] = none
		from, to, is := shared.of(m.To)
		switch {
		case is:
			for k := from; k < to; k++ {
				if owners.Mine(k) {
					if row := run.CompletingOn(m, k); row >= 0 {
						words[k] = append(words[k], int64(i), int64(row))
					}
				}
			}
		case owners.Mine(m.To):
			if thread, row := run.Completing(m); row >= 0 {
				list[i] = pairs.Place{Thread: int32(thread), Row: int32(row)}
			}
		}
	}
	if len(shared) == 0 {
		return list, nil
	}
	words, err := team.ByThread(owners, words)
	if err != nil {
		return nil, err
	}
	for thread, own := range words {
		for w := range slices.Chunk(own, 2) {
			if x := &list[w[0]]; x.Row < 0 || run.Messages[w[0]].To == thread {
				*x = pairs.Place{Thread: int32(thread), Row: int32(w[1])}
			}
		}
	}
	return list, nil
}

// shared are the ranks of which several members have threads: from each thread, the first one of its rank and the one
// after the last.
type shared map[int][2]int

func (s shared) of(thread int) (from, to int, is bool) {
	x, is := s[thread]
	return x[0], x[1], is
}

func sharedRanks(run *trace.Run, owners team.Threads) shared {
	s := make(shared)
	for from := 0; from < len(run.Threads) && owners.Of != nil; {
		to, several := from, false
		for ; to < len(run.Threads) && run.Threads[to].World == run.Threads[from].World && run.Threads[to].Rank == run.Threads[from].Rank; to++ {
			several = several || owners.Of[to] != owners.Of[from]
		}
		for k := from; several && k < to; k++ {
			s[k] = [2]int{from, to}
		}
		from = to
	}
	return s
}

// halved is how often the probability was halved that a message is here; not known where there is no sample.
func (d *describer) halved(message int) (n uint8, known bool) {
	if list := d.run.Traffic.Sample; message < len(list) {
		return list[message].Halved()
	}
	return 0, false
}

// lateWords is how many words a wait in messages of a window takes.
const lateWords = 5

// lates are the waits of a thread in messages, each with the last compared window that has begun before it.
func (d *describer) lates(thread int) (words []int64) {
	t, windows := &d.run.Threads[thread], d.run.Traffic.Compared[thread]
	at := 0
	for _, w := range d.late.Waits[thread] {
		if !w.Kind.InMessages() {
			continue
		}
		enterNS, kind := t.Calls.EnterNS[w.Row], pairs.Received
		if w.Kind == waits.LateReceiver {
			kind = pairs.Sent
		}
		for at+1 < len(windows) && windows[at+1].BeginNS <= enterNS {
			at++
		}
		window := uint64(0)
		if at < len(windows) {
			window = windows[at].Window
		}
		words = append(words, int64(w.For), int64(kind), w.UntilNS-enterNS, int64(window), int64(w.Halved))
	}
	return words
}

// latesOf are the waits of their words.
func latesOf(words [][]int64) [][]pairs.Late {
	list := make([][]pairs.Late, len(words))
	for i := range words {
		for w := range slices.Chunk(words[i], lateWords) {
			list[i] = append(list[i], pairs.Late{For: int32(w[0]), Kind: pairs.Kind(w[1]), NS: w[2], Window: uint64(w[3]), Halved: uint8(w[4])})
		}
	}
	return list
}

// An other is what a rank has moved to or from a peer beside messages that are known, and sends to anybody.
type other struct {
	kind        trace.TransferKind
	world, peer int32
}

// otherWords is how many words such takes, with a number and bytes.
const otherWords = 5

// othersOf are what the threads of this member have put, got and sent.
func othersOf(run *trace.Run, owners team.Threads) [][]int64 {
	words := make([][]int64, len(run.Threads))
	for i := range run.Threads {
		t := &run.Threads[i]
		if !owners.Mine(i) || run.Traffic != nil {
			continue
		}
		at := make(map[other]int)
		for k, kind := range t.Transfers.Kind {
			x := other{kind, int32(t.World), t.Transfers.Peer[k]}
			if t.Transfers.PeerWorld != nil {
				x.world = t.Transfers.PeerWorld[k]
			}
			if x.peer < 0 || x.world < 0 || kind != trace.Put && kind != trace.Got && kind != trace.Sent {
				continue
			}
			n, known := at[x]
			if !known {
				n = len(words[i])
				at[x] = n
				words[i] = append(words[i], int64(kind), int64(x.world), int64(x.peer), 0, 0)
			}
			words[i][n+3]++
			words[i][n+4] += t.Transfers.Bytes[k]
		}
	}
	return words
}

// A clique is ranks that collectives of a part of the world have given bytes to each other.
type clique struct {
	world  int32
	ranks  []int             // of the communicator
	shares []int64           // by rank of the communicator: bytes that it gives each other one
	toRoot []map[int32]int64 // likewise, by root: bytes that it moves to or from that
}

// mostOfClique is how many ranks a communicator may have for its pairs to be listed.
const mostOfClique = 1024

// cliquesOf is collective: it gives the first member what collectives of communicators that are no whole world have
// moved. Neighbourhood collectives are none of them: whom they are between is not recorded.
//
// Of communicators of too many ranks it gives how many there are that have moved something, and of how many ranks.
func cliquesOf(run *trace.Run, owners team.Threads) (list []clique, left unlisted, err error) {
	listed, large := partsOf(run), make([]bool, len(run.Communicators))
	for i := range large {
		large[i] = listed[i] && len(run.Communicators[i].Ranks) > mostOfClique
	}
	const width = 4
	words := make([][]int64, len(run.Threads)) // communicator, rank in it, root or -1, bytes
	for i := range run.Threads {
		if !owners.Mine(i) {
			continue
		}
		t := &run.Threads[i]
		sums := make(map[[2]int32]int64)
		for k, comm := range t.Collectives.Comm {
			if comm < 0 || int(comm) >= len(listed) || !listed[comm] || neighbours(run, t, k) {
				continue
			}
			if root := t.Collectives.Root[k]; root >= 0 {
				sums[[2]int32{comm, root}] += t.Collectives.Sent[k] + t.Collectives.Received[k]
			} else {
				sums[[2]int32{comm, -1}] += t.Collectives.Sent[k]
			}
		}
		for key, bytes := range sums {
			if large[key[0]] {
				if bytes > 0 {
					words[i] = append(words[i], int64(key[0]), -1, -1, bytes)
				}
				continue
			}
			own := slices.Index(run.Communicators[key[0]].Ranks, t.Rank)
			if own >= 0 && own != int(key[1]) && bytes > 0 { // what the root moves is what the others do
				words[i] = append(words[i], int64(key[0]), int64(own), int64(key[1]), bytes)
			}
		}
	}
	words, err = team.FirstByThread(owners, words)
	if err != nil || owners.Rank() != 0 {
		return nil, left, err
	}
	at := make(map[int64]int)
	left = make(unlisted)
	for _, own := range words {
		for w := range slices.Chunk(own, width) {
			if large[w[0]] {
				left[w[0]] = &run.Communicators[w[0]]
				continue
			}
			n, known := at[w[0]]
			if !known {
				c := &run.Communicators[w[0]]
				n = len(list)
				at[w[0]] = n
				list = append(list, clique{world: int32(c.World), ranks: c.Ranks, shares: make([]int64, len(c.Ranks)), toRoot: make([]map[int32]int64, len(c.Ranks))})
			}
			if c := &list[n]; w[2] >= 0 {
				if c.toRoot[w[1]] == nil {
					c.toRoot[w[1]] = make(map[int32]int64)
				}
				c.toRoot[w[1]][int32(w[2])] += w[3]
			} else {
				c.shares[w[1]] += w[3] / int64(len(c.ranks))
			}
		}
	}
	return list, left, nil
}

// partsOf says of each communicator whether it is of a part of the ranks of a world, of several.
func partsOf(run *trace.Run) []bool {
	ranks := make(map[int]map[int]bool)
	for i := range run.Threads {
		t := &run.Threads[i]
		if ranks[t.World] == nil {
			ranks[t.World] = make(map[int]bool)
		}
		ranks[t.World][t.Rank] = true
	}
	parts := make([]bool, len(run.Communicators))
	for i := range run.Communicators {
		c := &run.Communicators[i]
		parts[i] = !c.Inter && !c.Window && !c.File && len(c.Ranks) > 1 && len(c.Ranks) < len(ranks[c.World])
	}
	return parts
}

// unlisted are communicators whose collectives are in no clique.
type unlisted map[int64]*trace.Communicator

// ranks is how many ranks they have, each counted once.
func (u unlisted) ranks() int {
	all := make(map[[2]int]bool)
	for _, c := range u {
		for _, r := range c.Ranks {
			all[[2]int{c.World, r}] = true
		}
	}
	return len(all)
}

// neighbours says that a collective is one of neighbours.
func neighbours(run *trace.Run, t *trace.Thread, k int) bool {
	return strings.Contains(strings.ToLower(run.CallPaths[t.Calls.Path[t.Collectives.Call[k]]].Function), "neighbor")
}
