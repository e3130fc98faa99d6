package waiting

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/app/question"
	"moriens/internal/hint"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// directory makes a run directory with what Ask reads.
func directory(t *testing.T, manifest map[string]any, change func(*rundir.Waits)) string {
	t.Helper()
	dir := t.TempDir()
	m := map[string]any{"format": rundir.ManifestFormat, "ranks": 4}
	for name, value := range manifest {
		m[name] = value
	}
	text, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, rundir.ManifestFile), text, 0o666)
	}
	w, rows := rundirtest.Waits()
	if change != nil {
		change(w)
	}
	if err := errors.Join(err, rundirtest.WriteWaits(dir, w, rows)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Lists are complete, in order, and add up to the whole.
func TestComplete(t *testing.T) {
	for within, want := range map[string]struct {
		causes int
		ranks  []int
	}{rundir.WithinMain: {4, []int{2, 0, 3, 1}}, rundir.WithinRun: {6, []int{2, 0, 1, 3}}} {
		causes := want.causes
		dir := directory(t, nil, nil)
		a, err := Ask(Question{Dir: dir, By: ByRank, Within: within})
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		var waiting, caused, path rundir.Number
		for _, r := range a.Table.ByRank {
			order = append(order, r.Rank)
			waiting, caused, path = waiting+r.Waiting, caused+r.Caused, path+r.Path
		}
		if !slices.Equal(order, want.ranks) {
			t.Errorf("%s: ranks %v", within, order)
		}
		near := func(a, b rundir.Number) bool { return math.Abs(float64(a-b)) < 1e-9 }
		if !near(waiting, a.Table.Waiting) || !near(caused, a.Table.Waiting) || !near(path, a.Table.Path.Seconds) || a.Within != within {
			t.Errorf("%s: waits %v, caused %v, path %v within %s", within, waiting, caused, path, a.Within)
		}
		if a, err = Ask(Question{Dir: dir, By: ByCallPath, Within: within}); err != nil {
			t.Fatal(err)
		}
		kept := a.Waits.Within(within).Causes
		if len(a.Table.Causes) != causes || a.Table.CausesTotal != causes || len(kept) == 0 {
			t.Fatalf("%s: %d causes, %d in the file", within, len(a.Table.Causes), len(kept))
		}
		for i, want := range kept {
			got := a.Table.Causes[i]
			same := func(a, b rundir.Number) bool {
				return near(a, b) || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
			}
			if got.ThreadName != want.ThreadName || got.What != want.What || got.CallPath != want.CallPath || (got.Cluster == nil) != (want.Cluster == nil) ||
				!near(got.Seconds, want.Seconds) || !near(got.Direct, want.Direct) || got.Share != rundir.WaitsShare(float64(want.Share)) || got.Waits != want.Waits || !same(got.More, want.More) {
				t.Errorf("%s: cause %d is %+v, the file has %+v", within, i, got, want)
			}
		}
	}
}

// Where main is all of the run, or not known apart, the answer is that of the run, and says so.
func TestWithinFallsBack(t *testing.T) {
	dir := directory(t, nil, func(w *rundir.Waits) { w.Main = nil })
	a, err := Ask(Question{Dir: dir, Within: rundir.WithinMain})
	if err != nil || a.Within != rundir.WithinRun || a.Table != a.WholeRun || a.Known() != nil {
		t.Errorf("%v, within %s", err, a.Within)
	}
}

// Who has no row is listed all the same, and the clusters of a kind are one.
func TestWithoutRows(t *testing.T) {
	w, rows := rundirtest.Waits()
	for i := range rows {
		if r := &rows[i]; r.Kind == parquet.WaitsCause && r.Rank == 1 && r.Cluster == 1 {
			r.Cluster = 2
			r.Rank = 3
			r.MainDirectNS = 0 // within main all of it is handed on
		}
	}
	dir := directory(t, nil, nil)
	if err := rundirtest.WriteWaits(dir, w, rows); err != nil {
		t.Fatal(err)
	}
	const efficiency = `{"format": 1, "runs": [{"threads": [{"world": 0, "rank": 2, "thread": 0}, {"world": 0, "rank": 7, "thread": 0}]}]}`
	if err := os.WriteFile(filepath.Join(dir, rundir.EfficiencyFile), []byte(efficiency), 0o666); err != nil {
		t.Fatal(err)
	}
	a, err := Ask(Question{Dir: dir, By: ByRank, Within: rundir.WithinRun})
	if err != nil {
		t.Fatal(err)
	}
	if list := a.Table.ByRank; len(list) != 5 || list[4] != (rundir.WaitsRank{ThreadName: rundir.ThreadName{Rank: 7}}) {
		t.Errorf("%+v", list)
	}
	if a, err = Ask(Question{Dir: dir, By: ByCallPath, Within: rundir.WithinRun}); err != nil {
		t.Fatal(err)
	}
	list := a.Table.Causes
	last := slices.IndexFunc(list, func(c rundir.WaitsCause) bool { return c.Rank == 3 && c.Cluster != nil })
	if len(list) != 5 || last < 0 || *list[last].Cluster != 1 || !slices.Equal(list[last].Variants, []int32{1, 2}) || list[last].Seconds != .1 || list[last].Waits != 180 {
		t.Errorf("%d causes, %+v", len(list), list[last])
	}
	if a, err = Ask(Question{Dir: dir, By: ByCallPath, Within: rundir.WithinMain}); err != nil {
		t.Fatal(err)
	}
	last = slices.IndexFunc(a.Table.Causes, func(c rundir.WaitsCause) bool { return c.Rank == 3 })
	if c := a.Table.Causes[last]; c.Seconds != .1 || c.Waits != 90 || c.More != seconds(60_000_000/90) {
		t.Errorf("within main: %+v", c)
	}
}

// JSON is the file as it is, or the lists that were asked for.
func TestJSON(t *testing.T) {
	dir := directory(t, nil, nil)
	file, err := os.ReadFile(filepath.Join(dir, rundir.WaitsFile))
	if err != nil {
		t.Fatal(err)
	}
	for by, want := range map[By][]string{ByCluster: {"clusters", "others"}, ByCallPath: {"call_paths", "causes"}, ByRank: {"by_rank"}, ByKind: {"call_paths", "kinds"}, Overview: nil} {
		for of, within := range map[string]string{"whole_run": rundir.WithinRun, "main": rundir.WithinMain, "windows": rundir.WithinMain} {
			windows := of == "windows"
			a, err := Ask(Question{Dir: dir, By: by, Within: within, Windows: windows})
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := a.WriteJSON(&b); err != nil {
				t.Fatal(err)
			}
			if by == Overview {
				if b.String() != string(file) {
					t.Errorf("not as in the file:\n%s", b.String())
				}
				continue
			}
			fields := 5
			if windows {
				fields--
			}
			var got map[string]any
			if err := json.Unmarshal(b.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if got["of"] != of || (got["within"] == nil) != windows || !windows && got["within"] != within || got["by"] != string(by) || got["format"] != 1.0 || len(got) != fields+len(want) {
				t.Errorf("%v: %v", by, got)
			}
			for _, list := range want {
				if x, _ := got[list].([]any); len(x) == 0 {
					t.Errorf("%s: no %s in %v", by, list, got)
				}
			}
		}
	}
}

// Questions without an answer say what is not known, and what to do.
func TestNotKnown(t *testing.T) {
	cells := func(w *rundir.Waits) {
		w.WholeRun, w.Main, w.Windows, w.Why = nil, nil, nil, []string{"bursts stay on their nodes (--cells)"}
	}
	for what, c := range map[string]struct {
		change  func(*rundir.Waits)
		windows bool
		want    string
	}{
		"cells":            {cells, false, "the waits are not known: bursts stay on their nodes (--cells)"},
		"cells, windows":   {cells, true, "the waits are not known: bursts"},
		"windows alone":    {func(w *rundir.Waits) { w.WholeRun, w.Main = nil, nil }, false, "the waits of the whole run are not known: messages"},
		"no windows":       {func(w *rundir.Waits) { w.Windows, w.WholeRun.Basis = nil, rundir.WaitsFull }, true, "windows have no table of their own"},
		"without a reason": {func(w *rundir.Waits) { w.WholeRun, w.Main, w.Windows, w.Why = nil, nil, nil, nil }, false, "the waits are not known"},
	} {
		a, err := Ask(Question{Dir: directory(t, nil, c.change), Windows: c.windows})
		if err != nil {
			t.Fatal(err)
		}
		var mistake question.UsageError
		if err = a.Known(); !errors.As(err, &mistake) || !strings.Contains(err.Error(), c.want) || hint.Of(err) == "" {
			t.Errorf("%s: %v, hint %q", what, err, hint.Of(err))
		}
	}
	a, err := Ask(Question{Dir: directory(t, nil, nil)})
	if err != nil || a.Known() != nil {
		t.Errorf("%v, %v", err, a.Known())
	}
	_, err = Ask(Question{Dir: directory(t, map[string]any{"ranks": 0, "empty": "no process called MPI"}, nil)})
	var mistake question.UsageError
	if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "no rank was recorded: no process called MPI") {
		t.Error(err)
	}
}

// Files that are damaged or not there: what is wrong, and what to do.
func TestBadDirectories(t *testing.T) {
	damage := func(name string, text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666) }
	}
	without := func(name string) func(string) error {
		return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
	}
	given := map[string]any{"reduction": map[string]any{"missing": []string{"structure.json is missing: x", "waits.json is missing: waits: out of time"}}}
	for what, c := range map[string]struct {
		manifest map[string]any
		spoil    func(dir string) error
		want     string
		missing  bool
	}{
		"older":             {nil, without(rundir.WaitsFile), "it has no waits.json: a version of moriens wrote it that did not compute waits", true},
		"given up":          {given, without(rundir.WaitsFile), "waits.json is missing: waits: out of time", true},
		"cut":               {nil, damage(rundir.WaitsFile, `{"format": 1,`), "waits.json: it is cut short", false},
		"of a later format": {nil, damage(rundir.WaitsFile, `{"format": 2}`), "waits.json has format 2, this moriens reads 1", false},
		"impossible":        {nil, damage(rundir.WaitsFile, `{"format": 1, "whole_run": {"basis": "full"}}`), "waits.json has figures that cannot be", false},
		"table cut":         {nil, damage(rundir.WaitsTableFile, "PAR1"), "waits.parquet: it has 4 bytes", false},
		"no table":          {nil, without(rundir.WaitsTableFile), "it has no waits.parquet beside waits.json", true},
		"no manifest":       {nil, without(rundir.ManifestFile), "no manifest.json: not a run directory", false},
	} {
		dir := directory(t, c.manifest, nil)
		if err := c.spoil(dir); err != nil {
			t.Fatal(err)
		}
		_, err := Ask(Question{Dir: dir, By: ByRank})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), dir+": ") || strings.Contains(err.Error(), "\n") || hint.Of(err) == "" {
			t.Errorf("%s: %v, hint %q", what, err, hint.Of(err))
		}
		if errors.Is(err, fs.ErrNotExist) != c.missing {
			t.Errorf("%s: missing is %t", what, !c.missing)
		}
	}
}
