package efficiency

import (
	"math"
	"math/bits"
)

// Of a run in progress the time is cut into bins, from the begin of its stretch main on. The last minute is the latest
// Bins of them, of which the last one is not over: 54 to 60 s.
const (
	BinNS = int64(6e9)
	Bins  = 10
)

// A What is what a location does.
type What int

// What it does otherwise is neither.
const (
	Computing What = iota
	MPI
)

// A Line converts ticks of a location's clock into ns, and back.
type Line struct {
	Ticks     uint64 // at these
	NS        int64  // it was this time
	NSPerTick float64
}

// At is the time of a tick.
func (l Line) At(ticks uint64) int64 { return l.NS + int64(float64(int64(ticks-l.Ticks))*l.NSPerTick) }

// TicksAt is the first tick that is not before a time; 0 where that is before the clock began.
func (l Line) TicksAt(ns int64) uint64 {
	d := int64(math.Ceil(float64(ns-l.NS) / l.NSPerTick))
	if d < 0 && uint64(-d) > l.Ticks {
		return 0
	}
	return l.Ticks + uint64(d)
}

// sums are by What, in ticks.
type sums [2]uint64

// A Track adds up what one location does, as that becomes known: since the begin of the run's stretch main, and in the
// latest bins of its time. It holds sums alone, in ticks: the rate of a clock becomes known better while it runs.
type Track struct {
	line    Line
	beginNS int64
	at      uint64 // all that was before is added
	all     sums
	bin     int64  // number of the bin of at,
	end     uint64 // and the first tick behind it
	bins    [Bins]sums
}

// Begin forgets all, and begins at a time.
func (t *Track) Begin(line Line, beginNS int64) {
	*t = Track{line: line, beginNS: beginNS}
	t.at = line.TicksAt(beginNS)
	t.end = t.endOf(0)
}

// Fit says what is known now of the clock.
func (t *Track) Fit(line Line) {
	t.line = line
	t.end = max(t.at, t.endOf(t.bin))
}

func (t *Track) endOf(bin int64) uint64 { return t.line.TicksAt(t.beginNS + (bin+1)*BinNS) }

// Add adds a time in which the location did one thing; what of it is added already, or before the begin, is left out.
func (t *Track) Add(what What, from, to uint64) {
	from = max(from, t.at)
	if to <= from {
		return
	}
	t.all[what] += to - from
	if to <= t.end {
		t.bins[t.bin%Bins][what] += to - from
		t.at = to
		return
	}
	t.addLong(from, to, func(sums *sums, a, b uint64) { sums[what] += b - a })
}

// Room is the time that is in the latest bin alone, from where all is added: Sum may add to it.
func (t *Track) Room() (from, to uint64) { return t.at, t.end }

// All is what is added, in ticks.
func (t *Track) All() (computing, mpi uint64) { return t.all[Computing], t.all[MPI] }

// Sum adds what the location did in all of Room up to a tick.
func (t *Track) Sum(to, computing, mpi uint64) {
	t.at = to
	bin := &t.bins[t.bin%Bins]
	t.all[Computing] += computing
	t.all[MPI] += mpi
	bin[Computing] += computing
	bin[MPI] += mpi
}

// Spread adds a time of which only is known how much of it the location computed, and was in MPI: evenly. It is added
// up to end alone, and is to be given again for the rest.
func (t *Track) Spread(from, to, computing, mpi, end uint64) {
	if to <= from {
		return
	}
	computing = min(computing, to-from)
	mpi = min(mpi, to-from-computing)
	share := func(of, upTo uint64) uint64 {
		hi, lo := bits.Mul64(of, upTo-from)
		q, _ := bits.Div64(hi, lo, to-from)
		return q
	}
	a, b := max(from, t.at), min(to, end)
	if b <= a {
		return
	}
	put := func(s *sums, a, b uint64) {
		s[Computing] += share(computing, b) - share(computing, a)
		s[MPI] += share(mpi, b) - share(mpi, a)
	}
	put(&t.all, a, b)
	t.addLong(a, b, put)
}

// addLong puts a time into its bins, of those that are kept.
func (t *Track) addLong(from, to uint64, put func(s *sums, from, to uint64)) {
	t.at = to
	if to > t.end {
		if last := (t.line.At(to-1) - t.beginNS) / BinNS; last-t.bin >= Bins {
			t.bin, t.bins = last-Bins+1, [Bins]sums{}
			t.end = t.endOf(t.bin)
			from = max(from, t.endOf(t.bin-1))
		}
	}
	for to > t.end {
		if from < t.end {
			put(&t.bins[t.bin%Bins], from, t.end)
			from = t.end
		}
		t.bin++
		t.bins[t.bin%Bins] = sums{}
		t.end = t.endOf(t.bin)
	}
	put(&t.bins[t.bin%Bins], from, to)
}

