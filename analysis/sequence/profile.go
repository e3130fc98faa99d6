package sequence

import (
	"slices"
	"sync"

	"moriens/internal/team"
)

// A profile is an alignment in the making.
type profile struct {
	columns []column
	threads int64     // of the pieces in it
	others  [][]entry // of columns with several labels: all but the one that most threads have
	alone   []column  // that the last piece alone has
}

// A column says how many threads do what there. It holds no pointer: there are as many as bursts.
type column struct {
	label    int32 // that most have; ties are the earlier one's
	others   int32 // 1 + where the other labels are in the profile's others; 0 = there are none
	threads  int64 // with that label
	occupied int64 // threads with any
}

type entry struct {
	label   int32
	threads int64
}

func newColumn(label int32, threads int64) column {
	return column{label: label, threads: threads, occupied: threads}
}

// isMain reports whether at least half of the threads have a burst in a column.
func (p *profile) isMain(c *column) bool { return 2*c.occupied >= p.threads }

// othersOf are the labels of a column but for the one that most have.
func (p *profile) othersOf(c *column) []entry {
	if c.others == 0 {
		return nil
	}
	return p.others[c.others-1]
}

func (p *profile) threadsWith(c *column, label int32) int64 {
	if c.label == label {
		return c.threads
	}
	for _, e := range p.othersOf(c) {
		if e.label == label {
			return e.threads
		}
	}
	return 0
}

func (p *profile) add(at, label int32, threads int64) {
	c := &p.columns[at]
	c.occupied += threads
	if c.label == label {
		c.threads += threads
		return
	}
	if c.others == 0 {
		p.others = append(p.others, nil)
		c.others = int32(len(p.others))
	}
	others := p.others[c.others-1]
	i := slices.IndexFunc(others, func(e entry) bool { return e.label == label })
	if i < 0 {
		i = len(others)
		others = append(others, entry{label: label})
		p.others[c.others-1] = others
	}
	others[i].threads += threads
	if e := others[i]; e.threads > c.threads {
		others[i] = entry{c.label, c.threads}
		c.label, c.threads = e.label, e.threads
	}
}

// inserted stands for the column of a burst that gets one of its own.
const inserted int32 = -1

// join adds a piece whose bursts go to the columns that at names, ascending.
func (p *profile) join(x *piece, at []int32) {
	p.threads += x.threads
	news := 0
	for i, c := range at {
		if c == inserted {
			news++
		} else {
			p.add(c, x.labels[i], x.threads)
		}
	}
	from := len(p.columns)
	p.columns = slices.Grow(p.columns, news)[:from+news]
	for end := len(at); news > 0; { // from the end, each column moves once: behind it are as many new ones as are left
		for end > 0 && at[end-1] != inserted {
			end--
		}
		begin, after := end, 0
		for begin > 0 && at[begin-1] == inserted {
			begin--
		}
		if begin > 0 {
			after = int(at[begin-1]) + 1
		}
		copy(p.columns[after+news:], p.columns[after:from])
		for i := end - 1; i >= begin; i-- {
			news--
			p.columns[after+news] = newColumn(x.labels[i], x.threads)
		}
		end, from = begin, after
	}
}

// finish joins the last piece. Nothing is aligned with it, so that its own columns need no place.
func (p *profile) finish(x *piece, at []int32) {
	p.threads += x.threads
	for i, c := range at {
		if c == inserted {
			p.alone = append(p.alone, newColumn(x.labels[i], x.threads))
		} else {
			p.add(c, x.labels[i], x.threads)
		}
	}
}

// alignAll aligns the segments, each by itself.
func (a *aligner) alignAll(segments []segment) error {
	differ, err := team.Any(a.Team, slices.ContainsFunc(segments, func(s segment) bool { return len(s.pieces) > 1 }))
	if err != nil {
		return err
	}
	if differ {
		a.weigh()
		if err := a.signLabels(segments); err != nil {
			return err
		}
		if err := a.order(segments); err != nil {
			return err
		}
	}
	a.total = counts{labels: make([]labelCount, a.Count)}
	var mu sync.Mutex
	a.each(len(segments), func(next func() (int, bool)) {
		w := newWork(a)
		for s, ok := next(); ok && !a.over(); s, ok = next() {
			if len(segments[s].pieces) == 1 {
				w.countAlike(&segments[s].pieces[0])
				continue
			}
			p, counted := w.alignPieces(segments[s].pieces)
			w.count(p)
			w.columns.counted += counted
		}
		mu.Lock()
		defer mu.Unlock()
		a.total.merge(&w.columns)
	})
	return a.agree()
}

// alignPieces aligns pieces one after the other, and says how many bursts of their threads it aligned by counting.
func (w *work) alignPieces(pieces []piece) (p *profile, counted int64) {
	first := &pieces[0]
	p = &profile{columns: make([]column, len(first.labels)), threads: first.threads}
	for i, label := range first.labels {
		p.columns[i] = newColumn(label, first.threads)
	}
	for i := range pieces[1:] {
		if w.over() {
			break
		}
		x := &pieces[1+i]
		at := w.align(p, x.labels)
		if 2+i < len(pieces) {
			p.join(x, at)
		} else {
			p.finish(x, at)
		}
		counted += w.counted * x.threads
	}
	return p, counted
}
