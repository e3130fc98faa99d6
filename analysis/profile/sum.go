package profile

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"moriens/analysis/phase"
	"moriens/analysis/workers"
	"moriens/internal/team"
)

// Sum sums up a run. Columns of unequal length, negative durations and phases that do not fit the bursts are errors
// that name the thread. It is collective.
func Sum(threads []Thread, o Options) (*Profile, error) {
	o.Buckets, o.Points = cmp.Or(o.Buckets, DefaultBuckets), cmp.Or(o.Points, DefaultPoints)
	if err := o.Team.Check(len(threads)); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	sizes := make([]int, len(threads))
	for i := range threads {
		sizes[i] = len(threads[i].DurationNS) + len(threads[i].Calls.Path)
	}
	rows := make([][]Row, len(threads))
	errs := make([]error, len(threads))
	workers.Every(sizes, o.Workers, func(i int) {
		if !o.Team.Mine(i) {
			return
		}
		t := threads[i]
		if o.Fill != nil {
			defer o.Fill(i, &t)()
		}
		if errs[i] = t.check(o.Counters); errs[i] == nil {
			rows[i] = t.rows(int32(i), o.Counters)
		}
	})
	var err error
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		err = fmt.Errorf("profile: thread %d: %w", i, errs[i])
	}
	if err := team.Explain(o.Team, err); err != nil {
		return nil, err
	}
	p := &Profile{}
	if p.Rows, err = gather(o.Team, slices.Concat(rows...)); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	p.Histograms = newHistograms(p.Rows, o.Buckets, func(k *Key) int32 { return k.Cluster })
	kinds := slices.ContainsFunc(p.Rows, func(r Row) bool { return r.OfKind != r.Cluster })
	p.Kinds = p.Histograms
	if kinds {
		p.Kinds = newHistograms(p.Rows, o.Buckets, func(k *Key) int32 { return k.OfKind })
	}
	if p.Curves, err = newCurves(threads, o.Points); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	var mu sync.Mutex // of the sums of all threads, which are whole numbers: any order gives the same
	workers.Every(sizes, o.Workers, func(i int) {
		if !o.Team.Mine(i) {
			return
		}
		t := &threads[i]
		fillHistograms(p.Histograms, t.Cluster, t.DurationNS, &mu)
		if kinds {
			fillHistograms(p.Kinds, t.kinds(), t.DurationNS, &mu)
		}
		for k := range p.Curves {
			p.Curves[k].add(t, k, &mu)
		}
	})
	return p, p.addUp(o.Team, kinds)
}

// gather puts the rows of all members in the order of their threads.
func gather(t team.Team, own []Row) ([]Row, error) {
	all, err := team.Values(t, own)
	if err != nil || len(all) == 1 {
		return own, err
	}
	rows := slices.Concat(all...)
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Thread, b.Thread) })
	return rows, nil
}

// addUp adds what the members have in histograms and curves, which are of one form at all.
func (p *Profile) addUp(t team.Team, kinds bool) error {
	var lists [][]int64
	histograms := p.Histograms
	if kinds {
		histograms = slices.Concat(histograms, p.Kinds)
	}
	for k := range histograms {
		lists = append(lists, histograms[k].Count, histograms[k].TimeNS)
	}
	for k := range p.Curves {
		lists = append(lists, p.Curves[k].Computing, p.Curves[k].Elapsed)
	}
	sums := slices.Concat(lists...)
	if err := t.AllReduce(sums, team.Sum); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	for _, list := range lists {
		sums = sums[copy(list, sums):]
	}
	return nil
}

func (t *Thread) check(counters int) error {
	n := len(t.DurationNS)
	if len(t.StartNS) != n || len(t.After) != n || len(t.Cluster) != n || t.OfKind != nil && len(t.OfKind) != n || t.Region != nil && len(t.Region) != n || t.Context != nil && len(t.Context) != n || len(t.Counters) != counters {
		return errors.New("columns of the bursts differ in length")
	}
	for _, column := range t.Counters {
		if len(column) != n {
			return errors.New("columns of the bursts differ in length")
		}
	}
	for k, d := range t.DurationNS {
		if d < 0 {
			return fmt.Errorf("burst %d: lasts %d ns", k, d)
		}
	}
	if err := t.Readings.check(counters); err != nil {
		return err
	}
	if err := t.Calls.check(); err != nil {
		return err
	}
	last := int32(0)
	for k, p := range t.Phases {
		if p.From < last || p.To < p.From || int(p.To) > n {
			return fmt.Errorf("phase %d: bursts %d to %d, behind %d, of %d", k, p.From, p.To, last, n)
		}
		last = p.To
		at := p.From
		for _, b := range p.Begins {
			if b < at || b > p.To {
				return fmt.Errorf("phase %d: an iteration begins at burst %d, the phase is %d to %d", k, b, p.From, p.To)
			}
			at = b
		}
	}
	return nil
}

