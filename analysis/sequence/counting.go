package sequence

const (
	// fewEdits is where a window ends that may yet be counted: it has shown by then whether over 5 % differ.
	fewEdits = 32
	// manyMatches is how many matches of windows with few differences wait for their columns at most: memory.
	manyMatches = 1 << 16
	// searchSteps is how many steps of searches a burst pays for.
	searchSteps = 16
)

// differs reports whether over 5 % of so many columns and bursts, together, are without a match.
func differs(alone, together int) bool { return 20*alone > together }

// counting aligns a stretch where windows with over 5 % differences go by counting columns: blocks say what agrees, and
// what lies between goes to the columns with the same ordinals. The cost is about linear in the stretch's bursts.
type counting struct {
	*work
	p      *profile
	labels []int32
	rest   stretch // from here on nothing has a column yet
	credit int     // steps for searches
}

// alignCounting is the alignment of a stretch of which w.main are the main columns.
func (w *work) alignCounting(p *profile, labels []int32, all stretch) {
	w.mainLabels = sized(w.mainLabels, len(w.main))
	for i, c := range w.main {
		w.mainLabels[i] = p.columns[c].label
	}
	if w.block.place == nil {
		w.block.place = make([]int32, w.Count)
	}
	c := counting{work: w, p: p, labels: labels, rest: all, credit: searchSteps * (all.lastBurst - all.burst)}
	n, m := len(w.main), all.lastBurst
	column, burst := 0, all.burst
	w.edits.found = w.edits.found[:0]
	counts := false
	for column < n && burst < m && !w.over() {
		if counts {
			x, y, alone := c.next(column, burst, n, m)
			w.counted += int64(y)
			column, burst = column+x, burst+y
			counts = differs(alone, x+y)
			continue
		}
		first, second := w.mainLabels[column:n], labels[burst:m]
		edits, diagonal := w.edits.window(len(first), len(second), fewEdits, func(i, j int) bool { return first[i] == second[j] })
		x := int(w.edits.at(edits, diagonal))
		if counts = differs(edits, 2*x-diagonal); counts {
			c.byWeights(column, burst)
			continue
		}
		if column, burst = w.edits.keep(column, burst, n, m, edits, diagonal); len(w.edits.found) >= manyMatches {
			c.byWeights(column, burst)
		}
	}
	if counts {
		w.counted += int64(m - burst)
		c.fill(all.lastColumn, all.lastBurst)
		return
	}
	c.byWeights(n, m)
}

// byWeights aligns what the editor has come over, up to a main column and a burst.
func (c *counting) byWeights(column, burst int) {
	end := c.rest
	end.lastBurst = burst
	if column < len(c.main) {
		end.lastColumn = int(c.main[column])
	}
	found := c.edits.found
	for i := range found {
		found[i].column = c.main[found[i].column]
	}
	c.stretches(c.p, c.labels, end, found)
	c.edits.found = found[:0]
	c.rest.column, c.rest.burst = end.lastColumn, end.lastBurst
}

// next counts a block and returns how many main columns and bursts it has come over, and how many of these are without
// a match.
func (c *counting) next(column, burst, n, m int) (x, y, alone int) {
	columns, bursts := min(blockSize, n-column), min(blockSize, m-burst)
	found := c.block.common(c.p, c.main[column:column+columns], c.labels[burst:burst+bursts])
	if columns == n-column && bursts == m-burst {
		c.pair(found, column, burst)
		return columns, bursts, columns + bursts - 2*len(found)
	}
	// The way to the corner is no more than a guess; its first seven eighths hardly depend on that.
	for len(found) > 0 && 8*int(found[0].column+found[0].burst+2) > 7*(columns+bursts) {
		found = found[1:]
	}
	if lastLongRun(found) < 0 {
		if x, y, ok := c.search(column, burst, n, m); ok {
			return x, y, x + y
		}
	}
	if len(found) > 0 {
		x, y = int(found[0].column)+1, int(found[0].burst)+1
	}
	if 4*(x+y) < columns+bursts { // next to nothing agrees: on by counting alone
		x, y = max(x, columns/4, 1), max(y, bursts/4, 1)
	}
	c.pair(found, column, burst)
	return x, y, x + y - 2*len(found)
}

// search looks farther than a block where nothing agrees in one. The bursts of the piece pay for that, so that all
// searches together cost no more than they do. The side that is behind goes on by the shift.
func (c *counting) search(column, burst, n, m int) (x, y int, ok bool) {
	if c.credit < 2*voteReach {
		return 0, 0, false
	}
	c.credit -= 2 * voteReach
	shift, ok := c.voter.shift(c.mainLabels[column:n], c.labels[burst:m])
	return max(shift, 0), max(-shift, 0), ok
}

// pair gives the bursts of matches, last first, their columns, and counts between them.
func (c *counting) pair(reverse []match, column, burst int) {
	for i := len(reverse) - 1; i >= 0; i-- {
		to, at := int(c.main[column+int(reverse[i].column)]), burst+int(reverse[i].burst)
		c.fill(to, at)
		c.at[at] = int32(to)
		c.rest.column, c.rest.burst = to+1, at+1
	}
}

// fillAhead is how many columns fill looks at for one that has a burst's label.
const fillAhead = 64

// fill gives columns to the bursts up to a match: to each the next that has its label already, or else the next main
// one, or else the next, as long as those that follow have one too. More bursts than columns get columns of their own.
func (c *counting) fill(lastColumn, lastBurst int) {
	column := c.rest.column
	for b := c.rest.burst; b < lastBurst && column < lastColumn; b++ {
		end := min(max(lastColumn-(lastBurst-1-b), column+1), column+fillAhead)
		to, isMain := column, false
		for i := column; i < end; i++ {
			x := &c.p.columns[i]
			if c.p.threadsWith(x, c.labels[b]) > 0 {
				to = i
				break
			}
			if !isMain && c.p.isMain(x) {
				to, isMain = i, true
			}
		}
		c.at[b] = int32(to)
		column = to + 1
	}
	c.rest.column, c.rest.burst = column, lastBurst
}
