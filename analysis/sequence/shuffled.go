package sequence

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"moriens/internal/mix"
	"moriens/internal/team"
)

const (
	// sampleBursts is how many bursts Shuffled aligns, of all threads together.
	sampleBursts = 1 << 20
	// sampleLeast is how many bursts of a thread it aligns at least, where the thread has as many.
	sampleLeast = 64
)

// Shuffled returns the score, 0 to 1, that the threads would have if each did what it does in an order drawn at random:
// what a score says beyond this is due to order. NaN where Align has none.
//
// It is the score of one such draw, aligned as Align aligns: an alignment makes chance matches, and columns for what it
// shifts, of which the expectation of a column knows nothing. With few threads that is too low, with many too high.
// Each thread's labels are shuffled over the run; anchors are not moved. About a million bursts are aligned, or
// 64 of each thread if that is more: in segments from all over the run, as long as they are, or in one that is as much
// shorter. Two draws differ by up to .01; without anchors and with many threads it is up to .02 below that of all
// bursts. A label that is not among these bursts counts as one that no two threads share.
//
// The draw is made from what the threads have of each label, so that neither their order nor members or workers change
// a bit.
func Shuffled(t Threads, workers int) (float64, error) {
	if err := team.Explain(t.Team, t.check()); err != nil {
		return 0, err
	}
	a := &aligner{Threads: t, workers: max(1, workers)}
	if err := a.measure(); err != nil {
		return 0, err
	}
	if a.sequences < 2 {
		return math.NaN(), nil
	}
	cuts, err := a.commonAnchors()
	if err != nil {
		return 0, err
	}
	lengths, segments, err := a.sampled(cuts)
	if err != nil {
		return 0, err
	}
	drawn, err := a.draw(lengths)
	if err != nil {
		return 0, err
	}
	s, err := Align(a.sample(drawn, lengths, segments), workers)
	if err != nil {
		return 0, err
	}
	active := []int64{0} // threads with a burst in the sample
	for _, labels := range drawn {
		active[0] += int64(min(len(labels), 1))
	}
	if err := a.Team.AllReduce(active, team.Sum); err != nil {
		return 0, err
	}
	for i := range a.labels {
		l := &a.labels[i]
		l.Score, l.Columns = s.Labels[i].Score*float64(active[0])/float64(a.sequences), s.Labels[i].Columns
		if l.Bursts > 0 && (l.Columns == 0 || !s.Defined()) {
			l.Score, l.Columns = 1/float64(a.sequences), l.Bursts
		}
	}
	return meanScore(a.labels), nil
}

// sampled says how many bursts of each thread are taken in each of the segments that are.
func (a *aligner) sampled(cuts [][]int32) (lengths [][]int, segments int, err error) {
	total := 0
	for _, l := range a.labels {
		total += l.Bursts
	}
	segments = max(1, int(float64(a.count)*min(1, sampleBursts/float64(total))))
	lengths = make([][]int, len(a.Ends))
	sums := make([]int64, segments) // bursts
	for t := range a.Ends {
		begin, end := a.span(t)
		if begin == end {
			continue
		}
		lengths[t] = make([]int, segments)
		for i := range segments {
			s := a.pick(i, segments)
			from, to := 0, end-begin
			if s > 0 {
				from = int(cuts[t][s-1])
			}
			if s < a.count-1 {
				to = int(cuts[t][s])
			}
			lengths[t][i] = to - from
			sums[i] += int64(to - from)
		}
	}
	if err := a.Team.AllReduce(sums, team.Sum); err != nil {
		return nil, 0, err
	}
	for _, list := range lengths {
		for i, n := range list {
			part := float64(n) * min(1, sampleBursts/float64(segments)/float64(max(sums[i], 1)))
			list[i] = max(int(math.Ceil(part)), min(n, sampleLeast))
		}
	}
	return lengths, segments, nil
}

// pick is the number in the run of the i-th of so many segments: one in each stretch of the run, at no even distances,
// as a program has its own.
func (a *aligner) pick(i, segments int) int {
	from, to := i*a.count/segments, (i+1)*a.count/segments
	return from + int(mix.Bits(uint64(i))%uint64(to-from))
}

