package prv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"moriens/trace"
)

// labels are what a reader takes from the .pcf.
type labels struct {
	calls    map[callEvent]string
	callers  map[callEvent]string // by typeCaller or typeCallerLine: all levels share their labels
	counters map[uint32]trace.Counter
	windows  []trace.Window // without their threads
	windowed bool           // typeWindow is there
	whole    bool           // typePath has wholePathLabel
	given    int            // how often a value was given to a type
}

// readLabels takes the labels of calls and counters. Labels only name things, and traces carry all sorts of .pcf:
// a line that makes no sense is passed over.
func readLabels(in io.Reader) (*labels, error) {
	l := &labels{calls: make(map[callEvent]string), callers: make(map[callEvent]string), counters: make(map[uint32]trace.Counter)}
	var types []uint32 // of the EVENT_TYPE section, for its values: those that take some, each once
	inTypes, inValues := false, false
	err := textLines(in, func(line string) {
		first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		number, err := strconv.ParseInt(first, 10, 64)
		switch {
		case first == "EVENT_TYPE":
			types, inTypes, inValues = types[:0], true, false
		case first == "VALUES":
			inTypes, inValues = false, inTypes
		case first == "":
		case err != nil:
			inTypes, inValues = false, false
		case inTypes:
			first, label, _ := strings.Cut(rest, " ")
			t, err := strconv.ParseUint(first, 10, 32)
			if err != nil {
				return
			}
			if t, takes := valued(uint32(t)); takes && !slices.Contains(types, t) {
				types = append(types, t)
			}
			l.windowed = l.windowed || t == typeWindow
			l.whole = l.whole || t == typePath && strings.TrimSpace(label) == wholePathLabel
			if t >= typePreset && t < typeCountersEnd {
				l.counters[uint32(t)] = counterOfLabel(label)
			}
		case inValues:
			l.given += len(types)
			for _, t := range types {
				if t >= typeMPI && t <= typeMPILast && number != 0 && rest != "" {
					l.calls[callEvent{t, number}] = rest
				}
				if t == typeWindow && number == int64(len(l.windows))+firstWindow && number <= maxWindow {
					l.windows = append(l.windows, parseWindow(rest))
				}
				if (t == typeCaller || t == typeCallerLine) && rest != "" {
					l.callers[callEvent{t, number}] = rest
				}
			}
		}
	})
	return l, err
}

// valued reports whether a reader takes the values of a type, and for which one: all levels of callers share theirs.
// There are eight such types, so that a section costs what it is long, whatever types it names.
func valued(t uint32) (of uint32, takes bool) {
	if base, _, is := callerLevel(t); is {
		return base, true
	}
	return t, t >= typeMPI && t <= typeMPILast || t == typeWindow
}

// counterOfLabel takes "PAPI_TOT_INS [instructions]" apart. Extrae puts a description into the brackets, in parentheses
// in some versions: what has several words is no unit. The last bracket counts, because a native event's name may hold
// others.
func counterOfLabel(label string) trace.Counter {
	name := strings.TrimSpace(label)
	if i := strings.LastIndex(name, " (["); i > 0 && strings.HasSuffix(name, "])") {
		name = name[:i+1] + name[i+2:len(name)-1]
	}
	c := trace.Counter{Name: name}
	if i := strings.LastIndex(name, " ["); i > 0 && strings.HasSuffix(name, "]") {
		c.Name = name[:i]
		if unit := name[i+2 : len(name)-1]; !strings.ContainsAny(unit, " ") {
			c.Unit = unit
		}
	}
	return c
}

// names are what a reader takes from the .row.
type names struct {
	nodes, worlds []string
}

func readNames(in io.Reader) (*names, error) {
	n := new(names)
	var level string
	var left int
	err := textLines(in, func(line string) {
		if f := strings.Fields(line); len(f) == 4 && f[0] == "LEVEL" && f[2] == "SIZE" {
			level = f[1]
			left, _ = strconv.Atoi(f[3])
			return
		}
		if left == 0 {
			return
		}
		left--
		switch line = strings.TrimSpace(line); level {
		case "NODE":
			n.nodes = append(n.nodes, line)
		case "APPL":
			n.worlds = append(n.worlds, line)
		}
	})
	return n, err
}

// textLines passes over lines of more than maxLabelBytes.
func textLines(in io.Reader, each func(string)) error {
	if in == nil {
		return nil
	}
	b := bufio.NewReaderSize(in, maxLabelBytes)
	for whole := true; ; {
		line, err := b.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if whole && !more {
			each(strings.TrimRight(string(line), "\r\n"))
		}
		whole = !more
		switch {
		case err == io.EOF:
			return nil
		case err != nil && !more:
			return err
		}
	}
}

// maxLabelBytes is how long a line of a .pcf or .row may be that says something.
const maxLabelBytes = 1 << 20

// nameOf returns the i-th name unless it is the one that WriteNames gives to what has none.
func nameOf(list []string, i int, placeholder string) string {
	if i >= len(list) || list[i] == fmt.Sprintf("%s %d", placeholder, i+1) {
		return ""
	}
	return list[i]
}
