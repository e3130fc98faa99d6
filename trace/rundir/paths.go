package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"

	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/trace"
)

// CallPathsFormat is the version of callpaths.json.
const CallPathsFormat = 1

// CallPathTable is callpaths.json: every call path of a run, by the number that columns of other files give.
// docs/format/callpaths.md has the rules.
type CallPathTable struct {
	Format    int            `json:"format"`
	Modules   []PathModule   `json:"modules"`
	Functions []PathFunction `json:"functions"`
	Frames    []PathFrame    `json:"frames"`
	Paths     []NumberedPath `json:"paths"` // by number; the first, 0, is unknown
}

// A PathModule is an executable or a library.
type PathModule struct {
	Name    string `json:"name"`
	BuildID string `json:"build_id"` // hexadecimal; empty = it has none
}

// A PathFunction is a function of the source.
type PathFunction struct {
	Name      string `json:"name"`
	File      string `json:"file"`       // empty = unknown
	FirstLine int    `json:"first_line"` // that defines it, in File; 0 = unknown
}

// A PathFrame is a return address, and where its call is in the source. What is nil is not known.
type PathFrame struct {
	Module   *int      `json:"module"`   // index into Modules
	Offset   *string   `json:"offset"`   // hexadecimal: a JSON number loses bits beyond 2^53
	Function *int      `json:"function"` // index into Functions: whose machine code holds it
	File     string    `json:"file"`     // of Line; empty = unknown
	Line     int       `json:"line"`     // of the call; 0 = unknown
	Inlined  Inlinings `json:"inlined"`  // round the call, outermost first
}

// Inlinings are functions that are inlined into each other.
type Inlinings []Inlining

// An Inlining is a function that is inlined: the first one into the function of the frame, each other into the one
// before it.
type Inlining struct {
	Function int    `json:"function"`  // index into Functions
	CallFile string `json:"call_file"` // where it is called; empty = unknown
	CallLine int    `json:"call_line"` // 0 = unknown
}

// A NumberedPath is a call path. Its number is its place.
type NumberedPath struct {
	Function string     `json:"function"` // of MPI; empty = unknown
	Frames   PathFrames `json:"frames"`   // indices into Frames, innermost first
	Name     string     `json:"name"`     // trace.Run.Names
}

// PathFrames are the frames of a call path.
type PathFrames []int32

// What a reader takes at most, so that a small file cannot fill the memory.
const (
	maxCallPathsBytes = 256 << 20
	maxInlined        = 64  // in a frame: maxScopes of agent/symbol
	maxCallers        = 100 // frames of a call path: levels of callers in a trace of others; --callpath records 64

	// Frames are numbers in the file, and 128 bytes each in the call paths of a run. A call path of 64 takes 40 times
	// its text at most where a run has enough of them to matter.
	runBytesPerByte = 40
)

// Tests change these.
var (
	maxListed     = 1 << 20 // modules, functions, frames, call paths, of each
	maxPathFrames = 1 << 22 // of all call paths
)

// CallPathsOf makes the table of a run.
func CallPathsOf(run *trace.Run) *CallPathTable {
	t := &CallPathTable{Format: CallPathsFormat, Modules: []PathModule{}, Functions: []PathFunction{}, Frames: []PathFrame{}, Paths: []NumberedPath{}}
	b := pathBuilder{table: t, modules: make(map[PathModule]int), functions: make(map[PathFunction]int), frames: make(map[frameKey]int32)}
	for i, name := range run.Names() {
		p := NumberedPath{Function: run.CallPaths[i].Function, Frames: PathFrames{}, Name: name}
		for k := range run.CallPaths[i].Frames {
			p.Frames = append(p.Frames, b.frame(&run.CallPaths[i].Frames[k]))
		}
		t.Paths = append(t.Paths, p)
	}
	return t
}

// A pathBuilder numbers what call paths are made of, in the order in which it comes.
type pathBuilder struct {
	table     *CallPathTable
	modules   map[PathModule]int
	functions map[PathFunction]int
	frames    map[frameKey]int32
}

// A frameKey is a frame that can be compared.
type frameKey struct {
	module, buildID string
	offset          uint64
	function, file  string
	line            int
	firstFile       string
	firstLine       int
	inlined         string
}

func keyOf(f *trace.Frame) frameKey {
	k := frameKey{f.Module, f.BuildID, f.Offset, f.Function, f.File, f.Line, f.FirstFile, f.FirstLine, ""}
	if len(f.Inlined) > 0 {
		k.inlined = fmt.Sprintf("%#v", f.Inlined)
	}
	return k
}

func numberOf[T PathModule | PathFunction](x T, numbers map[T]int, list *[]T) int {
	number, known := numbers[x]
	if !known {
		number = len(*list)
		numbers[x] = number
		*list = append(*list, x)
	}
	return number
}

