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

// writtenLevels is how many frames of a call are written of a run that was measured: callpaths.json has the others, by
// the call path's number. Of a trace of another tool all are.
const writtenLevels = 3

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
	levels := writtenLevels
	if run.WholePaths {
		levels = maxCallerLevel
	}
	c := &callers{events: make([][]callEvent, len(run.CallPaths))}
	for _, p := range run.CallPaths {
		for _, f := range p.Frames[:min(len(p.Frames), levels)] {
			c.functions = append(c.functions, oneLine(f.Function))
			c.lines = append(c.lines, lineLabel(f))
		}
	}
	for _, list := range []*[]string{&c.functions, &c.lines} {
		slices.Sort(*list)
		*list = slices.DeleteFunc(slices.Compact(*list), func(s string) bool { return s == "" })
	}
	for i, p := range run.CallPaths {
		for k, f := range p.Frames[:min(len(p.Frames), levels)] {
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

// callerLevel reports whether an event type is a caller's function or line, and of which level.
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
		if label == "" || e.value == callerEnd {
			continue
		}
		function, file, line := "", "", 0
		if base == typeCaller {
			if function, file, line = functionOf(label); function == "" {
				continue
			}
		} else if file, line = lineOf(label); file == "" {
			continue
		}
		for len(frames) < level {
			frames = append(frames, trace.Frame{})
		}
		f := &frames[level-1]
		if function != "" {
			f.Function = function
		}
		if file != "" && (base == typeCallerLine || f.File == "") {
			f.File, f.Line = file, line
		}
	}
	return frames
}

// unresolved are the words of tracers for what they have not found.
var unresolved = []string{callerNames[callerUnresolved], "_NOT_Found", "NOT_Found", "unresolved", "??"}

// functionOf takes the label of a caller apart. Extrae shortens long names in the middle and adds them in full:
// "__redbla..o_recv2d [__redblack_module_MOD_do_recv2d]". Others add the place: "do_recv2d (redblack.f90:91)".
func functionOf(label string) (function, file string, line int) {
	label = whole(label)
	if i := strings.LastIndex(label, " ("); i > 0 && strings.HasSuffix(label, ")") {
		name, number, ok := cutLast(label[i+2:len(label)-1], ":")
		if n := lineNumber(number); ok && n > 0 && name != "" {
			label, file, line = strings.TrimSpace(label[:i]), name, n
		}
	}
	if slices.Contains(unresolved, label) {
		return "", "", 0
	}
	return label, file, line
}

// lineOf takes the label of a caller's line apart: "91 (redblack.f90)", with the module "91 (redblack.f90, epoch2d)",
// shortened and in full "91 (redblack..dule.f90) [91 (redblack_module.f90, epoch2d)]", or "redblack.f90:91".
func lineOf(label string) (file string, line int) {
	label = whole(label)
	number, rest, ok := strings.Cut(label, " (")
	if ok && strings.HasSuffix(rest, ")") {
		if line = lineNumber(number); line > 0 {
			file, _, _ = strings.Cut(strings.TrimSuffix(rest, ")"), ", ")
		} else { // "do_recv2d (redblack.f90:91)"
			file, number, _ = cutLast(strings.TrimSuffix(rest, ")"), ":")
			line = lineNumber(number)
		}
	} else {
		file, number, _ = cutLast(label, ":")
		line = lineNumber(number)
	}
	if file = strings.TrimSpace(file); file == "" || line <= 0 || slices.Contains(unresolved, file) {
		return "", 0
	}
	return file, line
}

// shortened stands in the place of the middle of a name.
const shortened = ".."

// whole is the long form of a label that has a shortened one, and in brackets the long one.
func whole(label string) string {
	if !strings.HasSuffix(label, "]") {
		return label
	}
	for from := 0; ; { // the long one may have brackets itself
		i := strings.Index(label[from:], " [")
		if i < 0 {
			return label
		}
		short, long := label[:from+i], label[from+i+2:len(label)-1]
		if alike(short, long) {
			return long
		}
		from += i + 2
	}
}

// alike reports whether a label can be the shortened form of a long one: it has dots, begins as that, and what is
// behind the dots comes behind it there.
func alike(short, long string) bool {
	parts := strings.Split(strings.TrimRight(short, ")"), shortened)
	rest, ok := strings.CutPrefix(long, parts[0])
	for _, part := range parts[1:] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return ok && len(parts) > 1
}

func lineNumber(text string) int {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil {
		return 0
	}
	return int(n)
}

// cutLast cuts at the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
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
