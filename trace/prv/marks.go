package prv

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"

	"moriens/trace"
)

// A markLine is an event on a thread that is neither a call nor a burst, or a state in which there are neither.
type markLine struct {
	timeNS    int64
	thread    int
	eventType uint32 // 0: a state
	state     int
	value     int64 // of a state, its end
	place     int   // at its time: first, before all else, or behind
}

// Places of a markLine.
const (
	behind = 0
	first  = -1
)

// markLines lists what a run's programs have said, pauses of the recording, the critical path, and kept and dropped
// time: in the order of time, those of a thread at one time so that phases nest. A phase's value is its name's number
// + 1.
func markLines(run *trace.Run) []markLine {
	var lines []markLine
	for i := range run.Threads {
		t := &run.Threads[i]
		t.EachPhase(func(p *trace.Phase) {
			lines = append(lines, markLine{timeNS: p.BeginNS, thread: i, eventType: typePhase + uint32(p.Depth), value: int64(p.Name) + 1})
		}, func(p *trace.Phase) {
			lines = append(lines, markLine{timeNS: p.EndNS, thread: i, eventType: typePhase + uint32(p.Depth)})
		})
		for _, e := range t.Events {
			lines = append(lines, markLine{timeNS: e.TimeNS, thread: i, eventType: typeUserEvent + e.Name, value: e.Value})
		}
		at := 0
		for _, p := range t.Pauses {
			if run.Windows == nil || keeps(t, &at, p.BeginNS, p.EndNS) {
				lines = append(lines, markLine{timeNS: p.BeginNS, thread: i, state: statePaused, value: p.EndNS})
			}
		}
		lines = appendCritical(lines, t, i)
		lines = appendWindows(lines, run, i)
	}
	slices.SortStableFunc(lines, func(a, b markLine) int {
		return cmp.Or(cmp.Compare(a.timeNS, b.timeNS), cmp.Compare(a.place, b.place), cmp.Compare(a.thread, b.thread))
	})
	return lines
}

// marksBefore writes the mark lines before a time, and those that come first at that time.
func (w *traceWriter) marksBefore(nowNS int64) {
	for len(w.marks) > 0 && (w.marks[0].timeNS < nowNS || w.marks[0].timeNS == nowNS && w.marks[0].place == first) {
		m := w.marks[0]
		w.marks = w.marks[1:]
		if m.eventType == 0 {
			b := appendObject(append(w.line[:0], '1', ':'), &w.run.Threads[m.thread])
			w.line = fmt.Appendf(b, "%d:%d:%d\n", m.timeNS, m.value, m.state)
		} else {
			b := appendObject(append(w.line[:0], '2', ':'), &w.run.Threads[m.thread])
			w.line = fmt.Appendf(b, "%d:%d:%d\n", m.timeNS, m.eventType, m.value)
		}
		w.out.Write(w.line)
	}
}

// writeMarkLabels names the levels of phases, the phases and the events.
func writeMarkLabels(out *bufio.Writer, run *trace.Run) {
	phase, event := make([]bool, len(run.MarkNames)), make([]bool, len(run.MarkNames))
	levels := 0
	for i := range run.Threads {
		for _, p := range run.Threads[i].Phases {
			levels = max(levels, int(p.Depth)+1)
			phase[p.Name] = true
		}
		for _, e := range run.Threads[i].Events {
			event[e.Name] = true
		}
	}
	if levels > 0 {
		out.WriteString("\n\nEVENT_TYPE\n")
		for level := range levels {
			fmt.Fprintf(out, "9    %d    Phase level %d\n", typePhase+level, level+1)
		}
		fmt.Fprintf(out, "VALUES\n%-4d End\n", 0)
		for i, name := range run.MarkNames {
			if phase[i] {
				fmt.Fprintf(out, "%-4d %s\n", i+1, label(name))
			}
		}
	}
	if !slices.Contains(event, true) {
		return
	}
	out.WriteString("\n\nEVENT_TYPE\n")
	for i, name := range run.MarkNames {
		if event[i] {
			fmt.Fprintf(out, "9    %d    %s\n", typeUserEvent+i, label(name))
		}
	}
}

// label is a name as the .pcf can hold it; it has no place for an empty one.
func label(name string) string {
	if name = oneLine(name); name == "" {
		return `""`
	}
	return name
}
