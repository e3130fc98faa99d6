package dbscan

import (
	"sync/atomic"

	"moriens/analysis/workers"
)

// A forest holds disjoint sets of cells, which threads may find and join at once (Anderson and Woll,
// STOC'91): parents only ever become smaller, so that the first cell of a set is its root, whatever
// the order in which sets were joined.
type forest []int32

func newForest(n int) forest {
	f := make(forest, n)
	for i := range f {
		f[i] = int32(i)
	}
	return f
}

// find returns the smallest cell of the set, as far as sets have been joined.
func (f forest) find(i int32) int32 {
	for {
		p := atomic.LoadInt32(&f[i])
		if p == i {
			return i
		}
		up := atomic.LoadInt32(&f[p])
		if up != p {
			atomic.CompareAndSwapInt32(&f[i], p, up)
		}
		i = p
	}
}

// parent returns some cell of the same set.
func (f forest) parent(i int32) int32 { return atomic.LoadInt32(&f[i]) }

func (f forest) union(i, j int32) {
	for {
		i, j = f.find(i), f.find(j)
		if i == j {
			return
		}
		if i > j {
			i, j = j, i
		}
		if atomic.CompareAndSwapInt32(&f[j], j, i) {
			return
		}
	}
}

// flatten makes every cell point to its root. No other thread may join sets while it runs.
func (f forest) flatten(threads int) {
	workers.Chunks(len(f), threadsFor(len(f), threads), func(_, begin, end int) {
		for i := begin; i < end; i++ {
			atomic.StoreInt32(&f[i], f.find(int32(i)))
		}
	})
}
