package pairing

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/trace/rundir"
)

// What something must cost at least to be a finding: this part of the time of all ranks, or of the blocked time of one
// of the two ranks of a pair.
const (
	leastOfRun  = .005
	leastOfRank = .01
	leastLate   = .01 // of the time of all ranks, of what a rank makes others wait
)

const (
	lateShare      = .2 // of what all ranks wait in messages: what one of them causes
	leastErrors    = 2. // what is estimated to be caused by a rank must be so many standard errors
	slowFactor     = 3. // times what other pairs take: a slow link
	slowNodeFactor = 2. // times what pairs of other nodes take: what all pairs of a slow node take
	slowNodePairs  = 3
	unlike         = 2.    // times what each other rank causes in the mean
	smallRate      = 100.  // messages a second
	smallMessages  = 100   // that a rank must have sent to another
	firstFactor    = 10.   // times what later messages take
	firstMessages  = 10    // that a pair must have
	sameFirst      = .01   // by how much two times of one message differ at most, of different clocks
	oftenFactor    = 4.    // times the median: what one in twenty takes
	oftenMessages  = 100   // of a size
	heavyDeviation = 3.5   // robust deviations
	leastDeviation = .1823 // ln 1.2
	fewAlike       = 5
	movesAtLeast   = .1 // of the bytes between nodes
)

// findings finds what is unusual.
func (d *describer) findings() {
	named := &named{ranks: make(map[int32]bool), slow: make(map[int32]bool), pairs: make(map[[2]int32]bool)}
	d.lateRanks(named)
	d.slow(named)
	d.small(named)
	d.first()
	d.irregular(named)
	d.heavy(named)
	d.place()
	slices.SortStableFunc(d.file.Findings, func(a, b rundir.PairsFinding) int {
		return cmp.Or(cmp.Compare(costOf(&b), costOf(&a)), cmp.Compare(a.Kind, b.Kind), slices.Compare(a.Ranks, b.Ranks), cmp.Compare(a.Text, b.Text))
	})
}

func costOf(f *rundir.PairsFinding) float64 {
	if math.IsNaN(float64(f.Seconds)) {
		return -1
	}
	return float64(f.Seconds)
}

// named are the ranks and pairs that findings are about.
type named struct {
	ranks map[int32]bool // that are late
	slow  map[int32]bool // that have a slow link
	pairs map[[2]int32]bool
}

// take takes a slow link.
func (n *named) take(t *seenTie) {
	n.slow[t.a], n.slow[t.b], n.pairs[[2]int32{t.a, t.b}] = true, true, true
}

func (n *named) has(t *tie) bool { return n.ranks[t.a] || n.ranks[t.b] || n.pairs[[2]int32{t.a, t.b}] }

func (d *describer) find(f rundir.PairsFinding) { d.file.Findings = append(d.file.Findings, f) }

// runNS is the time of all ranks.
func (d *describer) runNS() float64 { return d.elapsedNS() * float64(len(d.known.Ranks)) }

func (d *describer) elapsedNS() float64 { return float64(d.Main.EndNS - d.Main.BeginNS) }

// ofRun says that a time is enough of that of all ranks.
func (d *describer) ofRun(ns float64) bool { return ns >= leastOfRun*d.runNS() && ns > 0 }

// ofRanks says that a time is enough of what one of two ranks is blocked.
func (d *describer) ofRanks(a, b int32, ns float64) bool {
	return ns > 0 && (ns >= leastOfRank*float64(d.ties.ofRank[a]) || ns >= leastOfRank*float64(d.ties.ofRank[b]))
}

// name names a rank, by its world too where there are several.
func (d *describer) name(rank int32) string {
	r := d.known.Ranks[rank]
	return d.run.RankName(int(r.World), int(r.Rank))
}

// pair names two ranks.
func (d *describer) pair(a, b int32) string {
	x, y := d.known.Ranks[a], d.known.Ranks[b]
	if len(d.run.Worlds) > 1 {
		return d.name(a) + " – " + d.name(b)
	}
	return fmt.Sprintf("%d–%d", x.Rank, y.Rank)
}

func (d *describer) node(rank int32) string { return d.run.NodeName(int(d.known.Ranks[rank].Node)) }

// mostPairs is how many pairs of a finding are listed: there may be millions.
const mostPairs = 1000

// list puts the pairs of a finding, and their ranks, in order. Of very many those of the lowest ranks are listed, and
// the others counted.
func list(f *rundir.PairsFinding) {
	slices.SortFunc(f.Pairs, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	if more := len(f.Pairs) - mostPairs; more > 0 {
		f.Pairs, f.Unlisted = slices.Clone(f.Pairs[:mostPairs]), int64(more)
	}
	f.Ranks = ranksOf(f.Pairs)
}
