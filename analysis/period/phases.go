package period

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// partition cuts the thread's bursts into the run's phases. The first and the last part are stretches, and so is every
// second one.
func (f *finder) partition(thread int, parts []part, phases []Phase) {
	t := &f.threads[thread]
	s := f.sequences[f.of[thread]]
	kinds := s.folder.raw
	if f.byCalls {
		kinds = f.kinds(thread)
	}
	x := s.folder.inside(kinds)
	floor := int32(0)
	for i, p := range parts {
		if p.section == nil {
			continue
		}
		l := f.loopOf(p, t, s, floor)
		phases[i-1].Threads[thread] = Loop{From: floor, To: l.From}
		floor = l.To
		if len(l.Begins) > 0 {
			list := spans(l.Begins)
			l.Period = medianGap(l.Begins)
			l.Agreement = x.agreement(list)
			l.Inner = x.loops(list, -1)
		}
		phases[i].Threads[thread] = l
	}
	phases[len(phases)-1].Threads[thread] = Loop{From: floor, To: int32(len(t.Symbols))}
}

// loopOf gives what the thread, from the burst floor on, has of the phase.
func (f *finder) loopOf(p part, t *Thread, s *sequence, floor int32) Loop {
	ref := &f.threads[p.reference.threads[0]]
	own := p.section
	var begins []int32
	switch {
	case s == p.reference:
		begins = p.section.begins
	case p.section.anchors != nil && len(t.Anchors) > 0:
		begins = make([]int32, len(p.section.anchors))
		for k, a := range p.section.anchors {
			begins[k] = t.beginOf(a)
		}
		own = s.over(begins[0], begins[len(begins)-1])
		p.section.loosen(begins, own)
	case p.section.anchors != nil:
		begins = make([]int32, len(p.section.begins))
		for k, at := range p.section.begins {
			begins[k] = t.after(ref.timeAt(at))
		}
		own = nil
	case p.section.delimiter > 0:
		own = nil
		begins = s.matchDelimited(t, p.section, ref)
	default:
		own = s.during(t, ref.timeAt(p.section.begins[0]), ref.timeAt(p.section.begins[p.section.iterations()]))
		if own != nil {
			begins = matchByTime(own.begins, t, p.section.begins, ref)
		}
	}
	var l Loop
	if begins == nil || begins[0] == begins[len(begins)-1] {
		l.From, l.To = t.after(ref.timeAt(p.section.from)), t.after(ref.timeAt(p.section.to))
	} else {
		l.Begins = begins
		l.From, l.To = begins[0], begins[len(begins)-1]
		if own != nil {
			l.From, l.To = min(l.From, own.from), max(l.To, own.to)
		}
	}
	l.From = max(l.From, floor)
	l.To = max(l.To, l.From)
	if len(l.Begins) > 0 && l.Begins[0] < l.From {
		l.Begins = slices.Clone(l.Begins)
		for k := range l.Begins {
			l.Begins[k] = max(l.Begins[k], l.From)
		}
	}
	return l
}

// matchDelimited gives the thread's iterations between delimiters the reference's numbers; nil: it has none.
func (s *sequence) matchDelimited(t *Thread, x *section, ref *Thread) []int32 {
	k := slices.IndexFunc(s.sections, func(own section) bool { return own.delimiter == x.delimiter })
	if k < 0 {
		return nil
	}
	begins := matchByTime(s.sections[k].whole, t, x.whole, ref)
	if begins == nil {
		return nil
	}
	return begins[x.first : x.first+x.iterations()+1]
}

// loosen moves the first begin and the last, where the reference has these at no anchors, to where the thread's own
// section has them, else to where an iteration of usual length would have them.
func (s *section) loosen(begins []int32, own *section) {
	n := len(begins) - 1
	usual := int32(medianGap(begins[1:n]))
	if s.looseFirst {
		low := begins[0]
		begins[0] = max(low, begins[1]-usual)
		if own != nil && own.begins[0] >= low && own.begins[0] < begins[1] {
			begins[0] = own.begins[0]
		}
	}
	if s.looseLast {
		high := begins[n]
		begins[n] = min(high, begins[n-1]+usual)
		if own != nil {
			if end := own.begins[own.iterations()]; end <= high && end > begins[n-1] {
				begins[n] = end
			}
		}
	}
}

