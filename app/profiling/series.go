package profiling

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"moriens/app/question"
	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/internal/units"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// A Series is what the instances of a phase, or iterations, took on all threads.
type Series struct {
	Phase      string // path; empty: the program, or Iterations says what
	Iterations int    // which of the loops that were found; -1: a phase of the program
	What       string // whole, or the function or cluster whose time it is
	Points     []Point
	Threads    int   // that have any
	Instances  int64 // of the thread that has most
	Sum        Spread64
	Median     float64 // of the points' figures, and their median absolute deviation, ns; NaN: too few
	MAD        float64
	Threshold  float64  // above it a point is slow, ns; NaN: none is marked
	Others     []string // what else there are instances of
}

// A Spread64 is a sum and the extremes of it.
type Spread64 struct{ SumNS, LeastNS, MostNS int64 }

// A Point is one instance, or a group of them that follow each other. Threads that have the instance, but not the
// function or cluster, have 0.
type Point struct {
	Instance, Instances    int64 // the first, and how many
	Threads                int64
	Calls                  int64 // of whole: intervals
	SumNS, LeastNS, MostNS int64
	MostOf                 calltree.Thread
	MeanNS, StdNS          float64 // of threads
	DirectNS               int64   // without the phases in it
	LongestNS              int64   // of whole: of one instance on one thread
	LongestInstance        int64
	Timed                  bool  // BeginNS and EndNS are known
	BeginNS, EndNS         int64 // when the first thread of the run begins it, and the last one ends it, whichever threads are asked for
	Slow                   bool
	squares                float64
	rows                   int             // of what is asked for
	first                  calltree.Thread // of those that have the instance
}

// What makes a point slow: it is above the median by so many deviations, where the deviation is what the median
// absolute one would be of normally distributed values, and by so much of the median.
const (
	slowDeviations = 5
	slowShare      = .1
	fewestPoints   = 8
	normal         = 1.4826
)

// SlowRule says so.
const SlowRule = "above the median by more than 5 robust standard deviations (1.4826 · MAD) and 10 %"

// A subject is what instances are of.
type subject struct {
	inPhase    bool
	phase      string
	iterations int32
}

func subjectOf(r *parquet.InstanceRow) subject { return subject{r.InPhase, r.Phase, r.Iterations} }

func (s subject) String() string {
	switch {
	case s.iterations >= 0:
		return fmt.Sprintf("iterations %d", s.iterations)
	case !s.inPhase:
		return "the program"
	}
	return fmt.Sprintf("%.60q", s.phase)
}

func (a *Answer) scanInstances(give func(r *parquet.InstanceRow)) error {
	err := withFile(a.Source.Dir, rundir.InstancesFile, func(f *files.File) error {
		var bad error
		err := parquet.ScanInstances(f, f.Size(), func(rows []parquet.InstanceRow) {
			for i := range rows {
				if r := &rows[i]; min(r.Instance, r.Count, r.Calls, r.SumNS, r.LeastNS, r.MostNS, r.DirectNS) < 0 || r.Instances < 1 {
					bad = errors.New("a row has a figure below 0")
				} else if bad == nil {
					give(r)
				}
			}
		})
		return cmp.Or(err, bad)
	})
	if errors.Is(err, fs.ErrNotExist) {
		for _, text := range a.Manifest.Reduction.Missing {
			if strings.HasPrefix(text, rundir.InstancesFile) {
				return question.Lacking("measure again with more time for the analysis: --moriens-timeout (docs/reduction.md)", "%s", text)
			}
		}
		return a.noSeries()
	}
	return err
}

