// Package efficiency answers how well runs used their processors: it reads efficiency.json of run directories, picks
// the stretch that is asked for, and compares several runs.
package efficiency

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"moriens/analysis/law"
	"moriens/app/question"
	"moriens/conclude/factors"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A Question is what is asked of run directories.
type Question struct {
	Dirs      []string
	Within    string              // main, run, loop, or the name of a phase
	Reference string              // one of Dirs; empty: the run with the fewest locations
	Scaling   factors.ScalingKind // of several runs
	To        *int                // the size that laws are projected to; nil: four times the largest
	Floors    Floors              // that factors are to have
}

// An Answer is the efficiency of the runs, the reference first.
type Answer struct {
	*rundir.Efficiency
	Programs []string // by run
}

// Ask reads what the run directories have.
func Ask(q Question) (*Answer, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	a := &Answer{Efficiency: &rundir.Efficiency{Format: rundir.EfficiencyFormat, Within: q.Within}}
	var manifests []*rundir.Manifest
	for _, dir := range q.Dirs {
		e, m, err := read(dir, q.Within)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		if k := slices.IndexFunc(manifests, func(o *rundir.Manifest) bool { return copied(o, m) }); k >= 0 {
			return nil, question.Misuse("give each run once", "%s and %s are the same run", q.Dirs[k], dir)
		}
		manifests = append(manifests, m)
		program := programOf(m)
		if len(q.Dirs) == 1 { // of several, the stretches of those that differ are among their bounds
			a.Within = e.Within
		}
		run := &e.Runs[0]
		if len(q.Dirs) > 1 {
			run.Dir = dir
		}
		a.Runs, a.Programs = append(a.Runs, *run), append(a.Programs, program)
		if first := a.Programs[0]; program != first && program != "" && first != "" {
			return nil, question.Misuse("compare runs of one program", "%s is a run of %s, %s one of %s", q.Dirs[0], first, dir, program)
		}
	}
	if len(a.Runs) == 1 {
		return a, a.check(q.Floors)
	}
	kind, err := factors.Compare(a.Runs, q.Reference, q.Scaling)
	if errors.Is(err, factors.ErrKindUnknown) {
		return nil, question.Misuse("give --scaling strong (the same problem on more ranks) or --scaling weak (a problem that grew with them)", "%w", err)
	}
	if err != nil {
		return nil, err
	}
	a.Efficiency.Scaling = string(kind)
	return a, a.fit(q.To)
}

// Dirs are the run directories by run; given are those of the question.
func (a *Answer) Dirs(given []string) []string {
	if len(a.Runs) == 1 {
		return given
	}
	list := make([]string, len(a.Runs))
	for i := range list {
		list[i] = a.Runs[i].Dir
	}
	return list
}

// fit adds the laws of runs of different sizes, where there are enough.
func (a *Answer) fit(to *int) (err error) {
	largest, most := 0, 0
	for i := range a.Runs {
		largest = max(largest, a.Runs[i].Locations)
	}
	if to != nil {
		if most = *to; most <= largest {
			return question.Misuse(fmt.Sprintf("give a number above %d", largest), "--to %d is no larger than the largest run", most)
		}
	}
	a.Fits, err = factors.Fits(a.Runs, most)
	if errors.Is(err, law.ErrFewSizes) {
		if to != nil {
			return question.Misuse("add runs", "--to takes runs of at least %d different sizes", law.AmdahlSizes)
		}
		return nil
	}
	return err
}

func (q *Question) check() error {
	if len(q.Dirs) == 0 {
		return question.Misuse("moriens efficiency DIR", "no run directory is given")
	}
	for i, dir := range q.Dirs {
		for _, other := range q.Dirs[:i] {
			switch {
			case dir == other:
				return question.Misuse("give each run once", "%s is given twice", dir)
			case same(dir, other):
				return question.Misuse("give each run once", "%s and %s are the same run directory", other, dir)
			}
		}
	}
	if len(q.Dirs) == 1 {
		const advice = "give several run directories of one program"
		switch {
		case q.To != nil:
			return question.Misuse(advice, "--to takes runs of at least %d different sizes", law.AmdahlSizes)
		case q.Scaling == factors.Strong || q.Scaling == factors.Weak:
			return question.Misuse(advice, "--scaling %s takes several runs to compare", q.Scaling)
		case q.Reference != "":
			return question.Misuse(advice, "--reference takes several runs to compare")
		}
	}
	if q.Reference == "" {
		return nil
	}
	for _, dir := range q.Dirs {
		if same(dir, q.Reference) {
			q.Reference = dir
			return nil
		}
	}
	return question.Misuse("give one of the run directories", "the reference %s is none of the run directories", q.Reference)
}

func same(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// read is a run in one stretch of its time, and what describes it. Of a run of which only sums are known the whole
// stands for main.
func read(dir, within string) (*rundir.Efficiency, *rundir.Manifest, error) {
	m, err := question.Manifest(dir)
	if err != nil {
		return nil, nil, err
	}
	if m.Nobody() {
		return nil, nil, question.Misuse("moriens status "+dir+" says what is known", "no rank was recorded: %s", m.Empty)
	}
	e, computed, err := Read(dir, m)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case e.Within == factors.Run && within == factors.Main:
		return e, m, nil
	case computed && within != factors.Run:
		return nil, nil, question.Misuse("give --within run or leave it out", "%q is not known: the directory has no %s", within, rundir.EfficiencyFile)
	}
	if err := pick(&e.Runs[0], e.Within, within); err != nil {
		return nil, nil, err
	}
	e.Within = within
	return e, m, nil
}

// copied says that two run directories are of one run.
func copied(a, b *rundir.Manifest) bool {
	return !a.Started.IsZero() && a.Run == b.Run && a.Started.Equal(b.Started) && a.Ranks == b.Ranks && a.Bursts == b.Bursts && a.Seconds == b.Seconds
}

func programOf(m *rundir.Manifest) string {
	var list []string
	for i := range m.Worlds {
		if name := trace.ProgramName(m.Worlds[i].Executable); name != "" && name != "." && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// pick makes the stretch that is asked for the one that the run is described in, which is in one by now.
func pick(r *rundir.EfficiencyRun, by, within string) error {
	if within == by {
		return nil
	}
	for _, s := range r.Stretches {
		if s.Within == within {
			r.Take(s)
			r.Stretches, r.MainThreads, r.Worlds = nil, nil, nil
			return nil
		}
	}
	var names []string
	name := func(x string) {
		if x = fmt.Sprintf("%.60q", x); !slices.Contains(names, x) {
			names = append(names, x)
		}
	}
	name(by)
	for _, s := range r.Stretches {
		name(s.Within)
	}
	for _, p := range r.Phases {
		if p.Name == within && p.Phase == nil {
			unknown := rundir.Number(math.NaN())
			r.Take(rundir.EfficiencyStretch{
				BeginSeconds: unknown, EndSeconds: unknown, EfficiencyFactors: p.EfficiencyFactors, Budget: p.Budget,
				Clusters: []rundir.EfficiencyCluster{}, Nodes: []rundir.EfficiencyGroup{}, Classes: []rundir.EfficiencyGroup{},
			})
			r.Stretches, r.MainThreads, r.Worlds = nil, nil, nil
			return nil
		}
		if p.Name != "" {
			name(p.Name)
		}
	}
	return question.Misuse("give one of: "+strings.Join(names, ", "), "there is no phase %q", within)
}
