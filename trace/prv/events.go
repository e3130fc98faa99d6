package prv

import (
	"fmt"

	"moriens/trace"
)

// maxCounters bounds the columns: each costs 8 bytes for every burst.
const maxCounters = 256

type eventClass uint8

const (
	classOther eventClass = iota
	classCounter
	classSet
	classMPI
	classCaller
	classCluster
	classCollective
	classPolls
	classWindow
	classTracing
	classFlush
	classPath
	classWait
)

// An eventKind is what a reader does with an event type.
type eventKind struct {
	eventType uint32
	class     eventClass
	column    int32
}

func (r *reader) events(line []byte) error {
	var v [5]int64 // cpu, appl, task, thread, time
	i := fields(line, 1, v[:])
	if i < 0 {
		return errFields
	}
	if i == len(line) {
		return errValues
	}
	now, err := r.time(v[4])
	if err != nil {
		return err
	}
	l := &r.event
	l.reset(now)
	for place := 0; i < len(line); place++ {
		if line[i] != ':' {
			return errExtra
		}
		eventType, next := number(line, i+1)
		if next < 0 {
			return errFields
		}
		if eventType < 0 || eventType > 1<<32-1 {
			return fmt.Errorf("event type %d out of range", eventType)
		}
		if next >= len(line) || line[next] != ':' {
			return errValues
		}
		value, after := number(line, next+1)
		if after < 0 {
			return errFields
		}
		i = after
		if place == len(r.kinds) {
			r.kinds = append(r.kinds, eventKind{eventType: 1<<32 - 1})
		}
		// The lines of a trace resemble each other: mostly the type is the one the last line had here.
		kind := &r.kinds[place]
		if kind.eventType != uint32(eventType) {
			if *kind, err = r.kind(uint32(eventType)); err != nil {
				return err
			}
		}
		if err := l.take(kind, value); err != nil {
			return err
		}
	}
	t, err := r.object(v[:4])
	if err != nil {
		return err
	}
	if n := l.wait.thread; n > int64(r.header.threads) {
		return fmt.Errorf("a wait for thread %d of %d", n, r.header.threads)
	}
	if now < t.lastNS {
		return errDisorder
	}
	t.lastNS = now
	t.records++
	r.endNS = max(r.endNS, now)
	if r.numbered != nil {
		l.callers = l.callers[:0] // the number says more
		if err := r.numbered.check(l, r.labels); err != nil {
			return err
		}
	}
	return t.events(l, r.pathOfEvent, r.commsByID)
}

// take takes one event of the line.
func (l *eventLine) take(kind *eventKind, value int64) error {
	l.more = l.more || kind.eventType != typeCritical
	switch kind.class {
	case classCounter:
		l.counters = append(l.counters, counterDelta{int(kind.column), value})
	case classMPI:
		l.calls = append(l.calls, callEvent{kind.eventType, value})
	case classCaller:
		l.callers = append(l.callers, callEvent{kind.eventType, value})
	case classPolls:
		if value < 1 {
			return fmt.Errorf("a run of %d polls", value)
		}
		l.polls = value
	case classCollective:
		l.collective.take(kind.eventType, value)
	case classCluster:
		if value == clusterEnd {
			l.clusterEnded = true
		} else if label, ok := clusterLabel(value); ok {
			l.label = label
		} else {
			return fmt.Errorf("cluster event of value %d", value)
		}
	case classPath:
		l.path = value
	case classWait:
		return l.takeWait(kind.eventType, value)
	case classWindow:
		l.windowed, l.window = true, value
	case classTracing:
		l.tracing, l.traces = true, value != 0
	case classFlush:
		l.flushing, l.flushes = true, value != 0
	case classSet:
		l.sets, l.set, l.setBefore = true, value, len(l.counters)
	}
	return nil
}

