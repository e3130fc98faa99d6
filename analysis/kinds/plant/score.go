package plant

// Agreement says how far a clustering finds what was planted.
type Agreement struct {
	// Purity is the share of the bursts that are in a class whose most frequent planted kind is theirs, 0–1. Noise is in
	// no class: it counts as wrong.
	Purity float64
	// ARI is the adjusted Rand index (Hubert and Arabie, J. Classification 2 (1985)): 1 for equal partitions, 0 in the
	// mean for independent ones. Each burst of noise is a class of its own. Where both partitions have one class, or both
	// as many as bursts, it is 1.
	ARI float64
}

// Compare scores what was found against the truth. Classes are labels of 0 and more; negative ones are noise. A burst
// counts weight times, such as its duration: pairs of bursts count the product. Nil is 1 for each. The numbers of the
// classes do not matter.
func Compare(truth, found []int32, weight []int64) Agreement {
	type sums struct{ w, squares float64 }
	var cells table[[2]int32, sums]
	var rows, columns table[int32, sums]
	var all sums
	for i, t := range truth {
		w := 1.
		if weight != nil {
			w = float64(weight[i])
		}
		add := func(s *sums) { s.w, s.squares = s.w+w, s.squares+w*w }
		add(&all)
		if t >= 0 {
			add(rows.at(t))
		}
		if found[i] >= 0 {
			add(columns.at(found[i]))
		}
		if t >= 0 && found[i] >= 0 {
			add(cells.at([2]int32{t, found[i]}))
		}
	}
	// Pairs of unlike bursts, each once.
	pairs := func(s sums) float64 { return (s.w*s.w - s.squares) / 2 }
	var together, ofRows, ofColumns, pure float64
	most := map[int32]float64{}
	for i, c := range cells.keys {
		s := cells.values[i]
		together += pairs(s)
		most[c[1]] = max(most[c[1]], s.w)
	}
	for _, c := range columns.keys {
		pure += most[c]
	}
	for _, s := range rows.values {
		ofRows += pairs(s)
	}
	for _, s := range columns.values {
		ofColumns += pairs(s)
	}
	a := Agreement{Purity: 1, ARI: 1}
	if all.w > 0 {
		a.Purity = pure / all.w
	}
	if total := pairs(all); total > 0 {
		expected := ofRows * ofColumns / total
		if mean := (ofRows + ofColumns) / 2; mean > expected {
			a.ARI = (together - expected) / (mean - expected)
		}
	}
	return a
}

// A table is a map whose values have an order, that of their first use, so that sums of them are the same each time.
type table[K comparable, V any] struct {
	index  map[K]int
	keys   []K
	values []V
}

func (t *table[K, V]) at(key K) *V {
	i, seen := t.index[key]
	if !seen {
		if t.index == nil {
			t.index = map[K]int{}
		}
		i = len(t.keys)
		t.index[key] = i
		t.keys, t.values = append(t.keys, key), append(t.values, *new(V))
	}
	return &t.values[i]
}
