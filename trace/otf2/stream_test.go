package otf2

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"moriens/trace"
	"moriens/trace/tracetest"
)

// The events of any run show what the model has, in the order of time, in regions that nest.
func TestStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		if rapid.Bool().Draw(t, "reduced") {
			tracetest.Keep(t, run)
		}
		expectStreams(t, run)
		expectStory(t, tracetest.Completed(t, run), run) // which is of calls alone
	})
}

func TestStreamOfOneOfEach(t *testing.T) {
	for _, run := range []*trace.Run{tracetest.Small(), tracetest.Planted(), tracetest.PlantedWindows(), rare(), tracetest.Waiting(), tracetest.WaitingWindows()} {
		expectStreams(t, run)
	}
}

// rare is a run with collectives that do not block, neighbours, a root in the other group, a call without any data, and
// bursts that stand for others.
func rare() *trace.Run {
	run := &trace.Run{
		DurationNS: 100, Worlds: []trace.World{{Size: 1}}, Counters: []trace.Counter{{Name: "a"}},
		CallPaths:     []trace.CallPath{{}, {Function: "MPI_Iallreduce"}, {Function: "MPI_Ibcast_c"}, {Function: "MPI_Ineighbor_alltoall"}, {Function: "MPI_Reduce"}},
		Communicators: []trace.Communicator{{ID: 1, Ranks: []int{0}}, {ID: 2, Inter: true}},
		Threads: []trace.Thread{{
			EndNS: 100,
			Calls: trace.Calls{
				EnterNS: []int64{0, 20, 40, 60, 80}, ExitNS: []int64{10, 30, 50, 70, 100}, Path: []uint32{1, 2, 3, 4, 0}, Count: []int64{1, 1, 1, 1, 7}, Unfinished: true,
			},
			Collectives: trace.Collectives{
				Call: []uint32{0, 1, 2, 3}, Comm: []int32{0, 0, 0, 1}, Ordinal: []int64{0, 1, 2, 0}, Sent: []int64{8, 16, 24, 32}, Received: []int64{1, 2, 3, 4}, Root: []int32{-1, 0, -1, -3},
			},
			Bursts: trace.Bursts{
				StartNS: []int64{10, 30, 50}, DurationNS: []int64{10, 10, 10}, Before: make([]uint32, 3), After: make([]uint32, 3), Cluster: []int32{1, 0, -1},
				Weight: []float64{2.5, 1, 1e6}, Counters: [][]int64{{5, trace.NoCount, -7}},
			},
		}},
	}
	run.SummariseClusters()
	return run
}

type fatal interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// expectStreams compares the streams of a run with the expected ones, and returns their events by their stamps.
func expectStreams(t fatal, run *trace.Run) (map[uint64]*story, *plan) {
	t.Helper()
	return expectStory(t, run, run)
}

// expectStory checks that the events of a run show what the model has of another.
func expectStory(t fatal, run, model *trace.Run) (map[uint64]*story, *plan) {
	t.Helper()
	if err := check(run); err != nil {
		t.Fatal(err)
	}
	p, err := planMessages(run)
	if err != nil {
		t.Fatal(err)
	}
	d := define(run, p)
	ends := d.messageEnds(run)
	exact, stamped := make(map[uint64]*listener), make(map[uint64]*listener)
	for _, l := range d.locations {
		exact[l.id], stamped[l.id] = new(listener), &listener{strict: true}
		if l.thread < 0 {
			continue
		}
		byTime, byStamp := explainer{d: d, listener: exact[l.id]}, explainer{d: d, listener: stamped[l.id]}
		var moved moves
		hear := func(e event, exactNS int64) error {
			if e.kind != eventValues {
				moved.add(exactNS, e.timeNS)
			}
			if err := byStamp.hear(e); err != nil {
				return err
			}
			e.timeNS = exactNS
			return byTime.hear(e)
		}
		if err := newStream(run, d, l.thread, ends, p, hear).write(); err != nil {
			t.Fatal(err)
		}
		if err := moved.check(slices.ContainsFunc(p.floorNS, func(ns int64) bool { return ns > 0 })); err != nil {
			t.Fatalf("location %d: %v", l.id, err)
		}
	}
	compare(t, stories(model), exact)
	inOrder(t, run, p, stamped)
	want := make(map[uint64]*story)
	for id, l := range stamped {
		if want[id], err = l.end(); err != nil {
			t.Fatalf("location %d, by stamps: %v", id, err)
		}
	}
	return want, p
}

// moves are the times and stamps of a location's events.
type moves struct{ exact, stamp []int64 }

func (m *moves) add(exactNS, stampNS int64) {
	m.exact, m.stamp = append(m.exact, exactNS), append(m.stamp, stampNS)
}

