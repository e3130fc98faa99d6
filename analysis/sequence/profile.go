package sequence

import (
	"slices"

	"moriens/analysis/team"
)

// A profile is an alignment in the making.
type profile struct {
	columns []column
	threads int64 // of the pieces in it
}

// A column says how many threads do what there.
type column struct {
	main  entry // of the label that most do; ties are the earlier one's
	other []entry
}

type entry struct {
	label   int32
	threads int64
}

func (c *column) threadsWith(label int32) int64 {
	if c.main.label == label {
		return c.main.threads
	}
	for _, e := range c.other {
		if e.label == label {
			return e.threads
		}
	}
	return 0
}

func (c *column) occupied() int64 {
	sum := c.main.threads
	for _, e := range c.other {
		sum += e.threads
	}
	return sum
}

func (c *column) add(label int32, threads int64) {
	if c.main.label == label {
		c.main.threads += threads
		return
	}
	i := slices.IndexFunc(c.other, func(e entry) bool { return e.label == label })
	if i < 0 {
		i = len(c.other)
		c.other = append(c.other, entry{label: label})
	}
	c.other[i].threads += threads
	if c.other[i].threads > c.main.threads {
		c.main, c.other[i] = c.other[i], c.main
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
			p.columns[c].add(x.labels[i], x.threads)
		}
	}
	if news == 0 {
		return
	}
	columns := make([]column, 0, len(p.columns)+news)
	copied := int32(0)
	for i, c := range at {
		if c == inserted {
			columns = append(columns, column{main: entry{x.labels[i], x.threads}})
			continue
		}
		columns = append(columns, p.columns[copied:c+1]...)
		copied = c + 1
	}
	p.columns = append(columns, p.columns[copied:]...)
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
	a.each(len(segments), func(next func() (int, bool)) {
		w := newWork(a)
		for s, ok := next(); ok && !a.over(); s, ok = next() {
			segments[s].result = w.count(w.alignPieces(segments[s].pieces))
		}
	})
	return a.agree()
}

// alignPieces aligns pieces one after the other.
func (w *work) alignPieces(pieces []piece) *profile {
	first := &pieces[0]
	p := &profile{columns: make([]column, len(first.labels)), threads: first.threads}
	for i, label := range first.labels {
		p.columns[i] = column{main: entry{label, first.threads}}
	}
	for i := range pieces[1:] {
		if w.over() {
			break
		}
		p.join(&pieces[1+i], w.align(p, pieces[1+i].labels))
	}
	return p
}
