package waits

// An excess is what the thread that was waited for has more of than the one that waited, since both were last together.
type excess struct {
	list         []piece
	total        int64
	first, after int32 // the waits of its stretch: what is charged to waiting is handed on to them
}

// excesses are those of several waits.
type excesses struct {
	pieces []piece
	list   []excess
	at     []int // by wait: where its pieces begin
}

func (x *excesses) clear() { x.pieces, x.list, x.at = x.pieces[:0], x.list[:0], x.at[:0] }

// of is the excess of a wait.
func (x *excesses) of(k int) excess {
	of, end := x.list[k], len(x.pieces)
	if k+1 < len(x.at) {
		end = x.at[k+1]
	}
	of.list = x.pieces[x.at[k]:end]
	return of
}

// A finder finds what waits are charged to, for one goroutine.
type finder struct {
	*shared
	ties         ties
	cause, other stretch // of the thread that was waited for, and of the one that waited
	of           place   // whose stretch cause is
	from         from
	more         [][2]int64 // by group: how much more the cause has, and the same of those keys alone of which it has more
}

// shared is what all finders look up.
type shared struct {
	s      *solver
	groups []int32     // by key: keys of one are compared in sum
	most   int32       // the last group
	waits  [][]int64   // by thread: sums of its waits, up to each
	sums   []laneSums  // by thread
	lists  []waitLists // by thread
}

func newShared(s *solver, waits [][]int64) *shared {
	x := &shared{s: s, groups: s.groups(), waits: waits, sums: make([]laneSums, len(s.lanes)), lists: make([]waitLists, len(s.lanes))}
	for _, group := range x.groups {
		x.most = max(x.most, group)
	}
	return x
}

func newFinder(x *shared) *finder {
	f := &finder{shared: x, ties: ties{shared: x, source: place{-1, -1}}, of: place{-1, -1}}
	f.cause.ns, f.other.ns = make([]int64, len(x.s.keys)), make([]int64, len(x.s.keys))
	f.more = make([][2]int64, x.most+1)
	return f
}

// find appends the excess of a wait, given by its place among those of its thread; none where what caused it is not
// here.
func (f *finder) find(p place, to *excesses) {
	w := &f.s.waits[p.thread][p.row]
	to.at = append(to.at, len(to.pieces))
	if w.ForRow < 0 {
		to.list = append(to.list, excess{})
		return
	}
	t := f.ties.of(p.thread, w)
	if source := w.source(); f.of != source || f.from != t.cause {
		f.cause.clear()
		f.stretch(&f.cause, source, t.cause, f.ties.waits)
		f.of, f.from = source, t.cause
	}
	f.other.clear()
	f.stretch(&f.other, place{p.thread, w.Row}, t.waiting, int(p.row))
	to.list = append(to.list, excess{total: f.compare(to), first: int32(f.cause.first), after: int32(f.cause.after)})
}

// compare appends what the cause has more of: in each kind of computation, in MPI, outside, and in waiting. What it has
// more of in a kind, or in MPI, is divided among the call paths at which it has more.
func (f *finder) compare(to *excesses) (total int64) {
	for _, key := range f.cause.keys {
		of := &f.more[f.groups[key]]
		more := f.cause.ns[key] - f.other.ns[key]
		of[0] += more
		of[1] += max(0, more)
	}
	for _, key := range f.other.keys {
		if f.cause.ns[key] == 0 {
			f.more[f.groups[key]][0] -= f.other.ns[key]
		}
	}
	for _, key := range f.cause.keys {
		of := &f.more[f.groups[key]]
		more := max(0, f.cause.ns[key]-f.other.ns[key])
		if of[0] <= 0 || more == 0 {
			continue
		}
		n := part64(of[0], more, of[1])
		of[0], of[1] = of[0]-n, of[1]-more
		if n > 0 {
			to.pieces = append(to.pieces, piece{key, n})
			total += n
		}
	}
	for _, key := range f.cause.keys {
		f.more[f.groups[key]] = [2]int64{}
	}
	for _, key := range f.other.keys {
		f.more[f.groups[key]] = [2]int64{}
	}
	if waited := f.cause.waitNS - f.other.waitNS; waited > 0 {
		to.pieces = append(to.pieces, piece{waitKey, waited})
		total += waited
	}
	return total
}
