package rundir_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/hint"
	"moriens/trace/csv"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
	"moriens/trace/table"
	"moriens/trace/tracetest"
)

// waiting is a small run with waits, and what it loses in cluster 1.
func waiting() *rundir.Content {
	w, rows := rundirtest.Waits()
	e := &rundir.Efficiency{Format: rundir.EfficiencyFormat, Runs: []rundir.EfficiencyRun{{Clusters: []rundir.EfficiencyCluster{{ID: 1, Lost: .25}, {ID: 2, Lost: rundir.Number(math.NaN())}}}}}
	return &rundir.Content{Run: tracetest.Small(), Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters), Levels: &rundir.Levels{Efficiency: e, Waits: w, WaitsRows: rows}}
}

// sameNumbers takes two that are not known for the same.
var sameNumbers = cmp.Comparer(func(a, b rundir.Number) bool { return a == b || a != a && b != b })

func readRows(t *testing.T, dir string) ([]parquet.WaitsRow, error) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(dir, rundir.WaitsTableFile))
	if err != nil {
		t.Fatal(err)
	}
	return parquet.ReadWaits(bytes.NewReader(file), int64(len(file)))
}

// Waits are in the directory, and come back; the directory reads as before.
func TestWaitsComeBack(t *testing.T) {
	dir, c := t.TempDir(), waiting()
	files, err := rundir.Write(c, dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]string)
	for _, f := range files {
		names[f.Name] = f.Content
	}
	if names[rundir.WaitsFile] == "" || names[rundir.WaitsTableFile] == "" {
		t.Errorf("files %v", names)
	}
	back, err := rundir.ReadWaits(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c.Levels.Waits, back, sameNumbers); d != "" {
		t.Errorf("read back (+) differs from what was written (-):\n%s", d)
	}
	var again bytes.Buffer
	if text, err := os.ReadFile(filepath.Join(dir, rundir.WaitsFile)); err != nil || back.Write(&again) != nil || again.String() != string(text) {
		t.Errorf("%v\n%s", err, again.String())
	}
	if rows, err := readRows(t, dir); err != nil || cmp.Diff(c.Levels.WaitsRows, rows) != "" {
		t.Errorf("%v\n%s", err, cmp.Diff(c.Levels.WaitsRows, rows))
	}
	run, _, clusters, err := rundir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Cluster 1 is known to both; not all have 2. The figures are those of main.
	want := map[int32][4]rundir.Number{1: {.25, .1, 4, .03}, 2: {rundir.Number(math.NaN()), 0, .758, -.3}}
	for _, x := range clusters.Clusters {
		if d := cmp.Diff(want[x.ID], [4]rundir.Number{x.Lost, x.Caused, x.Path, x.PathImbalance}, sameNumbers); d != "" {
			t.Errorf("cluster %d:\n%s", x.ID, d)
		}
	}
	for _, of := range table.All(run) {
		if of.Name != "clusters" {
			continue
		}
		var b bytes.Buffer
		if err := csv.Write(&b, of); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{",lost_ns,caused_ns,path_ns,path_imbalance_ns,", ",250000000,100000000,4000000000,30000000,", ",,0,758000000,-300000000,"} {
			if !strings.Contains(b.String(), part) {
				t.Errorf("no %s in\n%s", part, b.String())
			}
		}
	}
}

