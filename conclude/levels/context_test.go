package levels

import (
	"testing"

	"moriens/trace"
)

// A burst lies in the functions that the calls round it have in common, whether the compiler has inlined them or not.
func TestContext(t *testing.T) {
	at := uint64(0)
	frame := func(function string, line int, inlined ...trace.Scope) trace.Frame {
		at++
		return trace.Frame{Module: "app", Offset: at, Function: function, File: "app.c", Line: line, Inlined: inlined}
	}
	in := func(function string, line int) trace.Scope {
		return trace.Scope{Function: function, File: "app.c", Line: line}
	}
	start := frame("_start", 1)
	main, unknown := frame("main", 20), trace.Frame{Module: "app", Offset: 99}
	other := frame("solve", 5)
	other.Module = "library"
	for _, tt := range []struct {
		name          string
		before, after []trace.Frame // outermost first
		want          int32
	}{
		{"one path", []trace.Frame{start, main}, []trace.Frame{start, main}, 2},
		{"two lines of a function", []trace.Frame{start, main}, []trace.Frame{start, frame("main", 30)}, 2},
		{"two functions", []trace.Frame{start, main, frame("solve", 3)}, []trace.Frame{start, frame("main", 30), frame("sum", 5)}, 2},
		{"an inlined one and its caller", []trace.Frame{start, frame("solve", 3, in("main", 20))}, []trace.Frame{start, frame("main", 30)}, 2},
		{"an inlined one and what its caller calls", []trace.Frame{start, frame("solve", 3, in("main", 20))}, []trace.Frame{start, frame("main", 30), frame("sum", 5)}, 2},
		{"two lines of an inlined one", []trace.Frame{start, frame("solve", 3, in("main", 20))}, []trace.Frame{start, frame("solve", 4, in("main", 20))}, 3},
		{"one inlined at two lines", []trace.Frame{start, frame("solve", 3, in("main", 20))}, []trace.Frame{start, frame("solve", 3, in("main", 21))}, 2},
		{"two inlined in one", []trace.Frame{start, frame("a", 3, in("main", 20), in("solve", 7))}, []trace.Frame{start, frame("b", 3, in("main", 20), in("solve", 9))}, 3},
		{"below an inlined one", []trace.Frame{frame("solve", 3, in("main", 20)), other}, []trace.Frame{frame("solve", 4, in("main", 20)), other}, 2},
		{"other roots", []trace.Frame{start}, []trace.Frame{frame("clone", 1)}, -1},
		{"one name in two modules", []trace.Frame{other}, []trace.Frame{frame("solve", 5)}, -1},
		{"without a name", []trace.Frame{start, unknown}, []trace.Frame{start, {Module: "app", Offset: 98}}, 1},
		{"without frames", nil, []trace.Frame{start}, -1},
	} {
		for range 2 {
			if got := Context(innermostFirst(tt.before), innermostFirst(tt.after)); got != tt.want {
				t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
			}
			tt.before, tt.after = tt.after, tt.before
			if tt.name == "without frames" {
				break
			}
		}
	}
}

func innermostFirst(frames []trace.Frame) (list []trace.Frame) {
	for i := len(frames) - 1; i >= 0; i-- {
		list = append(list, frames[i])
	}
	return list
}
