package period

// Two reasons not to take a repetition of tokens for a loop, where tokens are loops themselves: folding hides how often
// they go round.

// regularBelow is where local variation says more of a clock than of chance: it is 0 where all intervals are equal, 1
// where they are of a Poisson process, 3/(2n+1) for n of its intervals in one (which are gamma distributed), 3/5 for
// trips drawn evenly from 1 to many.
const regularBelow = 0.5

// regularOf is regularBelow for many intervals; for few, which may look regular by chance, less, and for three only
// what is equal.
func regularOf(intervals int) float64 {
	more := 1 - 3/float64(intervals)
	return regularBelow * more * more
}

// variation compares each interval with the next; three times its mean is the local variation (Shinomoto, Shima and
// Tanji, Neural Comput. 15 (2003)). A slow drift or a single outlier does not matter, which they do for the standard
// deviation.
func variation(intervals []int32) float64 {
	sum := 0.0
	for i := 1; i < len(intervals); i++ {
		a, b := float64(intervals[i-1]), float64(intervals[i])
		if a+b > 0 {
			sum += (a - b) / (a + b) * ((a - b) / (a + b))
		}
	}
	return sum
}

// contentsOf gives the kinds that are in a loop, at any depth.
func (f *folder) contentsOf(kind int32) map[int32]bool {
	set := f.contents[kind]
	if set == nil {
		set = make(map[int32]bool)
		f.enter(kind, set)
		f.contents[kind] = set
	}
	return set
}

// A doubt is about a loop of loops with next to nothing beside them. Where two kinds of bursts come at random, runs of
// each take turns: that is no loop; nor is one loop with noise in it. Whether it is one, only the durations of the
// loops within can show: it must vary less than by chance.
type doubt struct {
	any, noise bool               // there is one; nothing but noise is beside one loop
	sum        float64            // local variation, not yet scaled, of all places where the loop is repeated
	loops      map[int32]*float64 // the same of each kind of loop in it
	pairs      int                // of neighbours in there
}

// doubtOf reports whether there is a doubt about the body. Two different tokens side by side, always in this order, do
// not come by chance.
func (f *folder) doubtOf(body []int32) doubt {
	inside := make(map[int32]bool)
	kinds := make(map[int32]*float64)
	for _, k := range body {
		if f.isLoop(k) {
			kinds[k] = new(float64)
			f.enter(k, inside)
		}
	}
	if len(kinds) == 0 {
		return doubt{}
	}
	own := func(k int32) bool { return !f.isLoop(k) && !inside[k] && !f.rare[k] }
	any := false
	for i, k := range body {
		next := body[(i+1)%len(body)]
		if own(k) && own(next) && k != next {
			return doubt{}
		}
		any = any || own(k)
	}
	return doubt{any: true, noise: !any && len(kinds) == 1, loops: kinds}
}

// add adds a place where the loop is repeated: how long its loops go on in each iteration after their first trips, each
// and together.
func (d *doubt) add(f *folder, r repeat) {
	if !d.any {
		return
	}
	t := f.top()
	all := make([]int32, (r.end-r.begin)/r.lag)
	for kind, own := range d.loops {
		again := make([]int32, len(all))
		for i := range again {
			for j := r.begin + i*r.lag; j < r.begin+(i+1)*r.lag; j++ {
				if within := t.runOf(j); within >= 0 && t.kind[j] == kind {
					x := &f.runs[within]
					again[i] += (x.to - x.from) * (x.trips - 1) / x.trips
				}
			}
			all[i] += again[i]
		}
		*own += variation(again)
	}
	d.sum += variation(all)
	d.pairs += len(all) - 1
}

// byChance reports whether the loop is none: what its loops take varies as by chance, together and each.
func (d *doubt) byChance() bool {
	if d.noise || !d.any {
		return d.noise
	}
	regular := func(sum, usual float64) bool { return 3*sum/float64(d.pairs) <= usual*regularOf(d.pairs+1) }
	n := float64(len(d.loops))
	if regular(d.sum, 3/(2*n+1)) {
		return false
	}
	for _, own := range d.loops {
		if regular(*own, 1/n) {
			return false
		}
	}
	return true
}

// enter puts the kinds that are in a loop, at any depth, into the set.
func (f *folder) enter(kind int32, set map[int32]bool) {
	for _, k := range f.loop(kind).body {
		if !set[k] {
			set[k] = true
			if f.isLoop(k) {
				f.enter(k, set)
			}
		}
	}
}

// What is beside the loop within an iteration is the iteration's own. It makes one if it has ownPart of the bursts and
// of the time, or muchTime. Else it is something that an iteration of the loop within does once in a while, such as
// output every 100th time: in few bursts, however long they take, or in hardly any time, however many. A window of few
// iterations shall show what is usual, and be a small part of the run; what takes less than a hundredth of the time it
// may lack, for that is how exact it has to be.
const (
	ownPart  = 1. / 100
	muchTime = 1. / 8
)

// onlyExtra reports whether the repeat is one loop over and over, with a little between. Parts of that loop's trips,
// which damage leaves, are the loop's.
func (f *folder) onlyExtra(c chosen) bool {
	t := f.top()
	in, most := int32(-1), int32(0)
	for i := c.begin; i < c.begin+c.lag; i++ {
		if n := t.at[i+1] - t.at[i]; f.isLoop(t.kind[i]) && n > most {
			in, most = t.kind[i], n
		}
	}
	if in < 0 {
		return false
	}
	inside := f.contentsOf(in)
	bursts, ns := 0, int64(0)
	for i := c.begin; i < c.end; i++ {
		if k := t.kind[i]; k != in && !inside[k] {
			begin, end := t.at[i], t.at[i+1]
			bursts += int(end - begin)
			ns += f.totalNS[end] - f.totalNS[begin]
		}
	}
	begin, end := t.at[c.begin], t.at[c.end]
	share := float64(bursts) / float64(end-begin)
	time := share
	if all := f.totalNS[end] - f.totalNS[begin]; all > 0 {
		time = float64(ns) / float64(all)
	}
	return time < muchTime && (share < ownPart || time < ownPart)
}
