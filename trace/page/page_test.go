package page_test

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"moriens/trace"
	"moriens/trace/pack"
	"moriens/trace/page"
	"moriens/trace/rundir"
	"moriens/trace/tracetest"
)

// A shown is a pack taken apart, with names in the place of numbers that depend on the order in which a page meets
// them.
type shown struct {
	Document page.Document
	Floats   map[string][]float64
}

func open(t *testing.T, b []byte) shown {
	t.Helper()
	text, c, err := pack.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	var s shown
	if err := json.Unmarshal(text, &s.Document); err != nil {
		t.Fatal(err)
	}
	s.Floats = make(map[string][]float64)
	for name, place := range c.Places {
		var err error
		var values []float64
		switch place.Type {
		case pack.I32:
			values, err = floats[int32](c, name)
		case pack.F32:
			values, err = floats[float32](c, name)
		case pack.F64:
			values, err = floats[float64](c, name)
		case pack.U8:
			values, err = floats[uint8](c, name)
		case pack.U16:
			values, err = floats[uint16](c, name)
		default:
			t.Fatalf("column %s of type %s", name, place.Type)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Floats[name] = values
	}
	return s
}

func floats[T pack.Number](c *pack.Columns, name string) ([]float64, error) {
	column, err := pack.Get[T](c, name)
	values := make([]float64, len(column))
	for i, v := range column {
		values[i] = float64(v)
	}
	return values, err
}

// named puts the place of a call path's or function's name in the sorted list of names for its number.
func (s *shown) named() {
	var paths, functions []string
	for _, p := range s.Document.Paths {
		paths = append(paths, p.Name)
	}
	functions = s.Document.Functions
	for _, name := range []string{"points.before", "points.after", "calls.path"} {
		rank(s.Floats[name], paths)
	}
	rank(s.Floats["calls.function"], functions)
	slices.SortFunc(s.Document.Paths, func(a, b page.Path) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	slices.Sort(s.Document.Functions)
	s.Document.Columns = nil // the same columns lie elsewhere
}

func rank(column []float64, names []string) {
	sorted := slices.Sorted(slices.Values(names))
	for i, v := range column {
		if v >= 0 {
			at, _ := slices.BinarySearch(sorted, names[int(v)])
			column[i] = float64(at)
		}
	}
}

func content(run, kept *trace.Run) *rundir.Content {
	return &rundir.Content{
		Run: run, Kept: kept, Clusters: &rundir.Clusters{Dimensions: []rundir.Dimension{{Name: "PAPI_TOT_INS/duration", Scale: "lin"}}},
		Manifest: &rundir.Manifest{Kept: rundir.Kept{Classes: []rundir.Class{{Size: 2, Threads: [][2]int{{0, 1}}}, {Size: 2, Threads: [][2]int{{2, 3}}}}}},
	}
}

// write writes a run directory, and returns the page that it has been given.
func write(t *testing.T, c *rundir.Content) (dir string, written []byte) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	if err := rundir.Create(dir); err != nil {
		t.Fatal(err)
	}
	c.Report = func(w io.Writer, manifest []byte) error {
		s, err := page.Of(c, manifest)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := page.Write(&b, page.Report, s, page.LimitsOf(page.Report)); err != nil {
			return err
		}
		written = bytes.Clone(b.Bytes())
		_, err = b.WriteTo(w)
		return err
	}
	if _, err := rundir.Write(c, dir); err != nil {
		t.Fatal(err)
	}
	return dir, written
}

func fromDirectory(t *testing.T, dir string, l page.Limits) shown {
	t.Helper()
	s, err := page.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := page.Write(&b, page.Report, s, l); err != nil {
		t.Fatal(err)
	}
	return open(t, b.Bytes())
}

// TestMemoryAndDirectory writes a page of a run that is in memory, and another one of its directory: they show the
// same.
func TestMemoryAndDirectory(t *testing.T) {
	for name, c := range map[string]*rundir.Content{
		"whole": content(tracetest.Planted(), nil), "windows": content(tracetest.Planted(), tracetest.PlantedWindows()),
	} {
		t.Run(name, func(t *testing.T) {
			dir, written := write(t, c)
			a, b := open(t, written), fromDirectory(t, dir, page.LimitsOf(page.Report))
			a.named()
			b.named()
			b.Document.Problems = slices.DeleteFunc(b.Document.Problems, func(p string) bool {
				return p == "profile.parquet: no such file or directory." // there are no levels here
			})
			if diff := cmp.Diff(a, b, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("in memory, in the directory:\n%s", diff)
			}
		})
	}
}

// The call paths of a page have the numbers that they have in the run and in callpaths.json, whether it is written or
// read; without that file, or where the files of a directory have different ones, names distinguish them.
func TestPathNumbers(t *testing.T) {
	run := tracetest.Small()
	run.CallPaths = append(run.CallPaths, run.CallPaths[2]) // two of one name
	run.CallPaths[7].Frames = slices.Clone(run.CallPaths[7].Frames)
	run.CallPaths[7].Frames[0].Offset++
	run.Threads[1].Calls.Path[1], run.Threads[1].Bursts.After[0], run.Threads[1].Bursts.Before[1] = 7, 7, 7
	dir, written := write(t, content(run, nil))
	table, err := rundir.ReadCallPaths(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []shown{open(t, written), fromDirectory(t, dir, page.LimitsOf(page.View))} {
		var names []string
		for i, p := range s.Document.Paths {
			if names = append(names, p.Name); p.Function != table.Paths[i].Function {
				t.Errorf("path %d is of %s, not of %s", i, p.Function, table.Paths[i].Function)
			}
		}
		if d := cmp.Diff(run.Names(), names); d != "" {
			t.Error(d)
		}
		var calls, before []float64
		for _, th := range run.Threads {
			for _, p := range th.Calls.Path {
				calls = append(calls, float64(p))
			}
			for _, p := range th.Bursts.Before {
				before = append(before, float64(p))
			}
		}
		if d := cmp.Diff([][]float64{calls, before}, [][]float64{s.Floats["calls.path"], s.Floats["points.before"]}); d != "" {
			t.Error(d)
		}
	}
	s, err := page.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	other := *s.Rows
	other.PathNames = slices.Clone(other.PathNames)
	other.PathNames[1] = "MPI_Init_thread"
	s.Rows = &other
	var b bytes.Buffer
	if err := page.Write(&b, page.View, s, page.LimitsOf(page.View)); err != nil {
		t.Fatal(err)
	}
	mixed := open(t, b.Bytes())
	name := func(n float64) string { return mixed.Document.Paths[int(n)].Name }
	if first, before := name(mixed.Floats["calls.path"][0]), name(mixed.Floats["points.before"][0]); first != "MPI_Init" || before != "MPI_Init_thread" {
		t.Errorf("the first call is %s, and before the first burst is %s", first, before)
	}
}
