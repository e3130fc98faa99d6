package pairs

import (
	"cmp"
	"slices"
)

// A row is a record of a rank.
type row struct {
	rank, peer int32
	key
	record
}

func (r *row) compare(o *row) int {
	return cmp.Or(
		cmp.Compare(r.what, o.what), cmp.Compare(r.rank, o.rank), cmp.Compare(r.peer, o.peer), cmp.Compare(r.kind, o.kind), cmp.Compare(r.size, o.size), cmp.Compare(r.time, o.time),
	)
}

// Solve adds up by rank what threads have counted, of which all are here.
func (x *Records) Solve() *Result {
	r := &Result{RankOf: make([]int32, len(x.run.Threads)), OneSided: x.oneSided}
	for i := range x.run.Threads {
		t := &x.run.Threads[i]
		if n := len(r.Ranks); n == 0 || r.Ranks[n-1].World != t.World || r.Ranks[n-1].Rank != t.Rank {
			r.Ranks = append(r.Ranks, Rank{t.World, t.Rank, t.Node})
		}
		r.RankOf[i] = int32(len(r.Ranks) - 1)
	}
	rows := x.rows(r.RankOf)
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(a.compare(&b), cmp.Compare(a.firstAtNS, b.firstAtNS)) })
	for i := 0; i < len(rows); {
		sum := rows[i]
		for i++; i < len(rows) && rows[i].compare(&sum) == 0; i++ {
			sum.record.add(&rows[i].record)
		}
		r.take(&sum)
	}
	return r
}

func (x *Records) rows(rankOf []int32) (rows []row) {
	n := 0
	for _, list := range x.lists {
		n += len(list) / width
	}
	rows = make([]row, 0, n)
	for i, list := range x.lists {
		for w := range slices.Chunk(list, width) {
			k := key{what: what(w[0]), kind: Kind(w[1]), size: w[3], time: w[4]}
			rows = append(rows, row{rankOf[i], rankOf[w[2]], k, record{Sums{w[5], w[6], w[7], w[8]}, w[9], w[10], w[11], w[12], w[13], w[14]}})
		}
		x.lists[i] = nil
	}
	return rows
}

func (r *Result) take(x *row) {
	switch x.what {
	case ofFlow:
		r.Flows = append(r.Flows, Flow{x.rank, x.peer, x.kind, x.Sums, x.known, x.longestNS, x.firstNS, x.firstRestNS, x.lateNS})
	case ofSize:
		r.Sizes = append(r.Sizes, Size{x.rank, x.peer, x.kind, int32(x.size), x.Sums})
	case ofEnd:
		r.Ends = append(r.Ends, End{x.rank, x.peer, x.kind, uint32(x.time), x.Sums})
	case ofSeen, ofShared:
		r.Seen = append(r.Seen, Seen{x.rank, x.peer, x.size, middle(x.time), x.Messages, x.what == ofShared})
	case ofGap:
		r.Gaps = append(r.Gaps, Gap{x.rank, x.peer, x.size, int32(x.time), x.Messages, x.BlockedNS})
	}
}
