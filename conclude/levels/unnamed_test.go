package levels

import (
	"slices"
	"testing"

	"moriens/internal/team"
	"moriens/trace"
)

// What one place calls is one function, named by its least return address; what others call is another one. A file of
// the same name with another build id has functions of its own, and what has a name or code is none of these.
func TestUnnamed(t *testing.T) {
	at := func(build string, offset uint64) trace.Frame {
		return trace.Frame{Module: "app", BuildID: build, Offset: offset}
	}
	start := trace.Frame{Module: "libc.so.6", Offset: 1}
	named := trace.Frame{Module: "app", BuildID: "a", Offset: 90, Function: "f"}
	run := &trace.Run{CallPaths: []trace.CallPath{
		{},
		{Function: "MPI_Send", Frames: []trace.Frame{at("a", 30), at("a", 10), start}},
		{Function: "MPI_Recv", Frames: []trace.Frame{at("a", 20), at("a", 10), start}},
		{Function: "MPI_Recv", Frames: []trace.Frame{at("a", 40), at("a", 12), start}},
		{Function: "MPI_Recv", Frames: []trace.Frame{at("b", 30), at("a", 10), start}},
		{Function: "MPI_Recv", Frames: []trace.Frame{at("a", 8)}},
		{Function: "MPI_Recv", Frames: []trace.Frame{named, at("a", 12), start}},
	}}
	codes := CodesOf(run)
	u := unnamedOf(run.CallPaths, &codes)
	for _, x := range []struct {
		build        string
		offset, root uint64
	}{{"a", 10, 10}, {"a", 12, 10}, {"a", 20, 20}, {"a", 30, 20}, {"a", 40, 40}, {"a", 8, 8}, {"b", 30, 30}} {
		if got := u.root(frameID{"app", x.build, x.offset}); got != (frameID{"app", x.build, x.root}) {
			t.Errorf("%s %d is with %v, want %d", x.build, x.offset, got, x.root)
		}
	}
	if _, is := codes.idOf(&named); is {
		t.Error("a function with a name has none")
	}
	if name := u.root(frameID{"app", "a", 30}).name(); name != "app+0x14" {
		t.Error(name)
	}
}

// Why machine code is not known: by function, by module, or by what kind of frame it is.
func TestUnknownCode(t *testing.T) {
	codes := CodesOf(&trace.Run{Code: []trace.CodeFunction{
		{Module: "gone", Refused: "the file is not there"},
		{Module: "app", Entry: 8, Sites: []trace.CodeSite{{Offset: 16, Loop: -1}}, Follows: [][]byte{{0}}},
		{Module: "app", Entry: 32, Refused: "too large", Sites: []trace.CodeSite{{Offset: 40, Loop: -1}}},
	}})
	for _, x := range []struct {
		frame trace.Frame
		want  string
	}{
		{trace.Frame{Module: "app", Offset: 16}, ""},
		{trace.Frame{Module: "app", Offset: 40}, "too large"},
		{trace.Frame{Module: "app", Offset: 50}, "app: it was not read"},
		{trace.Frame{Module: "gone", Offset: 16}, "gone: the file is not there"},
		{trace.Frame{Offset: 16}, "it is in no file"},
		{trace.Frame{Function: "f", File: "f.py", Line: 1}, OnlyLines},
		{trace.Frame{Function: trace.Folded}, ""},
	} {
		if got := codes.Unknown(&x.frame); got != x.want {
			t.Errorf("%+v: %q, want %q", x.frame, got, x.want)
		}
	}
}

// Functions without a symbol of which the machine code was read are named by where they begin: each has a name of its
// own.
func TestNamedByEntry(t *testing.T) {
	frame := func(offset uint64) trace.Frame { return trace.Frame{Module: "app", Offset: offset} }
	run := &trace.Run{
		Worlds: []trace.World{{Size: 1}},
		Code: []trace.CodeFunction{
			{Module: "app", Entry: 0x1340, Sites: []trace.CodeSite{{Offset: 0x1350, Loop: -1}, {Offset: 0x1360, Loop: -1}}, Follows: [][]byte{{0}}},
			{Module: "app", Entry: 0x1400, Sites: []trace.CodeSite{{Offset: 0x1410, Loop: -1}}, Follows: [][]byte{{0}}},
		},
		CallPaths: []trace.CallPath{
			{}, {Function: "MPI_Send", Frames: []trace.Frame{frame(0x1350)}}, {Function: "MPI_Recv", Frames: []trace.Frame{frame(0x1360)}}, {Function: "MPI_Recv", Frames: []trace.Frame{frame(0x1410)}},
		},
	}
	in := programInput(run, team.Threads{}, 1)
	var names []string
	for _, f := range in.Functions {
		names = append(names, f.Name)
	}
	if want := []string{"app+0x1340", "app+0x1400"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}
