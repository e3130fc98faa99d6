package period

import "slices"

// atAnchors moves the begins of damaged iterations to the nearest anchors, and lets go of such as have none of their
// own.
func (s *section) atAnchors(t *Thread) {
	begins := s.begins[:0]
	last := len(s.begins) - 1
	s.anchors = make([]int32, 0, len(s.begins))
	for i, at := range s.begins {
		k, exact := slices.BinarySearch(t.Anchors, at) // the first at or behind
		switch loose := i == 0 && s.looseFirst || i == last && s.looseLast; {
		case exact:
			for k+1 < len(t.Anchors) && t.Anchors[k+1] == at {
				k++
			}
		case at == 0 || i == 0 && loose:
			k--
		case loose || int(at) == len(t.Symbols):
		case k == len(t.Anchors) || k > 0 && at-t.Anchors[k-1] <= t.Anchors[k]-at:
			k--
			at = t.beginOf(int32(k))
		default:
			at = t.beginOf(int32(k))
		}
		if n := len(s.anchors); n > 0 && int(s.anchors[n-1]) >= k {
			continue
		}
		s.anchors = append(s.anchors, int32(k))
		begins = append(begins, at)
	}
	s.looseLast = s.looseLast && len(begins) > 0 && !t.anchored(begins[len(begins)-1])
	s.begins = begins
	s.inStep(t)
}

// inStep counts damaged iterations by their anchors where iterations regularly have the same number of them.
func (s *section) inStep(t *Thread) {
	n := len(s.anchors)
	if n < 4 {
		return
	}
	step := int32(medianGap(s.anchors[1 : n-1]))
	regular := 0
	for i := 2; i < n-1; i++ {
		regular += truth(s.anchors[i]-s.anchors[i-1] == step)
	}
	if float64(regular) < 0.5*float64(n-3) {
		return
	}
	begins, anchors := []int32{s.begins[0]}, []int32{s.anchors[0]}
	for i := 1; i < n; i++ {
		last := anchors[len(anchors)-1]
		gap := s.anchors[i] - last
		if i < n-1 && gap%step != 0 && (s.anchors[i+1]-last)%step == 0 {
			continue
		}
		if gap%step == 0 {
			for k := last + step; k < s.anchors[i]; k += step {
				begins, anchors = append(begins, t.beginOf(k)), append(anchors, k)
			}
		}
		begins, anchors = append(begins, s.begins[i]), append(anchors, s.anchors[i])
	}
	s.begins, s.anchors = begins, anchors
}

// beginOf is the burst that follows an anchor; -1 is the begin of the run, and what is beyond the last its end.
func (t *Thread) beginOf(anchor int32) int32 {
	switch {
	case anchor < 0:
		return 0
	case int(anchor) >= len(t.Anchors):
		return int32(len(t.Symbols))
	}
	return t.Anchors[anchor]
}

// widen adds damaged iterations at both ends: those between as many anchors as usual, half of which at least looks like
// the loop.
func (f *folder) widen(s *section, t *Thread, floor, ceiling int32) {
	if len(s.anchors) < 4 {
		return
	}
	step := int32(medianGap(s.anchors[1 : len(s.anchors)-1]))
	for !s.looseFirst {
		k := s.anchors[0] - step
		at := t.beginOf(k)
		if k < 0 || at < floor || !f.mayBe(s, at, s.begins[0]) {
			break
		}
		s.begins, s.anchors = slices.Insert(s.begins, 0, at), slices.Insert(s.anchors, 0, k)
		s.from = min(s.from, at)
	}
	for !s.looseLast {
		n := len(s.begins) - 1
		k := s.anchors[n] + step
		at := t.beginOf(k)
		if int(k) >= len(t.Anchors) || at > ceiling || !f.mayBe(s, s.begins[n], at) {
			break
		}
		s.begins, s.anchors = append(s.begins, at), append(s.anchors, k)
		s.to = max(s.to, at)
	}
}

// mayBe reports whether the bursts between are a damaged iteration: it is not half as long, nor twice, and looks like
// the loop.
func (f *folder) mayBe(s *section, from, to int32) bool {
	n := int(to - from)
	return n > 0 && 2*n >= s.period && n <= 2*s.period && f.looksLike(s.kind, from, to)
}