func (b *pathBuilder) function(name, file, firstFile string, firstLine int) int {
	f := PathFunction{name, file, 0}
	if firstLine > 0 {
		f.File, f.FirstLine = firstFile, firstLine
	}
	return numberOf(f, b.functions, &b.table.Functions)
}

func (b *pathBuilder) frame(f *trace.Frame) int32 {
	key := keyOf(f)
	number, known := b.frames[key]
	if known {
		return number
	}
	x := PathFrame{File: f.File, Line: f.Line, Inlined: Inlinings{}}
	if f.Module != "" || f.BuildID != "" {
		module := numberOf(PathModule{f.Module, f.BuildID}, b.modules, &b.table.Modules)
		x.Module = &module
	}
	if f.Located() {
		offset := fmt.Sprintf("%#x", f.Offset)
		x.Offset = &offset
	}
	// The outermost function holds the machine code, and each function is inlined where the one round it says.
	for i, s := range f.Inlined {
		function := b.function(s.Function, s.File, s.FirstFile, s.FirstLine)
		if i == 0 {
			x.Function = &function
		} else {
			x.Inlined[i-1].Function = function
		}
		x.Inlined = append(x.Inlined, Inlining{CallFile: s.File, CallLine: s.Line})
	}
	if len(f.Inlined) > 0 || f.Function != "" || f.FirstFile != "" || f.FirstLine != 0 {
		function := b.function(f.Function, f.File, f.FirstFile, f.FirstLine)
		if last := len(x.Inlined) - 1; last >= 0 {
			x.Inlined[last].Function = function
		} else {
			x.Function = &function
		}
	}
	number = int32(len(b.table.Frames))
	b.frames[key] = number
	b.table.Frames = append(b.table.Frames, x)
	return number
}

// UnmarshalJSON reads the lists one element after the other, and no longer ones than a reader takes.
func (t *CallPathTable) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return errors.New("it is no object")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case "format":
			err = d.Decode(&t.Format)
		case "modules":
			t.Modules, err = listed[PathModule](d)
		case "functions":
			t.Functions, err = listed[PathFunction](d)
		case "frames":
			t.Frames, err = listed[PathFrame](d)
		case "paths":
			t.Paths, err = listed[NumberedPath](d)
		default:
			err = d.Decode(new(json.RawMessage)) // of a later version
		}
		if err != nil {
			return fmt.Errorf("%v: %w", key, err)
		}
	}
	return nil
}

func listed[T any](d *json.Decoder) (list []T, err error) {
	if token, err := d.Token(); err != nil || token != json.Delim('[') {
		return nil, errors.New("it is no list")
	}
	for d.More() {
		if len(list) == maxListed {
			return nil, fmt.Errorf("it has more than %d elements", maxListed)
		}
		var x T
		if err := d.Decode(&x); err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	_, err = d.Token()
	return list, err
}

// UnmarshalJSON refuses longer chains than a reader takes.
func (x *Inlinings) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, (*[]Inlining)(x)); err != nil {
		return err
	}
	if len(*x) > maxInlined { // afford has seen what they take
		return fmt.Errorf("more than %d functions are inlined into each other", maxInlined)
	}
	return nil
}

// UnmarshalJSON reads no longer call paths than a reader takes.
func (x *PathFrames) UnmarshalJSON(text []byte) error {
	if bytes.Count(text, []byte(",")) >= maxCallers {
		return fmt.Errorf("a call path has more than %d frames", maxCallers)
	}
	return json.Unmarshal(text, (*[]int32)(x))
}

// ReadCallPaths reads callpaths.json of a run directory. A directory of an earlier version has none: the error is
// fs.ErrNotExist.
func ReadCallPaths(dir string) (*CallPathTable, error) { return readCallPaths(os.DirFS(dir)) }

func readCallPaths(dir fs.FS) (*CallPathTable, error) {
	info, err := fs.Stat(dir, CallPathsFile)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, hint.With(fmt.Errorf("%s is no file", CallPathsFile), AdviseDamage)
	case info.Size() > maxCallPathsBytes:
		return nil, hint.With(fmt.Errorf("%s has %d bytes, more than %d", CallPathsFile, info.Size(), maxCallPathsBytes), AdviseDamage)
	}
	t := new(CallPathTable)
	if err := readJSON(dir, CallPathsFile, CallPathsFormat, t); err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, hint.With(fmt.Errorf("%s: %w", CallPathsFile, err), AdviseDamage)
	}
	if cost, most := t.cost(), freeBytes+runBytesPerByte*info.Size(); cost > most {
		err := fmt.Errorf("%w: its call paths would take %d bytes of memory, more than %d per byte of the file", files.ErrTooLarge, cost, runBytesPerByte)
		return nil, hint.With(fmt.Errorf("%s: %w", CallPathsFile, err), AdviseDamage)
	}
	return t, nil
}

