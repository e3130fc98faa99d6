package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/trace"
	"moriens/trace/tracetest"
)

// tabled is a table as a file, written and read.
func tabled(t fatal, text []byte) (*CallPathTable, error) {
	t.Helper()
	return readCallPaths(fstest.MapFS{CallPathsFile: &fstest.MapFile{Data: text}})
}

// Every call path comes back from callpaths.json with all of its frames and its name.
func TestCallPathTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		run.CallPaths = append(run.CallPaths,
			trace.CallPath{Function: "MPI_Send", Frames: []trace.Frame{{Offset: 0x7fff_ffff_f000}}}, // code in no file
			trace.CallPath{Function: "MPI_Send", Frames: []trace.Frame{{Function: "jac", File: "jac.py", Line: 7}, {}, {Module: "lib.so"}}},
			trace.CallPath{Function: "MPI_Recv", Frames: []trace.Frame{{File: "a, \"b\"\n.c", Line: 1, Offset: 1<<64 - 1, Module: "x"}}},
		)
		table := CallPathsOf(run)
		text, err := encode(table)
		if err != nil {
			t.Fatal(err)
		}
		read, err := tabled(t, text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if d := cmp.Diff(table, read, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("read (+) and written (-):\n%s", d)
		}
		back := read.Run()
		if d := cmp.Diff(run.CallPaths, back.CallPaths, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("call paths (-) have become (+)\n%s", d)
		}
		if d := cmp.Diff(run.Names(), back.Names()); d != "" {
			t.Fatal(d)
		}
	})
}