func (r *Readings) check(counters int) error {
	if len(r.NS) == 0 {
		return nil
	}
	if len(r.Counters) != counters || slices.ContainsFunc(r.Counters, func(column []int64) bool { return len(column) != len(r.NS) }) {
		return errors.New("columns of the readings differ in length")
	}
	if !slices.IsSorted(r.NS) {
		return errors.New("readings are not in the order of time")
	}
	return nil
}

func (c *Calls) check() error {
	n := len(c.Path)
	fits := func(length int, missing bool) bool { return missing || length == n }
	if len(c.EnterNS) != n || len(c.ExitNS) != n || !fits(len(c.Count), c.Count == nil) || !fits(len(c.Region), c.Region == nil) ||
		!fits(len(c.Phase), c.Phase == nil) || !fits(len(c.Sent), c.Sent == nil) || !fits(len(c.Received), c.Received == nil) {
		return errors.New("columns of the calls differ in length")
	}
	for k, enter := range c.EnterNS {
		if d := c.ExitNS[k] - enter; d < 0 {
			return fmt.Errorf("call %d: lasts %d ns", k, d)
		}
	}
	return nil
}

// A table finds the row of a key.
type table struct {
	rows []Row
	of   map[Key]int32
	// recent remembers rows by some bits of their key: the same few come again and again, and a map costs ten times as
	// much.
	recent [256]int32
}

func (t *table) row(k Key, counters int) *Row {
	recent := &t.recent[(k.Path*31+uint32(k.Cluster)*7+uint32(k.OfKind)*59+uint32(k.Context)*101+uint32(k.Region)*131+uint32(k.Phase)*17+uint32(k.Kind))%uint32(len(t.recent))]
	if i := *recent; int(i) < len(t.rows) && t.rows[i].Key == k {
		return &t.rows[i]
	}
	i, ok := t.of[k]
	if !ok {
		i = int32(len(t.rows))
		t.of[k] = i
		t.rows = append(t.rows, Row{Key: k, Counters: make([]Counter, counters)})
	}
	*recent = i
	return &t.rows[i]
}

func (t *Thread) kinds() []int32 {
	if t.OfKind == nil {
		return t.Cluster
	}
	return t.OfKind
}

func (t *Thread) rows(number int32, counters int) []Row {
	sums := table{of: make(map[Key]int32)}
	t.addBursts(&sums, number, counters)
	t.Calls.add(&sums, number)
	slices.SortFunc(sums.rows, func(a, b Row) int { return a.compare(b.Key) })
	return sums.rows
}

func (t *Thread) addBursts(sums *table, number int32, counters int) {
	kinds, iterations, cuts := t.kinds(), 0, t.Cuts
	for i, d := range t.DurationNS {
		k := Key{Thread: number, Kind: Computation, Path: t.After[i], Cluster: t.Cluster[i], OfKind: kinds[i], Context: -1, Phase: -1}
		if t.Region != nil {
			k.Region = t.Region[i]
		}
		if t.Context != nil {
			k.Context = t.Context[i]
		}
		for iterations < len(t.Phases) && int(t.Phases[iterations].To) <= i {
			iterations++
		}
		if iterations < len(t.Phases) && int(t.Phases[iterations].From) <= i {
			k.Phase = int32(iterations)
		}
		r := sums.row(k, counters)
		r.Count++
		r.Time.Add(d)
		for c := range r.Counters {
			if v := t.Counters[c][i]; v == NotRead {
				r.Counters[c].Missing++
			} else {
				r.Counters[c].Add(v)
			}
		}
		if len(cuts) > 0 && int(cuts[0].Record) == i {
			var own []phase.Cut
			own, cuts = ofRecord(cuts)
			estimated := t.moveCounters(sums, k, i, own)
			sums.move(k, d, own, estimated)
		}
	}
}

// ofRecord are the first cuts of a list, which are of one record, and the others.
func ofRecord(cuts []phase.Cut) (own, rest []phase.Cut) {
	n := 1
	for n < len(cuts) && cuts[n].Record == cuts[0].Record {
		n++
	}
	return cuts[:n], cuts[n:]
}

// move takes the time of a record out of the row in which it counts, and gives each region its part.
func (t *table) move(k Key, durationNS int64, cuts []phase.Cut, estimated bool) {
	counters := len(t.row(k, 0).Counters) // it is there
	t.row(k, counters).MovedNS -= durationNS
	for _, c := range cuts {
		at := k
		at.Region = c.Path
		r := t.row(at, counters)
		r.MovedNS += c.NS
		if estimated {
			r.EstimatedNS += c.NS
		}
	}
}

