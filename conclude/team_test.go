package conclude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector/store"
	"moriens/conclude/rebuild"
	"moriens/conclude/retention"
	"moriens/internal/mpix"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
	"moriens/trace/tracetest"
)

// However the agents of a run are spread over collectors, and in whatever order data arrives: all collectors make the
// same run of it, each with the calls and bursts of its own threads, and the first describes it as one would that has
// all.
func TestRebuildOfATeam(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		members := rapid.IntRange(1, 4).Draw(t, "members")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "spread"), 2))
		at := make([]int, len(r.agents))
		for i := range at {
			at[i] = random.IntN(members)
		}
		f := r.frozen(t, random, func(int) bool { return true })
		one, err := rebuild.Rebuild(t.Context(), f, team.Solo{}, 2)
		if err != nil {
			t.Fatal(err)
		}
		want := manifestText(t, one, f)
		parts := make([]store.Frozen, members)
		for m := range parts {
			parts[m] = r.frozen(t, random, func(agent int) bool { return at[agent] == m })
		}
		all := make([]*rebuild.Rebuilt, members)
		err = mpix.Each(members, func(x mpix.Transport) error {
			f := &parts[x.Rank()]
			if err := f.Share(x); err != nil {
				return err
			}
			var err error
			all[x.Rank()], err = rebuild.Rebuild(t.Context(), *f, x, 1)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for m, h := range all {
			if d := cmp.Diff(want, manifestText(t, h, parts[m])); d != "" {
				t.Fatalf("member %d of %d says something else (-one +team):\n%s", m, members, d)
			}
			for i := range h.Run.Threads {
				whole, got := one.Run.Threads[i], h.Run.Threads[i]
				if !h.Team.Mine(i) {
					whole = bare(whole)
				}
				if d := cmp.Diff(whole, got); d != "" {
					t.Fatalf("thread %d at member %d, which is at %d (-one +team):\n%s", i, m, h.Team.Owner(i), d)
				}
			}
			run, single := *h.Run, *one.Run
			run.Threads, single.Threads = nil, nil
			if single.Traffic != nil { // of threads that are elsewhere, nothing
				traffic := *single.Traffic
				traffic.Compared = slices.Clone(traffic.Compared)
				for i := range traffic.Compared {
					if !h.Team.Mine(i) {
						traffic.Compared[i] = nil
					}
				}
				single.Traffic = &traffic
			}
			if d := cmp.Diff(single, run, tracetest.Routes); d != "" {
				t.Fatalf("the run of member %d of %d (-one +team):\n%s", m, members, d)
			}
		}
	})
}

// bare is a thread of which nothing is here.
func bare(t trace.Thread) trace.Thread {
	return trace.Thread{World: t.World, Rank: t.Rank, Thread: t.Thread, Node: t.Node, BeginNS: t.BeginNS, EndNS: t.EndNS}
}

func manifestText(t fatal, r *rebuild.Rebuilt, f store.Frozen) string {
	text, err := json.MarshalIndent(manifestOf(r, f, Job{Run: "r"}), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// directory concludes a run, and returns what files are written of it, but for the times of the analysis itself.
func directory(t fatal, dir string, e End) (map[string]string, error) {
	r, err := Conclude(context.Background(), e)
	if err != nil || e.Team != nil && e.Team.Rank() > 0 {
		return nil, err
	}
	if _, err := rundir.Write(&r.Content, dir); err != nil {
		return nil, err
	}
	if t, is := t.(testing.TB); is { // not one that draws
		rundirtest.CheckPhasesIfKnown(t, dir)
	}
	files := make(map[string]string)
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(text)
		return err
	})
	return files, err
}

// However the agents of a run are spread over collectors: what they write is the same to the byte.
func TestConcludeOfATeam(t *testing.T) {
	for seed := range 4 { // each is written several times: too much for a hundred
		r := rapid.Custom(drawRecord).Example(seed)
		members := 2 + seed%3
		random := rand.New(rand.NewPCG(uint64(seed), 2))
		at := make([]int, len(r.agents))
		for i := range at {
			at[i] = random.IntN(members)
		}
		dims, err := space.Parse("duration:log")
		if err != nil {
			t.Fatal(err)
		}
		e := End{
			Job: Job{Run: "r"}, Options: grouping.Options{Dims: dims, By: grouping.ByCalls, Workers: 1},
			Keep: retention.Options{All: seed%2 == 0, Budget: units.Bytes(50*(1+seed)) << 10, Workers: 1},
		}
		dir := t.TempDir()
		one := e
		everywhere := func(int) bool { return true }
		one.Frozen, one.Stages, one.Windows = r.frozen(t, random, everywhere), stage.New(0), r.windows(everywhere)
		want, err := directory(t, filepath.Join(dir, "one"), one)
		if err != nil {
			t.Fatal(err)
		}
		parts := make([]store.Frozen, members)
		for m := range parts {
			parts[m] = r.frozen(t, random, func(agent int) bool { return at[agent] == m })
		}
		var got map[string]string
		err = mpix.Each(members, func(x mpix.Transport) error {
			own := e
			own.Frozen, own.Stages, own.Team = parts[x.Rank()], stage.Shared(0, x), x
			own.Windows = r.windows(func(agent int) bool { return at[agent] == x.Rank() })
			files, err := directory(t, filepath.Join(dir, "team"), own)
			if x.Rank() == 0 {
				got = files
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if got[name] != text {
				t.Errorf("%s differs (-one +team):\n%s", name, cmp.Diff(text, got[name]))
			}
		}
		if len(want) != len(got) || len(want) < 5 {
			t.Errorf("%d files of one, %d of a team", len(want), len(got))
		}
	}
}

// A member that fails has the others end with an error that says so, and nothing is written.
func TestConcludeWithoutAMember(t *testing.T) {
	r := rapid.Custom(drawRecord).Example(1)
	for name, leave := range map[string]func(x mpix.Transport, e End) error{
		"it ended": func(x mpix.Transport, _ End) error { return nil },
		"in the recount": func(x mpix.Transport, e End) error {
			if _, err := team.Any(x, false); err != nil {
				return err
			}
			return e.Frozen.Share(x)
		},
		"it has what another has": func(x mpix.Transport, e End) error {
			e.Frozen = r.frozen(t, rand.New(rand.NewPCG(1, 1)), func(agent int) bool { return agent == 0 })
			_, err := Conclude(t.Context(), e)
			if err == nil {
				t.Error("a result of an agent that is at two collectors")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := mpix.Each(3, func(x mpix.Transport) error {
				e := End{
					Frozen: r.frozen(t, rand.New(rand.NewPCG(1, 1)), func(agent int) bool { return agent%2 == x.Rank() }), Stages: stage.Shared(0, x), Team: x,
					Options: grouping.Options{By: grouping.ByAuto}, Keep: retention.Options{All: true},
				}
				if x.Rank() == 2 {
					return leave(x, e)
				}
				result, err := Conclude(t.Context(), e)
				var broken *BrokenError
				if result != nil || !errors.As(err, &broken) {
					return fmt.Errorf("member %d: %v", x.Rank(), err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
