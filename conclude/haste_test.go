package conclude

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"moriens/analysis/grouping"
	"moriens/app/console"
	"moriens/collector/store"
	"moriens/conclude/retention"
	"moriens/internal/mpix"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

const hasteLimit = time.Hour // of a time that goes by as the tests have it

// noTimeFor are stages of a team's member that have no time for some.
func noTimeFor(t team.Team, names ...string) *stage.Stages {
	var s *stage.Stages
	s = stage.Timed(hasteLimit, t, func() time.Duration {
		if state := s.State(); len(state) > 0 && slices.Contains(names, state[len(state)-1].Name) {
			return hasteLimit
		}
		return 0
	})
	return s
}

// hasty is the end of a planted run.
func hasty(t fatal, r *record, s *stage.Stages) End {
	everywhere := func(int) bool { return true }
	return End{
		Frozen: r.frozen(t, rand.New(rand.NewPCG(1, 1)), everywhere), Job: Job{Run: "r"}, Options: grouping.Options{By: grouping.ByAuto, Workers: 1},
		Keep: retention.Options{Budget: retention.DefaultBudget, Windows: 2, Outliers: -1, Workers: 1}, Stages: s, Windows: r.windows(everywhere),
	}
}

// outcomes are what the stages have made of a run whose directory was written, by their names.
func outcomes(t *testing.T, r *Result, dir string) map[string]bool {
	t.Helper()
	if _, err := rundir.Write(&r.Content, dir); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := rundir.Read(dir); err != nil {
		t.Fatal(err)
	}
	rundirtest.CheckPhasesIfKnown(t, dir)
	for _, name := range []string{
		rundir.ManifestFile, rundir.ClustersFile, rundir.ProfileFile, rundir.StructureFile, rundir.OverviewFile, rundir.ScatterFile, rundir.TimelineFile, rundir.BurstsFile, rundir.TraceFile,
	} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := r.Manifest
	if m.Kept.Bursts+m.Kept.SampledBursts == 0 {
		t.Error("no burst is kept")
	}
	unlabelled, profile, structure := 0, false, false
	for i := range r.Run.Threads {
		for _, label := range r.Run.Threads[i].Bursts.Cluster {
			if label == 0 {
				unlabelled++
			}
		}
	}
	for _, row := range r.Levels.Profile.Rows {
		profile = profile || row.Cluster != 0
	}
	for _, x := range r.Levels.Structure.Symbols {
		structure = structure || x.Cluster != nil && *x.Cluster != 0
	}
	return map[string]bool{
		"cluster": unlabelled == 0 && len(r.Run.Clusters) > 0, "profile": profile, "structure": structure, "windows": len(m.Kept.Windows) > 0,
		"judge": m.Reduction.Error != nil, "classes": m.Kept.Grouped != "", "size": m.Reduction.FullBytes > 0,
		"efficiency": r.Levels.Efficiency != nil, "waits": r.Levels.Waits != nil && r.Levels.WaitsRows != nil, "pairs": r.Levels.Pairs != nil, "instances": r.Levels.Instances != nil,
		"program": r.Levels.Program != nil,
		"periods": slices.ContainsFunc(m.Kept.Phases, func(p rundir.Iterations) bool { return p.Iterations > 0 }),
	}
}

// needs says whether a stage is not done without another, or is that.
func needs(name, other string) bool {
	if name == other {
		return true
	}
	for _, step := range stage.Plan {
		if step.Name == name && slices.ContainsFunc(step.Needs, func(need string) bool { return needs(need, other) }) {
			return true
		}
	}
	return false
}