// moveCounters gives the regions of a burst's cuts what it has counted in each: as it was read at the borders, else in
// proportion to time, which is estimated.
func (t *Thread) moveCounters(sums *table, k Key, burst int, cuts []phase.Cut) (estimated bool) {
	if len(t.Counters) == 0 {
		return true
	}
	borders := t.Readings.Borders(cuts)
	byPath, _ := phase.ByPath(cuts)
	until := make([]int64, len(borders))
	exact := 0
	for c, column := range t.Counters {
		value := column[burst]
		if value == NotRead {
			continue
		}
		give := func(list []phase.Cut) func(cut int, part int64) {
			return func(cut int, part int64) {
				at := k
				at.Region = list[cut].Path
				sums.row(at, len(t.Counters)).Counters[c].MovedTotal += part
			}
		}
		for i, row := range borders {
			until[i] = t.Readings.Counters[c][row]
		}
		shared := len(borders) > 0 && ShareRead(value, until, give(cuts))
		if shared {
			exact++
		} else {
			estimated = true
			shared = ShareCount(value, byPath, give(byPath))
		}
		if shared {
			sums.row(k, len(t.Counters)).Counters[c].MovedTotal -= value
		}
	}
	return estimated || exact == 0
}

// Borders are the rows of the readings at the ends of a record's cuts but the last; none where one is missing.
func (r *Readings) Borders(cuts []phase.Cut) []int {
	if len(r.NS) == 0 || len(cuts) < 2 {
		return nil
	}
	rows := make([]int, 0, len(cuts)-1)
	for _, c := range cuts[:len(cuts)-1] {
		behind, _ := slices.BinarySearch(r.NS, c.EndNS+1)
		if behind == 0 || r.NS[behind-1] != c.EndNS {
			return nil
		}
		rows = append(rows, behind-1)
	}
	return rows
}

// ShareRead shares what a burst has counted among its cuts by what it had counted until the end of each but the last:
// what all of them have is what was counted. False, and nothing is given: a value was not read, or is beyond the one
// behind it, as that of a counter that was set back or is itself an estimate.
func ShareRead(value int64, until []int64, give func(cut int, part int64)) bool {
	last := int64(0)
	for _, v := range until {
		if v == NotRead || value >= 0 && (v < last || v > value) || value < 0 && (v > last || v < value) {
			return false
		}
		last = v
	}
	last = 0
	for i, v := range until {
		give(i, v-last)
		last = v
	}
	give(len(until), value-last)
	return true
}

// ShareCount shares what a burst has counted among its cuts, in proportion to time: what all of them have is what was
// counted. Where they have no time none has a part.
func ShareCount(value int64, cuts []phase.Cut, give func(cut int, part int64)) (shared bool) {
	all := int64(0)
	for _, c := range cuts {
		all += c.NS
	}
	if all == 0 {
		return false
	}
	spent, given := int64(0), int64(0)
	for i, cut := range cuts {
		spent += cut.NS
		to := Proportion(value, spent, all)
		give(i, to-given)
		given = to
	}
	return true
}

// Proportion is value·part/all without its fraction; 0 ≤ part ≤ all.
func Proportion(value, part, all int64) int64 {
	size := uint64(value)
	if value < 0 {
		size = -size
	}
	high, low := bits.Mul64(size, uint64(part))
	quotient, _ := bits.Div64(high, low, uint64(all))
	if value < 0 {
		return -int64(quotient)
	}
	return int64(quotient)
}

func (c *Calls) add(sums *table, number int32) {
	cuts := c.Cuts
	for i, enter := range c.EnterNS {
		k := Key{Thread: number, Kind: MPI, Path: c.Path[i], Context: -1, Phase: -1}
		if c.Region != nil {
			k.Region = c.Region[i]
		}
		if c.Phase != nil {
			k.Phase = c.Phase[i]
		}
		r := sums.row(k, 0)
		if c.Count == nil {
			r.Count++
		} else {
			r.Count += c.Count[i]
		}
		d := c.ExitNS[i] - enter
		r.Time.Add(d)
		if c.Sent != nil {
			r.Sent += c.Sent[i]
		}
		if c.Received != nil {
			r.Received += c.Received[i]
		}
		if len(cuts) > 0 && int(cuts[0].Record) == i {
			var own []phase.Cut
			own, cuts = ofRecord(cuts)
			sums.move(k, d, own, false)
		}
	}
}

func (k Key) compare(o Key) int {
	return cmp.Or(
		cmp.Compare(k.Thread, o.Thread), cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.Path, o.Path),
		cmp.Compare(k.Cluster, o.Cluster), cmp.Compare(k.OfKind, o.OfKind), cmp.Compare(k.Context, o.Context), cmp.Compare(k.Region, o.Region), cmp.Compare(k.Phase, o.Phase),
	)
}