// What is wrong with a file is an error that says where.
func TestBadCallPaths(t *testing.T) {
	const good = `{"format": 1, "modules": [{"name": "app", "build_id": ""}], "functions": [{"name": "f", "file": "f.c", "first_line": 2}],
		"frames": [{"module": 0, "offset": "0x10", "function": 0, "file": "f.c", "line": 3, "inlined": [{"function": 0, "call_file": "f.c", "call_line": 9}]}],
		"paths": [{"function": "", "frames": [], "name": "?"}, {"function": "MPI_Send", "frames": [0], "name": "MPI_Send@f.c:3"}], "later": [[]]}`
	if table, err := tabled(t, []byte(good)); err != nil || len(table.Paths) != 2 {
		t.Fatal(table, err)
	}
	listed, frames := maxListed, maxPathFrames
	maxListed, maxPathFrames = 1000, 5000
	t.Cleanup(func() { maxListed, maxPathFrames = listed, frames })
	deep := func(frames int) string { return `"frames": [` + strings.Repeat("0, ", frames-1) + `0]` }
	many := func(list, element string, n int) [2]string {
		return [2]string{`"` + list + `": [`, `"` + list + `": [` + strings.Repeat(element+",", n)}
	}
	for name, tt := range map[string]struct {
		change [2]string
		want   string
	}{
		"no module":          {[2]string{`"module": 0`, `"module": 1`}, "frame 0: there is no module 1"},
		"negative module":    {[2]string{`"module": 0`, `"module": -1`}, "frame 0: there is no module -1"},
		"no function":        {[2]string{`"function": 0, "file"`, `"function": 7, "file"`}, "frame 0: there is no function 7"},
		"no inlined":         {[2]string{`{"function": 0, "call`, `{"function": 1, "call`}, "frame 0: there is no function 1"},
		"inlined into none":  {[2]string{`"function": 0, "file"`, `"function": null, "file"`}, "frame 0: a function is inlined into none"},
		"no frame":           {[2]string{`"frames": [0]`, `"frames": [1]`}, "call path 1: there is no frame 1"},
		"negative frame":     {[2]string{`"frames": [0]`, `"frames": [-1]`}, "call path 1: there is no frame -1"},
		"a frame of frames":  {[2]string{`"frames": [0]`, `"frames": [[0]]`}, "paths: json: "},
		"huge number":        {[2]string{`"frames": [0]`, `"frames": [4294967296]`}, "paths: json: "},
		"no offset":          {[2]string{`"0x10"`, `"ten"`}, `frame 0: "ten" is no offset`},
		"offset 0":           {[2]string{`"0x10"`, `"0x0"`}, `frame 0: "0x0" is no offset`},
		"line":               {[2]string{`"line": 3`, `"line": -3`}, "frame 0: its line is -3"},
		"call line":          {[2]string{`"call_line": 9`, `"call_line": -9`}, "frame 0: a function is called in line -9"},
		"first line":         {[2]string{`"first_line": 2`, `"first_line": -2`}, "function 0: its first line is -2"},
		"no name":            {[2]string{`"MPI_Send@f.c:3"`, `""`}, "call path 1 has no name"},
		"no path":            {[2]string{`"paths": [{"function": "", "frames": [], "name": "?"}, {"function": "MPI_Send", "frames": [0], "name": "MPI_Send@f.c:3"}]`, `"paths": []`}, "the first call path is not the unknown one"},
		"the first is known": {[2]string{`{"function": "", "frames"`, `{"function": "MPI_Init", "frames"`}, "the first call path is not the unknown one"},
		"no list":            {[2]string{`"modules": [{"name": "app", "build_id": ""}]`, `"modules": {}`}, "modules: it is no list"},
		"many modules":       {many("modules", "{}", maxListed+1), "modules: it has more than"},
		"many paths":         {many("paths", "{}", maxListed+1), "paths: it has more than"},
		"many inlined":       {many("inlined", "{}", maxInlined+1), "more than 64 functions are inlined into each other"},
		"many frames of all": {[2]string{`"frames": [0]`, deep(100) + strings.Repeat(`, "function": "MPI_X", "name": "x"}, {`+deep(100), 50)}, "its call paths have more than"},
		"many frames of one": {[2]string{`"frames": [0]`, deep(101)}, "paths: a call path has more than 100 frames"},
		"binary offset":      {[2]string{`"0x10"`, `"0b1"`}, `frame 0: "0b1" is no offset`},
		"decimal offset":     {[2]string{`"0x10"`, `"16"`}, `frame 0: "16" is no offset`},
		"grouped offset":     {[2]string{`"0x10"`, `"1_0"`}, `frame 0: "1_0" is no offset`},
		"grouped digits":     {[2]string{`"0x10"`, `"0x1_0"`}, `frame 0: "0x1_0" is no offset`},
		"signed offset":      {[2]string{`"0x10"`, `"0x+1"`}, `frame 0: "0x+1" is no offset`},
		"offset of no digit": {[2]string{`"0x10"`, `"0x"`}, `frame 0: "0x" is no offset`},
		"offset of 65 bits":  {[2]string{`"0x10"`, `"0x10000000000000000"`}, `is no offset`},
		"cut off":            {[2]string{`"later": [[]]}`, ``}, "it is cut short"},
		"another version":    {[2]string{`"format": 1`, `"format": 2`}, "has format 2, this moriens reads 1"},
		"no object":          {[2]string{good, `[]`}, "callpaths.json"},
	} {
		text := strings.Replace(good, tt.change[0], tt.change[1], 1)
		if text == good {
			t.Fatalf("%s changes nothing", name)
		}
		_, err := tabled(t, []byte(text))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), CallPathsFile) || hint.Of(err) == "" {
			t.Errorf("%s: %v, hint %q, want %q", name, err, hint.Of(err), tt.want)
		}
	}
	if _, err := readCallPaths(fstest.MapFS{CallPathsFile: &fstest.MapFile{Mode: fs.ModeDir}}); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := readCallPaths(endless{}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("has %d bytes, more than", maxCallPathsBytes+1)) {
		t.Errorf("an endless file: %v", err)
	}
}