// readSeries reads the instances that are asked for.
func (a *Answer) readSeries() error {
	there := make(map[subject]int64) // how many instances
	err := a.scanInstances(func(r *parquet.InstanceRow) {
		if r.What == parquet.InstanceWhole && !r.OfThread {
			there[subjectOf(r)] += r.Instances
		}
	})
	if err != nil {
		return err
	}
	of, err := a.choose(there)
	if err != nil {
		return err
	}
	s := &Series{Phase: of.phase, Iterations: int(of.iterations), What: parquet.InstanceWhole, Median: math.NaN(), MAD: math.NaN(), Threshold: math.NaN()}
	for other := range there {
		if other != of && (other.iterations >= 0) == (of.iterations >= 0) && (other.inPhase || other.iterations >= 0) {
			s.Others = append(s.Others, other.String())
		}
	}
	slices.Sort(s.Others)
	if err := a.readPoints(s, of); err != nil {
		return err
	}
	s.finish(a.Stat)
	a.Series = s
	a.noteSeries(s)
	return nil
}

// choose finds out whose instances are meant.
func (a *Answer) choose(there map[subject]int64) (subject, error) {
	var list []subject
	for s := range there {
		if (s.iterations >= 0) == (a.By == ByIteration) && (s.iterations >= 0 || s.inPhase) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(x, y subject) int {
		return cmp.Or(cmp.Compare(x.iterations, y.iterations), strings.Compare(x.phase, y.phase))
	})
	if a.By == ByIteration {
		return a.chooseLoop(list)
	}
	var paths []string
	for _, s := range list {
		paths = append(paths, s.phase)
	}
	if len(list) == 0 {
		return subject{}, question.Misuse("docs/annotations.md says how to name phases; --by iteration lists iterations that were found", "there are no instances: the run has no phases")
	}
	in := a.In
	if in == nil {
		if len(list) == 1 {
			return list[0], nil
		}
		return subject{}, question.Misuse("add --in and one of: "+listed(paths), "instances are of one phase, and there are %d", len(list))
	}
	for _, p := range []*Pattern{in, in.anywhere()} {
		var fit []subject
		for _, s := range list {
			if p.Is(s.phase) {
				fit = append(fit, s)
			}
		}
		switch {
		case len(fit) == 1:
			return fit[0], nil
		case len(fit) > 1:
			paths = nil
			for _, s := range fit {
				paths = append(paths, s.phase)
			}
			return subject{}, question.Misuse("give one of: "+listed(paths), "--in %s matches %d phases, instances are of one", in, len(fit))
		}
	}
	return subject{}, noPhase(in, paths, a.Source)
}

// chooseLoop is the loop that was asked for, or that with most time.
func (a *Answer) chooseLoop(list []subject) (subject, error) {
	if len(list) == 0 {
		if a.Manifest.Cells != nil {
			return subject{}, question.Misuse("measure without --cells", "iterations are not known: bursts stay on their nodes (--cells)")
		}
		return subject{}, question.Misuse("moriens status --long says what was found", "no iterations were found")
	}
	loops := a.Manifest.Kept.Phases
	if a.Found >= 0 {
		var numbers []string
		for _, s := range list {
			if int(s.iterations) == a.Found {
				return s, nil
			}
			numbers = append(numbers, strconv.Itoa(int(s.iterations)))
		}
		return subject{}, question.Misuse("give one of: "+strings.Join(numbers, ", "), "--iterations %d: %s found, numbered from 0", a.Found, units.Counted(len(list), "loop"))
	}
	length := func(s subject) int64 {
		if int(s.iterations) < len(loops) {
			return loops[s.iterations].EndNS - loops[s.iterations].BeginNS
		}
		return 0
	}
	return slices.MaxFunc(list, func(x, y subject) int { return cmp.Compare(length(x), length(y)) }), nil
}

// listed are paths of phases as --in takes them.
func listed(paths []string) string {
	const most = 20
	var names []string
	for _, path := range paths[:min(most, len(paths))] {
		names = append(names, patternOfPath(path))
	}
	if n := len(paths) - most; n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}

// wanted reports whether a row is of what the metric asks for.
func wanted(what string) func(r *parquet.InstanceRow) bool {
	if what == "" {
		return func(r *parquet.InstanceRow) bool { return r.What == parquet.InstanceWhole }
	}
	lower := strings.ToLower(what)
	return func(r *parquet.InstanceRow) bool { return r.Function == what || strings.ToLower(whatOf(r)) == lower }
}

