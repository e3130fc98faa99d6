package microcell

import (
	"fmt"
	"math"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds"
	"moriens/analysis/moment"
	"moriens/analysis/refine"
	"moriens/internal/team"
)

// A Member has the bursts of some threads, as far as micro-cells show them, and finds kinds together with the others of
// its team (docs/design/kinds.md). The first of the team has no bursts, but a Kinds.
type Member struct {
	Bursts kinds.Bursts          // all that are clustered; Group counts Groups
	Groups []*grouping.Clustered // of the run: Before, After, Bursts
	Step   []uint16              // per burst: kinds.Step of its duration
	// Units are the bursts' units as they are now, which is otherwise after a split: per burst the number of its unit, and
	// what the member has in each.
	Units func() (of []int32, units []Unit)
}

// Find finds the kinds of a run whose other members do likewise. It is collective. Labels, kinds and ways are of the
// bursts here; what is said of clusters and groups is the same at all members, but for what their own description needs
// of the run: Share is not known.
func (m *Member) Find(o grouping.Options) (*grouping.Result, error) {
	return m.find(o, nil)
}

func (m *Member) find(o grouping.Options, first *Kinds) (r *grouping.Result, err error) {
	if err := team.Explain(m.Bursts.Team, m.check()); err != nil {
		return nil, err
	}
	defer team.Leave("microcell", &err)
	o.Team = m.Bursts.Team
	p, err := kinds.Propose(m.Bursts, o.ForKinds())
	if err != nil {
		return nil, err
	}
	proposed := &grouping.Proposed{Options: &o, Bursts: &m.Bursts, Groups: m.Groups, Proposal: p}
	l := m.propose(proposed, first)
	proposed.DurationNS = func(i int) int64 { return kinds.OfStep(int32(m.Step[i])) }
	proposed.TimeNS = func() []int64 { return l.timeNS }
	r = &grouping.Result{Score: math.NaN(), NoiseScore: math.NaN()}
	if first != nil {
		r.TotalNS = first.set.TimeNS
	}
	made, err := proposed.Decide(r)
	if err != nil {
		return nil, err
	}
	r.Labels = make([]int32, len(m.Bursts.Group))
	made.Label(r, nil)
	tallies, err := m.tally(l, r.Labels, first)
	if err != nil {
		return nil, err
	}
	if err := grouping.Describe(m.Bursts.Team, m.Groups, tallies); err != nil {
		return nil, err
	}
	ids := r.Assemble(m.Groups)
	for i, label := range r.Labels {
		if label >= 0 {
			r.Labels[i] = ids[m.Bursts.Group[i]][label]
		}
	}
	made.Adopt(r, ids)
	return r, nil
}

// A piece is bursts of a unit that are of one basin, on threads of one speed.
type piece struct {
	unit  int32
	basin int32
	shift float64 // that their coordinates are to be less by
}

// pieces are those of a member, as they are reported: per piece four words, which are the unit, the basin, the shift
// and how many bursts it has.
func (m *Member) pieces(p *kinds.Proposal, of []int32) (words []int64, pieceOf []int32) {
	number := make(map[piece]int32)
	pieceOf = make([]int32, len(of))
	first := 0
	for t, end := range m.Bursts.Ends {
		shift := 0.
		if p.Shift != nil {
			shift = p.Shift[t]
		}
		for i := first; i < end; i++ {
			x := piece{of[i], p.Of[i], shift}
			k, known := number[x]
			if !known {
				k = int32(len(number))
				number[x] = k
				words = append(words, int64(x.unit), int64(x.basin), int64(math.Float64bits(shift)), 0)
			}
			words[4*k+3]++
			pieceOf[i] = k
		}
		first = end
	}
	return words, pieceOf
}

// What the first member says once it has looked at the pieces.
const (
	sayAgain = iota // units were split: send the pieces again
	sayEven         // how many bursts do threads have of some pieces?
	sayDone
)

