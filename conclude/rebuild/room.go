package rebuild

import "moriens/trace"

// A room is where the columns of one thread after the other go: each lies in one array for all threads that are here.
// So a run has few large columns, and what follows can go through all its bursts in one.
type room struct{ ends []int }

func (r room) rows() int { return r.ends[len(r.ends)-1] }

// partOf is a thread's part of a column.
func partOf[T any](column []T, r room, thread int) []T {
	return column[r.ends[thread]:r.ends[thread+1]:r.ends[thread+1]]
}

// allotCalls gives the threads that are here room for their calls, and for what was counted in their bursts.
func (u *unpacked) allotCalls() {
	r := u.roomFor(func(i int) int { return int(u.Rings[i].Calls) })
	enterNS, exitNS, path := make([]int64, r.rows()), make([]int64, r.rows()), make([]uint32, r.rows())
	bursts := u.roomFor(func(i int) int { return burstsOf(u.Rings[i].Chunks) })
	u.all.Counters = make([][]int64, len(u.run.Counters))
	for k := range u.all.Counters {
		u.all.Counters[k] = make([]int64, bursts.rows())
	}
	for _, i := range u.Own {
		t := &u.run.Threads[i]
		t.Calls = trace.Calls{EnterNS: partOf(enterNS, r, i), ExitNS: partOf(exitNS, r, i), Path: partOf(path, r, i)}
		for _, column := range u.all.Counters {
			t.Bursts.Counters = append(t.Bursts.Counters, partOf(column, bursts, i))
		}
	}
}

// allotBursts gives the threads that are here room for their bursts.
func (u *unpacked) allotBursts() {
	r := u.roomFor(func(i int) int { return u.run.Threads[i].Calls.Len() - len(u.cuts[i].gaps) })
	n := r.rows()
	startNS := make([]int64, n)
	u.all.DurationNS, u.all.Before, u.all.After = make([]int64, n), make([]uint32, n), make([]uint32, n)
	for _, i := range u.Own {
		b := &u.run.Threads[i].Bursts
		b.StartNS, b.DurationNS = partOf(startNS, r, i), partOf(u.all.DurationNS, r, i)
		b.Before, b.After = partOf(u.all.Before, r, i), partOf(u.all.After, r, i)
	}
}

// roomFor has room for so many rows of each thread that is here.
func (u *unpacked) roomFor(rows func(thread int) int) room {
	r := room{make([]int, len(u.Rings)+1)}
	own := u.Own
	for i := range u.Rings {
		r.ends[i+1] = r.ends[i]
		if len(own) > 0 && own[0] == i {
			own = own[1:]
			r.ends[i+1] += rows(i)
		}
	}
	return r
}
