// Package perfettotest reads Perfetto traces for the tests of their writers, and compares them with the run that they
// hold. Only tests import it.
package perfettotest

import (
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Types of events.
const (
	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
	counter    = 4
)

// T is what a test or a property gives to fail by.
type T interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

type fields map[protowire.Number][]any // uint64, fixed uint64 or []byte

func parse(t T, b []byte) fields {
	t.Helper()
	f := make(fields)
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		var v any
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d of wire type %d", number, kind)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		f[number] = append(f[number], v)
	}
	return f
}

func (f fields) uint(n protowire.Number) uint64 {
	if len(f[n]) == 0 {
		return 0
	}
	return f[n][0].(uint64)
}

func (f fields) text(n protowire.Number) string {
	if len(f[n]) == 0 {
		return ""
	}
	return string(f[n][0].([]byte))
}

func (f fields) message(t T, n protowire.Number) fields {
	if len(f[n]) == 0 {
		return nil
	}
	return parse(t, f[n][0].([]byte))
}

// A Track is one line of the picture.
type Track struct {
	Name, Unit      string
	parent          uint64
	process, thread string
	pid, tid        uint64
}

// An Event is a slice, an instant, or a counter's value.
type Event struct {
	kind           uint64
	Track          uint64
	Category, Name string
	BeginNS, EndNS int64
	Notes          map[string]any // the annotations
	Flows, Closes  []uint64       // that begin, and that end here
	Value          float64
}

// A Trace is what a file holds.
type Trace struct {
	Tracks           map[uint64]*Track
	Slices, Instants []*Event
	Counts           map[uint64][]*Event // by track
	processes        map[uint64]string   // names by pid
}

// Decode reads a trace as the table of fields has it, and as trace_processor does: packets of all sequences by time,
// those of one time in the order of the file; slices end last come, first gone; names go by the numbers that their
// sequence has given them.
func Decode(t T, file []byte) *Trace {
	t.Helper()
	d := &Trace{Tracks: make(map[uint64]*Track), Counts: make(map[uint64][]*Event), processes: make(map[uint64]string)}
	sequences := make(map[uint64]*sequence)
	var events []*Event
	for _, p := range parse(t, file)[1] {
		packet := parse(t, p.([]byte))
		id := packet.uint(10)
		if packet.uint(13)&1 != 0 {
			sequences[id] = &sequence{id, make(map[protowire.Number]map[uint64]string)}
		}
		seq := sequences[id]
		if id == 0 || seq == nil || packet.uint(13)&2 == 0 {
			t.Fatalf("a packet of sequence %d, flags %d, before the state was cleared", id, packet.uint(13))
		}
		seq.learn(t, packet.message(t, 12))
		if desc := packet.message(t, 60); desc != nil {
			d.track(t, desc)
		}
		if e := packet.message(t, 11); e != nil {
			if len(packet[8]) != 1 || d.Tracks[e.uint(11)] == nil {
				t.Fatalf("an event without its time, or of track %d, which is not there", e.uint(11))
			}
			events = append(events, seq.event(t, e, int64(packet.uint(8))))
		}
	}
	slices.SortStableFunc(events, func(a, b *Event) int { return int(min(max(a.BeginNS-b.BeginNS, -1), 1)) })
	d.order(t, events)
	return d
}

// A sequence is what the packets of one number have given numbers to: texts by field and number.
type sequence struct {
	id    uint64
	texts map[protowire.Number]map[uint64]string
}

func (s *sequence) learn(t T, interned fields) {
	t.Helper()
	for field, entries := range interned {
		for _, e := range entries {
			entry := parse(t, e.([]byte))
			if s.texts[field] == nil {
				s.texts[field] = make(map[uint64]string)
			}
			if _, twice := s.texts[field][entry.uint(1)]; twice || entry.uint(1) == 0 {
				t.Fatalf("sequence %d: number %d of field %d comes twice", s.id, entry.uint(1), field)
			}
			s.texts[field][entry.uint(1)] = entry.text(2)
		}
	}
}

