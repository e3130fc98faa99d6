package prv

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"time"

	"moriens/trace"
)

// maxThreads bounds what a header of a few bytes can ask for. Paraver itself holds 65,535.
const maxThreads = 1 << 22

type header struct {
	start     time.Time
	endNS     int64
	unitNS    int64   // of a time in the body
	cpus      []int   // by node
	cpuNode   []int32 // by global CPU, 0-based, nil where cpus is
	tasks     [][]task
	threads   int   // of all tasks
	commLines int64 // that the header announces, of all applications; noCount where it does not say
}

const noCount = -1

type task struct {
	threads int
	node    int // 0-based
	slots   []*threadReader
}

var errHeader = errors.New(`not a Paraver trace: the first line does not begin with "#Paraver ("`)

func parseHeader(line []byte) (*header, error) {
	rest, ok := bytes.CutPrefix(line, []byte("#Paraver ("))
	if !ok {
		return nil, errHeader
	}
	date, rest, ok := bytes.Cut(rest, []byte("):"))
	if !ok {
		return nil, errors.New(`header: no "):" after the date`)
	}
	h := &header{unitNS: 1000, commLines: noCount}
	if t, err := time.Parse("02/01/2006 at 15:04", string(date)); err == nil && t.Unix() != 0 {
		h.start = t // other writers put other texts here, and nothing depends on it
	}
	p := headerParser{b: rest}
	h.endNS = p.number("end time")
	switch {
	case p.take("_ns"):
		h.unitNS = 1
	case p.take("_us"):
	}
	if h.endNS < 0 || h.endNS > math.MaxInt64/h.unitNS {
		p.fail("end time out of range")
	}
	h.endNS *= h.unitNS
	p.expect(':')
	h.nodes(&p)
	p.expect(':')
	h.applications(&p)
	if p.err == nil && p.i < len(p.b) {
		p.fail("something after the header's end")
	}
	if p.err != nil {
		return nil, fmt.Errorf("header: %w", p.err)
	}
	return h, nil
}

func (h *header) nodes(p *headerParser) {
	nodes := p.number("number of nodes")
	if p.err != nil || !p.take("(") {
		if nodes != 0 {
			p.fail("no list of CPUs after the number of nodes")
		}
		return
	}
	total := 0
	for i := int64(0); i < nodes && p.err == nil; i++ {
		if i > 0 {
			p.expect(',')
		}
		n := p.number("CPUs of a node")
		if n < 0 || n > maxThreads || total+int(n) > maxThreads {
			p.fail("number of CPUs out of range")
			return
		}
		h.cpus = append(h.cpus, int(n))
		for range n {
			h.cpuNode = append(h.cpuNode, int32(i))
		}
		total += int(n)
	}
	p.expect(')')
}

// applications reads "2:8(1:1,…):12(1:1,…),14". Writers part the lists by colons or by commas, and name the
// communicators behind the last list, or behind each those of its application: a number behind a comma is one of tasks
// where a list follows it.
func (h *header) applications(p *headerParser) {
	n := p.number("number of applications")
	total := int64(0)
	for a := int64(0); a < n && p.err == nil; a++ {
		if a == 0 || !p.take(",") {
			p.expect(':')
		}
		tasks := p.number("number of tasks")
		p.expect('(')
		var list []task
		for k := int64(0); k < tasks && p.err == nil; k++ {
			if k > 0 {
				p.expect(',')
			}
			threads := p.number("threads of a task")
			node := int64(1)
			if p.take(":") {
				node = p.number("node of a task")
			} else if len(h.cpus) > 0 {
				p.fail("a task without its node")
			}
			if threads < 1 || threads > maxThreads || total+threads > maxThreads {
				p.fail("number of threads out of range")
			}
			total += threads
			if node < 1 || node > int64(max(len(h.cpus), 1)) {
				p.fail(fmt.Sprintf("application %d task %d: no node %d", a+1, k+1, node))
			}
			list = append(list, task{threads: int(threads), node: int(node - 1)})
		}
		p.expect(')')
		h.tasks = append(h.tasks, list)
		h.communicators(p, a == n-1)
	}
	if n < 1 {
		p.fail("no application")
	}
	h.threads = int(total)
}

// communicators reads the number of communicators behind an application's list, unless a list of tasks is what follows
// the comma.
func (h *header) communicators(p *headerParser, last bool) {
	at := p.i
	if !p.take(",") {
		return
	}
	count := p.number("number of communicators")
	if !last && p.err == nil && p.i < len(p.b) && p.b[p.i] == '(' {
		p.i = at
		return
	}
	if count < 0 || count > math.MaxInt64/2-max(h.commLines, 0) {
		p.fail("number of communicators out of range")
	}
	h.commLines = max(h.commLines, 0) + count
}

// headerParser keeps the first error and reads zeros after it.
type headerParser struct {
	b   []byte
	i   int
	err error
}

func (p *headerParser) fail(text string) {
	if p.err == nil {
		p.err = fmt.Errorf("%s, at character %d", text, p.i+1)
	}
}

func (p *headerParser) number(what string) int64 {
	if p.err != nil {
		return 0
	}
	v, next := number(p.b, p.i)
	if next < 0 {
		p.fail("no " + what)
		return 0
	}
	p.i = next
	return v
}

func (p *headerParser) take(s string) bool {
	if p.err != nil || !bytes.HasPrefix(p.b[p.i:], []byte(s)) {
		return false
	}
	p.i += len(s)
	return true
}

func (p *headerParser) expect(c byte) {
	if !p.take(string(c)) {
		p.fail(fmt.Sprintf("no %q", c))
	}
}

// communicator reads a line "c:appl:id:ntasks:task:…" or "i:appl:id:…".
func (h *header) communicator(line []byte) (trace.Communicator, error) {
	var c trace.Communicator
	var v [4]int64 // the last of them is always 0
	c.Inter = line[0] == 'i'
	i, k := 1, 0
	fields := 3
	if c.Inter {
		fields = 2
	}
	for ; i < len(line); k++ {
		if line[i] != ':' {
			return c, fmt.Errorf("communicator: unexpected %q", line[i])
		}
		x, next := number(line, i+1)
		if next < 0 {
			return c, fmt.Errorf("communicator: field %d is no number", k+2)
		}
		i = next
		switch {
		case k < fields:
			v[k] = x
			if k == 0 && (x < 1 || x > int64(len(h.tasks))) {
				return c, fmt.Errorf("communicator: no application %d", x)
			}
		case !c.Inter:
			if x < 1 || x > int64(len(h.tasks[v[0]-1])) {
				return c, fmt.Errorf("communicator: application %d has no task %d", v[0], x)
			}
			c.Ranks = append(c.Ranks, int(x-1))
		}
	}
	if k < fields {
		return c, fmt.Errorf("communicator: %d fields, not %d or more", k+1, fields+1)
	}
	if !c.Inter && v[2] != int64(len(c.Ranks)) {
		return c, fmt.Errorf("communicator: %d tasks follow, not %d", len(c.Ranks), v[2])
	}
	c.World, c.ID = int(v[0]-1), v[1]
	return c, nil
}
