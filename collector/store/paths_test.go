package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// What agents say of a frame's place goes to every call path with that frame, wherever its file was mounted; a line is worth more
// than none. It does not make call paths different.
func TestPlaces(t *testing.T) {
	p := newPaths()
	at := func(module string, offset uint64) *moriensv1.Frame {
		return &moriensv1.Frame{Module: module, BuildId: []byte{0xab}, Offset: offset}
	}
	placed := func(f *moriensv1.Frame, function, file string, line uint32) *moriensv1.Frame {
		f.Function, f.File, f.Line = function, file, line
		return f
	}
	process := &Process{local: map[uint32]localPath{
		1: {frames: []trace.Frame{frameOf(at("/a/app", 0x10)), frameOf(at("/a/app", 0x20))}},
		2: {frames: []trace.Frame{frameOf(at("/b/app", 0x10)), frameOf(at("/b/app", 0x20))}},
	}}
	for _, call := range []struct {
		function mpicall.ID
		path     uint32
		want     uint32
	}{{mpicall.Send, 1, 1}, {mpicall.Recv, 1, 2}, {mpicall.Send, 2, 1}} {
		if got := p.number(process, call.function, call.path); got != call.want {
			t.Errorf("%v at path %d has number %d", call.function, call.path, got)
		}
	}
	p.place(placed(at("/a/app", 0x10), "solve", "", 0))
	p.place(placed(at("/b/app", 0x10), "solve", "/src/solve.c", 7))
	p.place(placed(at("/a/app", 0x10), "solve", "", 0))
	p.place(placed(at("/a/other", 0x20), "nothing", "", 0))
	frames := []trace.Frame{
		{Module: "app", BuildID: "ab", Offset: 0x10, Function: "solve", File: "/src/solve.c", Line: 7},
		{Module: "app", BuildID: "ab", Offset: 0x20},
	}
	want := []trace.CallPath{{}, {Function: "MPI_Recv", Frames: frames}, {Function: "MPI_Send", Frames: frames}}
	var f Frozen
	f.arrange([]holding{{paths: p.list, places: p.places, names: []string{unknownName}}})
	if d := cmp.Diff(want, f.CallPaths); d != "" {
		t.Error(d)
	}
	if f.Path(0) != 0 || f.Path(1) != 2 || f.Path(2) != 1 {
		t.Errorf("call paths are numbered %v", f.tables.paths)
	}
}