// What a run is made of it takes no more memory than a few times the file: each frame is a number there, which may be
// one digit.
func TestCostOfCallPaths(t *testing.T) {
	took := func(f func()) int64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	text := func(paths, frames int, comma string) []byte {
		path := `,{"name":"x","frames":[` + strings.Repeat("0"+comma, frames-1) + `0]}`
		return []byte(`{"format":1,"frames":[{}],"paths":[{"name":"?"}` + strings.Repeat(path, paths) + `]}`)
	}
	long := text(1, 4_000_000, ",")
	if n := took(func() {
		if _, err := tabled(t, long); err == nil || !strings.Contains(err.Error(), "more than 100 frames") {
			t.Error(err)
		}
	}); n > 8*int64(len(long)) {
		t.Errorf("%d bytes taken for %d", n, len(long))
	}
	if _, err := tabled(t, text(41_000, 100, ",")); !errors.Is(err, files.ErrTooLarge) || hint.Of(err) == "" {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}

	// The deepest call paths of one frame, with short names, cost most. They are read, and cost what is billed.
	table := &CallPathTable{Format: CallPathsFormat, Modules: []PathModule{}, Functions: []PathFunction{}, Frames: []PathFrame{{}}, Paths: []NumberedPath{{Name: "?"}}}
	for i := range 2000 {
		table.Paths = append(table.Paths, NumberedPath{Function: "MPI_X", Frames: make(PathFrames, maxCallers), Name: fmt.Sprint("MPI_X#", i)})
	}
	own, err := encode(table)
	if err != nil {
		t.Fatal(err)
	}
	read, err := tabled(t, own)
	if err != nil {
		t.Fatal(err)
	}
	cost := read.cost()
	if cost < 2000*100*100 || cost > runBytesPerByte*int64(len(own)) {
		t.Errorf("%d bytes are billed for %d of text", cost, len(own))
	}
	if n := took(func() { read.Run() }); n < cost*9/10 || n > cost*5/4 {
		t.Errorf("%d bytes taken, %d billed", n, cost)
	}
}

// endless has one file, which must not be read.
type endless struct{}

func (endless) Open(string) (fs.File, error)          { panic("read") }
func (endless) Stat(name string) (fs.FileInfo, error) { return endlessInfo{name: name}, nil }

type endlessInfo struct {
	fs.FileInfo
	name string
}

func (endlessInfo) Mode() fs.FileMode { return 0 }
func (endlessInfo) Size() int64       { return maxCallPathsBytes + 1 }

// Of whatever is read without an error a run can be made, which is written and read as the same.
func FuzzCallPaths(f *testing.F) {
	text, err := encode(CallPathsOf(tracetest.Small()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format": 1, "paths": [{"name": "?"}]}`))
	f.Add([]byte(`{"format": 1, "functions": [{}, {"first_line": 1}], "frames": [{"offset": "0x1", "function": 1, "inlined": [{"function": 0}, {"function": 1}]}],
		"paths": [{"name": "?"}, {"function": "MPI_X", "frames": [0, 0], "name": "x"}]}`))
	f.Add([]byte(`{"format": 1, "functions": [{}, {"first_line": 1}], "frames": [{"function": 1}], "paths": [{"name": "?"}, {"function": "MPI_X", "frames": [0, 0], "name": "x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := tabled(t, text)
		if err != nil {
			return
		}
		run := table.Run()
		if len(run.CallPaths) != len(run.PathNames) || len(run.CallPaths) == 0 {
			t.Fatalf("%d call paths, %d names", len(run.CallPaths), len(run.PathNames))
		}
		again, err := encode(CallPathsOf(run))
		if err != nil {
			t.Fatal(err)
		}
		back, err := tabled(t, again)
		if err != nil {
			t.Fatalf("%v in\n%s", err, again)
		}
		if d := cmp.Diff(run, back.Run(), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("read (+) and written (-):\n%s", d)
		}
	})
}
