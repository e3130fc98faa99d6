package program

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"moriens/analysis/moment"
	"moriens/analysis/workers"
	"moriens/internal/team"
)

// figures are sums over all threads.
type figures struct {
	Calls  []callSum // by path
	Pairs  []Pair    // of calls, by From and To
	Bursts []burstSum
	Moved  []movedSum
	NS     int64 // of computing and of MPI
	Lost   int64 // threads of which calls are not known
}

// A callSum is of the calls of a path.
type callSum struct {
	Count, NS, LateNS int64
	Late              bool // LateNS is known
}

// A burstSum is of the bursts between two call paths.
type burstSum struct {
	Before, After uint32
	Duration      moment.Sum
	Clusters      []clusterSum // by number
	Counters      []counterSum
}

type clusterSum struct {
	Cluster int32
	Bursts  int64
	NS      int64
}

type counterSum struct{ N, Total int64 }

// A movedSum is what a rank moved.
type movedSum struct {
	Thread int32
	Moved
}

// Build makes the tree of a run. It is collective.
func Build(in *Input) (*Structure, error) {
	s := &Structure{input: in, figures: new(figures)}
	if err := s.sum(); err != nil {
		return nil, err
	}
	if chosen := s.input.chosen(s.used(), s.figures.Pairs); chosen != s.input {
		s.input = chosen
		if err := s.sum(); err != nil {
			return nil, err
		}
	}
	s.input = s.input.inMain(s.figures.Pairs)
	used := s.used()
	var err error
	if s.input, err = used.apart(); err != nil {
		return nil, err
	}
	if s.input != used { // sums of the paths that are apart
		if err := s.sum(); err != nil {
			return nil, err
		}
	}
	list, sizes := s.input.mine()
	s.keys = make([][32]byte, len(list))
	workers.Every(sizes, in.Workers, func(k int) { s.keys[k] = s.input.key(list[k]) })
	return s, s.layOut()
}

// ByOrder makes the tree of the same run with loops by the order of lines. Sums are those that are there. It is
// collective.
func (s *Structure) ByOrder() (*Structure, error) {
	in := *s.input
	in.WithoutCode = true
	o := &Structure{input: &in, figures: s.figures, keys: s.keys}
	return o, o.layOut()
}

// layOut lays out the call paths, and walks what threads did. It is collective.
func (s *Structure) layOut() error {
	s.lay, s.why = lay(s.used(), s.figures.Pairs)
	return s.group()
}

// used is the input without the call paths that no thread has, but for what those that threads have may be as well, and
// without the machine code of functions of which call paths have lost calls: it would take what comes at several depths
// for trips of a loop round the recursion.
func (s *Structure) used() *Input {
	in := *s.input
	in.Paths = slices.Clone(in.Paths)
	use := make([]bool, len(in.Paths))
	for i := range s.figures.Calls {
		use[i] = s.figures.Calls[i].Count > 0
	}
	for i := range s.figures.Bursts {
		use[s.figures.Bursts[i].Before], use[s.figures.Bursts[i].After] = true, true
	}
	for i, list := range in.chains() {
		switch {
		case use[i]:
		case !in.WithoutCode && slices.ContainsFunc(list, func(p uint32) bool { return use[p] }):
			in.Paths[i].idle = true
		default:
			in.Paths[i] = Path{}
		}
	}
	in.Functions = slices.Clone(in.Functions)
	for i := range in.Paths {
		if f := in.Paths[i].Recursion; f > 0 {
			in.Functions[f-1].Code = nil
		}
	}
	return &in
}

// mine are the threads of which this member has the calls.
func (in *Input) mine() (list []int, sizes []int) {
	for i := range in.Threads {
		if in.Team.Mine(i) && len(in.Threads[i].Calls.Path) > 0 {
			list, sizes = append(list, i), append(sizes, len(in.Threads[i].Calls.Path))
		}
	}
	return list, sizes
}

// sum adds up what calls and bursts took. It is collective.
func (s *Structure) sum() error {
	in := s.input
	list, sizes := in.mine()
	own := make([]figures, len(list))
	workers.Every(sizes, in.Workers, func(k int) { own[k] = in.figuresOf(list[k]) })
	all, err := team.Values(in.Team, mergeFigures(own, len(in.Paths)))
	if err != nil {
		return err
	}
	*s.figures = mergeFigures(all, len(in.Paths))
	return nil
}

