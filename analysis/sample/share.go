package sample

import (
	"maps"
	"slices"

	"moriens/analysis/moment"
	"moriens/internal/team"
)

// A threadSum is what a thread has of a kind outside what is kept.
type threadSum struct {
	Thread, Cluster int32
	Size            int8
	moment.Sum
}

// shareSums gives each member the sums of all threads.
func shareSums(t team.Threads, sums []map[kind]*moment.Sum) error {
	if t.Size() == 1 {
		return nil
	}
	var own []threadSum
	for i := range sums {
		if !t.Mine(i) {
			continue
		}
		for _, k := range slices.SortedFunc(maps.Keys(sums[i]), kind.compare) {
			own = append(own, threadSum{int32(i), k.cluster, k.size, *sums[i][k]})
		}
	}
	all, err := team.Values(t, own)
	if err != nil {
		return err
	}
	for rank, list := range all {
		for k := range list {
			if x := &list[k]; rank != t.Rank() {
				sums[x.Thread][kind{x.Cluster, x.Size}] = &x.Sum
			}
		}
	}
	return nil
}

// A drawnBurst is one that a member has drawn of a stratum.
type drawnBurst struct {
	Stratum int32
	Lot     uint64
	Key     uint64
	Thread  int
	Number  int32
}

// shareBursts leaves in each stratum, at all members, the bursts with the least lots of those that the members have
// drawn.
func shareBursts(t team.Team, all []*stratum) error {
	if t.Size() == 1 {
		return nil
	}
	var own []drawnBurst
	for i, s := range all {
		for _, b := range s.nearest {
			own = append(own, drawnBurst{int32(i), b.lot, b.key, b.thread, b.number})
		}
		s.nearest, s.full = nil, false
	}
	lists, err := team.Values(t, own)
	if err != nil {
		return err
	}
	for _, list := range lists {
		for _, b := range list {
			all[b.Stratum].offer(burst{b.Lot, b.Key, b.Thread, b.Number})
		}
	}
	for _, s := range all {
		s.settle()
	}
	return nil
}
