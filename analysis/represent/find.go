package represent

import (
	"cmp"
	"fmt"
	"slices"

	"moriens/internal/team"
)

// Find finds the windows that stand for a run's phases, and the anomalies. It is collective.
func Find(run Run, o FindOptions) (found *Selection, err error) {
	defer team.Leave("represent", &err)
	if err := o.complete(); err != nil {
		return nil, err
	}
	if err := o.Team.Check(len(run.Threads)); err != nil {
		return nil, fmt.Errorf("represent: %w", err)
	}
	if i := slices.IndexFunc(o.Show, func(t int32) bool { return t < 0 || int(t) >= len(run.Threads) }); i >= 0 {
		return nil, fmt.Errorf("represent: thread %d shall be shown, of %d", o.Show[i], len(run.Threads))
	}
	run.team = team.Panicking{Threads: o.Team}
	if err := team.Explain(o.Team, run.check()); err != nil {
		return nil, err
	}
	f := &finder{run: &run, o: o, found: &Selection{}}
	run.countAnchors()
	f.stretches = run.cut(o)
	f.all = run.usuals(f.stretches, o.Workers)
	for _, u := range f.all {
		f.computeNS += u.timeNS
	}
	var odd []anomaly
	for i := range f.stretches {
		s := &f.stretches[i]
		odd = append(odd, s.anomalies(i, s.measure(&run, f.all, o.Workers))...)
		if w := s.warning(); w != "" {
			f.found.Warnings = append(f.found.Warnings, w)
		}
	}
	f.found.Anomalies, f.found.More = chooseAnomalies(&run, f.stretches, f.all, odd, o)
	f.iterates = slices.ContainsFunc(f.stretches, func(s stretch) bool { return s.iterations })
	f.phases()
	if f.iterates {
		f.rest()
	}
	f.shown()
	f.mergeAnomalies()
	slices.SortStableFunc(f.found.Windows, func(a, b Window) int {
		return cmp.Or(cmp.Compare(a.BeginNS, b.BeginNS), cmp.Compare(a.Phase, b.Phase))
	})
	f.explained()
	return f.found, nil
}

// A finder is the state of Find.
type finder struct {
	run       *Run
	o         FindOptions
	stretches []stretch
	all       []usual
	iterates  bool
	computeNS int64 // of all bursts
	found     *Selection
}

// phases takes the windows of each phase.
func (f *finder) phases() {
	for i := range f.stretches {
		s := &f.stretches[i]
		switch {
		case s.iterations:
			f.found.Windows = append(f.found.Windows, s.typical(f.run, f.o.Windows, f.o.MaxBursts))
		case f.iterates:
			f.cover(i)
		default:
			f.fallback(i)
		}
	}
}

// cover takes windows of a stretch until most of its time in clusters is explained, if the stretch has much of the
// run's.
func (f *finder) cover(index int) {
	s := &f.stretches[index]
	worth, whole := f.worth(s)
	if float64(whole) < aStretch*float64(f.computeNS) {
		return
	}
	c := cover{stretches: f.stretches, of: []int{index}, worthNS: worth, threads: len(f.run.Threads)}
	for _, t := range c.take(int64(explained*float64(whole)), f.o.Fallback) {
		f.found.Windows = append(f.found.Windows, t.window(f.run, f.stretches, Representative, whole, fmt.Sprintf("the computing time of phase %d", s.phase)))
	}
}

// worth is the time of each cluster in a stretch, and the sum.
func (f *finder) worth(s *stretch) (ns []int64, whole int64) {
	ns = make([]int64, len(f.all))
	for u := range s.pieces {
		for column, x := range s.row(u) {
			ns[s.clusters[column]] += x
			whole += x
		}
	}
	return ns, whole
}

// fallback takes windows of a stretch of a run without iterations: those that explain clusters which no anomaly shows,
// then those with most computing time for what they cost.
func (f *finder) fallback(index int) {
	s := &f.stretches[index]
	worth, whole := f.worth(s)
	for i := range f.found.Anomalies {
		if a := &f.found.Anomalies[i]; a.Phase == s.phase {
			f.each(a, func(c int32) { worth[c] = 0 })
		}
	}
	done := make([]bool, len(s.pieces))
	c := cover{stretches: f.stretches, of: []int{index}, worthNS: worth, threads: len(f.run.Threads), fresh: true}
	list := c.take(whole, f.o.Fallback)
	for _, t := range list {
		done[t.piece] = true
		f.found.Windows = append(f.found.Windows, t.window(f.run, f.stretches, Fallback, whole, fmt.Sprintf("the computing time of phase %d", s.phase)))
	}
	value := func(u int) float64 {
		return float64(s.pieces[u].timeNS) / float64(s.pieces[u].bursts+int64(len(f.run.Threads)))
	}
	var rest []int
	for u := range s.pieces {
		if p := &s.pieces[u]; !done[u] && !p.kept && p.bursts > 0 {
			rest = append(rest, u)
		}
	}
	slices.SortStableFunc(rest, func(a, b int) int { return cmp.Compare(value(b), value(a)) })
	for _, u := range rest[:min(len(rest), f.o.Fallback-len(list))] {
		w := s.window(f.run, u, u+1)
		w.Why, w.ExplainsNS = Fallback, w.TimeNS
		w.Reason = fmt.Sprintf("%s: has %s of the computing time", s.name(u, u+1), percent(float64(w.TimeNS)/float64(max(1, f.computeNS))))
		f.found.Windows = append(f.found.Windows, w)
	}
}