// What is not known of clusters is not there, and of a run without waits there are no files.
func TestWithoutWaits(t *testing.T) {
	dir, c := t.TempDir(), waiting()
	c.Levels = nil
	if _, err := rundir.Write(c, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := rundir.ReadWaits(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no error for a file that is not there, but %v", err)
	}
	run, _, _, err := rundir.Read(dir)
	if err != nil || run.Clusters[0].Costs != nil {
		t.Errorf("%v, %+v", err, run.Clusters[0].Costs)
	}
	// Nothing is known of the whole run under --cells: why is in the file, and there is no table.
	c.Levels = &rundir.Levels{Waits: &rundir.Waits{Format: rundir.WaitsFormat, Why: []string{"bursts stay on their nodes (--cells)"}}}
	if _, err := rundir.Write(c, dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, rundir.WaitsFile))
	if want := `{"format": 1, "whole_run": null, "main": null, "windows": null, "why": ["bursts stay on their nodes (--cells)"]}` + "\n"; err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := os.Stat(filepath.Join(dir, rundir.WaitsTableFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a table of nothing: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, rundir.ClustersFile), []byte(`{"format": 2, "clusters": [{"id": 1}]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if old, err := rundir.ReadClusters(dir); err != nil || old.Clusters[0].LostSeconds != nil {
		t.Errorf("of an earlier version: %v, %+v", err, old.Clusters)
	}
}

// Lists that are nil are empty ones in the file.
func TestWaitsHaveNoNullLists(t *testing.T) {
	var b bytes.Buffer
	w := &rundir.Waits{Format: rundir.WaitsFormat, WholeRun: new(rundir.WaitsTable), Main: new(rundir.WaitsTable), Windows: new(rundir.WaitsTable)}
	if err := w.Write(&b); err != nil || strings.Contains(b.String(), "null") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// What is added to rendered waits is written.
func TestWindowsAreAdded(t *testing.T) {
	dir, c := t.TempDir(), waiting()
	windows := c.Levels.Waits.Windows
	c.Levels.Waits.Windows = nil
	c.Describe()
	if _, err := c.RenderSums(1); err != nil {
		t.Fatal(err)
	}
	estimate := c.LaterBytes()
	if more, err := c.TakeWindowWaits(windows, []string{"of windows"}); err != nil || more <= 0 || estimate <= 0 || estimate > 3*more {
		t.Errorf("%d bytes more, estimated as %d, %v", more, estimate, err)
	}
	if _, err := rundir.Write(c, dir); err != nil {
		t.Fatal(err)
	}
	if back, err := rundir.ReadWaits(dir); err != nil || back.Windows == nil || back.Windows.LinksTotal != windows.LinksTotal || len(back.Why) != 1 || back.Why[0] != "of windows" {
		t.Errorf("%v, %+v", err, back)
	}
}

// Figures that cannot be are refused, with what to do.
func TestImpossibleWaits(t *testing.T) {
	null := rundir.Number(math.NaN())
	for what, spoil := range map[string]func(*rundir.WaitsTable){
		"basis":            func(t *rundir.WaitsTable) { t.Basis = "" },
		"no ranks":         func(t *rundir.WaitsTable) { t.Ranks = 0 },
		"no locations":     func(t *rundir.WaitsTable) { t.Locations = -1 },
		"no waiting":       func(t *rundir.WaitsTable) { t.Waiting = null },
		"no elapsed time":  func(t *rundir.WaitsTable) { t.Seconds = null },
		"negative":         func(t *rundir.WaitsTable) { t.Residual = -1 },
		"too long":         func(t *rundir.WaitsTable) { t.Uncertain = 1e13 },
		"kind":             func(t *rundir.WaitsTable) { t.Kinds[0].Kind = "x" },
		"of a call path":   func(t *rundir.WaitsTable) { t.CallPaths[0].Kind = "" },
		"count":            func(t *rundir.WaitsTable) { t.Kinds[0].Count = -1 },
		"cause":            func(t *rundir.WaitsTable) { t.Causes[0].What = "magic" },
		"share":            func(t *rundir.WaitsTable) { t.Causes[0].Share = 1.1 },
		"thread":           func(t *rundir.WaitsTable) { t.Causes[0].Rank = -2 },
		"cluster":          func(t *rundir.WaitsTable) { t.Clusters[0].PathShare = -1 },
		"rank":             func(t *rundir.WaitsTable) { t.ByRank[0].Caused = -1 },
		"link":             func(t *rundir.WaitsTable) { t.Links[0].For.Thread = -1 },
		"part":             func(t *rundir.WaitsTable) { t.Path.Parts[0].What = "" },
		"path":             func(t *rundir.WaitsTable) { t.Path.Ranks[0].Share = 2 },
		"not explained":    func(t *rundir.WaitsTable) { t.NotExplained = []rundir.WaitsNotExplained{{Calls: -1}} },
		"eager":            func(t *rundir.WaitsTable) { *t.Eager[0].Bytes = -1 },
		"contradictions":   func(t *rundir.WaitsTable) { t.Contradictions = -1 },
		"one-sided":        func(t *rundir.WaitsTable) { t.OneSided = -1 },
		"begin":            func(t *rundir.WaitsTable) { t.Begin = null },
		"end":              func(t *rundir.WaitsTable) { t.End = -1 },
		"others":           func(t *rundir.WaitsTable) { t.Others[0].What = "x" },
		"others' share":    func(t *rundir.WaitsTable) { t.Others[0].PathShare = 2 },
		"locations":        func(t *rundir.WaitsTable) { t.Clusters[0].Locations = -1 },
		"without a length": func(t *rundir.WaitsTable) { t.Path.Seconds = null },
	} {
		w, rows := rundirtest.Waits()
		table := w.Windows
		if what == "part" || what == "path" || what == "without a length" { // of the path, which windows do not have
			table = w.WholeRun
		}
		spoil(table)
		dir := t.TempDir()
		if err := rundirtest.WriteWaits(dir, w, rows); err != nil {
			t.Fatal(err)
		}
		if _, err := rundir.ReadWaits(dir); err == nil || err.Error() != "waits.json has figures that cannot be" || hint.Of(err) == "" {
			t.Errorf("%s: %v, hint %q", what, err, hint.Of(err))
		}
	}
}

// Main is a part of a run that is known, with a critical path.
func TestImplausibleMain(t *testing.T) {
	for what, spoil := range map[string]func(w *rundir.Waits){
		"alone":          func(w *rundir.Waits) { w.WholeRun = nil },
		"without a path": func(w *rundir.Waits) { w.Main.Path.Seconds = rundir.Number(math.NaN()) },
		"a share":        func(w *rundir.Waits) { w.Main.Causes[0].Share = 2 },
	} {
		dir := t.TempDir()
		w, rows := rundirtest.Waits()
		spoil(w)
		if err := rundirtest.WriteWaits(dir, w, rows); err != nil {
			t.Fatal(err)
		}
		if _, err := rundir.ReadWaits(dir); err == nil || err.Error() != "waits.json has figures that cannot be" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
