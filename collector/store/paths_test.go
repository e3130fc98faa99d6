package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpicall"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// What agents say of a frame's place goes to every call path with that frame, wherever its file was mounted; a line is
// worth more than none. It does not make call paths different.
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

// Lines of an interpreter's program are distinguished by themselves, on every collector, and are what they say they
// are.
func TestLinesWithoutAddress(t *testing.T) {
	line := func(function string, line uint32) *moriensv1.Frame {
		return &moriensv1.Frame{Function: function, File: "/home/jac.py", Line: line}
	}
	lines := [][]*moriensv1.Frame{{line("main", 7)}, {line("main", 8)}, {line("main", 7), line("<module>", 20)}, {line("other", 7)}}
	stores := []*Store{New(), New()}
	for i, s := range stores {
		p, r := uint64(1+i), uint64(11+i)
		b := two(r, 0)
		b.Sites = []section.Site{{Function: 1, Path: uint32(1 + 2*i)}, {Function: 1, Path: uint32(2 + 2*i)}} // the two have no path in common
		messages := []*moriensv1.ReportRequest{process(p, int32(i), 2), ring(r, p)}
		for k, frames := range lines {
			messages = append(messages, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{Process: p, Path: uint32(k + 1), Frames: frames}}})
		}
		inStore(t, s, uint64(5-i), "n", append(messages, sections(b))...)
	}
	frozen, err := shareAll(stores...)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, frames := range lines {
		text := ""
		for _, f := range frames {
			text += trace.Frame{Function: f.Function, File: f.File, Line: int(f.Line)}.Place() + " " + f.Function + "<"
		}
		want[text] = true
	}
	for i := range frozen {
		got := map[string]bool{}
		for _, p := range frozen[i].CallPaths[1:] {
			text := ""
			for _, f := range p.Frames {
				text += f.Place() + " " + f.Function + "<"
			}
			got[text] = true
		}
		if d := cmp.Diff(want, got); d != "" || len(frozen[i].CallPaths) != 1+len(lines) {
			t.Errorf("collector %d has %v\n%s", i, frozen[i].CallPaths, d)
		}
	}
}