func (in *Input) figuresOf(thread int) figures {
	t := &in.Threads[thread]
	f := figures{Calls: make([]callSum, len(in.Paths))}
	if t.Lost {
		f.Lost = 1
	}
	c := &t.Calls
	pairs := make(map[[2]uint32]*Pair)
	var pair *Pair
	last := -1
	for k, p := range c.Path {
		x := &f.Calls[p]
		n := int64(1)
		if c.Count != nil {
			n = c.Count[k]
		}
		x.Count += n
		if c.ExitNS != nil {
			x.NS += c.ExitNS[k] - c.EnterNS[k]
			f.NS += c.ExitNS[k] - c.EnterNS[k]
		}
		if c.LateNS != nil {
			x.LateNS += c.LateNS[k]
			x.Late = true
		}
		if in.Paths[p].MPI == "" || in.Paths[p].Poll && last >= 0 && c.Path[last] == p {
			continue
		}
		if last >= 0 {
			if key := [2]uint32{c.Path[last], p}; pair == nil || pair.From != key[0] || pair.To != key[1] {
				if pair = pairs[key]; pair == nil {
					pair = &Pair{From: key[0], To: key[1]}
					pairs[key] = pair
				}
			}
			pair.Count++
			if c.ExitNS != nil {
				pair.NS += c.ExitNS[k] - c.ExitNS[last]
			}
		}
		last = k
	}
	for _, p := range pairs {
		f.Pairs = append(f.Pairs, *p)
	}
	slices.SortFunc(f.Pairs, Pair.compare)
	f.Bursts = in.burstsOf(&t.Bursts)
	for i := range f.Bursts {
		f.NS += f.Bursts[i].Duration.Total
	}
	for _, m := range t.Moved {
		f.Moved = append(f.Moved, movedSum{int32(thread), m})
	}
	return f
}

func (p Pair) compare(o Pair) int {
	return cmp.Or(cmp.Compare(p.From, o.From), cmp.Compare(p.To, o.To))
}

func (b burstSum) compare(o burstSum) int {
	return cmp.Or(cmp.Compare(b.Before, o.Before), cmp.Compare(b.After, o.After))
}

func (in *Input) burstsOf(b *Bursts) (list []burstSum) {
	at := make(map[[2]uint32]int)
	key, k := [2]uint32{}, -1
	for i, ns := range b.DurationNS {
		if next := [2]uint32{b.Before[i], b.After[i]}; k < 0 || next != key {
			key = next
			n, ok := at[key]
			if !ok {
				n = len(list)
				at[key] = n
				list = append(list, burstSum{Before: key[0], After: key[1], Counters: make([]counterSum, len(in.Counters))})
			}
			k = n
		}
		x := &list[k]
		x.Duration.Add(ns)
		x.count(max(0, b.cluster(i)), 1, ns)
		for c, column := range b.Counters {
			if v := column[i]; v != NoCount {
				x.Counters[c].N++
				x.Counters[c].Total += v
			}
		}
	}
	slices.SortFunc(list, burstSum.compare)
	return list
}

func (b *Bursts) cluster(i int) int32 {
	if b.Cluster == nil {
		return 0
	}
	return b.Cluster[i]
}

func (b *burstSum) count(cluster int32, n, ns int64) {
	for i := range b.Clusters {
		if b.Clusters[i].Cluster == cluster {
			b.Clusters[i].Bursts += n
			b.Clusters[i].NS += ns
			return
		}
	}
	b.Clusters = append(b.Clusters, clusterSum{cluster, n, ns})
}

// merge adds the bursts of o.
func (b *burstSum) merge(o *burstSum) {
	b.Duration.Merge(o.Duration)
	for _, c := range o.Clusters {
		b.count(c.Cluster, c.Bursts, c.NS)
	}
	if b.Counters == nil {
		b.Counters = make([]counterSum, len(o.Counters))
	}
	for i, c := range o.Counters {
		b.Counters[i].N += c.N
		b.Counters[i].Total += c.Total
	}
}