// ns is the time of so many ticks.
func (t *Track) ns(ticks uint64) int64 { return int64(math.Round(float64(ticks) * t.line.NSPerTick)) }

// A Use is what a set of locations did in a part of the time. Uses of other locations can be merged: it has what the
// factors need, and its size is that of the number of nodes.
type Use struct {
	Locations          int
	ComputingNS, MPINS int64
	LongestNS          int64 // of the location that computes most
	Nodes              map[string]NodeUse
}

// A NodeUse is what the locations of one node did.
type NodeUse struct{ Locations, ComputingNS int64 }

// Add adds a location.
func (u *Use) Add(node string, computingNS, mpiNS int64) {
	if u.Nodes == nil {
		u.Nodes = make(map[string]NodeUse)
	}
	u.Locations++
	u.ComputingNS += computingNS
	u.MPINS += mpiNS
	u.LongestNS = max(u.LongestNS, computingNS)
	n := u.Nodes[node]
	u.Nodes[node] = NodeUse{n.Locations + 1, n.ComputingNS + computingNS}
}

// Merge adds other locations.
func (u *Use) Merge(o *Use) {
	if u.Nodes == nil {
		u.Nodes = make(map[string]NodeUse)
	}
	u.Locations += o.Locations
	u.ComputingNS += o.ComputingNS
	u.MPINS += o.MPINS
	u.LongestNS = max(u.LongestNS, o.LongestNS)
	for name, n := range o.Nodes {
		own := u.Nodes[name]
		u.Nodes[name] = NodeUse{own.Locations + n.Locations, own.ComputingNS + n.ComputingNS}
	}
}

// Factors are those of the locations over an elapsed time, as Solve has them. Which location computes longest is not
// known.
func (u *Use) Factors(tns int64) Factors {
	tns = max(tns, u.LongestNS)
	f := Factors{Locations: u.Locations, TNS: tns, Longest: -1}
	f.Budget = Budget{TotalNS: tns * int64(u.Locations), ComputingNS: u.ComputingNS, MPINS: u.MPINS}
	most := math.NaN()
	for _, n := range u.Nodes {
		if mean := ratio(n.ComputingNS, n.Locations); !(mean <= most) {
			most = mean
		}
	}
	mean, longest := ratio(u.ComputingNS, int64(u.Locations)), float64(u.LongestNS)
	f.Parallel = mean / nonzero(float64(tns))
	f.Communication = longest / nonzero(float64(tns))
	f.Balance = mean / nonzero(longest)
	f.BalanceIn = most / nonzero(longest)
	f.BalanceOut = mean / nonzero(most)
	return f
}

// A Recent is what a set of locations did so far: since the begin, and in the latest bins.
type Recent struct {
	BeginNS, UntilNS int64
	All, Minute      Use
	Computing        [Bins]int64 // ns of all locations, in each of the latest bins; the last one is that of UntilNS
}

// NewRecent is that of no location, up to a time behind the begin.
func NewRecent(beginNS, untilNS int64) *Recent { return &Recent{BeginNS: beginNS, UntilNS: untilNS} }

// last is the number of the latest bin.
func (r *Recent) last() int64 { return (r.UntilNS - r.BeginNS - 1) / BinNS }

// MinuteNS is how long the bins of the last minute are together.
func (r *Recent) MinuteNS() int64 { return r.UntilNS - r.BeginNS - max(0, r.last()-Bins+1)*BinNS }

// Efficiencies are the parallel efficiencies in the latest bins, of which there are fewer at the begin.
func (r *Recent) Efficiencies() []float64 {
	n := min(r.last()+1, Bins)
	if r.All.Locations == 0 {
		n = 0
	}
	list := make([]float64, 0, n)
	for i := Bins - n; i < Bins; i++ {
		ns := BinNS
		if i == Bins-1 {
			ns = r.UntilNS - r.BeginNS - r.last()*BinNS
		}
		list = append(list, min(1, float64(r.Computing[i])/nonzero(float64(ns)*float64(r.All.Locations))))
	}
	return list
}

// Add adds a location, whose track is no further than the end.
func (r *Recent) Add(node string, t *Track) {
	r.All.Add(node, t.ns(t.all[Computing]), t.ns(t.all[MPI]))
	var minute sums
	last := r.last()
	for bin := max(0, last-Bins+1, t.bin-Bins+1); bin <= min(last, t.bin); bin++ {
		s := &t.bins[bin%Bins]
		minute[Computing] += s[Computing]
		minute[MPI] += s[MPI]
		r.Computing[Bins-1-(last-bin)] += t.ns(s[Computing])
	}
	r.Minute.Add(node, t.ns(minute[Computing]), t.ns(minute[MPI]))
}

// Merge adds what other locations did in the same time.
func (r *Recent) Merge(o *Recent) {
	r.All.Merge(&o.All)
	r.Minute.Merge(&o.Minute)
	for i, ns := range o.Computing {
		r.Computing[i] += ns
	}
}
