package cells

import (
	"cmp"
	"slices"

	"moriens/analysis/moment"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// Labels of bursts in no unit, as in CellsSums.
const (
	labelShort   = -2
	labelMissing = -3
)

// sumBytes is about how large a sum without counters is in a message.
const sumBytes = 8 + 1 + 6*5 + 10*10

// sum answers with level 1 of all rings, by the latest labelling.
func (k *Store) sum(to *reply) error {
	counters := k.surveyed.counters
	perPart := max(1, partBytes/(sumBytes+70*counters))
	message := new(moriensv1.CellsSums)
	for number := 0; ; number++ {
		k.mu.Lock()
		if number == len(k.rings) {
			k.mu.Unlock()
			break
		}
		r := k.rings[number]
		var rows []sumRow
		if f := k.outcome(); f == nil {
			rows = k.labels.sumUp(r, counters)
		} else if ring := slices.Index(f.rings, r); ring >= 0 {
			rows = f.sumUp(ring, counters)
		}
		phases := r.closed(k.clock(r.process.clock).nsPerTick)
		k.mu.Unlock()
		var err error
		if message, err = to.phases(message, r.id, &phases); err != nil {
			return err
		}
		for i := range rows {
			if len(message.Ring) >= perPart {
				if err := to.sums(message); err != nil {
					return err
				}
				message = new(moriensv1.CellsSums)
			}
			rows[i].send(message, r.id)
		}
	}
	return to.sums(message)
}

func (r *reply) sums(m *moriensv1.CellsSums) error {
	return r.send(&moriensv1.CellsAnswer{Body: &moriensv1.CellsAnswer_Sums{Sums: m}})
}

// A sumRow is bursts or calls of one site of a ring, in one phase path.
type sumRow struct {
	call      bool
	site      section.Site
	of        labelled
	path      int32
	count     uint64
	time      moment.Sum
	moved     int64        // what the path has of what counts in others, less what others have of its own
	estimated int64        // time in the path of bursts that borders cut
	counters  []moment.Sum // of bursts: as many as were reported
	shifted   []int64      // likewise: as moved
}

// sumRows are the rows of one ring at work.
type sumRows struct {
	ring     *ring
	counters int
	place    map[rowKey]int
	rows     []sumRow
}

type rowKey struct {
	call bool
	site uint32
	of   labelled
	path int32
}

// A labelled is the cluster and the kind of bursts.
type labelled struct{ label, kind int32 }

func newSumRows(r *ring, counters int) *sumRows {
	return &sumRows{ring: r, counters: counters, place: make(map[rowKey]int)}
}

func (s *sumRows) row(at rowKey) *sumRow {
	n, known := s.place[at]
	if !known {
		n = len(s.rows)
		s.place[at] = n
		x := sumRow{call: at.call, site: s.ring.process.sites[at.site].Site, of: at.of, path: at.path}
		if !at.call {
			x.counters, x.shifted = make([]moment.Sum, s.counters), make([]int64, s.counters)
		}
		s.rows = append(s.rows, x)
	}
	return &s.rows[n]
}

// add adds the i-th sum of bursts of the ring, which labels share.
func (s *sumRows) add(i int, by *sharing) {
	r, key := s.ring, s.ring.sums.keys[i]
	events := len(r.process.events)
	times := make([]int64, len(by.of))
	for k, of := range by.of {
		x := s.row(rowKey{site: key.site, of: of, path: pathOf(key.in)})
		time := by.part(r.sums.times[i], k, true)
		times[k] = time.Total
		x.time.Merge(time)
		x.count = uint64(x.time.N)
		for e, counter := range r.process.events {
			if counter < s.counters {
				x.counters[counter].Merge(by.part(r.sums.counts[i*events+e], k, false))
			}
		}
	}
	if isCut(key.in) {
		s.cut(key, r.sums.cuts[i], times, by)
	}
}

// cut gives the paths that a sum's bursts lie in their parts of it. times are those of the labels that share the sum.
func (s *sumRows) cut(key sumKey, parts []cutPart, times []int64, by *sharing) {
	n, read := len(parts), int64(0)
	columns := make([]int64, 2*n) // estimated time, then the other
	for q := range parts {
		columns[q], columns[n+q] = parts[q].estimated, parts[q].ns-parts[q].estimated
		read += columns[n+q]
	}
	if read == 0 {
		columns = columns[:n]
	}
	table := shareTable(times, columns)
	own := pathOf(key.in)
	for k, of := range by.of {
		for q := range parts {
			p := &parts[q]
			at := rowKey{site: key.site, of: of, path: p.path}
			s.row(at).estimated += table[k][q]
			if p.path == own {
				continue
			}
			to, ns := s.row(at), table[k][q]
			if read > 0 {
				ns += table[k][n+q]
			}
			to.moved += ns
			for e, counter := range s.ring.process.events {
				if counter < s.counters {
					to.shifted[counter] += by.count(p.counts[e], k)
				}
			}
			from := s.row(rowKey{site: key.site, of: of, path: own})
			from.moved -= ns
			for e, counter := range s.ring.process.events {
				if counter < s.counters {
					from.shifted[counter] -= by.count(p.counts[e], k)
				}
			}
		}
	}
}

// addCalls adds all sums of calls.
func (s *sumRows) addCalls() {
	for i, key := range s.ring.sums.calls.keys {
		c := &s.ring.sums.calls.rows[i]
		at := rowKey{call: true, site: key.site, path: pathOf(key.in)}
		x := s.row(at)
		x.count += c.calls
		x.time.Merge(c.time)
		for _, p := range c.cuts {
			if p.path != at.path {
				s.row(at).moved -= p.ns
				s.row(rowKey{call: true, site: key.site, path: p.path}).moved += p.ns
			}
		}
	}
}

// sorted are the rows, and those of calls.
func (s *sumRows) sorted() []sumRow {
	s.addCalls()
	slices.SortFunc(s.rows, func(a, b sumRow) int {
		switch { // bursts first
		case a.call && !b.call:
			return 1
		case b.call && !a.call:
			return -1
		}
		return cmp.Or(
			cmp.Compare(a.site.Path, b.site.Path), cmp.Compare(a.site.Function, b.site.Function), cmp.Compare(a.of.label, b.of.label), cmp.Compare(a.of.kind, b.of.kind),
			cmp.Compare(a.path, b.path),
		)
	})
	return s.rows
}

// sumUp puts the sums of units with one label together.
func (l *labelling) sumUp(r *ring, counters int) []sumRow {
	s := newSumRows(r, counters)
	for i, own := range r.sums.keys {
		s.add(i, sole(l.of(own.unit)))
	}
	return s.sorted()
}

// of is the label of a unit, or of what is in none.
func (l *labelling) of(unit uint32) int32 {
	switch {
	case unit == unitShort:
		return labelShort
	case unit == unitMissing:
		return labelMissing
	case int(unit) >= len(l.labels):
		return 0
	}
	return l.labels[unit]
}

// send adds a row to a message.
func (r *sumRow) send(m *moriensv1.CellsSums, ring uint64) {
	m.Ring, m.Call, m.Path = append(m.Ring, ring), append(m.Call, r.call), append(m.Path, r.site.Path)
	m.Function, m.Count = append(m.Function, uint32(r.site.Function)), append(m.Count, r.count)
	m.Label, m.Kind = append(m.Label, r.of.label), append(m.Kind, r.of.kind)
	m.Phase, m.MovedNs, m.EstimatedNs = append(m.Phase, uint32(r.path)), append(m.MovedNs, r.moved), append(m.EstimatedNs, uint64(r.estimated))
	t := &r.time
	m.Records, m.TotalNs = append(m.Records, uint64(t.N)), append(m.TotalNs, uint64(t.Total))
	m.SquaresLow, m.SquaresHigh = append(m.SquaresLow, t.Squares.Low), append(m.SquaresHigh, t.Squares.High)
	m.MinNs, m.MaxNs = append(m.MinNs, uint64(t.Min)), append(m.MaxNs, uint64(t.Max))
	for i := range r.counters {
		c := &r.counters[i]
		m.Read, m.Counter = append(m.Read, uint64(c.N)), append(m.Counter, c.Total)
		m.CounterSquaresLow, m.CounterSquaresHigh = append(m.CounterSquaresLow, c.Squares.Low), append(m.CounterSquaresHigh, c.Squares.High)
		m.CounterMin, m.CounterMax = append(m.CounterMin, c.Min), append(m.CounterMax, c.Max)
		m.CounterMoved = append(m.CounterMoved, r.shifted[i])
	}
}