// propose has the first member cluster the basins by the pieces of all members. It gives the bursts here their leaves.
func (m *Member) propose(to *grouping.Proposed, first *Kinds) *ledger {
	c := team.Panicking{Threads: m.Bursts.Team}
	for {
		of, units := m.Units()
		words, pieceOf := m.pieces(to.Proposal, of)
		lists := team.Must(team.Exchange(c, toFirst(c, words)))
		if first != nil {
			first.member, first.team = m, c
			again := team.Must(first.cluster(to.Proposal, lists))
			if again {
				say(c, sayAgain)
				continue
			}
		}
		for {
			said := say(c, first.verdict()...)
			switch said[0] {
			case sayEven:
				m.countEven(c, pieceOf, int(said[1]), nil)
				continue
			case sayDone:
				leaf := team.Must(team.Exchange(c, first.leaves(c)))[0]
				to.LeafOf = make([]int32, len(pieceOf))
				for i, k := range pieceOf {
					to.LeafOf[i] = leaf[k]
				}
				if take(to, said[1:]); first != nil {
					to.Basins = first.found() // it knows where they lie
				}
				return newLedger(units, of, m.Step)
			}
			break
		}
	}
}

// toFirst are the parts of an exchange in which the first member alone receives something.
func toFirst[T any](c team.Panicking, list []T) [][]T {
	parts := make([][]T, c.Size())
	parts[0] = list
	return parts
}

// say sends all members the words of the first one.
func say(c team.Panicking, words ...int64) []int64 { return team.Must(team.Gather(c, words))[0] }

// verdict is what the first member says in the end; nothing at others.
func (k *Kinds) verdict() []int64 {
	if k == nil {
		return nil
	}
	return append([]int64{sayDone}, k.shared...)
}

// leaves are what the first member sends each about its pieces; nothing at others.
func (k *Kinds) leaves(c team.Panicking) [][]int32 {
	parts := make([][]int32, c.Size())
	if k != nil {
		for rank, rows := range k.rowOf {
			for _, row := range rows {
				parts[rank] = append(parts[rank], k.leafOf[row])
			}
		}
	}
	return parts
}

// countEven is collective: the first member gives a column, from 1 to count-1 or -1, to each piece of all members; it
// learns for each column whether all threads with bursts have as many of it.
func (m *Member) countEven(c team.Panicking, pieceOf []int32, count int, columns [][]int32) []bool {
	if columns == nil {
		columns = make([][]int32, c.Size())
	}
	column := team.Must(team.Exchange(c, columns))[0]
	least, most := slices.Repeat([]int64{math.MaxInt64}, count), make([]int64, count)
	threads, begin := []int64{0}, 0
	for _, end := range m.Bursts.Ends {
		if end > begin {
			threads[0]++
			of := make([]int64, count)
			for _, k := range pieceOf[begin:end] {
				if column[k] > 0 {
					of[column[k]]++
				}
			}
			for k, n := range of {
				least[k], most[k] = min(least[k], n), max(most[k], n)
			}
		}
		begin = end
	}
	c.Reduce(team.Min, least)
	c.Reduce(team.Max, most)
	c.Reduce(team.Sum, threads)
	even := make([]bool, count)
	for k := range even {
		even[k] = threads[0] > 1 && least[k] == most[k]
	}
	return even
}

// encode puts into words what all members are to know of the basins and their clusters.
func encode(basins []*grouping.Clustered, nodes []refine.Node) []int64 {
	words := []int64{int64(len(basins))}
	for _, b := range basins {
		words = append(words, int64(b.MinPts), int64(b.From), int64(math.Float64bits(b.Knee)), int64(math.Float64bits(b.Ladder[0])))
	}
	for _, n := range nodes {
		words = append(words, int64(n.ID), int64(n.Group), int64(n.Bursts), int64(math.Float64bits(n.Eps)), int64(n.MinPts))
	}
	return words
}