func (s *sequence) event(t T, e fields, ns int64) *Event {
	t.Helper()
	known := func(field protowire.Number, n uint64) string {
		text, ok := s.texts[field][n]
		if !ok {
			t.Fatalf("sequence %d: nothing has number %d of field %d", s.id, n, field)
		}
		return text
	}
	x := &Event{kind: e.uint(9), Track: e.uint(11), BeginNS: ns, Notes: make(map[string]any), Value: math.Float64frombits(e.uint(44))}
	if len(e[3]) > 0 {
		x.Category = known(1, e.uint(3))
	}
	if len(e[10]) > 0 {
		x.Name = known(2, e.uint(10))
	}
	for _, v := range e[47] {
		x.Flows = append(x.Flows, v.(uint64))
	}
	for _, v := range e[48] {
		x.Closes = append(x.Closes, v.(uint64))
	}
	for _, v := range e[4] {
		key, value := annotation(t, parse(t, v.([]byte)), known)
		x.Notes[key] = value
	}
	return x
}

// track takes the descriptor of a track.
func (d *Trace) track(t T, desc fields) {
	t.Helper()
	uuid := desc.uint(1)
	if d.Tracks[uuid] != nil {
		t.Fatalf("two tracks %d", uuid)
	}
	x := &Track{Name: desc.text(2), parent: desc.uint(5), Unit: desc.message(t, 8).text(6)}
	process, thread := desc.message(t, 3), desc.message(t, 4)
	x.process, x.thread = process.text(6), thread.text(5)
	x.pid, x.tid = max(process.uint(1), thread.uint(1)), thread.uint(2)
	d.Tracks[uuid] = x
	if x.process != "" {
		if _, twice := d.processes[x.pid]; twice {
			t.Fatalf("two processes %d", x.pid)
		}
		d.processes[x.pid] = x.process
	}
}

// order takes the events in the order of their times, and gives slices their ends.
func (d *Trace) order(t T, events []*Event) {
	t.Helper()
	open := make(map[uint64][]*Event)
	begun := make(map[uint64]bool)
	for _, e := range events {
		if e.kind != counter {
			for _, flow := range e.Flows {
				if begun[flow] {
					t.Fatalf("flow %d begins twice", flow)
				}
				begun[flow] = true
			}
		}
		switch e.kind {
		case sliceBegin:
			open[e.Track] = append(open[e.Track], e)
			d.Slices = append(d.Slices, e)
		case sliceEnd:
			stack := open[e.Track]
			if len(stack) == 0 {
				t.Fatalf("track %d: an end at %d without a begin", e.Track, e.BeginNS)
			}
			top := stack[len(stack)-1]
			open[e.Track] = stack[:len(stack)-1]
			top.EndNS, top.Closes = e.BeginNS, e.Closes
			for key, v := range e.Notes {
				top.Notes[key] = v
			}
		case instant:
			d.Instants = append(d.Instants, e)
		case counter:
			d.Counts[e.Track] = append(d.Counts[e.Track], e)
		default:
			t.Fatalf("event of type %d", e.kind)
		}
	}
	for id, stack := range open {
		if len(stack) > 0 {
			t.Fatalf("track %d: %d slices without an end", id, len(stack))
		}
	}
}

// annotation decodes an annotation with its key; a dictionary is a map, an array a list of maps.
func annotation(t T, a fields, known func(protowire.Number, uint64) string) (key string, value any) {
	if len(a[1]) > 0 {
		key = known(3, a.uint(1))
	}
	switch {
	case len(a[2]) > 0:
		value = a.uint(2) == 1
	case len(a[4]) > 0:
		value = int64(a.uint(4))
	case len(a[5]) > 0:
		value = math.Float64frombits(a.uint(5))
	case len(a[17]) > 0:
		value = known(29, a.uint(17))
	case len(a[12]) > 0:
		var list []map[string]any
		for _, v := range a[12] {
			entries := make(map[string]any)
			for _, e := range parse(t, v.([]byte))[11] {
				k, v := annotation(t, parse(t, e.([]byte)), known)
				entries[k] = v
			}
			list = append(list, entries)
		}
		value = list
	default:
		t.Fatalf("annotation %s of unknown type: %v", key, a)
	}
	return key, value
}

// ThreadOf is the thread that a track shows, or that the track round it does; empty where it is of none.
func (d *Trace) ThreadOf(t T, id uint64) string {
	t.Helper()
	for {
		x := d.Tracks[id]
		switch {
		case x == nil:
			t.Fatalf("no track %d", id)
		case x.tid != 0:
			process, ok := d.processes[x.pid]
			if !ok {
				t.Fatalf("track %d is of process %d, which is not there", id, x.pid)
			}
			return process + " " + x.thread
		case x.parent == 0:
			return ""
		}
		id = x.parent
	}
}
