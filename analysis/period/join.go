package period

import "slices"

// join puts the runs of the same loop together over damaged iterations, in which smaller loops and such as hold noise
// may have been found.
func (f *folder) join() []section {
	top := f.top()
	var list []section
	latest := make(map[int32]int) // by kind: its last section
	for i := range top.len() {
		r := top.runOf(i)
		if r < 0 {
			continue
		}
		here := &f.runs[r]
		n, ok := latest[here.kind]
		if ok = ok && n < len(list) && list[n].kind == here.kind && f.resumes(list[n:], here); ok {
			list = list[:n+1]
			list[n].add(here, r)
			continue
		}
		latest[here.kind] = len(list)
		list = append(list, f.begin(r))
	}
	return list
}

// resumes reports whether the first section continues at the run, after other sections. What is between must be as long
// as damaged iterations, or look like the loop and take less time than what is on both sides, without being a phase of
// its own.
func (f *folder) resumes(list []section, here *run) bool {
	first := &list[0]
	gap := here.from - first.to
	if float64(gap) <= damagedIterations*first.usual() {
		return true
	}
	return gap <= first.to-first.from+here.to-here.from && f.looksLike(here.kind, first.to, here.from) &&
		!slices.ContainsFunc(list[1:], func(s section) bool { return f.worth(&s) })
}

// rejoin makes one of neighbours of one loop where what is between looks like it. What is between may be a loop of its
// own, if that holds what comes seldom and irregularly: the same noise at the same place of some iterations in a row.
func (f *folder) rejoin(list []section) []section {
	joined := list[:0]
	for _, s := range list {
		joined = append(joined, s)
		for _, back := range []int{1, 2} {
			n := len(joined) - 1
			if n < back {
				break
			}
			first := &joined[n-back]
			if first.kind != s.kind || back == 2 && !f.holdsRare(joined[n-1].kind) {
				continue
			}
			near := float64(s.from-first.to) <= damagedIterations*first.usual()
			if near || f.looksLike(s.kind, first.to, s.from) {
				for _, r := range s.runs {
					first.add(&f.runs[r], r)
				}
				joined = joined[:n-back+1]
				break
			}
		}
	}
	return joined
}

func (f *folder) holdsRare(kind int32) bool {
	return slices.ContainsFunc(f.loop(kind).body, func(k int32) bool { return !f.isLoop(k) && f.rare[k] })
}

// notScattered drops the damaged sections of loops most of whose runs are elsewhere, within other loops or too short
// for a section: what comes often enough is repeated here and there, and where that is more than usual is chance.
func (f *folder) notScattered(list []section) []section {
	total, inside := make(map[int32]int), make(map[int32]int)
	for i := range f.runs {
		total[f.runs[i].kind] += int(f.runs[i].to - f.runs[i].from)
	}
	for i := range list {
		for _, r := range list[i].runs {
			inside[list[i].kind] += int(f.runs[r].to - f.runs[r].from)
		}
	}
	return slices.DeleteFunc(list, func(s section) bool {
		return len(s.runs) > 1 && 2*inside[s.kind] < total[s.kind]
	})
}
