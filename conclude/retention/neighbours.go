package retention

import (
	"cmp"
	"slices"

	"moriens/trace"
)

// A neighbour is a thread with which another one exchanged a message.
type neighbour struct {
	ns     int64 // when the call was made that posted it
	thread int32
}

// neighboursOf finds for each thread of a run those with which it exchanges messages, in the order of time: by the
// messages, and by the ranks that its transfers name, of which the first thread stands for all.
func neighboursOf(run *trace.Run) [][]neighbour {
	list := make([][]neighbour, len(run.Threads))
	for i := range run.Messages {
		m := &run.Messages[i]
		list[m.From] = append(list[m.From], neighbour{m.SendNS, int32(m.To)})
		list[m.To] = append(list[m.To], neighbour{m.RecvNS, int32(m.From)})
	}
	first := make(map[[2]int]int32)
	for i := range run.Threads {
		key := [2]int{run.Threads[i].World, run.Threads[i].Rank}
		if _, there := first[key]; !there {
			first[key] = int32(i)
		}
	}
	for i := range run.Threads {
		t := &run.Threads[i]
		x := &t.Transfers
		for k, kind := range x.Kind {
			if kind != trace.Sent && kind != trace.Received || x.Peer[k] < 0 {
				continue
			}
			world := t.World
			if x.PeerWorld != nil {
				world = int(x.PeerWorld[k])
			}
			if peer, recorded := first[[2]int{world, int(x.Peer[k])}]; recorded && peer != int32(i) {
				list[i] = append(list[i], neighbour{t.Calls.EnterNS[x.Call[k]], peer})
			}
		}
		slices.SortFunc(list[i], func(a, b neighbour) int { return cmp.Or(cmp.Compare(a.ns, b.ns), cmp.Compare(a.thread, b.thread)) })
	}
	return list
}
