package store

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

func codeMessage(module string, id []byte, functions ...*moriensv1.CodeFunction) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Code{Code: &moriensv1.Code{Module: module, BuildId: id, Functions: functions}}}
}

// codeOfTwo is a function of two calls, the second of which is in a loop in a loop.
func codeOfTwo() *moriensv1.CodeFunction {
	return &moriensv1.CodeFunction{
		Entry:   8,
		Loops:   []*moriensv1.CodeLoop{{}, {Parent: 1}},
		Sites:   []*moriensv1.CodeSite{{Offset: 16}, {Offset: 20, Loop: 2}},
		Follows: [][]byte{{0b1010}, {1}, {0}},
	}
}

// What agents have read is kept by module, build and entry; of two reports on one function what each knows of it.
func TestCode(t *testing.T) {
	s := New()
	lines, columns, less, refused := codeOfTwo(), codeOfTwo(), codeOfTwo(), codeOfTwo()
	lines.Loops[1] = &moriensv1.CodeLoop{Parent: 1, File: "f.c", Line: 3, Scopes: []*moriensv1.CodeScope{{Function: "g", File: "f.c", Line: 2}}}
	columns.Sites[1].Column = 7
	less.Loops, less.Sites, less.Follows = nil, less.Sites[:1], [][]byte{{0}}
	refused.Loops, refused.Follows, refused.Refused, refused.Sites[1].Loop = nil, nil, "too large", 0
	other := codeOfTwo()
	other.Entry = 4
	for i, f := range []*moriensv1.CodeFunction{refused, less, lines, columns, less, refused, codeOfTwo()} {
		inStore(t, s, uint64(i), "n", codeMessage("/opt/app", []byte{1, 0xa}, f))
	}
	inStore(t, s, 1, "n", codeMessage("/usr/app", []byte{2}, codeOfTwo(), other))
	f := s.Freeze()
	two := func(id string, entry uint64) trace.CodeFunction {
		return trace.CodeFunction{
			Module: "app", BuildID: id, Entry: entry, Loops: []trace.CodeLoop{{Parent: -1}, {Parent: 0}},
			Sites: []trace.CodeSite{{Offset: 16, Loop: -1}, {Offset: 20, Loop: 1}}, Follows: [][]byte{{0b1010}, {1}, {0}},
		}
	}
	joined := two("010a", 8)
	joined.Loops[1] = trace.CodeLoop{Parent: 0, File: "f.c", Line: 3, Scopes: []trace.CodeScope{{Function: "g", CallFile: "f.c", CallLine: 2}}}
	joined.Sites[1].Column = 7
	if d := cmp.Diff([]trace.CodeFunction{joined, two("02", 4), two("02", 8)}, f.Code); d != "" {
		t.Error(d)
	}
}

// A report that does not agree with itself is refused.
func TestCodeRefused(t *testing.T) {
	for want, change := range map[string]func(f *moriensv1.CodeFunction){
		"loop 1 lies in loop 1":                        func(f *moriensv1.CodeFunction) { f.Loops[0].Parent = 1 },
		"at line 4294967295":                           func(f *moriensv1.CodeFunction) { f.Loops[0].Line = 1<<32 - 1 },
		"a scope of loop 1":                            func(f *moriensv1.CodeFunction) { f.Loops[0].Scopes = []*moriensv1.CodeScope{{Line: 1 << 31}} },
		"a call at 0x10 after one at 0x10":             func(f *moriensv1.CodeFunction) { f.Sites[1].Offset = 16 },
		"a call in loop 3 of 2":                        func(f *moriensv1.CodeFunction) { f.Sites[1].Loop = 3 },
		"2 matrices of 2 loops and 2 calls":            func(f *moriensv1.CodeFunction) { f.Follows = f.Follows[:2] },
		"matrix 0 has 2 bytes for 2 calls":             func(f *moriensv1.CodeFunction) { f.Follows[0] = []byte{1, 2} },
		"it has 2 loops and 3 matrices though nothing": func(f *moriensv1.CodeFunction) { f.Refused = "r" },
		"1 matrices of 0 loops and 0 calls": func(f *moriensv1.CodeFunction) {
			f.Loops, f.Sites, f.Follows = nil, nil, [][]byte{nil}
		},
	} {
		s := New()
		a, _, err := s.Greet(&moriensv1.Hello{Agent: 1})
		if err != nil {
			t.Fatal(err)
		}
		f := codeOfTwo()
		change(f)
		m := codeMessage("/app", nil, codeOfTwo(), f)
		m.Sequence = 1
		if _, err := s.Apply(a, m); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `machine code of "/app": function at 0x8`) {
			t.Errorf("%v, want %q", err, want)
		}
		if frozen := s.Freeze(); len(frozen.Code) > 0 || frozen.Totals.Refused != 1 {
			t.Errorf("%q: %v is kept, %d refused", want, frozen.Code, frozen.Totals.Refused)
		}
	}
	s := New()
	if err := s.addCode(&moriensv1.Code{}); err == nil {
		t.Error("code of no module")
	}
}

// Of a module of which a node has several files no function remains, whatever other nodes have read.
func TestAmbiguousModule(t *testing.T) {
	read := trace.CodeFunction{Module: "x", Entry: 8, Sites: []trace.CodeSite{{Offset: 16, Loop: -1}}, Follows: [][]byte{{0}}}
	gone := trace.CodeFunction{Module: "x", Refused: "a"}
	ambiguous := trace.CodeFunction{Module: "x", Refused: trace.AmbiguousModule}
	for _, list := range [][]trace.CodeFunction{{read, gone, ambiguous}, {ambiguous, gone, read}} {
		c := make(codes)
		for _, f := range list {
			c.add(f)
		}
		if got := c.sorted(); len(got) != 1 || got[0].Refused != trace.AmbiguousModule {
			t.Errorf("%+v", got)
		}
	}
}
