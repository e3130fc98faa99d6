package plant

import (
	"math"
	"math/rand/v2"
	"slices"

	"moriens/analysis/sequence"
)

// part is a run's bursts at rows, as threads that end there. Anchors are the caller's.
func (r *Run) part(rows []int, ends []int) *Run {
	p := &Run{
		DurationNS: pick(r.DurationNS, rows), Before: pick(r.Before, rows), After: pick(r.After, rows),
		Truth: pick(r.Truth, rows), Disturbed: pick(r.Disturbed, rows), ThreadEnds: ends,
	}
	for _, column := range r.Counters {
		p.Counters = append(p.Counters, pick(column, rows))
	}
	return p
}

func pick[T any](column []T, rows []int) []T {
	picked := make([]T, len(rows))
	for i, row := range rows {
		picked[i] = column[row]
	}
	return picked
}

// thread is where the bursts of a thread begin and end.
func (r *Run) thread(t int) (begin, end int) {
	if t > 0 {
		begin = r.ThreadEnds[t-1]
	}
	return begin, r.ThreadEnds[t]
}

// Reorder has the threads in another order: thread i is then what order[i] is now. Rows says which burst each of the
// new run is now.
func (r *Run) Reorder(order []int) (p *Run, rows []int) {
	var ends []int
	for _, t := range order {
		begin, end := r.thread(t)
		for row := begin; row < end; row++ {
			rows = append(rows, row)
		}
		ends = append(ends, len(rows))
	}
	p = r.part(rows, ends)
	if r.Anchors != nil {
		p.Anchors = pick(r.Anchors, order)
	}
	return p, rows
}

// Shuffle gives the durations, counters and kinds of each thread's bursts an order by chance. Call paths and anchors
// stay where they are.
func (r *Run) Shuffle(seed uint64) *Run {
	random := rand.New(rand.NewPCG(seed, 0))
	var rows []int
	for t := range r.ThreadEnds {
		begin, end := r.thread(t)
		for _, i := range random.Perm(end - begin) {
			rows = append(rows, begin+i)
		}
	}
	p := r.part(rows, r.ThreadEnds)
	p.Before, p.After, p.Anchors = r.Before, r.After, r.Anchors
	return p
}

// SwapInCells exchanges durations between bursts of a thread that have the same calls and the same kind, are
// undisturbed, and lie in one cell of ln(duration).
func (r *Run) SwapInCells(seed uint64, side float64) *Run {
	type cell struct {
		thread, at    int
		before, after uint32
		kind          int32
	}
	random := rand.New(rand.NewPCG(seed, 0))
	p := *r
	p.DurationNS = slices.Clone(r.DurationNS)
	last := map[cell]int{}
	for t := range r.ThreadEnds {
		begin, end := r.thread(t)
		for row := begin; row < end; row++ {
			if r.Disturbed[row] {
				continue
			}
			c := cell{t, int(math.Floor(math.Log(float64(r.DurationNS[row])) / side)), r.Before[row], r.After[row], r.Truth[row]}
			if other, seen := last[c]; seen && random.IntN(2) == 0 {
				p.DurationNS[row], p.DurationNS[other] = p.DurationNS[other], p.DurationNS[row]
			}
			last[c] = row
		}
	}
	return &p
}

// Scale multiplies the durations of a thread, or of all where it is negative.
func (r *Run) Scale(thread int, factor float64) *Run {
	p := *r
	p.DurationNS = slices.Clone(r.DurationNS)
	begin, end := 0, len(p.DurationNS)
	if thread >= 0 {
		begin, end = r.thread(thread)
	}
	for row := begin; row < end; row++ {
		p.DurationNS[row] = int64(math.Round(factor * float64(p.DurationNS[row])))
	}
	return &p
}

// Then has each thread go on with the bursts of another run of as many threads, whose kinds and calls are others: their
// numbers are added to this run's highest. Rows says which bursts of the new run are those of this one.
func (r *Run) Then(next *Run) (p *Run, rows []int) {
	kinds, calls := 1+slices.Max(r.Truth), 1+max(slices.Max(r.Before), slices.Max(r.After))
	p = &Run{}
	if r.Counters != nil {
		p.Counters = make([][]int64, len(r.Counters))
	}
	for t := range r.ThreadEnds {
		begin, end := r.thread(t)
		for row := begin; row < end; row++ {
			rows = append(rows, len(p.DurationNS)+row-begin)
		}
		var anchors []sequence.Anchor
		for i, from := range []*Run{r, next} {
			begin, end := from.thread(t)
			p.DurationNS = append(p.DurationNS, from.DurationNS[begin:end]...)
			p.Disturbed = append(p.Disturbed, from.Disturbed[begin:end]...)
			for k := range p.Counters {
				p.Counters[k] = append(p.Counters[k], from.Counters[k][begin:end]...)
			}
			for row := begin; row < end; row++ {
				p.Before, p.After = append(p.Before, from.Before[row]+uint32(i)*calls), append(p.After, from.After[row]+uint32(i)*calls)
				p.Truth = append(p.Truth, from.Truth[row]+int32(i)*kinds)
			}
			if i == 0 && r.Anchors != nil {
				anchors = r.Anchors[t]
			}
		}
		if r.Anchors != nil {
			p.Anchors = append(p.Anchors, anchors)
		}
		p.ThreadEnds = append(p.ThreadEnds, len(p.DurationNS))
	}
	return p, rows
}
