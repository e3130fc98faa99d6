package window_test

import (
	"moriens/agent/window"
	"moriens/internal/anchor"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// A job is ranks that send and meet in a collective, again and again; each rank has one thread, whose ring has the
// process's id, from 1. Its iterations are windows.
type job struct {
	ranks int
	sends int  // in an iteration
	skip  int  // so many windows lie between iterations' beginnings: with 64 each iteration has a chunk by itself
	slow  int  // an iteration that takes 50 times as long on the first rank
	polls bool // one call of an iteration is a run of them, each time another
	done  int  // iterations
	ticks []uint64
}

// window is that of an iteration.
func (j *job) window(iteration int) anchor.ID { return anchor.ID(iteration*j.skip) << 16 }

// names are the windows of the first iterations.
func (j *job) names(iterations int) (list []uint64) {
	for i := range iterations {
		list = append(list, uint64(j.window(i)))
	}
	return list
}

// introduce says who the ranks are.
func (j *job) introduce() window.Transaction {
	n := uint32(j.ranks)
	j.ticks = make([]uint64, n)
	if j.slow == 0 {
		j.slow = -1
	}
	list := []*moriensv1.ReportRequest{request(&moriensv1.Communicator{
		Communicator: 1, Id: 5, Size: n, Peers: n, First: []int32{0}, Stride: []int32{1}, Count: []uint32{n}})}
	for rank := range uint64(n) {
		list = append(list,
			request(&moriensv1.Process{Process: rank + 1, Rank: int32(rank), Size: int32(n), Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW}),
			request(&moriensv1.Ring{Ring: rank + 1, Process: rank + 1}),
			request(&moriensv1.Member{Process: rank + 1, Comm: 1, Communicator: 1, Rank: uint32(rank)}))
	}
	return window.Transaction{Number: 1, Messages: list}
}

// iterate is what some iterations of all ranks bring.
func (j *job) iterate(number uint64, iterations int) window.Transaction {
	x := window.Transaction{Number: number}
	calls := j.sends + 1 // of an iteration
	for rank := range uint64(j.ranks) {
		c := &sectiontest.Rows{Ring: rank + 1, First: uint64(j.done * calls), Origin: j.ticks[rank]}
		for i := j.done; i < j.done+iterations; i++ {
			scale := uint64(1)
			if i == j.slow && rank == 0 {
				scale = 50
			}
			for k := range calls {
				row := uint64(i*calls + k)
				function := mpicall.Isend
				if k == j.sends {
					function = mpicall.Allreduce
				} else {
					x.Moves = append(x.Moves, window.Move{Ring: rank + 1, Lane: section.Lane{Kind: 1, Comm: 1, Peer: int32(rank+1) % int32(j.ranks), Tag: int32(k % 4)},
						Transfer: section.Transfer{Row: row, Done: int64(2 + k%3), Bytes: 8 * (row % 97), Ordinal: row + 1}})
				}
				path := uint32(1 + k%3)
				if j.polls {
					path = 1
				}
				if n := uint32(len(c.Function)); j.polls && k == i%j.sends {
					c.PollsRow, c.Polls = append(c.PollsRow, n), append(c.Polls, 2)
					function = mpicall.ID(100 + i)
				}
				burst, call := scale*(1000+(row*31)%97), 300+row%7
				c.Add(uint32(function), path, burst, call)
				if k == j.sends {
					c.Meet(1, j.window(i+1).Anchors()-1, -1, 8, 8)
				}
				j.ticks[rank] += burst + call
			}
		}
		x.Blocks = append(x.Blocks, c.Block())
	}
	j.done += iterations
	return x
}

// play has a store take iterations, so many at a time, and adds what they have moved by window. After each it calls
// look.
func (j *job) play(t tester, s *window.Store, first uint64, transactions, iterations int, said map[place]moves, look func()) {
	t.Helper()
	for i := range transactions {
		x := j.iterate(first+uint64(i), iterations)
		if _, err := s.Append(x); err != nil {
			t.Fatal(err)
		}
		j.say(x.Moves, said)
		if look != nil {
			look()
		}
	}
}

// say adds moves by window.
func (j *job) say(list []window.Move, to map[place]moves) {
	for _, m := range list {
		at := place{m.Ring, j.window(int(m.Row) / (j.sends + 1))}
		if to[at] == nil {
			to[at] = make(moves)
		}
		to[at].add(m)
	}
}