// whatOf names what a row is of.
func whatOf(r *parquet.InstanceRow) string {
	switch r.What {
	case parquet.InstanceMPI:
		return r.Function
	case parquet.InstanceComputation:
		return ClusterName(r.Cluster)
	}
	return r.What
}

// readPoints reads the instances of a subject.
func (a *Answer) readPoints(s *Series, of subject) error {
	_, what, _ := strings.Cut(a.Metric, ":")
	is := wanted(what)
	points := make(map[int64]*Point)
	times := make(map[int64][2]int64)
	whats := make(map[string]bool)
	threads := make(map[calltree.Thread]bool)
	var seen [][2]int
	single, found := false, false
	err := a.scanInstances(func(r *parquet.InstanceRow) {
		if subjectOf(r) != of {
			return
		}
		whats[whatOf(r)] = true
		if r.Timed && r.BeginNS <= r.EndNS {
			times[r.Instance] = [2]int64{r.BeginNS, r.EndNS}
		}
		if r.OfThread {
			single = true
			seen = append(seen, [2]int{int(r.World), int(r.Rank)})
			if len(seen) > 1<<16 {
				slices.SortFunc(seen, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
				seen = slices.Compact(seen)
			}
		}
		if r.OfThread != (a.Ranks != nil) || a.Ranks != nil && !a.Ranks.Has(int(r.World), int(r.Rank)) {
			return
		}
		p := points[r.Instance]
		if p == nil {
			p = &Point{Instance: r.Instance, Instances: r.Instances, first: calltree.Thread{World: r.MostWorld, Rank: r.MostRank, Thread: r.MostThread}}
			points[r.Instance] = p
		}
		if r.What == parquet.InstanceWhole {
			p.Threads += r.Count
			s.Threads = max(s.Threads, int(p.Threads))
			s.Instances = max(s.Instances, r.Instance+r.Instances)
			threads[calltree.Thread{World: r.World, Rank: r.Rank, Thread: r.Thread}] = true
		}
		if is(r) {
			found = true
			s.What = whatOf(r)
			p.take(r)
		}
	})
	switch {
	case err != nil:
		return err
	case a.Ranks != nil && !single:
		return question.Lacking("measure again with a larger --keep (docs/reduction.md), or leave out --rank", "instances are not known by rank: their rows would have taken more than an eighth of --keep")
	case a.Ranks != nil && checkRanks(a.Ranks, seen) != nil:
		return checkRanks(a.Ranks, seen)
	case !found && what != "":
		delete(whats, parquet.InstanceWhole)
		names := make([]string, 0, len(whats))
		for name := range whats {
			names = append(names, metricTime+":"+name)
		}
		slices.Sort(names)
		return question.Misuse("give one of: "+strings.Join(append([]string{metricTime}, names...), ", "), "instances of %s have no %q", of, what)
	case !found:
		return hint.With(fmt.Errorf("%s has no instance of %s", rundir.InstancesFile, of), rundir.AdviseDamage)
	}
	if a.Ranks != nil {
		s.Threads = len(threads)
	}
	for _, p := range points {
		p.settle(a.Ranks != nil)
		if t, known := times[p.Instance]; known {
			p.Timed, p.BeginNS, p.EndNS = true, t[0], t[1]
		}
		s.Points = append(s.Points, *p)
	}
	slices.SortFunc(s.Points, func(x, y Point) int { return cmp.Compare(x.Instance, y.Instance) })
	return nil
}

// take adds a row of what is asked for.
func (p *Point) take(r *parquet.InstanceRow) {
	if p.rows == 0 || r.MostNS > p.MostNS {
		p.MostNS, p.MostOf = r.MostNS, calltree.Thread{World: r.MostWorld, Rank: r.MostRank, Thread: r.MostThread}
	}
	if p.rows == 0 || r.LeastNS < p.LeastNS {
		p.LeastNS = r.LeastNS
	}
	p.rows++
	p.SumNS, p.DirectNS, p.Calls = plus(p.SumNS, r.SumNS), plus(p.DirectNS, r.DirectNS), plus(p.Calls, r.Calls)
	p.squares += r.SquaresNS2
	if r.LongestNS > p.LongestNS {
		p.LongestNS, p.LongestInstance = r.LongestNS, r.LongestInstance
	}
}

// figure is what decides whether a point is slow: by instance and thread.
func (p *Point) figure(stat Stat) float64 {
	n := float64(p.Instances)
	switch stat {
	case Most:
		return float64(p.MostNS) / n
	case Least:
		return float64(p.LeastNS) / n
	}
	return p.MeanNS / n
}

// settle gives 0 to threads that have the instance, but not what is asked for; rows of single threads have no such row.
func (p *Point) settle(single bool) {
	if p.rows == 0 || single && int64(p.rows) < p.Threads {
		p.LeastNS = 0
	}
	if p.MostNS == 0 && (p.rows == 0 || single) {
		p.MostOf = p.first
	}
}

// finish computes what follows from the sums of points.
func (s *Series) finish(stat Stat) {
	figures := make([]float64, len(s.Points))
	for i := range s.Points {
		p := &s.Points[i]
		if p.Threads > 0 {
			n := float64(p.Threads)
			p.MeanNS = float64(p.SumNS) / n
			p.StdNS = math.Sqrt(max(p.squares/n-p.MeanNS*p.MeanNS, 0))
		}
		figures[i] = p.figure(stat)
		if i == 0 {
			s.Sum.LeastNS = p.LeastNS
		}
		s.Sum.SumNS = plus(s.Sum.SumNS, p.SumNS)
		s.Sum.LeastNS, s.Sum.MostNS = min(s.Sum.LeastNS, p.LeastNS), max(s.Sum.MostNS, p.MostNS)
	}
	if len(figures) < fewestPoints {
		return
	}
	s.Median = median(figures)
	off := make([]float64, len(figures))
	for i, x := range figures {
		off[i] = math.Abs(x - s.Median)
	}
	s.MAD = median(off)
	s.Threshold = max(s.Median+slowDeviations*normal*s.MAD, s.Median*(1+slowShare))
	for i := range s.Points {
		s.Points[i].Slow = figures[i] > s.Threshold
	}
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// noteSeries says what the figures do not show.
func (a *Answer) noteSeries(s *Series) {
	say := func(format string, args ...any) { a.Notes = append(a.Notes, fmt.Sprintf(format, args...)) }
	for i := 0; i < len(s.Points); i++ {
		if int(s.Points[i].Threads) == s.Threads {
			continue
		}
		first, fewest := i, s.Points[i].Threads
		for i+1 < len(s.Points) && int(s.Points[i+1].Threads) < s.Threads {
			i++
			fewest = min(fewest, s.Points[i].Threads)
		}
		from, to := s.Points[first].Instance, s.Points[i].Instance+s.Points[i].Instances-1
		text := fmt.Sprintf("instance %d is", from)
		if to > from {
			text = fmt.Sprintf("instances %d to %d are", from, to)
		}
		say("threads have different numbers of instances: %s on %d of %d", text, fewest, s.Threads)
		break
	}
	if len(s.Points) > 0 && s.Points[0].Instances > 1 {
		say("each row is of %d instances: a phase has %d rows at most", s.Points[0].Instances, 4096)
	}
	if len(s.Others) > 0 {
		list := s.Others[:min(10, len(s.Others))]
		text := strings.Join(list, ", ")
		if n := len(s.Others) - len(list); n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		say("there are instances of %s too", text)
	}
	a.noteLosses(say)
}

// PhaseText is a path of a phase as --in takes it: the program has none.
func PhaseText(path string) string {
	if path == "" {
		return "the program"
	}
	return path
}