func mergeFigures(list []figures, paths int) figures {
	f := figures{Calls: make([]callSum, paths)}
	pairs := make(map[[2]uint32]int)
	bursts := make(map[[2]uint32]int)
	for i := range list {
		x := &list[i]
		f.NS += x.NS
		f.Lost += x.Lost
		for p, c := range x.Calls {
			y := &f.Calls[p]
			y.Count += c.Count
			y.NS += c.NS
			y.LateNS += c.LateNS
			y.Late = y.Late || c.Late
		}
		for _, p := range x.Pairs {
			key := [2]uint32{p.From, p.To}
			n, ok := pairs[key]
			if !ok {
				pairs[key] = len(f.Pairs)
				f.Pairs = append(f.Pairs, p)
				continue
			}
			f.Pairs[n].Count += p.Count
			f.Pairs[n].NS += p.NS
		}
		for k := range x.Bursts {
			b := &x.Bursts[k]
			key := [2]uint32{b.Before, b.After}
			n, ok := bursts[key]
			if !ok {
				n = len(f.Bursts)
				bursts[key] = n
				f.Bursts = append(f.Bursts, burstSum{Before: b.Before, After: b.After})
			}
			f.Bursts[n].merge(b)
		}
		f.Moved = append(f.Moved, x.Moved...)
	}
	slices.SortFunc(f.Pairs, Pair.compare)
	slices.SortFunc(f.Bursts, burstSum.compare)
	for i := range f.Bursts {
		slices.SortFunc(f.Bursts[i].Clusters, func(a, b clusterSum) int { return cmp.Compare(a.Cluster, b.Cluster) })
	}
	slices.SortStableFunc(f.Moved, func(a, b movedSum) int { return cmp.Compare(a.Thread, b.Thread) })
	return f
}

// group finds threads that did the same, and walks what each group did once. It is collective.
func (s *Structure) group() error {
	in := s.input
	list, sizes := in.mine()
	var groups []group
	at := make(map[[32]byte]int)
	for k, key := range s.keys {
		n, ok := at[key]
		if !ok {
			n = len(groups)
			at[key] = n
			groups = append(groups, group{Key: key, Cut: in.Threads[list[k]].Cut})
		}
		groups[n].Threads = append(groups[n].Threads, int32(list[k]))
	}
	turns := s.lay.turns(s.figures.Pairs)
	sizes = sizes[:0]
	for i := range groups {
		sizes = append(sizes, len(in.Threads[groups[i].Threads[0]].Calls.Path))
	}
	workers.Every(sizes, in.Workers, func(i int) {
		t := &in.Threads[groups[i].Threads[0]]
		groups[i].Tree = s.lay.walk(t.Calls.Path, t.Cut, turns)
	})
	all, err := team.Values(in.Team, groups)
	if err != nil {
		return err
	}
	clear(at)
	for _, list := range all {
		for i := range list {
			g := &list[i]
			n, ok := at[g.Key]
			if !ok {
				at[g.Key] = len(s.groups)
				s.groups = append(s.groups, *g)
				continue
			}
			s.groups[n].Threads = append(s.groups[n].Threads, g.Threads...)
		}
	}
	for i := range s.groups {
		slices.Sort(s.groups[i].Threads)
	}
	slices.SortFunc(s.groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.Threads[0], b.Threads[0]), bytes.Compare(a.Key[:], b.Key[:]))
	})
	return nil
}

// key is a sum of what a thread did: polls that follow each other are one.
func (in *Input) key(thread int) (key [32]byte) {
	t := &in.Threads[thread]
	h := sha256.New()
	buffer := make([]byte, 0, 1<<14)
	if t.Cut {
		buffer = append(buffer, 1)
	}
	last := int64(-1)
	for _, p := range t.Calls.Path {
		if in.Paths[p].MPI == "" || in.Paths[p].Poll && last == int64(p) {
			continue
		}
		last = int64(p)
		buffer = binary.LittleEndian.AppendUint32(buffer, p)
		if len(buffer) > 1<<14-8 {
			h.Write(buffer)
			buffer = buffer[:0]
		}
	}
	h.Write(buffer)
	h.Sum(key[:0])
	return key
}
