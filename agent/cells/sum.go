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

// sum answers with level 1 of all rings, by the latest labelling.
func (k *Store) sum(to *reply) error {
	counters := k.surveyed.counters
	perPart := max(1, partBytes/(8+1+5*5+8*10+60*counters))
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
		k.mu.Unlock()
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

// A sumRow is bursts or calls of one site of a ring.
type sumRow struct {
	call     bool
	site     section.Site
	of       labelled
	count    uint64
	time     moment.Sum
	counters []moment.Sum // of bursts: as many as were reported
}

// sumRows are the rows of one ring at work.
type sumRows struct {
	ring     *ring
	counters int
	place    map[siteLabel]int
	rows     []sumRow
}

type siteLabel struct {
	site uint32
	of   labelled
}

// A labelled is the cluster and the kind of bursts.
type labelled struct{ label, kind int32 }

func newSumRows(r *ring, counters int) *sumRows {
	return &sumRows{ring: r, counters: counters, place: make(map[siteLabel]int)}
}

// add adds the part of the i-th sum of the ring that bursts with one label have: all, where all of its bursts have it.
func (s *sumRows) add(i int, site uint32, of labelled, by *sharing, k int) {
	r, at := s.ring, siteLabel{site, of}
	events := len(r.process.events)
	n, known := s.place[at]
	if !known {
		n = len(s.rows)
		s.place[at] = n
		s.rows = append(s.rows, sumRow{site: r.process.sites[site].Site, of: of, counters: make([]moment.Sum, s.counters)})
	}
	s.rows[n].time.Merge(by.part(r.sums.times[i], k, true))
	for e, counter := range r.process.events {
		if counter < s.counters {
			s.rows[n].counters[counter].Merge(by.part(r.sums.counts[i*events+e], k, false))
		}
	}
}

// sorted are the rows, and those of calls.
func (s *sumRows) sorted() []sumRow {
	rows := s.rows
	for i := range rows {
		rows[i].count = uint64(rows[i].time.N)
	}
	r := s.ring
	for number, c := range r.sums.calls {
		if c.calls > 0 {
			rows = append(rows, sumRow{call: true, site: r.process.sites[number].Site, count: c.calls, time: c.time})
		}
	}
	slices.SortFunc(rows, func(a, b sumRow) int {
		switch { // bursts first
		case a.call && !b.call:
			return 1
		case b.call && !a.call:
			return -1
		}
		return cmp.Or(cmp.Compare(a.site.Path, b.site.Path), cmp.Compare(a.site.Function, b.site.Function), cmp.Compare(a.of.label, b.of.label), cmp.Compare(a.of.kind, b.of.kind))
	})
	return rows
}

// sumUp puts the sums of units with one label together.
func (l *labelling) sumUp(r *ring, counters int) []sumRow {
	s := newSumRows(r, counters)
	for i, own := range r.sums.keys {
		label := l.of(own.unit)
		s.add(i, own.site, labelled{label, label}, nil, 0)
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
	t := &r.time
	m.Records, m.TotalNs = append(m.Records, uint64(t.N)), append(m.TotalNs, uint64(t.Total))
	m.SquaresLow, m.SquaresHigh = append(m.SquaresLow, t.Squares.Low), append(m.SquaresHigh, t.Squares.High)
	m.MinNs, m.MaxNs = append(m.MinNs, uint64(t.Min)), append(m.MaxNs, uint64(t.Max))
	for i := range r.counters {
		c := &r.counters[i]
		m.Read, m.Counter = append(m.Read, uint64(c.N)), append(m.Counter, c.Total)
		m.CounterSquaresLow, m.CounterSquaresHigh = append(m.CounterSquaresLow, c.Squares.Low), append(m.CounterSquaresHigh, c.Squares.High)
		m.CounterMin, m.CounterMax = append(m.CounterMin, c.Min), append(m.CounterMax, c.Max)
	}
}
