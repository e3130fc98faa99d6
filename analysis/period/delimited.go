package period

import (
	"cmp"
	"slices"
)

// delimited is the way with iterations between delimiters. Repetitions elsewhere are kept.
func (f *finder) delimited(w *way, list []delimiter) way {
	d := *w
	d.delimiters = list
	d.sequences = make([]*sequence, len(w.sequences))
	for i, s := range w.sequences {
		own := *s
		d.sequences[i] = &own
		if k := slices.IndexFunc(s.threads, f.Mine); k >= 0 {
			own.delimit(&w.view[s.threads[k]], &d)
		}
	}
	d.reference = f.agree(d.view, d.sequences)
	return d
}

// delimit puts a section for each delimiter in the place of those that it touches.
func (s *sequence) delimit(t *Thread, w *way) {
	var list []section
	for i := range w.delimiters {
		if x, ok := s.between(t, &w.delimiters[i], w.byCalls); ok {
			x.delimiter, x.byCalls = i+1, w.byCalls
			list = append(list, x)
		}
	}
	apart := func(a, b *section) bool { return a.to <= b.from || b.to <= a.from }
	var kept []section
	for i := range list {
		if !slices.ContainsFunc(list[:i], func(x section) bool { return !apart(&x, &list[i]) }) {
			kept = append(kept, list[i])
		}
	}
	list = kept
	for i := range s.sections {
		if !slices.ContainsFunc(list, func(x section) bool { return !apart(&x, &s.sections[i]) }) {
			kept = append(kept, s.sections[i])
		}
	}
	slices.SortFunc(kept, func(a, b section) int { return cmp.Compare(a.from, b.from) })
	s.sections = kept
}

// findLeads finds what comes before delimiters that are at no anchors: on each thread alone, then as most threads have
// it, so that iterations begin with the same on all.
func (f *finder) findLeads(w *way, list []delimiter) {
	for i := range list {
		d := &list[i]
		if d.atAnchors {
			continue
		}
		threads := make(map[int]int64)
		for _, s := range w.sequences {
			if t := s.threads[0]; f.Mine(t) && len(w.view[t].Symbols) > 0 {
				threads[int(leadOf(w.view[t].Symbols, positions(w.view[t].Symbols, d.symbol)))] += int64(len(s.threads))
			}
		}
		f.addUp(nil, threads)
		most := int64(0)
		for lead, n := range threads {
			if n > most || n == most && int32(lead) < d.lead {
				most, d.lead = n, int32(lead)
			}
		}
	}
}

// leadOf gives how many bursts before the first delimiter are also before seven in eight of all, up to half of the
// usual distance.
func leadOf(symbols []uint32, cuts []int32) int32 {
	most := min(int32(medianGap(cuts)/2), cuts[0])
	for lead := int32(1); lead <= most; lead++ {
		like := 0
		for _, at := range cuts {
			like += truth(at >= lead && symbols[at-lead] == symbols[cuts[0]-lead])
		}
		if float64(like) < regularly*float64(len(cuts)) {
			return lead - 1
		}
	}
	return most
}

// goBack moves begins from the delimiters to what comes before most of them. Where a burst was lost or added, that is
// where it is nearly.
func (d *delimiter) goBack(symbols []uint32, begins []int32) {
	if d.lead == 0 {
		return
	}
	leader, votes := uint32(0), 0 // a majority vote (Boyer and Moore)
	for _, begin := range begins {
		switch at := begin - d.lead; {
		case at < 0:
		case votes == 0:
			leader, votes = symbols[at], 1
		case symbols[at] == leader:
			votes++
		default:
			votes--
		}
	}
	for k := len(begins) - 1; k >= 0; k-- {
		floor := int32(0)
		if k > 0 {
			floor = begins[k-1] + 1
		}
		at := max(begins[k]-d.lead, floor)
		for _, off := range []int32{0, -1, 1, -2, 2} {
			if i := at + off; i >= floor && i <= begins[k] && symbols[i] == leader {
				at = i
				break
			}
		}
		begins[k] = at
	}
}