// draw draws as many labels of each thread, without putting them back.
func (a *aligner) draw(lengths [][]int) ([][]int32, error) {
	order, err := a.labelOrder()
	if err != nil {
		return nil, err
	}
	seeds := make([]uint64, len(a.Ends))
	a.eachCounted(func(t int, counts []int64) {
		var h uint64
		for _, label := range order {
			h = mix.Bits(h ^ uint64(counts[label]))
		}
		for _, n := range lengths[t] {
			h = mix.Bits(h ^ uint64(n))
		}
		seeds[t] = h
	})
	alike, err := a.amongAlike(seeds)
	if err != nil {
		return nil, err
	}
	drawn := make([][]int32, len(a.Ends))
	room := sync.Pool{New: func() any { return new([]int32) }}
	a.eachCounted(func(t int, counts []int64) {
		labels := room.Get().(*[]int32)
		defer room.Put(labels)
		begin, end := a.span(t)
		*labels = slices.Grow((*labels)[:0], end-begin)
		for _, label := range order {
			for range counts[label] {
				*labels = append(*labels, label)
			}
		}
		n := 0
		for _, length := range lengths[t] {
			n += length
		}
		drawn[t] = drawFirst(*labels, n, rand.New(rand.NewPCG(seeds[t], alike[t])))
	})
	return drawn, nil
}

// drawFirst shuffles labels as far as the first n are a draw, and copies these.
func drawFirst(labels []int32, n int, random *rand.Rand) []int32 {
	for i := range n {
		k := i + random.IntN(len(labels)-i)
		labels[i], labels[k] = labels[k], labels[i]
	}
	return slices.Clone(labels[:n])
}

// eachCounted calls each with the numbers of bursts by label of every thread here, on all workers.
func (a *aligner) eachCounted(each func(thread int, counts []int64)) {
	a.each(len(a.Ends), func(next func() (int, bool)) {
		counts := make([]int64, a.Count)
		for t, ok := next(); ok; t, ok = next() {
			begin, end := a.span(t)
			if begin == end {
				continue
			}
			for _, label := range a.Labels[begin:end] {
				counts[label]++
			}
			each(t, counts)
			clear(counts)
		}
	})
}

// labelOrder puts labels in an order that hangs on how many bursts which threads have of them; their numbers decide
// where that is the same.
func (a *aligner) labelOrder() ([]int32, error) {
	places := make([]int64, a.Count) // sums that wrap
	var mu sync.Mutex
	a.eachCounted(func(_ int, counts []int64) {
		var all int64
		for _, n := range counts {
			all += n
		}
		mu.Lock()
		defer mu.Unlock()
		for label, n := range counts {
			places[label] += int64(mix.Bits(mix.Bits(uint64(all)) ^ uint64(n)))
		}
	})
	if err := a.Team.AllReduce(places, team.Sum); err != nil {
		return nil, err
	}
	order := make([]int32, a.Count)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int {
		l, m := a.labels[x], a.labels[y]
		return cmp.Or(cmp.Compare(l.TimeNS, m.TimeNS), cmp.Compare(l.Bursts, m.Bursts), cmp.Compare(places[x], places[y]), cmp.Compare(x, y))
	})
	return order, nil
}

// amongAlike distinguishes threads here that have one seed with others, which may be anywhere: it returns how many of
// those come before each.
func (a *aligner) amongAlike(seeds []uint64) ([]uint64, error) {
	var words []uint64 // by thread here: its number, its seed
	for t, seed := range seeds {
		if begin, end := a.span(t); begin < end {
			words = append(words, uint64(t), seed)
		}
	}
	all, err := team.Gather(a.Team, words)
	if err != nil {
		return nil, err
	}
	byThread := make([]uint64, len(seeds))
	has := make([]bool, len(seeds))
	for _, list := range all {
		for i := 0; i < len(list); i += 2 {
			byThread[list[i]], has[list[i]] = list[i+1], true
		}
	}
	alike := make([]uint64, len(seeds))
	seen := make(map[uint64]uint64)
	for t, seed := range byThread {
		if has[t] {
			alike[t] = seen[seed]
			seen[seed]++
		}
	}
	return alike, nil
}

// sample puts the drawn labels together: threads of so many segments. Each burst lasts as long as those of its label on
// average.
func (a *aligner) sample(drawn [][]int32, lengths [][]int, segments int) Threads {
	in := Threads{Count: a.Count, Team: a.Team, Counting: a.Counting, Halt: a.Halt}
	bursts := 0
	for _, labels := range drawn {
		bursts += len(labels)
	}
	in.Labels, in.DurationNS = make([]int32, 0, bursts), make([]int64, 0, bursts)
	for t, labels := range drawn {
		for _, label := range labels {
			in.Labels = append(in.Labels, label)
			in.DurationNS = append(in.DurationNS, a.labels[label].TimeNS/int64(a.labels[label].Bursts))
		}
		in.Ends = append(in.Ends, len(in.Labels))
		if a.Anchors == nil {
			continue
		}
		var anchors []Anchor
		at := 0
		for i := range segments - 1 {
			if len(labels) > 0 {
				at += lengths[t][i]
				anchors = append(anchors, Anchor{At: at, Event: uint64(i)})
			}
		}
		in.Anchors = append(in.Anchors, anchors)
	}
	return in
}
