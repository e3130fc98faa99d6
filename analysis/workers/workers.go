// Package workers distributes pieces of work of known sizes over a number of goroutines. It decides only who does what;
// results must not depend on that.
package workers

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// Each calls work once for every piece, whose sizes are given in any unit: pieces of more than half a
// worker's share one after the other with all workers' threads, the others side by side with one each.
// workers below 1 means 1. It returns the error of the first piece that has one; all are done then.
func Each(sizes []int, workers int, work func(piece, threads int) error) error {
	total := 0
	for _, n := range sizes {
		total += n
	}
	errs := make([]error, len(sizes))
	var small []int
	for i, n := range sizes {
		if workers > 1 && n <= total/(2*workers) {
			small = append(small, i)
		} else {
			errs[i] = work(i, max(1, workers))
		}
	}
	smallSizes := make([]int, len(small))
	for k, i := range small {
		smallSizes[k] = sizes[i]
	}
	Every(smallSizes, workers, func(k int) { errs[small[k]] = work(small[k], 1) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Every calls work once for every piece, whose sizes are given in any unit, side by side, the largest first: for pieces
// that only one can work at. workers below 1 means 1.
func Every(sizes []int, workers int, work func(piece int)) {
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	if workers <= 1 { // in the caller's thread, of which the processor time may be measured
		for _, piece := range order {
			work(piece)
		}
		return
	}
	var taken atomic.Int64
	var all crowd
	for range min(workers, len(order)) {
		all.goOn(func() {
			for i := int(taken.Add(1)) - 1; i < len(order); i = int(taken.Add(1)) - 1 {
				work(order[i])
			}
		})
	}
	all.wait()
}

// A crowd is goroutines whose panic is passed on to the goroutine that waits for them. So a caller that recovers,
// because its data was received over a network, does so in one place.
type crowd struct {
	sync.WaitGroup
	panicked atomic.Pointer[any]
}

func (c *crowd) goOn(work func()) {
	c.Add(1)
	go func() {
		defer c.Done()
		defer func() {
			if p := recover(); p != nil {
				c.panicked.CompareAndSwap(nil, &p)
			}
		}()
		work()
	}()
}

func (c *crowd) wait() {
	c.Wait()
	if p := c.panicked.Load(); p != nil {
		panic(*p)
	}
}

// Chunks cuts 0 … n-1 into one run per worker, and calls work for each of them at once, with the number of the worker,
// from 0 on. workers below 1 means 1; the cuts depend on n and workers alone. Where there is nothing to share out,
// worker 0 has it all.
func Chunks(n, workers int, work func(worker, from, to int)) {
	if workers <= 1 || n < 2 {
		work(0, 0, n)
		return
	}
	var all crowd
	for w := range workers {
		from, to := Chunk(n, workers, w)
		all.goOn(func() { work(w, from, to) })
	}
	all.wait()
}

// Chunk is where one of the runs begins and ends that Chunks cuts.
func Chunk(n, workers, worker int) (from, to int) {
	return int(int64(n) * int64(worker) / int64(workers)), int(int64(n) * int64(worker+1) / int64(workers))
}

// Lists lists 0 … n-1, ascending, by what each is of: one of so many lists, or of none, below 0. of is called twice for
// each. workers below 1 means 1.
func Lists(n, lists, workers int, of func(i int) int32) [][]int32 {
	next := make([][]int32, max(1, workers)) // by worker and list: how many it has, then where its next one goes
	Chunks(n, workers, func(w, from, to int) {
		next[w] = make([]int32, lists)
		for i := from; i < to; i++ {
			if x := of(i); x >= 0 {
				next[w][x]++
			}
		}
	})
	all := make([][]int32, lists)
	for x := range all {
		sum := int32(0)
		for w := range next {
			if next[w] != nil {
				next[w][x], sum = sum, sum+next[w][x]
			}
		}
		all[x] = make([]int32, sum)
	}
	Chunks(n, workers, func(w, from, to int) {
		for i := from; i < to; i++ {
			if x := of(i); x >= 0 {
				all[x][next[w][x]] = int32(i)
				next[w][x]++
			}
		}
	})
	return all
}

// InOrder calls work once for every piece, side by side, and take for each in order, in the caller's goroutine. begin
// makes the work of one goroutine. What work fills is used again for a later piece, once it was taken. workers below 1
// means 1.
func InOrder[R any](pieces, workers int, begin func() (work func(piece int, fill *R)), take func(piece int, filled *R)) {
	if workers <= 1 || pieces < 2 {
		work, room := begin(), new(R)
		for piece := range pieces {
			work(piece, room)
			take(piece, room)
		}
		return
	}
	// A piece begins when it has a room, and rooms come back in the order of pieces: so no two that are under way, or
	// wait to be taken, have the same place.
	rooms := make(chan *R, 2*workers)
	filled := make([]chan *R, cap(rooms))
	for k := range filled {
		rooms <- new(R)
		filled[k] = make(chan *R, 1)
	}
	var (
		begun  atomic.Int64
		all    crowd
		once   sync.Once
		failed = make(chan struct{})
	)
	defer func() {
		close(rooms)
		all.wait()
	}()
	for range min(workers, pieces) {
		all.goOn(func() {
			over := false
			defer func() {
				if !over {
					once.Do(func() { close(failed) })
				}
			}()
			work := begin()
			for room := range rooms {
				piece := int(begun.Add(1)) - 1
				if piece >= pieces {
					break
				}
				work(piece, room)
				filled[piece%len(filled)] <- room
			}
			over = true
		})
	}
	for piece := range pieces {
		select {
		case room := <-filled[piece%len(filled)]:
			take(piece, room)
			rooms <- room
		case <-failed:
			return
		}
	}
}
