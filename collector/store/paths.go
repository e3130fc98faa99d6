package store

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// paths numbers the call paths of all processes alike: the same function called from the same place of
// the same file has one number, wherever the file was mapped.
type paths struct {
	list   []trace.CallPath // by number; 0 is unknown
	byID   map[string]uint32
	places places
	lead   []uint32 // by number: the first call path of its place, trace.Places
	first  map[string]uint32
}

// A localPath is a call path as one process numbered it, with the functions that it was seen to call:
// nearly always one, more where a call goes through a pointer.
type localPath struct {
	frames  []trace.Frame
	numbers []functionNumber
}

type functionNumber struct {
	function mpicall.ID
	number   uint32
}

func newPaths() paths {
	return paths{list: make([]trace.CallPath, 1), byID: make(map[string]uint32), places: make(places), lead: make([]uint32, 1), first: make(map[string]uint32)}
}

// number returns the number of a function called from a call path of p, which is defined or 0, an
// unknown place.
func (t *paths) number(p *Process, function mpicall.ID, path uint32) uint32 {
	local := p.local[path]
	for _, n := range local.numbers {
		if n.function == function {
			return n.number
		}
	}
	number := t.intern(trace.CallPath{Function: function.String(), Frames: local.frames})
	local.numbers = append(local.numbers, functionNumber{function, number})
	p.local[path] = local
	return number
}

func (t *paths) intern(p trace.CallPath) uint32 {
	var id strings.Builder
	id.WriteString(p.Function)
	place := 0 // where its text ends
	for i, f := range p.Frames {
		fmt.Fprintf(&id, "\x00%s\x00%s\x00%x", f.Module, f.BuildID, f.Offset)
		if f.Function != "" || f.File != "" || f.Line != 0 {
			fmt.Fprintf(&id, "\x01%q\x01%q\x01%d", f.Function, f.File, f.Line)
		}
		if i == 0 {
			place = id.Len()
		}
	}
	number, known := t.byID[id.String()]
	if !known {
		number = uint32(len(t.list))
		t.list = append(t.list, p)
		t.byID[id.String()] = number
		t.lead = append(t.lead, t.leadOf(id.String()[:max(place, len(p.Function))], number))
	}
	return number
}

// leadOf is the first call path of a place, which a new one may be.
func (t *paths) leadOf(place string, number uint32) uint32 {
	first, known := t.first[place]
	if !known {
		first = number
		t.first[place] = first
	}
	return first
}

// frameOf is what identifies a frame. A line of an interpreter's program is in no module and has no offset, and says
// itself where it is.
func frameOf(f *moriensv1.Frame) trace.Frame {
	frame := trace.Frame{Offset: f.Offset}
	if f.Module == "" && f.Offset == 0 {
		frame.Function, frame.File, frame.Line = f.Function, f.File, int(f.Line)
	}
	if f.Module != "" {
		// Nodes may mount the same file in different places.
		frame.Module = strings.ToValidUTF8(filepath.Base(f.Module), "\uFFFD")
		frame.BuildID = fmt.Sprintf("%x", f.BuildId)
	}
	return frame
}

// place remembers where a frame is in the source. Nodes may differ, because not all have the debugging information.
func (t *paths) place(f *moriensv1.Frame) {
	placed := frameOf(f)
	placed.Function, placed.File, placed.Line, placed.FirstFile, placed.FirstLine = f.Function, f.File, int(f.Line), f.FirstFile, int(f.FirstLine)
	placed.Inlined = scopesOf(f.Inlined)
	t.places.add(placed)
}

func scopesOf(list []*moriensv1.Scope) (scopes []trace.Scope) {
	for _, x := range list {
		scopes = append(scopes, trace.Scope{Function: x.Function, File: x.File, Line: int(x.Line), FirstFile: x.FirstFile, FirstLine: int(x.FirstLine)})
	}
	return scopes
}

func encodeScopes(scopes []trace.Scope) (list []*moriensv1.Scope) {
	for _, x := range scopes {
		list = append(list, &moriensv1.Scope{Function: x.Function, File: x.File, Line: uint32(x.Line), FirstFile: x.FirstFile, FirstLine: uint32(x.FirstLine)})
	}
	return list
}

// A frameKey is what identifies a frame.
type frameKey struct {
	module, buildID string
	offset          uint64
}

func keyOf(f *trace.Frame) frameKey { return frameKey{f.Module, f.BuildID, f.Offset} }

// places say where frames are in the source.
type places map[frameKey]trace.Frame

// add keeps of two places of a frame the one that holds more, and of two that hold as much always the same.
func (p places) add(placed trace.Frame) {
	key := keyOf(&placed)
	if was, known := p[key]; !known || comparePlaces(placed, was) < 0 {
		p[key] = placed
	}
}

func comparePlaces(a, b trace.Frame) int {
	lacks := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(lacks(a.Line == 0), lacks(b.Line == 0)), cmp.Compare(lacks(a.Function == ""), lacks(b.Function == "")),
		cmp.Compare(lacks(a.FirstLine == 0), lacks(b.FirstLine == 0)), cmp.Compare(len(b.Inlined), len(a.Inlined)),
		cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Function, b.Function),
		cmp.Compare(a.FirstFile, b.FirstFile), cmp.Compare(a.FirstLine, b.FirstLine), slices.CompareFunc(a.Inlined, b.Inlined, compareScopes))
}

func compareScopes(a, b trace.Scope) int {
	return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.FirstFile, b.FirstFile), cmp.Compare(a.FirstLine, b.FirstLine))
}

func (s *Store) addCallPath(c *moriensv1.CallPath) error {
	p := s.processes[c.Process]
	if p == nil {
		return fmt.Errorf("call path of unknown process %016x", c.Process)
	}
	if _, known := p.local[c.Path]; known || c.Path == 0 {
		return fmt.Errorf("process %016x: call path %d is taken", c.Process, c.Path)
	}
	frames := make([]trace.Frame, len(c.Frames))
	for i, f := range c.Frames {
		frames[i] = frameOf(f)
	}
	p.local[c.Path] = localPath{frames: frames}
	return nil
}

// Number is the number of a call path, which has one from now on: other collectors of the run have it too.
func (s *Store) Number(p trace.CallPath) uint32 {
	if p.Function == "" && len(p.Frames) == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paths.intern(p)
}

// Places gives, for the number of each call path so far, that of the first one of its place. The caller does not change
// it.
func (s *Store) Places() []uint32 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.paths.lead
}

// CallPath is that of a number.
func (s *Store) CallPath(number uint32) trace.CallPath {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.paths.list[number]
}
