package store

import (
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
	list []trace.CallPath // by number; 0 is unknown
	byID map[string]uint32
	// Where frames are in the source, as agents have said, without those fields of the key.
	places map[trace.Frame]trace.Frame
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
	return paths{list: make([]trace.CallPath, 1), byID: make(map[string]uint32), places: make(map[trace.Frame]trace.Frame)}
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
	for _, f := range p.Frames {
		fmt.Fprintf(&id, "\x00%s\x00%s\x00%x", f.Module, f.BuildID, f.Offset)
	}
	number, known := t.byID[id.String()]
	if !known {
		number = uint32(len(t.list))
		t.list = append(t.list, p)
		t.byID[id.String()] = number
	}
	return number
}

// frameOf is what identifies a frame.
func frameOf(f *moriensv1.Frame) trace.Frame {
	frame := trace.Frame{Offset: f.Offset}
	if f.Module != "" {
		// Nodes may mount the same file in different places.
		frame.Module = strings.ToValidUTF8(filepath.Base(f.Module), "\uFFFD")
		frame.BuildID = fmt.Sprintf("%x", f.BuildId)
	}
	return frame
}

// place remembers where a frame is in the source. Where nodes differ, because not all have the debugging information, the one
// that names a line counts.
func (t *paths) place(f *moriensv1.Frame) {
	key := frameOf(f)
	if t.places[key].Line != 0 {
		return
	}
	placed := key
	placed.Function, placed.File, placed.Line = f.Function, f.File, int(f.Line)
	t.places[key] = placed
}

// placed lists the call paths with their places in the source.
func (t *paths) placed() []trace.CallPath {
	list := slices.Clone(t.list)
	for i := range list {
		list[i].Frames = slices.Clone(list[i].Frames)
		for k, f := range list[i].Frames {
			if p, known := t.places[f]; known {
				list[i].Frames[k] = p
			}
		}
	}
	return list
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