// check checks that no stamp is further off than need be: it lies between what events that only give way to those
// before them get, and what those do that only give way to those behind. Receives that wait for their sends may be
// later.
func (m *moves) check(waiting bool) error {
	earliest, latest := slices.Clone(m.exact), slices.Clone(m.exact)
	for i := 1; i < len(latest); i++ {
		latest[i] = max(latest[i], latest[i-1]+1)
	}
	for i := len(earliest) - 2; i >= 0; i-- {
		earliest[i] = min(earliest[i], earliest[i+1]-1)
	}
	for i, stamp := range m.stamp {
		if stamp < max(earliest[i], 0) || stamp > latest[i] && !waiting {
			return fmt.Errorf("event %d at %d is stamped %d, want %d to %d", i, m.exact[i], stamp, earliest[i], latest[i])
		}
	}
	return nil
}

// compare compares what was heard with what is to be.
func compare(t fatal, want map[uint64]*story, listeners map[uint64]*listener) {
	t.Helper()
	got := make(map[uint64]*story)
	for id, l := range listeners {
		s, err := l.end()
		if err != nil {
			t.Fatalf("location %d: %v", id, err)
		}
		got[id] = s
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("got (+) differs from want (-):\n%s", d)
	}
}

// inOrder checks the messages of an archive: order matches them, and none is received before it is sent.
func inOrder(t fatal, run *trace.Run, p *plan, listeners map[uint64]*listener) {
	t.Helper()
	matched, err := match(run, listeners)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(messages(run, p), matched, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("messages that order matches (+) differ from the model's (-):\n%s", d)
	}
	reversed := 0
	for i, m := range run.Messages {
		if m.From != m.To && m.PhysicalRecvNS >= m.SendNS && p.receivedNS[i] <= p.sentNS[i] {
			reversed++
		}
	}
	if reversed != p.reversed {
		t.Fatalf("%d messages are received before they are sent, %d are known", reversed, p.reversed)
	}
}

// An explainer looks up what events refer to.
type explainer struct {
	d        *definitions
	listener *listener
	values   []uint64
}

func (x *explainer) text(ref uint32) string { return x.d.strings.list[ref] }

func (x *explainer) hear(e event) error {
	d := x.d
	h := heard{timeNS: e.timeNS, fields: make(map[string]string)}
	for i := range e.attrs {
		a := d.attributes[e.attrRef[i]]
		value := fmt.Sprint(e.attr[i])
		switch a.kind {
		case typeInt32:
			value = fmt.Sprint(int32(uint32(e.attr[i])))
		case typeDouble:
			value = fmt.Sprintf("%g", math.Float64frombits(e.attr[i]))
		case typeString:
			value = x.text(uint32(e.attr[i]))
		case typeContext:
			var names []string
			for c := uint32(e.attr[i]); c != undefined; c = d.contexts[c].parent {
				names = append([]string{x.text(d.regions[d.contexts[c].region].name)}, names...)
			}
			value = strings.Join(names, " > ")
		}
		h.fields[x.text(a.name)] = value
	}
	put := func(names ...string) {
		for i, name := range names {
			h.fields[name] = fmt.Sprint(e.args[i])
		}
	}
	comm := func() {
		h.fields["comm"] = "UNDEFINED"
		if e.ref != undefined {
			h.fields["comm"] = x.text(d.comms[e.ref].name)
		}
	}
	switch e.kind {
	case eventEnter:
		h.kind, h.region = "enter", x.text(d.regions[e.ref].name)
	case eventLeave:
		h.kind, h.region = "leave", x.text(d.regions[e.ref].name)
	case eventValues:
		x.values = append(x.values, e.args[:e.ref]...)
		return nil
	case eventMetric:
		h.kind, h.counts = "metric", make(map[string]int64)
		members := d.classes[e.ref].members
		if len(x.values) != len(members) {
			return fmt.Errorf("%d values of class %v", len(x.values), members)
		}
		for i, member := range members {
			h.counts[x.text(d.metrics[member].name)] = int64(x.values[i])
		}
		x.values = nil
	case eventSend, eventIsend, eventRecv, eventIrecv:
		h.kind = map[uint32]string{eventSend: "send", eventIsend: "isend", eventRecv: "recv", eventIrecv: "irecv"}[e.kind]
		put("rank", "tag", "bytes", "request")
		comm()
	case eventIrecvRequest:
		h.kind = "irecv request"
		put("request")
	case eventCollective:
		h.kind = "collective"
	case eventNonBlocking:
		h.kind = "collective"
		put("request")
	case eventCollectiveEnd, eventNonBlockingEnd:
		h.kind = "collective end"
		put("op", "root", "sent", "received")
		if e.kind == eventNonBlockingEnd {
			put("op", "root", "sent", "received", "request")
		}
		comm()
		switch uint32(e.args[1]) {
		case rootNone:
			h.fields["root"] = "NONE"
		case rootSelf:
			h.fields["root"] = "SELF"
		}
	case eventMeasurement:
		h.kind, h.fields["mode"] = "measurement", map[uint64]string{measurementOn: "ON", measurementOff: "OFF"}[e.args[0]]
	case eventString:
		h.kind, h.fields["name"], h.fields["value"] = "parameter", x.text(d.parameters[e.ref].name), x.text(uint32(e.args[0]))
	case eventInt:
		h.kind, h.fields["name"], h.fields["value"] = "parameter", x.text(d.parameters[e.ref].name), fmt.Sprint(int64(e.args[0]))
	default:
		return fmt.Errorf("no kind %d", e.kind)
	}
	return x.listener.hear(h)
}