// rest takes windows for the clusters that are in no window yet.
func (f *finder) rest() {
	worth := make([]int64, len(f.all))
	var goal int64
	for c := 1; c < len(f.all); c++ {
		worth[c] = f.all[c].timeNS
	}
	for _, list := range [][]Window{f.found.Windows, f.found.Anomalies} {
		for i := range list {
			f.each(&list[i], func(c int32) { worth[c] = 0 })
		}
	}
	for _, ns := range worth {
		goal += ns
	}
	stretches := f.finer()
	all := make([]int, len(stretches))
	for i := range all {
		all[i] = i
	}
	c := cover{stretches: stretches, of: all, worthNS: worth, threads: len(f.run.Threads)}
	for _, t := range c.take(goal, f.o.Fallback) {
		f.found.Windows = append(f.found.Windows, t.window(f.run, stretches, Fallback, f.computeNS, "the computing time of the run"))
	}
}

// finer are the stretches with long iterations cut into pieces that are near what they are taken for.
func (f *finder) finer() []stretch {
	list := slices.Clone(f.stretches)
	for i := range list {
		s := &list[i]
		if !s.iterations || f.o.Near == 0 || longest(s.at) <= 2*f.o.Near {
			continue
		}
		fine := stretch{phase: s.phase, at: f.run.cutLong(s.at, f.o.Near)}
		fine.pieces = make([]piece, len(fine.at[0])-1)
		fine.measure(f.run, f.all, f.o.Workers)
		list[i] = fine
	}
	return list
}

// each calls with for the clusters that have time in a window.
func (f *finder) each(w *Window, with func(cluster int32)) {
	there := make([]int64, len(f.all))
	for t := range f.run.Threads {
		if thread := &f.run.Threads[t]; f.run.team.Mine(t) {
			for _, c := range thread.Cluster[w.First[t]:w.Behind[t]] {
				there[max(c, 0)] = 1
			}
		}
	}
	f.run.team.Reduce(team.Max, there)
	for c := 1; c < len(there); c++ {
		if there[c] != 0 {
			with(int32(c))
		}
	}
}

// mergeAnomalies gives up anomalies that lie within a window that stands for a phase, and reports there what is
// unusual.
func (f *finder) mergeAnomalies() {
	f.found.Anomalies = slices.DeleteFunc(f.found.Anomalies, func(a Window) bool {
		i := slices.IndexFunc(f.found.Windows, func(w Window) bool { return w.Why == Representative && w.Phase == a.Phase && w.holds(&a) })
		if i < 0 {
			return false
		}
		w := &f.found.Windows[i]
		w.Reason += "; unusual: " + a.Reason
		for _, t := range a.Threads {
			if !slices.Contains(w.Threads, t) {
				w.Threads = append(w.Threads, t)
			}
		}
		return true
	})
}

// holds reports whether all bursts of another window are in this one.
func (w *Window) holds(o *Window) bool {
	for t := range w.First {
		if o.First[t] < o.Behind[t] && (o.First[t] < w.First[t] || o.Behind[t] > w.Behind[t]) {
			return false
		}
	}
	return true
}

// explained adds up the time of the clusters that windows have bursts of.
func (f *finder) explained() {
	there := make([]bool, len(f.all))
	for i := range f.found.Windows {
		f.each(&f.found.Windows[i], func(c int32) { there[c] = true })
	}
	for i := range f.found.Anomalies {
		f.each(&f.found.Anomalies[i], func(c int32) { there[c] = true })
	}
	var held, whole int64
	for c := 1; c < len(f.all); c++ {
		whole += f.all[c].timeNS
		if there[c] {
			held += f.all[c].timeNS
		}
	}
	if whole > 0 {
		f.found.Explained = float64(held) / float64(whole)
	}
}
