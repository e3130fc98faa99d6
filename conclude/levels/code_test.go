package levels

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/program"
	"moriens/trace"
)

// A frame has the code of the function that holds it in its own module: not in another build of that, nor of a function
// whose code is not known.
func TestCodes(t *testing.T) {
	r := &trace.Run{Code: []trace.CodeFunction{
		{Module: "app", BuildID: "a", Entry: 8, Loops: []trace.CodeLoop{{Parent: -1, File: "f.c", Line: 3, Scopes: []trace.CodeScope{{Function: "g", CallFile: "f.c", CallLine: 2}}}},
			Sites: []trace.CodeSite{{Offset: 16, Loop: -1, Column: 4}, {Offset: 24, Loop: 0}}, Follows: [][]byte{{0b1010}, {0}}},
		{Module: "app", BuildID: "b", Entry: 8, Refused: "too large", Sites: []trace.CodeSite{{Offset: 16, Loop: -1}}},
	}}
	codes := CodesOf(r)
	want := &program.Code{
		Loops:   []program.Loop{{Parent: -1, File: "f.c", Line: 3, Scopes: []program.Inlined{{Function: "g", CallFile: "f.c", CallLine: 2}}}},
		Sites:   []program.Site{{Offset: 16, Loop: -1, Column: 4}, {Offset: 24, Loop: 0}},
		Follows: [][]byte{{0b1010}, {0}},
	}
	for _, at := range []uint64{16, 24} {
		f, code := codes.At(&trace.Frame{Module: "app", BuildID: "a", Offset: at})
		if f != &r.Code[0] {
			t.Errorf("%#x is in %v", at, f)
		}
		if d := cmp.Diff(want, code); d != "" {
			t.Error(d)
		}
	}
	if f, code := codes.At(&trace.Frame{Module: "app", BuildID: "b", Offset: 16}); f != &r.Code[1] || code != nil {
		t.Errorf("another build: %v, %v", f, code)
	}
	for _, frame := range []trace.Frame{{Module: "app", BuildID: "b", Offset: 24}, {Module: "lib", BuildID: "a", Offset: 16}, {Function: "python"}} {
		if f, code := codes.At(&frame); f != nil || code != nil {
			t.Errorf("%v: %v, %v", frame, f, code)
		}
	}
}
