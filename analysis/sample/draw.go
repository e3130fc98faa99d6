package sample

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"moriens/analysis/moment"
	"moriens/analysis/workers"
	"moriens/internal/mix"
	"moriens/internal/team"
)

// Draw draws. Columns of unequal length and ranges that overlap or lie outside the bursts are errors that name the
// thread. It is collective.
func Draw(threads []Thread, o Options) (*Sample, error) {
	if err := o.Team.Check(len(threads)); err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	sums := make([]map[kind]*moment.Sum, len(threads))
	sizes := make([]int, len(threads))
	for i := range threads {
		sizes[i] = len(threads[i].Cluster)
	}
	err := workers.Each(sizes, o.Workers, func(i, _ int) error {
		t := &threads[i]
		if err := t.check(); err != nil {
			return fmt.Errorf("sample: thread %d: %w", i, err)
		}
		own := make(map[kind]*moment.Sum)
		var known recent[moment.Sum]
		for from, to := range t.outside {
			for k := from; k < to; k++ {
				known.find(t.kind(k), func(at kind) *moment.Sum {
					if own[at] == nil {
						own[at] = new(moment.Sum)
					}
					return own[at]
				}).Add(t.DurationNS[k])
			}
		}
		sums[i] = own
		return nil
	})
	if err := team.Explain(o.Team, err); err != nil {
		return nil, err
	}
	if err := shareSums(o.Team, sums); err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	s := &Sample{Threads: make([]Drawn, len(threads))}
	var groups []*group
	for s.By, s.BySize = ByThread, true; s.By < Nothing; {
		groups = gather(threads, sums, s.By, s.BySize)
		s.Strata = 0
		for _, g := range groups {
			s.Strata += len(g.strata)
		}
		if s.Strata <= o.Rows {
			break
		}
		if s.BySize = !s.BySize; s.BySize {
			s.By++
		}
	}
	if s.By == Nothing {
		s.Strata, s.BySize = 0, false
		return s, nil
	}
	var all []*stratum
	groupSizes := make([]int, len(groups))
	for k, g := range groups {
		for _, at := range slices.SortedFunc(maps.Keys(g.strata), kind.compare) {
			all = append(all, g.strata[at])
		}
		for _, i := range g.threads {
			groupSizes[k] += sizes[i]
		}
	}
	allocate(all, o.Rows)
	s.Error = expectedError(all)
	for _, x := range all {
		s.Rows += x.rows
		s.Of += x.N
	}
	workers.Every(groupSizes, o.Workers, func(k int) { groups[k].draw(threads) })
	if err := shareBursts(o.Team, all); err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	workers.Every(groupSizes, o.Workers, func(k int) { groups[k].weigh(s.Threads) })
	return s, nil
}

func (t *Thread) check() error {
	n := len(t.Cluster)
	if len(t.DurationNS) != n {
		return fmt.Errorf("%d clusters, %d durations", n, len(t.DurationNS))
	}
	for k, d := range t.DurationNS {
		if d < 0 {
			return fmt.Errorf("burst %d lasts %d ns", k, d)
		}
	}
	last := int32(0)
	for _, r := range t.Kept {
		if r.From < last || r.To < r.From || int(r.To) > n {
			return fmt.Errorf("bursts %d to %d are kept, behind %d, of %d", r.From, r.To, last, n)
		}
		last = r.To
	}
	return nil
}

// outside goes through the stretches of bursts that are not kept: from, and the first behind.
func (t *Thread) outside(yield func(from, to int) bool) {
	from := 0
	for _, r := range t.Kept {
		if from < int(r.From) && !yield(from, int(r.From)) {
			return
		}
		from = int(r.To)
	}
	if from < len(t.Cluster) {
		yield(from, len(t.Cluster))
	}
}

// A kind is bursts of one cluster and about one duration.
type kind struct {
	cluster int32
	size    int8 // half the binary logarithm of the duration; -1 = any
}

func (t *Thread) kind(burst int) kind {
	return kind{t.Cluster[burst], int8(bits.Len64(uint64(t.DurationNS[burst])) / 2)}
}

func (k kind) compare(o kind) int {
	return cmp.Or(cmp.Compare(k.cluster, o.cluster), cmp.Compare(k.size, o.size))
}

// recent caches what was found for kinds, in a place computed from a kind's numbers. There are few kinds, and most
// bursts are of one of them.
type recent[T any] struct {
	at [64]kind
	of [64]*T
}

// find gives what there is of a kind, which look finds the first time.
func (l *recent[T]) find(k kind, look func(kind) *T) *T {
	place := (int(k.cluster)*5 + int(k.size)) & (len(l.of) - 1)
	if l.of[place] == nil || l.at[place] != k {
		l.at[place], l.of[place] = k, look(k)
	}
	return l.of[place]
}

// A group is threads whose bursts are drawn together.
type group struct {
	threads []int
	bySize  bool
	strata  map[kind]*stratum
}

// of is the kind as the group distinguishes kinds.
func (g *group) of(k kind) kind {
	if !g.bySize {
		k.size = -1
	}
	return k
}

// A stratum is bursts of which each has the same chance.
type stratum struct {
	moment.Sum
	rows     int     // to draw
	nearest  []burst // with the least lots so far
	full     bool    // there are rows of them,
	farthest burst   // and this is the last
}

