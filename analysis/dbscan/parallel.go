package dbscan

import (
	"sync"
	"sync/atomic"
)

// inBatches hands out batches of 0 … n-1 until all are done, for work of uneven size. f is called
// once per thread and calls next until it is not ok.
func inBatches(n, size, threads int, f func(next func() (begin, end int, ok bool))) {
	var done atomic.Int64
	next := func() (begin, end int, ok bool) {
		end = int(done.Add(int64(size)))
		begin = end - size
		return begin, min(end, n), begin < n
	}
	if threads <= 1 || n <= size {
		f(next)
		return
	}
	var wg sync.WaitGroup
	for range threads {
		wg.Go(func() { f(next) })
	}
	wg.Wait()
}

// fewAtATime is the size of batches whose elements cost a microsecond and more each.
const fewAtATime = 64

// threadsFor limits threads to what n elements can feed: starting a thread costs as much as a few
// thousand elements of the cheapest loop here.
func threadsFor(n, threads int) int {
	return max(1, min(threads, n/4096))
}
