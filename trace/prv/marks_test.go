package prv

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/trace/tracetest"
)

// The marks of a trace, read line by line in the order of the file, give the phases and events of the run.
func TestMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		text, _, _ := write(t, run)
		var want, got []string
		for i := range run.Threads {
			th := &run.Threads[i]
			object := fmt.Sprintf("%d:%d:%d", th.World+1, th.Rank+1, th.Thread+1)
			for _, p := range th.Phases {
				want = append(want, fmt.Sprint(object, " phase ", p.Depth, p.Name, p.BeginNS, p.EndNS))
			}
			for _, e := range th.Events {
				want = append(want, fmt.Sprint(object, " event ", e.Name, e.TimeNS, e.Value))
			}
		}
		type level struct {
			object string
			depth  int64
		}
		type open struct{ value, begin int64 }
		opened := make(map[level]open)
		last := int64(0)
		for line := range strings.Lines(string(text)) {
			var cpu, world, rank, thread, now, kind, value int64
			if !strings.HasPrefix(line, "2:") {
				continue
			}
			if _, err := fmt.Sscanf(line, "2:%d:%d:%d:%d:%d:%d:%d", &cpu, &world, &rank, &thread, &now, &kind, &value); err != nil {
				t.Fatal(line, err)
			}
			if now < last {
				t.Fatalf("%s comes after %d", line, last)
			}
			last = now
			object := fmt.Sprintf("%d:%d:%d", world, rank, thread)
			at := level{object, kind - typePhase}
			switch {
			case kind >= typeUserEvent:
				got = append(got, fmt.Sprint(object, " event ", uint32(kind-typeUserEvent), now, value))
			case kind >= typePhase && value != 0:
				if _, twice := opened[at]; twice {
					t.Fatalf("%s begins in another of its level", line)
				}
				if _, outside := opened[level{object, at.depth - 1}]; at.depth > 0 && !outside {
					t.Fatalf("%s begins outside of a phase", line)
				}
				opened[at] = open{value, now}
			case kind >= typePhase:
				o, begun := opened[at]
				if _, inside := opened[level{object, at.depth + 1}]; !begun || inside {
					t.Fatalf("%s ends, begun: %v, with one inside: %v", line, begun, inside)
				}
				delete(opened, at)
				got = append(got, fmt.Sprint(object, " phase ", int32(at.depth), uint32(o.value-1), o.begin, now))
			}
		}
		same(t, want, got)
	})
}

func same(t fatal, want, got []string) {
	t.Helper()
	count := make(map[string]int)
	for _, s := range want {
		count[s]++
	}
	for _, s := range got {
		count[s]--
	}
	for s, n := range count {
		if n != 0 {
			t.Fatalf("%s: %d more in the run than in the trace\nwant %q\ngot %q", s, n, want, got)
		}
	}
}

func TestPause(t *testing.T) {
	text, _, _ := write(t, tracetest.Small())
	if line := "\n1:0:1:2:2:4000000:4900000:14\n"; !strings.Contains(string(text), line) {
		t.Errorf("no line %q in\n%s", line, text)
	}
}

// A run without marks has no section for them.
func TestNoMarkLabels(t *testing.T) {
	run := tracetest.Small()
	for i := range run.Threads {
		run.Threads[i].Phases, run.Threads[i].Events = nil, nil
	}
	var labels bytes.Buffer
	if err := WriteLabels(&labels, run); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []int{typePhase, typeUserEvent} {
		if strings.Contains(labels.String(), fmt.Sprint(kind)[:2]+"00000") {
			t.Errorf("labels of type %d in\n%s", kind, labels.String())
		}
	}
}
