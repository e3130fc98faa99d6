package retention

import (
	"cmp"
	"slices"

	"moriens/analysis/represent"
	"moriens/internal/team"
)

// peers are the threads that exchange messages with a thread inside a window, as far as they are known.
func (b *budget) peers(w *represent.Window, thread int) []int32 {
	if b.neighbours == nil || w.First[thread] >= w.Behind[thread] {
		return nil
	}
	beginNS, endNS := stretch{w.First[thread], w.Behind[thread]}.time(&b.content.Run.Threads[thread])
	of := b.neighbours[thread]
	i, _ := slices.BinarySearchFunc(of, beginNS, func(n neighbour, ns int64) int { return cmp.Compare(n.ns, ns) })
	var list []int32
	for ; i < len(of) && of[i].ns <= endNS; i++ {
		list = append(list, of[i].thread)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// keeping says what keeping costs, and who talks to whom. Of several members the first one learns what the others know.
func (b *budget) keeping() (represent.Keeping, error) {
	r := b.reduction
	if r.owners.Size() == 1 {
		return represent.Keeping{Bytes: b.bytesOf, Peers: b.peers, OnPath: r.onPath()}, nil
	}
	windows := slices.Concat(r.found.Windows, r.found.Anomalies)
	asked := r.asked(windows)
	bytes, peers := make([][]int64, len(b.content.Run.Threads)), make([][]int32, len(b.content.Run.Threads))
	for i := range bytes {
		if !r.owners.Mine(i) {
			continue
		}
		for k := range windows {
			bytes[i] = append(bytes[i], b.bytesOf(&windows[k], i))
			if asked[int32(i)] {
				list := b.peers(&windows[k], i)
				peers[i] = append(append(peers[i], int32(len(list))), list...)
			}
		}
	}
	bytes, err := team.FirstByThread(r.owners, bytes)
	if err != nil {
		return represent.Keeping{}, err
	}
	peers, err = team.FirstByThread(r.owners, peers)
	if err != nil {
		return represent.Keeping{}, err
	}
	of := make(map[int32][][]int32)
	if r.owners.Rank() == 0 {
		for thread := range asked {
			for list := peers[thread]; len(list) > 0; {
				n := list[0]
				of[thread] = append(of[thread], list[1:1+n])
				list = list[1+n:]
			}
		}
	}
	number := make(map[*represent.Window]int, len(windows))
	for k := range windows {
		number[windowAt(r.found, k)] = k
	}
	return represent.Keeping{
		Bytes: func(w *represent.Window, thread int) int64 { return bytes[thread][number[w]] },
		Peers: func(w *represent.Window, thread int) []int32 { return of[int32(thread)][number[w]] }, OnPath: r.onPath(),
	}, nil
}

// asked are the threads whose peers are asked for: those that stand for others, or show what a window is for.
func (r *Reduction) asked(windows []represent.Window) map[int32]bool {
	asked := make(map[int32]bool)
	for i := range r.classes.Classes {
		asked[int32(r.classes.Classes[i].Exemplar)] = true
	}
	for i := range r.classes.Outliers {
		asked[int32(r.classes.Outliers[i].Thread)] = true
	}
	for i := range windows {
		for _, t := range windows[i].Threads {
			asked[t] = true
		}
		if on := r.onPath(); on != nil {
			for _, x := range represent.MostOnPath(on(&windows[i])) {
				asked[x.Thread] = true
			}
		}
	}
	return asked
}
