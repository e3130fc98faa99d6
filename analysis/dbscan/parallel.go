package dbscan

import (
	"sync"
	"sync/atomic"
)

// inChunks cuts 0 … n-1 into one run per thread and calls f for each of them at once.
// The cuts depend on n and threads alone.
func inChunks(n, threads int, f func(thread, begin, end int)) {
	if threads <= 1 || n < 2 {
		f(0, 0, n)
		return
	}
	var wg sync.WaitGroup
	for t := range threads {
		begin, end := chunk(n, threads, t)
		wg.Go(func() { f(t, begin, end) })
	}
	wg.Wait()
}

func chunk(n, threads, t int) (begin, end int) {
	return int(int64(n) * int64(t) / int64(threads)), int(int64(n) * int64(t+1) / int64(threads))
}

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
