//go:build !quick

package export

import (
	"bytes"
	"compress/gzip"
	"context"
	stdcsv "encoding/csv"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pq "github.com/parquet-go/parquet-go"
	"golang.org/x/sys/unix"

	"moriens/analysis/grouping"
	"moriens/app/console"
	"moriens/app/question"
	"moriens/conclude/clustering"
	"moriens/internal/hint"
	"moriens/internal/testenv"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/perfetto/perfettotest"
	"moriens/trace/prv"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
	"moriens/trace/table"
	"moriens/trace/tracetest"
)

// runDirectory writes a run.
func runDirectory(t *testing.T, run *trace.Run) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := rundir.Create(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := rundir.Write(&rundir.Content{Run: run, Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters)}, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func export(t *testing.T, dir, format, out string) string {
	t.Helper()
	var said bytes.Buffer
	if err := Run(t.Context(), Config{Dir: dir, Format: format, Out: out, Stdout: &said, Status: &console.Status{}}); err != nil {
		t.Fatalf("%s: %v\nhint: %s", format, err, hint.Of(err))
	}
	return said.String()
}

func readBack(t *testing.T, dir string) *trace.Run {
	t.Helper()
	run, _, _, err := rundir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A run with everything in it, one of which parts are kept, and a real one are exported unchanged in every format.
func TestFormats(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(t *testing.T) *trace.Run
	}{
		{"planted", func(*testing.T) *trace.Run { return tracetest.Planted() }},
		{"windows", func(*testing.T) *trace.Run { return tracetest.PlantedWindows() }},
		{"waiting", func(*testing.T) *trace.Run { return tracetest.Waiting() }},
		{"waiting windows", func(*testing.T) *trace.Run { return tracetest.WaitingWindows() }},
		{"real", func(t *testing.T) *trace.Run {
			read, err := prv.ReadFile(testenv.RealTrace(t, "epoch_4proc.prv.gz"), prv.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := clustering.Cluster(read.Run, grouping.Options{Fixed: &grouping.Density{Eps: .05, MinPts: 4}, By: grouping.ByNone, AsGiven: true, Normalise: true, Workers: 1}); err != nil {
				t.Fatal(err)
			}
			return read.Run
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := runDirectory(t, tt.run(t))
			run := readBack(t, dir)
			if tt.name == "real" && (len(run.Messages) != 2556 || len(run.Communicators) != 5 || len(run.Clusters) != 14) {
				t.Fatalf("%d messages, %d communicators, %d clusters", len(run.Messages), len(run.Communicators), len(run.Clusters))
			}
			t.Run(Paraver, func(t *testing.T) { checkParaver(t, dir, run) })
			t.Run(Perfetto, func(t *testing.T) { checkPerfetto(t, dir, run) })
			t.Run(CSV, func(t *testing.T) { checkCSV(t, dir, run) })
			t.Run(Parquet, func(t *testing.T) { checkParquet(t, dir, run) })
		})
	}
}

// What is read of the exported trace is what is read of the run directory's.
func checkParaver(t *testing.T, dir string, run *trace.Run) {
	want, err := prv.ReadFile(filepath.Join(dir, rundir.TraceFile), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ending := range []string{".prv", ".prv.gz"} {
		out := filepath.Join(t.TempDir(), "größe.x"+ending)
		export(t, dir, Paraver, out)
		got, err := prv.ReadFile(out, prv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want.Run, got.Run) {
			t.Errorf("%s: the export (+) differs from the run directory's trace (-):\n%s", ending, cmp.Diff(want.Run, got.Run))
		}
		if len(got.Run.Messages) != len(run.Messages) {
			t.Errorf("%d messages, want %d", len(got.Run.Messages), len(run.Messages))
		}
		files, err := os.ReadDir(filepath.Dir(out))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range files {
			names = append(names, f.Name())
		}
		wantNames := []string{"größe.x.cluster.cfg", "größe.x.pcf", "größe.x" + ending, "größe.x.row"}
		if slices.ContainsFunc(run.Counters, func(c trace.Counter) bool { return c.Name == "PAPI_TOT_CYC" }) {
			wantNames = append(wantNames, "größe.x.ipc.cfg")
		}
		if slices.ContainsFunc(run.Threads, func(t trace.Thread) bool { return t.Waits.Len() > 0 }) {
			wantNames = append(wantNames, "größe.x.path.cfg", "größe.x.waits.cfg")
		}
		slices.Sort(wantNames)
		if d := cmp.Diff(wantNames, names); d != "" {
			t.Error(d)
		}
	}
}

func checkPerfetto(t *testing.T, dir string, run *trace.Run) {
	for _, name := range []string{"run.pftrace", "run.pftrace.gz"} {
		out := filepath.Join(t.TempDir(), name)
		export(t, dir, Perfetto, out)
		file, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if file, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		perfettotest.Compare(t, run, file)
	}
}

// cells is a table as text.
type cells struct {
	rows [][]string
	row  []string
}

func (c *cells) Int(v int64)     { c.row = append(c.row, strconv.FormatInt(v, 10)) }
func (c *cells) Float(v float64) { c.row = append(c.row, strconv.FormatFloat(v, 'g', -1, 64)) }
func (c *cells) Text(v string)   { c.row = append(c.row, v) }
func (c *cells) Bool(v bool)     { c.row = append(c.row, strconv.FormatBool(v)) }
func (c *cells) Null()           { c.row = append(c.row, "") }
func (c *cells) End() error {
	c.rows, c.row = append(c.rows, c.row), nil
	return nil
}

func cellsOf(t *testing.T, x table.Table) [][]string {
	t.Helper()
	var all cells
	for _, c := range x.Columns {
		all.Text(c.Name)
	}
	all.End()
	if err := x.Rows(&all); err != nil {
		t.Fatal(err)
	}
	return all.rows
}

func checkCSV(t *testing.T, dir string, run *trace.Run) {
	out := filepath.Join(t.TempDir(), "tables")
	export(t, dir, CSV, out)
	for _, x := range table.All(run) {
		f, err := os.Open(filepath.Join(out, x.Name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got, err := stdcsv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if want := cellsOf(t, x); !reflect.DeepEqual(want, got) {
			t.Errorf("%s:\n%s", x.Name, cmp.Diff(want, got))
		}
	}
	if files, _ := os.ReadDir(out); len(files) != len(table.All(run))+1 { // and waits
		t.Errorf("%d files", len(files))
	}
}

func checkParquet(t *testing.T, dir string, run *trace.Run) {
	out := filepath.Join(t.TempDir(), "tables")
	export(t, dir, Parquet, out)
	bursts, err := parquet.ReadFile(filepath.Join(out, "bursts.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	type burst struct {
		world, rank, thread int
		startNS, durationNS int64
		cluster             int32
		before              string
		counters            []int64
	}
	list := func(run *trace.Run, names []string) (all []burst) {
		for _, th := range run.Threads {
			b := &th.Bursts
			for k := range b.StartNS {
				x := burst{th.World, th.Rank, th.Thread, b.StartNS[k], b.DurationNS[k], b.Cluster[k], names[b.Before[k]], nil}
				for c := range b.Counters {
					x.counters = append(x.counters, b.Counters[c][k])
				}
				all = append(all, x)
			}
		}
		return all
	}
	var names []string
	for _, p := range bursts.CallPaths {
		names = append(names, p.String())
	}
	if d := cmp.Diff(list(run, run.Names()), list(bursts, names), cmp.AllowUnexported(burst{}), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("bursts:\n%s", d)
	}
	for _, x := range table.All(run) {
		f, err := os.Open(filepath.Join(out, x.Name+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		file, err := pq.OpenFile(f, info.Size())
		if err != nil {
			t.Fatalf("%s: %v", x.Name, err)
		}
		if want := int64(len(cellsOf(t, x)) - 1); file.NumRows() != want {
			t.Errorf("%s: %d rows, want %d", x.Name, file.NumRows(), want)
		}
	}
}

// The table of waits has the rows of the run directory, with what of each time lies within main.
func TestWaitsTable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := rundir.Create(dir); err != nil {
		t.Fatal(err)
	}
	w, rows := rundirtest.Waits()
	c := &rundir.Content{Run: tracetest.Small(), Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters), Levels: &rundir.Levels{Waits: w, WaitsRows: rows}}
	if _, err := rundir.Write(c, dir); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "csv")
	export(t, dir, CSV, out)
	text, err := os.ReadFile(filepath.Join(out, "waits.csv"))
	if err != nil {
		t.Fatal(err)
	}
	records, err := stdcsv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(records) != len(rows)+1 {
		t.Fatalf("%v: %d lines of %d rows", err, len(records), len(rows))
	}
	sums := make(map[string]int64)
	for _, r := range records[1:] {
		for i, column := range records[0] {
			if n, err := strconv.ParseInt(r[i], 10, 64); err == nil {
				sums[column] += n
			}
		}
	}
	for column, want := range map[string]rundir.Number{
		"wait_ns": w.WholeRun.Waiting, "charged_ns": w.WholeRun.Waiting, "path_ns": w.WholeRun.Seconds, "main_wait_ns": w.Main.Waiting, "main_charged_ns": w.Main.Waiting, "main_path_ns": w.Main.Seconds,
	} {
		if got := float64(sums[column]) / 1e9; math.Abs(got-float64(want)) > 1e-9 {
			t.Errorf("%s: %v s, want %v", column, got, want)
		}
	}
	out = filepath.Join(t.TempDir(), "parquet")
	export(t, dir, Parquet, out)
	file, err := os.ReadFile(filepath.Join(out, "waits.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	back, err := pq.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil || back.NumRows() != int64(len(rows)) {
		t.Fatalf("%v: %d rows of %d", err, back.NumRows(), len(rows))
	}
	if unit, _ := back.Lookup("moriens.unit.main_wait_ns"); unit != "ns" {
		t.Errorf("main_wait_ns is in %q", unit)
	}
	if err := os.WriteFile(filepath.Join(dir, rundir.WaitsTableFile), []byte("PAR1"), 0o666); err != nil {
		t.Fatal(err)
	}
	err = Run(t.Context(), Config{Dir: dir, Format: CSV, Out: filepath.Join(t.TempDir(), "x"), Stdout: io.Discard, Status: &console.Status{}})
	if err == nil || !strings.Contains(err.Error(), "waits.parquet") || !strings.Contains(hint.Of(err), "copy it again") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

// Existing files are kept, and no files remain of what fails.
func TestMistakes(t *testing.T) {
	dir := runDirectory(t, tracetest.Small())
	place := t.TempDir()
	at := func(name string) string { return filepath.Join(place, name) }
	for _, name := range []string{"there", "there.pcf", "there.ipc.cfg"} {
		if err := os.WriteFile(at(name), []byte("precious"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	for _, tt := range []struct {
		name, dir, format, out, want string
		ctx                          context.Context
		usage                        bool
	}{
		{name: "exists", format: CSV, out: "there", want: "there: file already exists"},
		{name: "exists as a file", format: Perfetto, out: "there", want: "there: file already exists"},
		{name: "labels exist", format: Paraver, out: "there.prv", want: "there.pcf: file already exists"},
		{name: "no trace's name", format: Paraver, out: "trace", want: "not the name of a Paraver trace", usage: true},
		{name: "no name", format: Paraver, out: ".prv.gz", want: "not the name of a Paraver trace", usage: true},
		{name: "no folder", format: CSV, out: "no/where", want: "no such file"},
		{name: "below a file", format: Perfetto, out: "there/x", want: "not a directory"},
		{name: "no run", dir: place, format: CSV, out: "x", want: "not a run directory"},
		{name: "interrupted", format: Parquet, out: "x", want: "interrupted", ctx: ended},
	} {
		c := Config{Dir: dir, Format: tt.format, Out: at(tt.out), Stdout: io.Discard, Status: &console.Status{}}
		if tt.dir != "" {
			c.Dir = tt.dir
		}
		ctx := t.Context()
		if tt.ctx != nil {
			ctx = tt.ctx
		}
		err := Run(ctx, c)
		var usage question.UsageError
		if err == nil || !strings.Contains(err.Error(), tt.want) || hint.Of(err) == "" || errors.As(err, &usage) != tt.usage {
			t.Errorf("%s: %v, hint %q, want %q", tt.name, err, hint.Of(err), tt.want)
		}
	}
	entries, err := os.ReadDir(place)
	if err != nil || len(entries) != 3 {
		t.Errorf("%v are there, %v", entries, err)
	}
	for _, e := range entries {
		if text, _ := os.ReadFile(at(e.Name())); string(text) != "precious" {
			t.Errorf("%s is %q now", e.Name(), text)
		}
	}
}

// A file that was created there in the meantime is not replaced, and of several files all appear or none does.
func TestRaces(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"p/a": "new", "p/b": "new", "b": "old"} {
		os.Mkdir(at("p"), 0o777)
		if err := os.WriteFile(at(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p := place{out: at("b"), dir: at("p")}
	if err := p.publishFiles([]*file{{name: "a"}, {name: "b"}}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(at("a")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("one of two files is there")
	}
	if text, _ := os.ReadFile(at("b")); string(text) != "old" {
		t.Errorf("replaced by %q", text)
	}
	os.Mkdir(at("empty"), 0o777)
	if err := move(at("p"), at("empty")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an empty directory was replaced: %v", err)
	}
}

// A disk that is full is an error that names the file, and leaves nothing.
func TestFullDisk(t *testing.T) {
	testenv.NeedRoot(t)
	run := tracetest.Planted()
	random := rand.New(rand.NewPCG(1, 2))
	for th, k := &run.Threads[3], 0; k < 50_000; k++ { // that do not compress
		now := th.EndNS
		th.Calls.EnterNS, th.Calls.ExitNS = append(th.Calls.EnterNS, now+1+random.Int64N(1e9)), append(th.Calls.ExitNS, now+1e9)
		th.Calls.Path = append(th.Calls.Path, 2)
		th.EndNS = now + 1e9
	}
	dir := runDirectory(t, run)
	disk := t.TempDir()
	if err := unix.Mount("none", disk, "tmpfs", 0, "size=64k"); err != nil {
		testenv.Lacking(t, "no mounting here: "+err.Error())
	}
	t.Cleanup(func() { unix.Unmount(disk, unix.MNT_DETACH) })
	for format, name := range map[string]string{CSV: "calls.csv", Parquet: "calls.parquet", Perfetto: "x.gz", Paraver: "x.prv.gz"} {
		out := filepath.Join(disk, "x")
		switch format {
		case Paraver:
			out += ".prv.gz"
		case Perfetto:
			out += ".gz"
		}
		err := Run(t.Context(), Config{Dir: dir, Format: format, Out: out, Stdout: io.Discard, Status: &console.Status{}})
		if !errors.Is(err, unix.ENOSPC) || !strings.HasPrefix(err.Error(), name+": ") || hint.Of(err) == "" {
			t.Errorf("%s: %v, hint %q", format, err, hint.Of(err))
		}
		if entries, _ := os.ReadDir(disk); len(entries) != 0 {
			t.Errorf("%s: left behind %v", format, entries)
		}
	}
}

// moriens-otf2 gets the run directory and a path that does not exist; its message for a failure is the error, and its
// message for a success, as how much the archive holds, is printed.
func TestOTF2Writer(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	dir := t.TempDir()
	out := filepath.Join(dir, "archive")
	run := func(script string) (stdout, stderr string, err error) {
		t.Helper()
		if script != "" {
			if err := os.WriteFile(filepath.Join(bin, otf2Writer), []byte("#!/bin/sh\n"+script), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		var said, noted bytes.Buffer
		err = Run(t.Context(), Config{Dir: "/the run", Format: OTF2, Out: out, Stdout: &said, Stderr: &noted, Status: &console.Status{}})
		return said.String(), noted.String(), err
	}
	for _, tt := range []struct{ script, want, hint string }{
		{"", "neither beside moriens nor on PATH", "libotf2-trace-dev"},
		{"mkdir \"$2\"; echo 'moriens-otf2: no run' >&2; echo 'hint: look for one' >&2; exit 1", "no run", "look for one"},
		{"exit 3", "moriens-otf2: exit status 3", "--out"},
		{"exit 0", "no such file", ""},
	} {
		_, _, err := run(tt.script)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(hint.Of(err), tt.hint) {
			t.Errorf("%s: %v, hint %q", tt.script, err, hint.Of(err))
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("%s: left behind %v", tt.script, entries)
		}
	}
	said, noted, err := run(`test -e "$2" && exit 1; mkdir "$2" && printf %s "$1" >"$2/traces.otf2" && echo 7 bursts && echo 'note: 3 bursts left out' >&2`)
	if text, _ := os.ReadFile(filepath.Join(out, "traces.otf2")); err != nil || string(text) != "/the run" || !strings.HasSuffix(said, ": 1 file, 8 B of 7 bursts\n") || noted != "note: 3 bursts left out\n" {
		t.Errorf("%v, %q, %q, %q", err, text, said, noted)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind %v", entries)
	}
	if _, _, err := run(""); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over an archive: %v", err)
	}
}
