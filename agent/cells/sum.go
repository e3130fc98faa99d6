package cells

import (
	"cmp"
	"slices"

	"moriens/analysis/moment"
	moriensv1 "moriens/proto/moriens/v1"
)

// Labels of bursts in no unit, as in CellsSums.
const (
	labelShort   = -2
	labelMissing = -3
)

// sum answers with level 1 of all rings, by the latest labelling.
func (k *Keeper) sum(to *reply) error {
	counters := k.told.counters
	perPart := max(1, partBytes/(8+1+4*5+8*10+60*counters))
	message := new(moriensv1.CellsSums)
	for number := 0; ; number++ {
		k.mu.Lock()
		if number == len(k.rings) {
			k.mu.Unlock()
			break
		}
		r := k.rings[number]
		rows := k.labels.sumUp(r, counters)
		k.mu.Unlock()
		for i := range rows {
			if len(message.Ring) >= perPart {
				if err := to.sums(message); err != nil {
					return err
				}
				message = new(moriensv1.CellsSums)
			}
			rows[i].tell(message, r.id)
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
	site     siteKey
	label    int32
	count    uint64
	time     moment.Sum
	counters []moment.Sum // of bursts: as many as were told
}

// sumUp puts the sums of units with one label together.
func (l *labelling) sumUp(r *ring, counters int) []sumRow {
	type key struct {
		site  uint32
		label int32
	}
	place := make(map[key]int)
	var rows []sumRow
	events := len(r.process.events)
	for i, own := range r.sums.keys {
		at := key{own.site, l.of(own.unit)}
		n, known := place[at]
		if !known {
			n = len(rows)
			place[at] = n
			rows = append(rows, sumRow{site: r.process.sites[own.site].siteKey, label: at.label, counters: make([]moment.Sum, counters)})
		}
		rows[n].time.Merge(r.sums.times[i])
		for e, counter := range r.process.events {
			if counter < counters {
				rows[n].counters[counter].Merge(r.sums.counts[i*events+e])
			}
		}
	}
	for i := range rows {
		rows[i].count = uint64(rows[i].time.N)
	}
	for number, c := range r.sums.calls {
		if c.calls > 0 {
			rows = append(rows, sumRow{call: true, site: r.process.sites[number].siteKey, count: c.calls, time: c.time})
		}
	}
	slices.SortFunc(rows, func(a, b sumRow) int {
		switch { // bursts first
		case a.call && !b.call:
			return 1
		case b.call && !a.call:
			return -1
		}
		return cmp.Or(cmp.Compare(a.site.path, b.site.path), cmp.Compare(a.site.function, b.site.function), cmp.Compare(a.label, b.label))
	})
	return rows
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

// tell adds a row to a message.
func (r *sumRow) tell(m *moriensv1.CellsSums, ring uint64) {
	m.Ring, m.Call, m.Path = append(m.Ring, ring), append(m.Call, r.call), append(m.Path, r.site.path)
	m.Function, m.Label, m.Count = append(m.Function, r.site.function), append(m.Label, r.label), append(m.Count, r.count)
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