// take takes it.
func take(to *grouping.Proposed, words []int64) {
	n := int(words[0])
	words = words[1:]
	real := func(i int) float64 { return math.Float64frombits(uint64(words[i])) }
	for range n {
		b := &grouping.Clustered{Group: grouping.Group{MinPts: int(words[0]), From: grouping.EpsFrom(words[1]), Knee: real(2)}, Ladder: []float64{real(3)}}
		to.Basins = append(to.Basins, b)
		words = words[4:]
	}
	for ; len(words) > 0; words = words[5:] {
		to.Nodes = append(to.Nodes, refine.Node{ID: int32(words[0]), Group: int(words[1]), Bursts: int(words[2]), Eps: real(3), MinPts: int(words[4])})
	}
	to.Leaves, _ = grouping.Leaves(to.Proposal, to.Nodes)
}

// tally counts and measures the clusters by the labels of the bursts here.
func (m *Member) tally(l *ledger, labels []int32, first *Kinds) ([]*grouping.GroupTally, error) {
	counters := 0
	if first != nil {
		counters = len(first.set.Counters)
	} else if len(l.units) > 0 {
		counters = len(l.units[0].Counters)
	}
	most := []int64{int64(counters)}
	if err := m.Bursts.Team.AllReduce(most, team.Max); err != nil {
		return nil, err
	}
	counters = int(most[0])
	tallies := make([]*grouping.GroupTally, len(m.Groups))
	calls := make([]map[[2]int64]int, len(m.Groups)) // bursts, by cluster and call
	for i, g := range m.Groups {
		n := len(g.Clusters)
		t := &grouping.GroupTally{Columns: make([][]moment.Exact, n), Before: make([][]grouping.PathCount, n), After: make([][]grouping.PathCount, n)}
		for k := range t.Columns {
			t.Columns[k] = make([]moment.Exact, 1+counters)
		}
		tallies[i], calls[i] = t, make(map[[2]int64]int)
	}
	l.each(func(i int32) int32 { return labels[i] }, func(unit int32, shares []share) {
		u := &l.units[unit]
		t := tallies[m.Bursts.Group[shares[0].first]]
		columns := func(k int) []moment.Exact {
			if label := shares[k].label; label >= 0 {
				return t.Columns[label]
			}
			return nil
		}
		for k, e := range exacts(&u.Duration, shares, true) {
			if to := columns(k); to != nil {
				to[0].Merge(&e)
			} else {
				t.Noise.Merge(&e)
			}
		}
		for j := range u.Counters {
			for k, e := range exacts(&u.Counters[j], shares, false) {
				if to := columns(k); to != nil {
					to[1+j].Merge(&e)
				}
			}
		}
	})
	for i, label := range labels {
		if label >= 0 {
			g, call := m.Bursts.Group[i], int64(0)
			if m.Bursts.Call != nil {
				call = m.Bursts.Call[i]
			}
			calls[g][[2]int64{int64(label), call}]++
		}
	}
	for i, g := range m.Groups {
		for key, n := range calls[i] {
			before, after := g.Before, g.After
			if m.Bursts.Call != nil {
				before, after = uint32(key[1]>>32), uint32(key[1])
			}
			t := tallies[i]
			t.Before[key[0]] = append(t.Before[key[0]], grouping.PathCount{Path: before, Bursts: n})
			t.After[key[0]] = append(t.After[key[0]], grouping.PathCount{Path: after, Bursts: n})
		}
	}
	return tallies, nil
}

// check says what is wrong with a member.
func (m *Member) check() error {
	if m.Bursts.Ends == nil || len(m.Step) != len(m.Bursts.Group) || len(m.Groups) != m.Bursts.Groups {
		return fmt.Errorf("microcell: %d groups, %d of bursts, of which %d have a length and %d a group, on %d threads", len(m.Groups), m.Bursts.Groups, len(m.Step), len(m.Bursts.Group), len(m.Bursts.Ends))
	}
	return nil
}
