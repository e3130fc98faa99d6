package waits

import (
	"sort"
	"sync"
)

// A stretch is what a thread has done in a part of its time.
type stretch struct {
	ns           []int64 // by key
	keys         []int32 // that it has
	first, after int     // its waits
	waitNS       int64
}

func (x *stretch) add(key int32, ns int64) {
	if ns == 0 {
		return
	}
	if x.ns[key] == 0 {
		x.keys = append(x.keys, key)
	}
	x.ns[key] += ns
}

func (x *stretch) clear() {
	for _, key := range x.keys {
		x.ns[key] = 0
	}
	x.keys = x.keys[:0]
}

// A stretch of that many calls is long: most of it is taken from sums.
const long = 128

// laneSums are what a thread has done up to each so many-th call, which makes long stretches quick. They are made for
// threads that have one.
type laneSums struct {
	once  sync.Once
	every int     // calls; a power of two
	keys  []int32 // that the thread has
	ns    []int64 // by call, of those, and key
}

// sumsOf are those of a thread. There are at least four times as many calls between two sums as they have keys, so
// they take at most two bytes a call.
func (x *shared) sumsOf(thread int32) *laneSums {
	sums := &x.sums[thread]
	sums.once.Do(func() {
		l, waits := &x.s.lanes[thread], x.s.waits[thread]
		number := make([]int32, len(x.s.keys)) // by key: its place among those of the thread, from 1 on
		see := func(key int32, _ int64) {
			if number[key] == 0 {
				sums.keys = append(sums.keys, key)
				number[key] = int32(len(sums.keys))
			}
		}
		for row := range l.calls() {
			l.eachPiece(row, see)
			see(mpiKey(l.Path[row]), 0)
		}
		for sums.every = 32; sums.every < 4*len(sums.keys); {
			sums.every *= 2
		}
		sums.ns = make([]int64, 0, (l.calls()/sums.every+1)*len(sums.keys))
		now, at := make([]int64, len(sums.keys)), 0
		for row := range l.calls() {
			if row%sums.every == 0 {
				sums.ns = append(sums.ns, now...)
			}
			l.eachPiece(row, func(key int32, ns int64) { now[number[key]-1] += ns })
			fromNS := l.EnterNS[row]
			if at < len(waits) && int(waits[at].Row) == row {
				fromNS = waits[at].UntilNS
				at++
			}
			now[number[mpiKey(l.Path[row])]-1] += l.ExitNS[row] - fromNS
		}
	})
	return sums
}

// between adds what a thread has done between two calls that have sums.
func (l *laneSums) between(x *stretch, from, to int32) {
	a, b := int(from)/l.every*len(l.keys), int(to)/l.every*len(l.keys)
	for k, key := range l.keys {
		x.add(key, l.ns[b+k]-l.ns[a+k])
	}
}

// stretch is what a thread does up to the entry of a call, before which it has so many waits.
func (f *finder) stretch(x *stretch, to place, begin from, before int) {
	l, waits := &f.s.lanes[to.thread], f.s.waits[to.thread]
	within := func(k int) bool {
		return waits[k].Row > begin.row || waits[k].Row == begin.row && begin.entry
	}
	x.first = before
	for n := 0; x.first > 0 && within(x.first-1); n++ {
		if x.first--; n == 16 { // there may be many
			x.first = sort.Search(x.first, within)
			break
		}
	}
	x.after, x.waitNS = x.first, 0
	if begin.row >= to.row {
		return
	}
	x.after = before
	x.waitNS = f.waits[to.thread][x.after] - f.waits[to.thread][x.first]
	at := x.first
	if row := begin.row; row >= 0 {
		fromNS := l.EnterNS[row]
		switch {
		case at < len(waits) && waits[at].Row == row:
			fromNS = waits[at].UntilNS
			at++
		case at > 0 && waits[at-1].Row == row: // which is before the stretch
			fromNS = waits[at-1].UntilNS
		}
		x.add(mpiKey(l.Path[row]), l.ExitNS[row]-fromNS)
	}
	row := begin.row + 1
	if to.row-row >= long {
		sums := f.sumsOf(to.thread)
		every := int32(sums.every)
		from, until := (row+every-1)/every*every, to.row/every*every
		if from < until {
			l.addCalls(x, row, from, waits, at)
			sums.between(x, from, until)
			row = until
			at += sort.Search(before-at, func(k int) bool { return waits[at+k].Row >= row })
		}
	}
	l.addCalls(x, row, to.row, waits, at)
	l.addGap(x, to.row)
}

// addCalls adds what there is from the exit before a call to the exit before another; at is the first of the waits that
// may be in it.
func (l *lane) addCalls(x *stretch, from, to int32, waits []wait, at int) {
	for row := from; row < to; row++ {
		l.addGap(x, row)
		fromNS := l.EnterNS[row]
		if at < len(waits) && waits[at].Row == row {
			fromNS = waits[at].UntilNS
			at++
		}
		x.add(mpiKey(l.Path[row]), l.ExitNS[row]-fromNS)
	}
}

// addGap adds what is before a call.
func (l *lane) addGap(x *stretch, row int32) {
	if l.gap[row] == several {
		for _, p := range l.pieces[row] {
			x.add(p.key, p.ns)
		}
		return
	}
	s := l.gapNS(int(row))
	x.add(l.gap[row], s.EndNS-s.BeginNS)
}