// overlapping is a run whose bursts hold calls, or lie in one, as in traces in which a thread is running inside MPI;
// calls cut three of them.
func overlapping() *trace.Run {
	return &trace.Run{
		DurationNS: 100, Worlds: []trace.World{{Size: 1}}, CallPaths: []trace.CallPath{{}, {Function: "MPI_Wait"}},
		Threads: []trace.Thread{{
			EndNS: 100,
			Calls: trace.Calls{EnterNS: []int64{0, 20, 40, 70}, ExitNS: []int64{10, 25, 60, 90}, Path: []uint32{1, 1, 1, 1}},
			Bursts: trace.Bursts{
				StartNS: []int64{2, 15, 35, 50, 65, 80, 85, 89}, DurationNS: []int64{4, 15, 10, 10, 10, 5, 4, 6}, // in, round, cut, at the end, cut, in, in, cut
				Before: make([]uint32, 8), After: make([]uint32, 8), Cluster: make([]int32, 8),
			},
		}},
	}
}

// A burst that a call cuts is left out and counted.
func TestOverlaps(t *testing.T) {
	run := overlapping()
	expectStreams(t, run)
	d := define(run, nil)
	s := newStream(run, d, 0, d.messageEnds(run), nil, func(event, int64) error { return nil })
	if err := s.write(); err != nil || s.straddling != 3 {
		t.Errorf("%d bursts left out, %v, want 3", s.straddling, err)
	}
}

// However bursts lie to calls, all are written but those that a call cuts.
func TestAnyOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		th := trace.Thread{EndNS: 40}
		apart := func(what string, put func(beginNS, endNS int64)) {
			for now := int64(0); rapid.IntRange(0, 7).Draw(t, "more "+what) > 0; {
				begin := rapid.Int64Range(now, min(now+4, 40)).Draw(t, what+" begins")
				now = rapid.Int64Range(begin, min(begin+6, 40)).Draw(t, what+" ends")
				put(begin, now)
			}
		}
		apart("call", func(beginNS, endNS int64) {
			th.Calls.EnterNS, th.Calls.ExitNS, th.Calls.Path = append(th.Calls.EnterNS, beginNS), append(th.Calls.ExitNS, endNS), append(th.Calls.Path, 1)
		})
		apart("burst", func(beginNS, endNS int64) {
			b := &th.Bursts
			b.StartNS, b.DurationNS, b.Cluster = append(b.StartNS, beginNS), append(b.DurationNS, endNS-beginNS), append(b.Cluster, int32(b.Len()+1))
			b.Before, b.After = append(b.Before, 0), append(b.After, 0)
		})
		expectStreams(t, &trace.Run{
			DurationNS: 40, Worlds: []trace.World{{Size: 1}}, CallPaths: []trace.CallPath{{}, {Function: "MPI_Wait"}}, Threads: []trace.Thread{th},
		})
	})
}

// Messages of the same ranks and tag that overtake each other have communicators of their own.
func TestMatchingByOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		if len(run.Threads) == 0 {
			return
		}
		run.Messages = nil
		for i := range rapid.IntRange(0, 12).Draw(t, "messages") {
			at := func(what string) int64 { return rapid.Int64Range(0, 9).Draw(t, what) }
			run.Messages = append(run.Messages, trace.Message{
				From: rapid.IntRange(0, len(run.Threads)-1).Draw(t, "from"), To: rapid.IntRange(0, len(run.Threads)-1).Draw(t, "to"),
				SendNS: int64(i), RecvNS: at("recv"), PhysicalRecvNS: at("physical"), Bytes: int64(1000 + i), Tag: rapid.Int64Range(0, 1).Draw(t, "tag"),
			})
		}
		expectStreams(t, run)
	})
}

func TestRefusesWhatIsNoRun(t *testing.T) {
	for _, c := range []struct {
		spoil func(*trace.Run)
		want  string
	}{
		{func(r *trace.Run) { r.Worlds[1].Size = 2 }, "world 1 rank 2 thread 0: no such rank"},
		{func(r *trace.Run) { r.Threads[0].Calls.ExitNS[0] = 2_000_001 }, "world 0 rank 0 thread 0: call 1 (2000000 to 2100000 ns) is out of order"},
		{func(r *trace.Run) { r.Threads[0].Bursts.DurationNS[0] = -1 }, "burst 0 (at 500000 ns, of -1 ns) is out of order"},
		{func(r *trace.Run) { r.Threads[0].BeginNS = -1 }, "begins at -1 ns"},
		{func(r *trace.Run) { r.Messages[0].From = 9 }, "message 0: no such thread"},
		{func(r *trace.Run) { r.Messages[0].RecvNS = -1 }, "message 0: before time 0"},
		{func(r *trace.Run) { r.Counters = make([]trace.Counter, 256) }, "256 counters; OTF2 allows 255 together"},
	} {
		run := tracetest.Small()
		c.spoil(run)
		if err := check(run); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}