// Whichever stage has no time, alone: what does not need it is in the run directory, and what is missing is reported,
// with no word on how small the directory is.
func TestEachStageGivenUpAlone(t *testing.T) {
	planted := planted(t, 6, 60)
	whole := stage.Timed(hasteLimit, team.Solo{}, func() time.Duration { return 0 })
	r, err := Conclude(t.Context(), hasty(t, planted, whole))
	if err != nil {
		t.Fatal(err)
	}
	all := outcomes(t, r, t.TempDir())
	for name, made := range all {
		if !made {
			t.Errorf("with all the time in the world there is no %s: the case shows nothing", name)
		}
	}
	for _, lost := range stage.Plan {
		if lost.Until == 0 || lost.Name == "return" || lost.Name == "sample" {
			continue
		}
		t.Run(lost.Name, func(t *testing.T) {
			r, err := Conclude(t.Context(), hasty(t, planted, noTimeFor(team.Solo{}, lost.Name)))
			if err != nil { // clusters of a sample are there without those of all
				t.Fatal(err)
			}
			for name, made := range outcomes(t, r, t.TempDir()) {
				if name == "cluster" && lost.Name == "cluster" {
					if !made || r.Clusters.Sample == nil || r.Clusters.Sample.Assigned == 0 {
						t.Errorf("clusters of a sample: %v, %+v", made, r.Clusters.Sample)
					}
				} else if made == needs(name, lost.Name) {
					t.Errorf("%s is there: %v", name, made)
				}
			}
			cut := slices.Contains([]string{"recount", "periods", "profile", "instances", "structure", "waits", "program", "classes", "pairs", "efficiency", "size", "windows", "judge"}, lost.Name)
			if cut != (len(r.Manifest.Reduction.GivenUp) > 0) || cut && !strings.Contains(strings.Join(r.Manifest.Reduction.GivenUp, "\n"), stage.Shown(lost.Name)) {
				t.Errorf("given up: %q", r.Manifest.Reduction.GivenUp)
			}
			if cut && r.Manifest.Complete || cut != r.Manifest.Unmeasured() {
				t.Errorf("complete: %v, exit status 3: %v", r.Manifest.Complete, r.Manifest.Unmeasured())
			}
			praises(t, r)
		})
	}
	t.Run("cluster and sample", func(t *testing.T) {
		r, err := Conclude(t.Context(), hasty(t, planted, noTimeFor(team.Solo{}, "cluster", "sample")))
		var late *stage.LateError
		if !errors.As(err, &late) {
			t.Errorf("%v", err)
		}
		made := outcomes(t, r, t.TempDir())
		if !r.Manifest.Unmeasured() {
			t.Error("the exit status is not 3")
		}
		if made["cluster"] || !made["windows"] || !made["judge"] || !made["periods"] {
			t.Errorf("%v", made)
		}
	})
}

// praises checks that the summary says how small a directory is only of one that lacks nothing.
func praises(t *testing.T, r *Result) {
	t.Helper()
	var text bytes.Buffer
	if err := console.Long(&text, &console.Results{Run: r.Run, Manifest: r.Manifest, Clusters: r.Clusters, Dir: "dir"}); err != nil {
		t.Fatal(err)
	}
	if lacks := len(r.Manifest.Reduction.Missing) > 0; lacks == strings.Contains(text.String(), "times as much)\n") || lacks != strings.Contains(text.String(), "\nmissing: ") {
		t.Errorf("missing %q:\n%s", r.Manifest.Reduction.Missing, text.String())
	}
}

// ticking are stages whose time for clusters goes by as often as it is asked for; the other stages take none.
func ticking(t team.Team, asks int) *stage.Stages {
	var s *stage.Stages
	left := asks
	s = stage.Timed(hasteLimit, t, func() time.Duration {
		state := s.State()
		if len(state) == 0 || state[len(state)-1].Name != "cluster" {
			return 0
		}
		if left--; left < 0 {
			return hasteLimit * 4 / 10 // what is left is for a sample
		}
		return 0
	})
	return s
}

