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

// class is a kind of call: a file of wrappers for each binding and a constant of package mpicall.
type class struct {
	name   string
	goName string
	what   string // for the page
}

var classes = []class{
	{"environment", "Environment", "set-up, end, control of tools"},
	{"point-to-point", "PointToPoint", "sends, receives, probes"},
	{"completion", "Completion", "waits and tests of requests"},
	{"collective", "Collective", "collectives, blocking and nonblocking"},
	{"persistent", "Persistent", "persistent requests, of sends, receives and collectives"},
	{"partitioned", "Partitioned", "partitioned point-to-point"},
	{"buffer", "Buffer", "emptying the buffers of buffered sends"},
	{"neighbourhood", "Neighbourhood", "neighbourhood collectives"},
	{"communicator", "Communicator", "making and freeing communicators"},
	{"process", "Process", "dynamic processes and ports"},
	{"session", "Session", "sessions, and communicators without MPI_COMM_WORLD"},
	{"one-sided", "OneSided", "windows, transfers, their synchronisation"},
	{"io", "IO", "files"},
}

func classNamed(name string) (class, bool) {
	i := slices.IndexFunc(classes, func(c class) bool { return c.name == name })
	if i < 0 {
		return class{}, false
	}
	return classes[i], true
}

// fileName is the class as part of a file's name.
func (c class) fileName() string {
	return strings.ReplaceAll(c.name, "-", "_")
}

// seldom says whether programs make these calls, all of one class, seldom or for something that takes long: their
// wrappers are better small than a few nanoseconds faster.
func seldom(calls []call) bool {
	return len(calls) > 0 && !slices.Contains([]string{"point-to-point", "completion", "collective"}, calls[0].class)
}

// of lists the calls of the class.
func (c class) of(calls []call) []call {
	var own []call
	for _, candidate := range calls {
		if candidate.class == c.name {
			own = append(own, candidate)
		}
	}
	return own
}

var (
	namePattern = regexp.MustCompile(`^MPI_[A-Z][a-z0-9_]*$`)
	rolePattern = regexp.MustCompile(`^[sr]?(buf|counts?|types?|displs|tag)$|` +
		`^(op|dest|source|root|comm|request|requests|message|status|statuses|flag|index|indices|outcount)$|` +
		`^([oct]|res)(buf|count|type)$|^(target|tdisp|win|base|size|unit|disp|assertion|locktype)$|` +
		`^(partitions|partition|partitionlist|low|high)$|` +
		`^(file|filename|amode|offset|whence|etype|filetype|datarep)$|` +
		`^(newcomm|peercomm|group|remotegroup|leader|remoteleader|color|key|splittype|stringtag|errhandler|session)$|` +
		`^(ndims|dims|periods|remain|reorder|nnodes|edgeindex|edges|n|sources|degrees|destinations|weights)$|` +
		`^(indegree|sourceweights|outdegree|destweights)$|` +
		`^(command|commands|arguments|maxprocs|info|infos|errorcodes|port|service|fd)$|` +
		`^(queryfn|freefn|cancelfn|state|level|extra[1-5])$|` +
		`^(argc|argv|required|provided|errorcode)$`)
)

// texts are the roles that are text: a Fortran caller passes the length of each behind all arguments.
var texts = []string{"command", "commands", "arguments", "port", "service", "stringtag", "filename", "datarep"}

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
	if _, ok := classNamed(c.class); !ok {
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
	for i, p := range c.params {
		if !rolePattern.MatchString(p) {
			return call{}, fmt.Errorf("%s: bad parameter %q", c.name, p)
		}
		if slices.Contains(c.params[:i], p) {
			return call{}, fmt.Errorf("%s: two parameters %q", c.name, p)
		}
	}
	return c, nil
}

// stateTest is Paraver's state of a call that tests or probes.
const stateTest = 6

// found names the parameter by which a polling call reports whether it found anything; "" if c is none.
func (c call) found() string {
	for _, role := range []string{"flag", "outcount"} {
		if c.state == stateTest && slices.Contains(c.params, role) {
			return role
		}
	}
	return ""
}

func maxID(calls []call) uint16 {
	return calls[len(calls)-1].id
}