// timeAt is when the burst begins; the one behind the last: when that ends.
func (t *Thread) timeAt(burst int32) int64 {
	n := len(t.Symbols)
	switch {
	case n == 0:
		return 0
	case int(burst) >= n:
		return t.BeginNS[n-1] + t.DurationNS[n-1]
	}
	return t.BeginNS[burst]
}

// after is the first burst that begins at the time or after it.
func (t *Thread) after(ns int64) int32 {
	return int32(sort.Search(len(t.BeginNS), func(i int) bool { return t.BeginNS[i] >= ns }))
}

// over gives the section that has most of the bursts, if it has none far outside of them; nil: none.
func (s *sequence) over(begin, end int32) *section {
	var best *section
	most := int32(0)
	for i := range s.sections {
		x := &s.sections[i]
		common := min(x.to, end) - max(x.from, begin)
		far := int32(x.period)
		if common > most && x.from >= begin-far && x.to <= end+far {
			best, most = x, common
		}
	}
	return best
}

// during gives the section that has most of the time; nil: none.
func (s *sequence) during(t *Thread, beginNS, endNS int64) *section {
	var best *section
	most := int64(0)
	for i := range s.sections {
		x := &s.sections[i]
		common := min(t.timeAt(x.to), endNS) - max(t.timeAt(x.from), beginNS)
		if common > most {
			best, most = x, common
		}
	}
	return best
}

const (
	// matchedIterations is of about how many iterations the times are compared to find where a thread's may begin among
	// the reference's, and matchedNear how far from there all are compared.
	matchedIterations = 1024
	matchedNear       = 32
)

// matchByTime gives the thread's iterations the reference's numbers. Where both have as many, these are by count. Else
// they are moved so that their begins are nearest in time; what the thread lacks is empty, and what it has more is left
// out. nil: the thread has less than half or more than twice as many, and does something else.
func matchByTime(begins []int32, t *Thread, ofRef []int32, ref *Thread) []int32 {
	n, want := len(begins)-1, len(ofRef)-1
	if n == want {
		return begins
	}
	if 2*n < want || n > 2*want {
		return nil
	}
	distance := func(shift, step int) float64 { // of begins in time, where iteration k of the thread is k+shift
		sum, count := 0., 0
		for k := max(0, -shift); k <= n && k+shift <= want; k += step {
			sum += math.Abs(float64(t.timeAt(begins[k]) - ref.timeAt(ofRef[k+shift])))
			count++
		}
		return sum / float64(count)
	}
	nearest := func(from, to, step int) int {
		best, bestNS := from, math.Inf(1)
		for shift := from; shift <= to; shift++ {
			if ns := distance(shift, step); ns < bestNS {
				best, bestNS = shift, ns
			}
		}
		return best
	}
	from, to := min(0, want-n), max(0, want-n)
	if step := min(n, want) / matchedIterations; step > 1 && to-from > 2*matchedNear { // first by some of the iterations
		about := nearest(from, to, step)
		from, to = max(from, about-matchedNear), min(to, about+matchedNear)
	}
	best := nearest(from, to, 1)
	matched := make([]int32, want+1)
	for k := range matched {
		matched[k] = begins[min(max(0, k-best), n)]
	}
	return matched
}

// iterationTimes is when threads have a phase: which anchors lie round it, and each of its iterations.
type iterationTimes struct {
	from, to    []int64 // the last anchor before the phase on all threads, and the first behind it
	first, last []int64 // by iteration: the begin on the first thread that has it, and the end on the last
	longest     []int64 // by iteration: of the threads' own times. Where they are matched by counting, threads may be far apart in the same iteration
}