// Wherever the clustering runs out of time every burst has a cluster or is noise, of the steps so far or of a sample;
// everything else is there, nothing is missing, and the result says how the clusters were found.
func TestClustersAreCutShort(t *testing.T) {
	planted := planted(t, 6, 60)
	end := func(s *stage.Stages) End {
		e := hasty(t, planted, s)
		e.Windows = nil // of what nodes have nothing can be missing then
		return e
	}
	whole, err := Conclude(t.Context(), end(stage.New(0)))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for asks := 1; ; asks += 1 + asks/6 { // the first is when it begins
		r, err := Conclude(t.Context(), end(ticking(team.Solo{}, asks)))
		if err != nil {
			t.Fatal(err)
		}
		for name, made := range outcomes(t, r, t.TempDir()) {
			if !made {
				t.Errorf("after %d asks there is no %s", asks, name)
			}
		}
		if len(r.Manifest.Reduction.Missing) > 0 || !slices.Equal(r.Manifest.Incomplete, whole.Manifest.Incomplete) {
			t.Errorf("after %d asks: %q, %q", asks, r.Manifest.Reduction.Missing, r.Manifest.Incomplete)
		}
		if r.Manifest.Unmeasured() {
			t.Errorf("after %d asks the exit status is 3", asks)
		}
		praises(t, r)
		notes := strings.Join(r.Manifest.Notes, "\n")
		switch how := r.Clusters.How; {
		case strings.HasSuffix(how, "; on a sample, other bursts join the cluster of the nearest core point within Eps"):
			seen["sample"] = true
			if s := r.Clusters.Sample; s == nil || s.Of == 0 || !strings.Contains(notes, "the clusters are those of a sample of") || r.Clusters.Score == r.Clusters.Score {
				t.Errorf("after %d asks: %+v, score %v, %q", asks, s, r.Clusters.Score, notes)
			}
		case strings.HasSuffix(how, "; no time for the score"):
			seen["no score"] = true
			if !strings.Contains(notes, "no score") || r.Clusters.Score == r.Clusters.Score || r.Clusters.Sample != nil {
				t.Errorf("after %d asks: score %v, %q", asks, r.Clusters.Score, notes)
			}
		case strings.HasSuffix(how, "; no time for all steps"):
			seen["steps"] = true
		default:
			if r.Clusters.How != whole.Clusters.How || len(r.Run.Clusters) != len(whole.Run.Clusters) {
				t.Errorf("after %d asks: %q, %d clusters", asks, r.Clusters.How, len(r.Run.Clusters))
			}
			if !seen["sample"] || !seen["no score"] {
				t.Errorf("seen: %v", seen)
			}
			return
		}
	}
}

// Whichever of several collectors has no time left, and when: all have the same, and the first one has all that one
// collector has.
func TestATeamIsCutShortTogether(t *testing.T) {
	planted := planted(t, 6, 60)
	const members = 2 // as many as there are agents
	try := func(name string, stages func(x team.Team) *stage.Stages) {
		t.Run(name, func(t *testing.T) {
			results := make([]*Result, members)
			parts := make([]store.Frozen, members)
			for m := range parts {
				parts[m] = planted.frozen(t, rand.New(rand.NewPCG(1, 1)), func(agent int) bool { return agent%members == m })
			}
			failed := make([]error, members)
			if err := mpix.Each(members, func(x mpix.Transport) error {
				m := x.Rank()
				e := hasty(t, planted, stages(x))
				e.Frozen, e.Team, e.Windows = parts[m], x, planted.windows(func(agent int) bool { return agent%members == m })
				results[m], failed[m] = Conclude(t.Context(), e)
				if results[m] == nil {
					return failed[m]
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if r.Clusters.How != results[0].Clusters.How || len(r.Run.Clusters) != len(results[0].Run.Clusters) || !slices.Equal(r.Manifest.Reduction.GivenUp, results[0].Manifest.Reduction.GivenUp) && len(r.Manifest.Reduction.GivenUp) != len(results[0].Manifest.Reduction.GivenUp) {
					t.Errorf("%q, %d clusters, %q\n%q, %d clusters, %q", r.Clusters.How, len(r.Run.Clusters), r.Manifest.Reduction.GivenUp, results[0].Clusters.How, len(results[0].Run.Clusters), results[0].Manifest.Reduction.GivenUp)
				}
			}
			for name, made := range outcomes(t, results[0], t.TempDir()) {
				lost := slices.ContainsFunc(stage.Plan, func(x stage.Step) bool {
					return needs(name, x.Name) && strings.Contains(strings.Join(results[0].Manifest.Reduction.GivenUp, "\n"), x.Name+": ")
				})
				if made == lost {
					t.Errorf("there is no %s, and given up is %q", name, results[0].Manifest.Reduction.GivenUp)
				}
			}
			if failed[0] != nil {
				t.Error(failed[0])
			}
		})
	}
	for _, lost := range []string{"profile by calls", "structure by calls", "cluster", "profile", "structure", "windows", "classes"} {
		try(lost, func(x team.Team) *stage.Stages {
			if x.Rank() == 1 {
				return noTimeFor(x, lost)
			}
			return stage.Timed(hasteLimit, x, func() time.Duration { return 0 })
		})
	}
	for _, asks := range []int{1, 3, 6, 9, 14, 30} {
		try("clusters", func(x team.Team) *stage.Stages {
			if x.Rank() == 1 {
				return ticking(x, asks)
			}
			return stage.Timed(hasteLimit, x, func() time.Duration { return 0 })
		})
	}
}