func (r *reader) kind(eventType uint32) (eventKind, error) {
	k := eventKind{eventType: eventType}
	switch {
	case eventType == typeCounterSet:
		k.class = classSet
	case eventType == typeCluster:
		k.class = classCluster
	case eventType == typePolls:
		k.class = classPolls
	case eventType == typeTracing:
		k.class = classTracing
	case eventType == typeFlush:
		k.class = classFlush
	case eventType == typePath:
		k.class = classPath
		r.own = true
	case eventType == typeWaitKind, eventType == typeWaitFor, eventType == typeCritical:
		k.class = classWait
	case eventType == typeWindow:
		k.class = classWindow
	case eventType >= typeMPI && eventType <= typeMPILast:
		k.class = classMPI
	case eventType >= typeSendSize && eventType <= typeCommunicator:
		k.class = classCollective
	case eventType > typeCaller && eventType <= typeCaller+maxCallerLevel,
		eventType > typeCallerLine && eventType <= typeCallerLine+maxCallerLevel:
		k.class = classCaller
	case eventType >= typePreset && eventType < typeCountersEnd:
		column, ok := r.columns[eventType]
		if !ok {
			column = len(r.counters)
			if column == maxCounters {
				return k, fmt.Errorf("more than %d counters", maxCounters)
			}
			r.columns[eventType] = column
			r.counters = append(r.counters, eventType)
		}
		k.class, k.column = classCounter, int32(column)
	}
	return k, nil
}

// A pathTable makes one call path of each function with the callers that the trace shows.
type pathTable struct {
	paths  []trace.CallPath
	byText map[string]uint32
	// Without callers by event, with callers by callEvent.key.
	byEvent   map[callEvent]uint32
	byCallers map[string]uint32
	key       []byte
}

func (p *pathTable) init() {
	p.paths = []trace.CallPath{{}}
	p.byText = map[string]uint32{pathText(trace.CallPath{}): 0}
	p.byEvent = make(map[callEvent]uint32)
	p.byCallers = make(map[string]uint32)
}

func (p *pathTable) of(e callEvent, callers []callEvent, l *labels) uint32 {
	if len(callers) == 0 {
		i, ok := p.byEvent[e]
		if !ok {
			i = p.intern(trace.CallPath{Function: callName(e, l.calls)})
			p.byEvent[e] = i
		}
		return i
	}
	p.key = e.key(p.key[:0], callers)
	i, ok := p.byCallers[string(p.key)]
	if !ok {
		i = p.intern(trace.CallPath{Function: callName(e, l.calls), Frames: l.frames(callers)})
		p.byCallers[string(p.key)] = i
	}
	return i
}

func (p *pathTable) intern(path trace.CallPath) uint32 {
	text := pathText(path)
	i, ok := p.byText[text]
	if !ok {
		i = uint32(len(p.paths))
		p.paths = append(p.paths, path)
		p.byText[text] = i
	}
	return i
}

func pathText(p trace.CallPath) string { return fmt.Sprintf("%#v", p) }

// numberedPaths are call paths that are known by their numbers.
type numberedPaths struct {
	paths []trace.CallPath
	known map[numberedCall]bool // that fit
}

type numberedCall struct {
	callEvent
	path int64
}

// check reports whether the call that begins in a line is of the function of the call path that the line gives.
func (n *numberedPaths) check(l *eventLine, labels *labels) error {
	for _, e := range l.calls {
		if key := (numberedCall{e, l.path}); e.value != 0 && !n.known[key] {
			if l.path < 0 || l.path >= int64(len(n.paths)) {
				return fmt.Errorf("there is no call path %d", l.path)
			}
			name, want := callName(e, labels.calls), oneLine(n.paths[l.path].Function)
			if name != want {
				return fmt.Errorf("a call of %q has the call path %d, which is one of %q", name, l.path, want)
			}
			n.known[key] = true
		}
	}
	return nil
}

func (r *reader) callPaths() []trace.CallPath {
	if r.numbered != nil {
		return r.numbered.paths
	}
	return r.paths.paths
}
