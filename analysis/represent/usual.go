package represent

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

const (
	// A burst is far from its cluster's durations if the logarithm of its own is over farSpreads robust standard
	// deviations from the median, and farRatio at least: clusters of one exact length are none of noise.
	farSpreads = 6
	farRatio   = 2
	// usualBursts is how many a cluster must have for a spread.
	usualBursts = 8
	// toStandard makes a standard deviation of the median absolute deviation of a normal distribution.
	toStandard = 1.4826
	// A cluster is rare if no more than one in rareThreads threads has it, and these once in rarePieces pieces, but once
	// at least. In a stretch of fewer than rareIn pieces it is not unusual: that is what the stretch is, as set-up is.
	rareThreads, rarePieces, rareIn = 16, 100, 10
)

// A usual is what the bursts of a cluster usually are.
type usual struct {
	bursts, timeNS int64
	threads        int // that have it
	medianNS       int64
	lowNS, highNS  int64 // the durations that are not far
	rare           bool
}

// A histogram counts durations in 32 bins an octave, and adds them up there, which is as good as knowing them to 1.6 %.
type histogram [64]*[32]struct{ count, sumNS int64 }

func (h *histogram) add(ns int64) {
	x := uint64(max(ns, 1))
	octave := bits.Len64(x) - 1
	if h[octave] == nil {
		h[octave] = new([32]struct{ count, sumNS int64 })
	}
	bin := &h[octave][x<<(63-octave)>>58&31]
	bin.count++
	bin.sumNS += int64(x)
}

func (h *histogram) merge(o *histogram) {
	for octave := range h {
		switch {
		case o[octave] == nil:
		case h[octave] == nil:
			h[octave] = o[octave]
		default:
			for i, bin := range o[octave] {
				h[octave][i].count += bin.count
				h[octave][i].sumNS += bin.sumNS
			}
		}
	}
}

// median returns the median and the median absolute deviation of the logarithms.
func (h *histogram) median() (ns, deviation float64) {
	type bin struct {
		log   float64
		count int64
	}
	var bins []bin
	var sum int64
	for _, fine := range h {
		if fine == nil {
			continue
		}
		for _, b := range fine {
			if b.count > 0 {
				bins = append(bins, bin{math.Log(float64(b.sumNS) / float64(b.count)), b.count})
				sum += b.count
			}
		}
	}
	middle := func() float64 {
		rest := (sum + 1) / 2
		for _, b := range bins {
			if rest -= b.count; rest <= 0 {
				return b.log
			}
		}
		return 0
	}
	log := middle()
	for i := range bins {
		bins[i].log = math.Abs(bins[i].log - log)
	}
	slices.SortStableFunc(bins, func(a, b bin) int { return cmp.Compare(a.log, b.log) })
	return math.Exp(log), middle()
}

// usuals are what clusters, by number, usually are; 0 stands for all bursts that are in none.
func (r *Run) usuals(stretches []stretch, threads int) []usual {
	highest := []int64{0}
	for i := range r.Threads {
		for _, c := range r.Threads[i].Cluster {
			highest[0] = max(highest[0], int64(c))
		}
	}
	r.team.Reduce(team.Max, highest)
	clusters := int(highest[0])
	all := make([]usual, clusters+1)
	durations := make([]histogram, clusters+1)
	var mu sync.Mutex
	workers.Chunks(len(r.Threads), threads, func(_, from, to int) {
		own, ownDurations := make([]usual, clusters+1), make([]histogram, clusters+1)
		last := make([]int, clusters+1) // one more than the thread that had a cluster last
		for t := from; t < to; t++ {
			thread := &r.Threads[t]
			for b, c := range thread.Cluster {
				c = max(c, 0)
				u := &own[c]
				u.bursts++
				u.timeNS += thread.DurationNS[b]
				if c == 0 {
					continue
				}
				if last[c] != t+1 {
					last[c] = t + 1
					u.threads++
				}
				ownDurations[c].add(thread.DurationNS[b])
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for c := range all {
			all[c].bursts += own[c].bursts
			all[c].timeNS += own[c].timeNS
			all[c].threads += own[c].threads
			durations[c].merge(&ownDurations[c])
		}
	})
	addUpUsuals(r.team, all, durations)
	pieces := 0
	for i := range stretches {
		pieces += len(stretches[i].pieces)
	}
	for c := 1; c <= clusters; c++ {
		all[c].evaluate(&durations[c], len(r.Threads), pieces)
	}
	return all
}

// addUpUsuals adds up what all members have of clusters, and of their durations.
func addUpUsuals(c team.Panicking, all []usual, durations []histogram) {
	sums := make([]int64, 0, 3*len(all))
	for _, u := range all {
		sums = append(sums, u.bursts, u.timeNS, int64(u.threads))
	}
	c.Reduce(team.Sum, sums)
	for i := range all {
		all[i] = usual{bursts: sums[3*i], timeNS: sums[3*i+1], threads: int(sums[3*i+2])}
	}
	if c.Size() == 1 {
		return
	}
	var bins []int64 // cluster, octave and bin in one number, count, sum
	for i := range durations {
		for octave, fine := range durations[i] {
			if fine == nil {
				continue
			}
			for k := range fine {
				if fine[k].count > 0 {
					bins = append(bins, int64(i)<<11|int64(octave)<<5|int64(k), fine[k].count, fine[k].sumNS)
				}
			}
		}
		durations[i] = histogram{}
	}
	for _, list := range gather(c, bins) {
		for x := range slices.Chunk(list, 3) {
			h, octave := &durations[x[0]>>11], x[0]>>5&63
			if h[octave] == nil {
				h[octave] = new([32]struct{ count, sumNS int64 })
			}
			bin := &h[octave][x[0]&31]
			bin.count, bin.sumNS = bin.count+x[1], bin.sumNS+x[2]
		}
	}
}

func (u *usual) evaluate(durations *histogram, threads, pieces int) {
	u.lowNS, u.highNS = 0, math.MaxInt64
	if u.bursts == 0 {
		return
	}
	median, deviation := durations.median()
	u.medianNS = int64(math.Round(median))
	if u.bursts >= usualBursts {
		far := math.Exp(max(farSpreads*toStandard*deviation, math.Log(farRatio)))
		u.lowNS = int64(median / far)
		if high := median * far; high < math.MaxInt64 {
			u.highNS = int64(high)
		}
	}
	u.rare = u.threads <= max(1, threads/rareThreads) && u.bursts <= int64(u.threads)*int64(max(1, pieces/rarePieces))
}

// odd reports whether a burst of the stretch is unusual, and how much of its time.
func (s *stretch) odd(all []usual, thread *Thread, burst int32) (kind oddKind, unusualNS int64) {
	cluster, ns := thread.Cluster[burst], thread.DurationNS[burst]
	if thread.Disturbed != nil && thread.Disturbed[burst] {
		return notOdd, 0
	}
	if cluster <= 0 {
		if cluster == Noise {
			return likeNoOther, ns
		}
		return notOdd, 0
	}
	u := &all[cluster]
	switch {
	case u.rare && len(s.pieces) >= rareIn:
		return rareCluster, ns
	case ns > u.highNS || ns < u.lowNS:
		return farDuration, max(ns-u.medianNS, u.medianNS-ns)
	}
	return notOdd, 0
}
