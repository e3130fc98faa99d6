package prv

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"moriens/trace"
)

// maxCallerLevel bounds the frames of a call: Paraver's own limit for the type numbers.
const maxCallerLevel = 100

// Values of both caller types. firstCaller is the first that has a name.
const (
	callerEnd        = 0
	callerUnresolved = 1
	firstCaller      = 2
)

var callerNames = [firstCaller]string{"End", "Unresolved"}

// callers are the functions and lines of a run's call paths, numbered.
type callers struct {
	events    [][]callEvent // by call path, at the call's entry
	functions []string      // by value, from firstCaller on
	lines     []string
	levels    int // of the deepest frame that has either
}

func codeCallers(run *trace.Run) *callers {
	c := &callers{events: make([][]callEvent, len(run.CallPaths))}
	for _, p := range run.CallPaths {
		for _, f := range p.Frames[:min(len(p.Frames), maxCallerLevel)] {
			c.functions = append(c.functions, oneLine(f.Function))
			c.lines = append(c.lines, lineLabel(f))
		}
	}
	for _, list := range []*[]string{&c.functions, &c.lines} {
		slices.Sort(*list)
		*list = slices.DeleteFunc(slices.Compact(*list), func(s string) bool { return s == "" })
	}
	for i, p := range run.CallPaths {
		for k, f := range p.Frames[:min(len(p.Frames), maxCallerLevel)] {
			for _, name := range []struct {
				base uint32
				list []string
				text string
			}{{typeCaller, c.functions, oneLine(f.Function)}, {typeCallerLine, c.lines, lineLabel(f)}} {
				if at, known := slices.BinarySearch(name.list, name.text); known {
					c.events[i] = append(c.events[i], callEvent{name.base + uint32(k) + 1, int64(at) + firstCaller})
					c.levels = max(c.levels, k+1)
				}
			}
		}
	}
	return c
}

// lineLabel is "505 (comm_brick.cpp)", as Extrae writes it; empty where the line is not known.
func lineLabel(f trace.Frame) string {
	if f.File == "" || f.Line <= 0 {
		return ""
	}
	return oneLine(fmt.Sprintf("%d (%s)", f.Line, filepath.Base(f.File)))
}

func writeCallerLabels(out *bufio.Writer, c *callers) {
	for _, t := range []struct {
		base uint32
		name string
		list []string
	}{{typeCaller, "Caller", c.functions}, {typeCallerLine, "Caller line", c.lines}} {
		if len(t.list) == 0 {
			continue
		}
		out.WriteString("\n\nEVENT_TYPE\n")
		for level := 1; level <= c.levels; level++ {
			fmt.Fprintf(out, "0    %d    %s at level %d\n", t.base+uint32(level), t.name, level)
		}
		out.WriteString("VALUES\n")
		for value, name := range append(callerNames[:], t.list...) {
			fmt.Fprintf(out, "%-4d %s\n", value, name)
		}
	}
}

// callerLevel says whether an event type is a caller's function or line, and of which level.
func callerLevel(eventType uint32) (base uint32, level int, ok bool) {
	for _, base := range []uint32{typeCaller, typeCallerLine} {
		if eventType > base && eventType <= base+maxCallerLevel {
			return base, int(eventType - base), true
		}
	}
	return 0, 0, false
}

// frames makes of the caller events of a call what their labels say; what has no label is unknown.
func (l *labels) frames(events []callEvent) []trace.Frame {
	var frames []trace.Frame
	for _, e := range events {
		base, level, _ := callerLevel(e.eventType)
		label := l.callers[callEvent{base, e.value}]
		if label == "" || e.value == callerEnd || label == callerNames[callerUnresolved] {
			continue
		}
		for len(frames) < level {
			frames = append(frames, trace.Frame{})
		}
		f := &frames[level-1]
		if base == typeCaller {
			f.Function = label
		} else if number, file, ok := strings.Cut(label, " ("); ok {
			line, err := strconv.ParseInt(number, 10, 32)
			file, _, _ = strings.Cut(strings.TrimSuffix(file, ")"), ", ") // Extrae adds the module
			if err == nil && line > 0 && file != "" {
				f.File, f.Line = file, int(line)
			}
		}
	}
	return frames
}

// key is a call with its callers, to look them up by.
func (e callEvent) key(buffer []byte, callers []callEvent) []byte {
	buffer = e.append(buffer)
	for _, c := range callers {
		buffer = c.append(buffer)
	}
	return buffer
}

func (e callEvent) append(buffer []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(buffer, e.eventType), uint64(e.value))
}