// timesOf finds them on the threads that are here.
func (f *finder) timesOf(p *Phase, from part) iterationTimes {
	x := iterationTimes{from: []int64{int64(f.anchors)}, to: []int64{-1}}
	f.addAnchors(p, &x)
	if from.section == nil {
		return x
	}
	n := from.section.iterations()
	x.first, x.last, x.longest = make([]int64, n), make([]int64, n), make([]int64, n)
	for k := range n {
		x.first[k], x.last[k] = math.MaxInt64, math.MinInt64
	}
	for i := range p.Threads {
		l := &p.Threads[i]
		if len(l.Begins) == 0 || !f.Mine(i) {
			continue
		}
		t := &f.threads[i]
		for k := range n {
			if l.Begins[k] == l.Begins[k+1] {
				continue
			}
			begin, end := t.timeAt(l.Begins[k]), t.timeAt(l.Begins[k+1])
			x.first[k], x.last[k], x.longest[k] = min(x.first[k], begin), max(x.last[k], end), max(x.longest[k], end-begin)
		}
	}
	return x
}

// addAnchors looks for the anchors before the phase and behind it.
func (f *finder) addAnchors(p *Phase, x *iterationTimes) {
	for i := range p.Threads {
		t, l := &f.threads[i], &p.Threads[i]
		if len(t.Anchors) == 0 {
			continue
		}
		before := sort.Search(len(t.Anchors), func(k int) bool { return t.Anchors[k] > l.From }) - 1
		x.from[0] = min(x.from[0], int64(before))
		if ended := len(t.Anchors) < f.anchors && int(l.To) == len(t.Symbols); !ended {
			x.to[0] = max(x.to[0], int64(sort.Search(len(t.Anchors), func(k int) bool { return t.Anchors[k] >= l.To })))
		}
	}
}

// describe fills in what is about all threads of a phase.
func (f *finder) describe(p *Phase, from part, times *iterationTimes) {
	p.FromAnchor, p.ToAnchor = int(times.from[0]), int(times.to[0])
	if f.anchors == 0 {
		p.FromAnchor, p.ToAnchor = -1, 0
	}
	iterates := func(l Loop) bool { return len(l.Begins) > 0 }
	if from.section == nil || !slices.ContainsFunc(p.Threads, iterates) {
		p.Reason = f.whyNot()
		return
	}
	p.Iterations = from.section.iterations()
	p.IterationAnchors = from.section.anchors
	p.ByCalls = f.byCalls
	p.Correlation = from.reference.folder.correlation(from.section)
	p.Inner = p.Threads[from.reference.threads[0]].Inner
	var periods []int32
	alike, bursts := 0., 0.
	with := 0
	for i := range p.Threads {
		l := &p.Threads[i]
		if len(l.Begins) == 0 {
			continue
		}
		with++
		periods = append(periods, int32(l.Period))
		n := float64(l.Begins[p.Iterations] - l.Begins[0])
		alike += l.Agreement * n
		bursts += n
	}
	p.Period = median(periods)
	p.Agreement = alike / max(1, bursts)
	p.IterationNS = times.longest
	if p.IterationAnchors != nil {
		for k := range p.IterationNS {
			if p.IterationNS[k] = 0; times.first[k] <= times.last[k] { // else no thread has it
				p.IterationNS[k] = times.last[k] - times.first[k]
			}
		}
	}
	sorted := slices.Sorted(slices.Values(p.IterationNS))
	p.MedianNS = sorted[(len(sorted)-1)/2]
	p.Reason = f.why(p, with)
}

func (f *finder) why(p *Phase, with int) string {
	text := fmt.Sprintf("%d iterations of %d bursts, %.4g ms each (medians), on %d of %d threads", p.Iterations, p.Period,
		float64(p.MedianNS)/1e6, with, len(p.Threads))
	if p.IterationAnchors != nil {
		text += ", beginning at collective calls"
	} else {
		text += ", matched by counting"
	}
	if p.ByCalls {
		text += ", found by the calls alone"
	}
	text += fmt.Sprintf("; %.1f %% of the bursts match the usual iteration", 100*p.Agreement)
	if math.IsNaN(p.Correlation) {
		return text + "; durations do not confirm the period"
	}
	return text + fmt.Sprintf("; autocorrelation of durations %.2f", p.Correlation)
}

func (f *finder) whyNot() string {
	if f.reference.sequence >= 0 {
		return "no pattern worth a phase repeats three times in a row"
	}
	return "no thread repeats a pattern three times in a row over 1 % of its bursts or time"
}