// between gives the section whose iterations begin at the delimiter. It has neither runs nor a loop.
func (s *sequence) between(t *Thread, d *delimiter, byCalls bool) (section, bool) {
	begins := positions(t.Symbols, d.symbol)
	if len(begins) < leastDelimiters {
		return section{}, false
	}
	d.goBack(t.Symbols, begins)
	anchored := 0
	for _, at := range begins {
		anchored += truth(t.anchored(at))
	}
	last, all := len(begins)-1, len(begins)
	first, has := head(t.Symbols, begins)
	if end, ok := tail(t.Symbols, begins); ok {
		begins = append(begins, end)
	}
	if has {
		begins = slices.Insert(begins, 0, first)
	}
	x := section{lag: 1, begins: begins}
	if float64(anchored) >= regularly*float64(all) {
		x.looseFirst, x.looseLast = has && !t.anchored(first), len(begins)-1 > last && !t.anchored(begins[len(begins)-1])
		x.atAnchors(t)
	}
	x.from, x.to = x.begins[0], x.begins[x.iterations()]
	x.period = medianGap(x.begins)
	x.whole = x.begins
	if x.iterations() < 3 || !byCalls && !s.folder.regular(&x, s.folder.raw) {
		return section{}, false
	}
	return x, true
}

// tail gives the end of the iteration that the last delimiter begins, if it is one: three quarters of what iterations
// have in common are there. It ends where most of the bursts before, and fewest behind, are such as an iteration has.
func tail(symbols []uint32, cuts []int32) (int32, bool) {
	n := len(cuts) - 1
	usual, left, asked := usualCounts(symbols, cuts[max(0, n-blockPieces):])
	end, ok := cuts[n], false
	matched, sum, most := 0, 0, 0
	for i := cuts[n]; int(i) < len(symbols) && int(i-cuts[n]) < 2*asked; i++ {
		x := symbols[i]
		matched += take(usual, x)
		has := take(left, x)
		if sum += 2*has - 1; has > 0 && sum >= most {
			most, end, ok = sum, i+1, 4*matched >= 3*asked
		}
	}
	return end, ok
}

// head gives the begin of an iteration that is there before the first delimiter but lacks this.
func head(symbols []uint32, cuts []int32) (int32, bool) {
	usual, left, asked := usualCounts(symbols, cuts[:min(len(cuts), blockPieces+1)])
	begin, ok := cuts[0], false
	matched, sum, most := 0, 0, 0
	for i := cuts[0] - 1; i >= 0 && int(cuts[0]-i) < 2*asked; i-- {
		x := symbols[i]
		matched += take(usual, x)
		has := take(left, x)
		if sum += 2*has - 1; has > 0 && sum >= most {
			most, begin, ok = sum, i, 4*matched >= 3*asked
		}
	}
	return begin, ok
}

// take takes one of the symbol if there is one left.
func take(left map[uint32]int32, symbol uint32) int {
	if left[symbol] == 0 {
		return 0
	}
	left[symbol]--
	return 1
}

// usualCounts gives how often the pieces, as many as a block has at most, have each symbol: most of them, and at most;
// and how many bursts of these all have, or half of them one that is broken.
func usualCounts(symbols []uint32, cuts []int32) (usual, highest map[uint32]int32, common int) {
	counts := make(map[uint32]*[blockPieces]int32)
	n := len(cuts) - 1
	for k := range n {
		for _, x := range symbols[cuts[k]:cuts[k+1]] {
			if counts[x] == nil {
				counts[x] = new([blockPieces]int32)
			}
			counts[x][k]++
		}
	}
	usual, highest = make(map[uint32]int32), make(map[uint32]int32)
	var alike [blockPieces]int32
	for x, list := range counts {
		usual[x], highest[x] = medianCount(list[:n]), slices.Max(list[:n])
		for k := range n {
			alike[k] += min(usual[x], list[k])
		}
	}
	slices.Sort(alike[:n])
	return usual, highest, int(max(alike[0], alike[n/2]/2))
}
