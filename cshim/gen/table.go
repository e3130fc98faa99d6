package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// call is one line of the table.
type call struct {
	id        uint16
	name      string // MPI_Send
	class     string
	eventType uint32 // of Paraver
	value     int64
	state     int
	params    []string // roles, in the order of the C binding
}

// ownValues is added to the id of a call that Extrae gives no value.
const ownValues = 1000

var classes = []string{"point-to-point", "completion", "collective", "environment"}

var (
	namePattern = regexp.MustCompile(`^MPI_[A-Z][a-z0-9_]*$`)
	rolePattern = regexp.MustCompile(`^[sr]?(buf|counts?|types?|displs|tag)$|` +
		`^(op|dest|source|root|comm|request|requests|message|status|statuses|flag|index|indices|outcount)$|` +
		`^(argc|argv|required|provided|errorcode)$`)
)

// parse reads the table and refuses what would make two calls indistinguishable in a record or a trace.
func parse(text string) ([]call, error) {
	var calls []call
	ids := map[uint16]string{}
	values := map[[2]int64]string{}
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		c, err := parseLine(fields)
		if err != nil {
			return nil, fmt.Errorf("calls.txt:%d: %w", i+1, err)
		}
		if other, taken := ids[c.id]; taken {
			return nil, fmt.Errorf("calls.txt:%d: %s has the id of %s", i+1, c.name, other)
		}
		ids[c.id] = c.name
		key := [2]int64{int64(c.eventType), c.value}
		if other, taken := values[key]; taken {
			return nil, fmt.Errorf("calls.txt:%d: %s has the Paraver value of %s", i+1, c.name, other)
		}
		values[key] = c.name
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b call) int { return int(a.id) - int(b.id) })
	return calls, nil
}

func parseLine(fields []string) (call, error) {
	if len(fields) < 6 {
		return call{}, fmt.Errorf("%d fields, want at least 6", len(fields))
	}
	id, err := strconv.ParseUint(fields[0], 10, 16)
	if err != nil || id == 0 {
		return call{}, fmt.Errorf("bad id %q", fields[0])
	}
	c := call{id: uint16(id), name: fields[1], class: fields[2], params: fields[6:]}
	if !namePattern.MatchString(c.name) {
		return call{}, fmt.Errorf("bad name %q", c.name)
	}
	if !slices.Contains(classes, c.class) {
		return call{}, fmt.Errorf("bad class %q", c.class)
	}
	eventType, err := strconv.ParseUint(fields[3], 10, 32)
	if err != nil {
		return call{}, fmt.Errorf("bad event type %q", fields[3])
	}
	c.eventType = uint32(eventType)
	c.value = ownValues + int64(c.id)
	if fields[4] != "-" {
		if c.value, err = strconv.ParseInt(fields[4], 10, 64); err != nil || c.value < 1 || c.value >= ownValues {
			return call{}, fmt.Errorf("bad event value %q", fields[4])
		}
	}
	if c.state, err = strconv.Atoi(fields[5]); err != nil {
		return call{}, fmt.Errorf("bad state %q", fields[5])
	}
	for _, p := range c.params {
		if !rolePattern.MatchString(p) {
			return call{}, fmt.Errorf("%s: bad parameter %q", c.name, p)
		}
	}
	return c, nil
}

func maxID(calls []call) uint16 {
	return calls[len(calls)-1].id
}
