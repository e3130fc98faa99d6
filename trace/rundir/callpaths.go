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

// A pathBook makes the call paths of a run again. Paraver tells of a call the functions and lines of its frames only; the name of a call
// path, one for each, stands in bursts.parquet with the bursts round a call, and the frames of that name in clusters.json.
type pathBook struct {
	trace  []trace.CallPath // as the trace tells
	paths  []trace.CallPath
	byName map[string]uint32
	listed []uint32          // by place in clusters.json
	plain  map[uint32]uint32 // by number in the trace: of the calls of which nothing tells the name
	likes  map[string]uint32 // by what Paraver can tell of a path that has a name
}

func newPathBook(r *restorer) (*pathBook, error) {
	p := &pathBook{
		trace: r.run.CallPaths, paths: []trace.CallPath{{}}, byName: map[string]uint32{trace.CallPath{}.String(): 0},
		plain: map[uint32]uint32{0: 0}, likes: make(map[string]uint32),
	}
	for _, x := range r.clusters.Paths {
		number, known := p.byName[x.Name]
		if !known {
			path, err := x.path()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", ClustersFile, err)
			}
			number = p.add(x.Name, path)
		}
		p.listed = append(p.listed, number)
	}
	return p, nil
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

func (x CallPath) path() (trace.CallPath, error) {
	p := trace.CallPath{Function: x.Function}
	for _, f := range x.Frames {
		offset, err := strconv.ParseUint(cmp.Or(f.Offset, "0"), 0, 64)
		if err != nil {
			return p, fmt.Errorf("call path %q: the offset %q is no number", x.Name, f.Offset)
		}
		p.Frames = append(p.Frames, trace.Frame{Module: f.Module, BuildID: f.BuildID, Offset: offset, Function: f.Function, File: f.File, Line: f.Line})
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

// likeness is what a Paraver trace can tell of a call path.
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
		if told := p.trace[inTrace]; told.Function == path.Function && len(told.Frames) > 0 {
			frames := slices.Clone(told.Frames)
			if len(path.Frames) > 0 && frames[0].Module == "" {
				frames[0].Module, frames[0].Offset = path.Frames[0].Module, path.Frames[0].Offset
			}
			path.Frames = frames
		}
		i = p.add(name, path)
	}
	return i
}

// unnamed gives a call of which no burst tells the name the path that reads the same, or else the one of the trace.
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

// round returns the call that ends where the burst begins and the one that begins where it ends, -1 where there is none.
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