// cost is what the frames of Run take.
func (t *CallPathTable) cost() int64 {
	frames, inlined := len(t.Frames), 0
	for i := range t.Frames {
		inlined += len(t.Frames[i].Inlined)
	}
	for i := range t.Paths {
		frames += len(t.Paths[i].Frames)
	}
	return int64(frames)*int64(reflect.TypeFor[trace.Frame]().Size()) + int64(inlined)*int64(reflect.TypeFor[trace.Scope]().Size())
}

// check reports whether all numbers name something.
func (t *CallPathTable) check() error {
	function := func(n int) error {
		if n < 0 || n >= len(t.Functions) {
			return fmt.Errorf("there is no function %d", n)
		}
		return nil
	}
	for i, f := range t.Functions {
		if f.FirstLine < 0 {
			return fmt.Errorf("function %d: its first line is %d", i, f.FirstLine)
		}
	}
	for i := range t.Frames {
		if err := t.Frames[i].check(len(t.Modules), function); err != nil {
			return fmt.Errorf("frame %d: %w", i, err)
		}
	}
	if len(t.Paths) == 0 || t.Paths[0].Function != "" || len(t.Paths[0].Frames) > 0 {
		return errors.New("the first call path is not the unknown one")
	}
	frames := 0
	for i, p := range t.Paths {
		for _, f := range p.Frames {
			if f < 0 || int(f) >= len(t.Frames) {
				return fmt.Errorf("call path %d: there is no frame %d", i, f)
			}
		}
		if p.Name == "" {
			return fmt.Errorf("call path %d has no name", i)
		}
		if frames += len(p.Frames); frames > maxPathFrames {
			return fmt.Errorf("its call paths have more than %d frames", maxPathFrames)
		}
	}
	return nil
}

func (f *PathFrame) check(modules int, function func(int) error) error {
	switch {
	case f.Module != nil && (*f.Module < 0 || *f.Module >= modules):
		return fmt.Errorf("there is no module %d", *f.Module)
	case f.Line < 0:
		return fmt.Errorf("its line is %d", f.Line)
	case len(f.Inlined) > 0 && f.Function == nil:
		return errors.New("a function is inlined into none")
	case f.Function != nil:
		if err := function(*f.Function); err != nil {
			return err
		}
	}
	if f.Offset != nil {
		if offset, is := parseOffset(*f.Offset); !is || offset == 0 {
			return fmt.Errorf("%q is no offset", *f.Offset)
		}
	}
	for _, x := range f.Inlined {
		if err := function(x.Function); err != nil {
			return err
		}
		if x.CallLine < 0 {
			return fmt.Errorf("a function is called in line %d", x.CallLine)
		}
	}
	return nil
}

// Run is as much of a run as the table shows: its call paths with their names.
func (t *CallPathTable) Run() *trace.Run {
	frames := make([]trace.Frame, len(t.Frames))
	for i := range t.Frames {
		frames[i] = t.frame(&t.Frames[i])
	}
	run := new(trace.Run)
	for _, p := range t.Paths {
		path := trace.CallPath{Function: p.Function}
		if len(p.Frames) > 0 {
			path.Frames = make([]trace.Frame, 0, len(p.Frames)) // no more than cost says
		}
		for _, f := range p.Frames {
			path.Frames = append(path.Frames, frames[f])
		}
		run.CallPaths, run.PathNames = append(run.CallPaths, path), append(run.PathNames, p.Name)
	}
	return run
}

// frame makes of a frame what pathBuilder.frame has made it of.
func (t *CallPathTable) frame(x *PathFrame) trace.Frame {
	f := trace.Frame{File: x.File, Line: x.Line}
	if x.Module != nil {
		f.Module, f.BuildID = t.Modules[*x.Module].Name, t.Modules[*x.Module].BuildID
	}
	if x.Offset != nil {
		f.Offset, _ = parseOffset(*x.Offset) // check has seen it
	}
	if x.Function == nil {
		return f
	}
	at := *x.Function
	if len(x.Inlined) > 0 {
		f.Inlined = make([]trace.Scope, 0, len(x.Inlined))
	}
	for _, inlined := range x.Inlined {
		s := trace.Scope{File: inlined.CallFile, Line: inlined.CallLine}
		s.Function, s.FirstFile, s.FirstLine = t.definition(at)
		f.Inlined = append(f.Inlined, s)
		at = inlined.Function
	}
	f.Function, f.FirstFile, f.FirstLine = t.definition(at)
	return f
}

func (t *CallPathTable) definition(function int) (name, firstFile string, firstLine int) {
	f := &t.Functions[function]
	if f.FirstLine > 0 {
		return f.Name, f.File, f.FirstLine
	}
	return f.Name, "", 0
}
