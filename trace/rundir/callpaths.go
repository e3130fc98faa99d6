package rundir

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"moriens/trace"
)

// A pathBook makes the call paths of a run again. Where callpaths.json has them, all is shown by numbers. Else Paraver
// reports a call the functions and lines of its frames only; the name of a call path, one for each, stands in
// bursts.parquet with the bursts round a call, and the frames of that name in clusters.json.
type pathBook struct {
	trace  []trace.CallPath // as the trace shows
	paths  []trace.CallPath
	byName map[string]uint32
	listed []uint32          // by place in clusters.json
	plain  map[uint32]uint32 // by number in the trace: of the calls without any name
	likes  map[string]uint32 // by what Paraver can show of a path that has a name
}

func newPathBook(r *restorer) (*pathBook, error) {
	p := &pathBook{
		trace: r.run.CallPaths, paths: []trace.CallPath{{}}, byName: map[string]uint32{trace.CallPath{}.String(): 0},
		plain: map[uint32]uint32{0: 0}, likes: make(map[string]uint32),
	}
	if r.numbered != nil {
		return p, p.number(r)
	}
	for _, x := range r.clusters.Paths {
		number, known := p.byName[x.Name]
		if !known {
			path, err := x.Path()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", ClustersFile, err)
			}
			number = p.add(x.Name, path)
		}
		p.listed = append(p.listed, number)
	}
	return p, nil
}

// number takes the call paths of callpaths.json, and finds those that clusters.json names.
func (p *pathBook) number(r *restorer) error {
	p.paths = r.numbered.CallPaths
	for i, name := range slices.Backward(r.numbered.PathNames) {
		p.byName[name] = uint32(i)
	}
	for _, x := range r.clusters.Paths {
		number, known := p.byName[x.Name]
		if !known {
			return fmt.Errorf("%s names the call path %s, of which %s says nothing", ClustersFile, x.Name, CallPathsFile)
		}
		if err := x.agrees(p.paths[number]); err != nil {
			return err
		}
		p.listed = append(p.listed, number)
	}
	return nil
}

// agrees reports whether a call path of clusters.json is the one that callpaths.json has under its name.
func (x CallPath) agrees(numbered trace.CallPath) error {
	path, err := x.Path()
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", ClustersFile, err)
	case path.Function != numbered.Function:
		return fmt.Errorf("call path %s is one of %q in %s, of %q in %s", x.Name, path.Function, ClustersFile, numbered.Function, CallPathsFile)
	case len(path.Frames) != len(numbered.Frames):
		return fmt.Errorf("call path %s has %d frames in %s, %d in %s", x.Name, len(path.Frames), ClustersFile, len(numbered.Frames), CallPathsFile)
	}
	for i, f := range numbered.Frames {
		// clusters.json does not show where functions begin.
		f.FirstFile, f.FirstLine, f.Inlined = "", 0, slices.Clone(f.Inlined)
		for k := range f.Inlined {
			f.Inlined[k].FirstFile, f.Inlined[k].FirstLine = "", 0
		}
		if g := &path.Frames[i]; !g.Same(&f) {
			return fmt.Errorf("frame %d of call path %s is %s in %s, %s in %s", i, x.Name, described(g), ClustersFile, described(&f), CallPathsFile)
		}
	}
	return nil
}

// described is all that identifies a frame, on one line.
func described(f *trace.Frame) string {
	text := fmt.Sprintf("%s, function %q, file %q, line %d", f.Precise(fmt.Sprintf("%q", f.Module)), f.Function, f.File, f.Line)
	if f.BuildID != "" {
		text += ", build id " + f.BuildID
	}
	for _, s := range f.Inlined {
		text += fmt.Sprintf(", in %q at %s:%d", s.Function, s.File, s.Line)
	}
	return text
}

// counts gives the call paths round the bursts of a cluster their numbers.
func (p *pathBook) counts(list []PathBursts) ([]trace.PathCount, error) {
	var counts []trace.PathCount
	for _, x := range list {
		if x.Path < 0 || x.Path >= len(p.listed) {
			return nil, fmt.Errorf("call path %d: there are %d", x.Path, len(p.listed))
		}
		counts = append(counts, trace.PathCount{Path: p.listed[x.Path], Bursts: x.Bursts})
	}
	return counts, nil
}