// gather makes the groups of a division: threads in the order of the first of each.
func gather(threads []Thread, sums []map[kind]*moment.Sum, by Stratum, bySize bool) []*group {
	var groups []*group
	of := make(map[int32]*group)
	for i := range threads {
		key := int32(0)
		switch by {
		case ByThread:
			key = int32(i)
		case ByClass:
			key = threads[i].Class
		}
		g := of[key]
		if g == nil {
			g = &group{bySize: bySize, strata: make(map[kind]*stratum)}
			of[key] = g
			groups = append(groups, g)
		}
		g.threads = append(g.threads, i)
		for k, sum := range sums[i] {
			at := g.of(k)
			if g.strata[at] == nil {
				g.strata[at] = new(stratum)
			}
			g.strata[at].Merge(*sum)
		}
	}
	return groups
}

// allocate shares rows out: one to each stratum, and the rest by how much time its bursts have and how far they differ,
// which makes the error of the time least (Neyman, J. R. Stat. Soc. 97 (1934)). Bursts that do not differ count as if
// they did by a hundredth, so that their counters are drawn, too.
func allocate(all []*stratum, rows int) {
	need := make([]float64, len(all))
	open := make([]int, 0, len(all))
	left := float64(rows - len(all))
	for i, s := range all {
		s.rows = 1
		need[i] = float64(s.N) * max(s.Std(), s.Mean()/100)
		if s.N > 1 {
			open = append(open, i)
		}
	}
	// Strata that would get more than they have are drawn whole, and leave the more for others.
	for whole := true; whole && len(open) > 0; {
		total := 0.
		for _, i := range open {
			total += need[i]
		}
		whole = false
		open = slices.DeleteFunc(open, func(i int) bool {
			s := all[i]
			if share(left, need[i], total) < float64(s.N-1) {
				return false
			}
			whole = true
			s.rows = int(s.N)
			return true
		})
		left = float64(rows)
		for _, s := range all {
			left -= float64(s.rows)
		}
		left = max(left, 0)
	}
	total := 0.
	for _, i := range open {
		total += need[i]
	}
	fraction := make([]float64, len(all))
	given := 0
	for _, i := range open {
		x := share(left, need[i], total)
		all[i].rows += int(x)
		given += int(x)
		fraction[i] = x - math.Floor(x)
	}
	slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(fraction[b], fraction[a]) })
	for _, i := range open[:min(len(open), max(0, int(left)-given))] {
		all[i].rows++
	}
}

func share(rows, need, total float64) float64 {
	if total == 0 {
		return 0
	}
	return rows * need / total
}

// expectedError is the standard error of the estimated time, as a share of it (Cochran, theorem 5.3).
func expectedError(all []*stratum) float64 {
	variance, total := 0., 0.
	for _, s := range all {
		total += float64(s.Total)
		if n, m := float64(s.N), float64(s.rows); n > m {
			spread := s.Std() * s.Std() * n / (n - 1)
			variance += n * n * (1 - m/n) * spread / m
		}
	}
	if total == 0 {
		return 0
	}
	return math.Sqrt(variance) / total
}

// A burst is one of a group's, with its lot.
type burst struct {
	lot    uint64
	key    uint64 // of the thread
	thread int
	number int32
}

func (b burst) compare(o burst) int {
	return cmp.Or(cmp.Compare(b.lot, o.lot), cmp.Compare(b.key, o.key), cmp.Compare(b.number, o.number))
}

// draw takes the bursts with the least lots of each stratum, of those that this member has.
func (g *group) draw(threads []Thread) {
	var known recent[stratum]
	stratumOf := func(at kind) *stratum { return g.strata[at] }
	for _, i := range g.threads {
		t := &threads[i]
		for from, to := range t.outside {
			for k := from; k < to; k++ {
				known.find(g.of(t.kind(k)), stratumOf).offer(burst{mix.Bits(t.Key ^ mix.Bits(uint64(k)+1)), t.Key, i, int32(k)})
			}
		}
	}
	for _, s := range g.strata {
		s.settle()
	}
}

// weigh hands out the bursts drawn, each with its weight.
func (g *group) weigh(drawn []Drawn) {
	type chosen struct {
		number int32
		weight int64
	}
	of := make(map[int][]chosen)
	for _, at := range slices.SortedFunc(maps.Keys(g.strata), kind.compare) {
		s := g.strata[at]
		each, more := s.N/int64(s.rows), s.N%int64(s.rows)
		for k, b := range s.nearest {
			// A burst is as likely to have any place in the order of lots, so that its weight is 1 on average, not being drawn
			// counting as 0.
			c := chosen{b.number, each}
			if int64(k) < more {
				c.weight++
			}
			of[b.thread] = append(of[b.thread], c)
		}
		s.nearest = nil
	}
	for i, list := range of {
		slices.SortFunc(list, func(a, b chosen) int { return cmp.Compare(a.number, b.number) })
		for _, c := range list {
			drawn[i].Bursts = append(drawn[i].Bursts, c.number)
			drawn[i].Weight = append(drawn[i].Weight, c.weight)
		}
	}
}

// offer takes a burst in if it may be among those drawn.
func (s *stratum) offer(b burst) {
	if s.full && b.compare(s.farthest) > 0 {
		return
	}
	// Up to twice as many are held before those that are too many go, so that a burst costs little however many are drawn.
	if s.nearest = append(s.nearest, b); len(s.nearest) >= 2*s.rows {
		s.settle()
	}
}

// settle leaves those drawn, in the order of their lots.
func (s *stratum) settle() {
	slices.SortFunc(s.nearest, burst.compare)
	if len(s.nearest) >= s.rows {
		s.nearest = s.nearest[:s.rows]
		s.full, s.farthest = true, s.nearest[s.rows-1]
	}
}