// offsetOf is the offset of a frame as files have it, empty where it has none.
func offsetOf(f trace.Frame) string {
	if !f.Located() {
		return ""
	}
	return fmt.Sprintf("%#x", f.Offset)
}

// parseOffset reads what offsetOf writes: 0x and hexadecimal digits, no other spelling of Go's.
func parseOffset(text string) (offset uint64, is bool) {
	digits, is := strings.CutPrefix(text, "0x")
	if !is {
		return 0, false
	}
	offset, err := strconv.ParseUint(digits, 16, 64)
	return offset, err == nil
}

// Path is what the file says of a call path.
func (x CallPath) Path() (trace.CallPath, error) {
	p := trace.CallPath{Function: x.Function}
	for _, f := range x.Frames {
		offset, is := parseOffset(cmp.Or(f.Offset, "0x0"))
		if !is {
			return p, fmt.Errorf("call path %q: the offset %q is no number", x.Name, f.Offset)
		}
		frame := trace.Frame{Module: f.Module, BuildID: f.BuildID, Offset: offset, Function: f.Function, File: f.File, Line: f.Line}
		for _, s := range f.Inlined {
			frame.Inlined = append(frame.Inlined, trace.Scope{Function: s.Function, File: s.File, Line: s.Line})
		}
		p.Frames = append(p.Frames, frame)
	}
	return p, nil
}

func (p *pathBook) add(name string, path trace.CallPath) uint32 {
	i := uint32(len(p.paths))
	p.paths = append(p.paths, path)
	p.byName[name] = i
	if like := likeness(path); p.likes[like] == 0 {
		p.likes[like] = i
	}
	return i
}

// likeness is what a Paraver trace can show of a call path.
func likeness(p trace.CallPath) string {
	text := p.Function
	for _, f := range p.Frames {
		if f.File != "" && f.Line > 0 {
			text += fmt.Sprintf("\x00%s\x00%d\x00%s", f.Function, f.Line, filepath.Base(f.File))
		} else {
			text += "\x00" + f.Function
		}
	}
	return strings.TrimRight(text, "\x00")
}

// named gives the call path of a burst's row its number. inTrace is the number that the trace has for it.
func (p *pathBook) named(path trace.CallPath, inTrace uint32) uint32 {
	name := path.String()
	i, known := p.byName[name]
	if !known {
		if traced := p.trace[inTrace]; traced.Function == path.Function && len(traced.Frames) > 0 {
			frames := slices.Clone(traced.Frames)
			if len(path.Frames) > 0 && frames[0].Module == "" {
				frames[0].Module, frames[0].Offset = path.Frames[0].Module, path.Frames[0].Offset
			}
			path.Frames = frames
		}
		i = p.add(name, path)
	}
	return i
}

// unnamed gives a call of which no burst gives the name the path that reads the same, or else the one of the trace.
func (p *pathBook) unnamed(inTrace uint32) uint32 {
	i, known := p.plain[inTrace]
	if !known {
		path := p.trace[inTrace]
		if i = p.likes[likeness(path)]; i == 0 {
			i = p.add(fmt.Sprintf("%s of the trace, number %d", path, inTrace), path)
		}
		p.plain[inTrace] = i
	}
	return i
}

// A callWalk finds the calls round the bursts of a thread, burst by burst in the order of time.
type callWalk struct {
	calls *trace.Calls
	next  int // the first call that can be the one before the next burst
}

// round returns the call that ends where the burst begins and the one that begins where it ends, -1 where there is
// none.
func (w *callWalk) round(beginNS, endNS int64) (before, after int) {
	enter, exit := w.calls.EnterNS, w.calls.ExitNS
	i, n := w.next, w.calls.Len()
	for i < n && exit[i] < beginNS {
		i++
	}
	for i+1 < n && exit[i] == beginNS && enter[i+1] < endNS { // a call of zero length lies before the burst
		i++
	}
	before, after = -1, -1
	if i < n && exit[i] == beginNS {
		before = i
		i++
	}
	if i < n && enter[i] == endNS {
		after = i
	}
	w.next = i
	return before, after
}
