package otf2

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"moriens/trace"
)

// tiny is a run of a thread for each list of calls, which has the bursts between them that it is given.
func tiny(threads ...trace.Thread) *trace.Run {
	run := &trace.Run{
		DurationNS: 100, Worlds: []trace.World{{Size: len(threads)}},
		CallPaths: []trace.CallPath{{}, {Function: "MPI_Send"}, {Function: "MPI_Recv"}, {Function: "MPI_Barrier"}},
	}
	for i, t := range threads {
		n := t.Bursts.Len()
		t.Rank, t.EndNS = i, 100
		t.Bursts.Before, t.Bursts.After, t.Bursts.Cluster = make([]uint32, n), make([]uint32, n), make([]int32, n)
		run.Threads = append(run.Threads, t)
	}
	return run
}

func callsAt(path uint32, edges ...int64) trace.Calls {
	var c trace.Calls
	for i := 0; i < len(edges); i += 2 {
		c.EnterNS, c.ExitNS, c.Path = append(c.EnterNS, edges[i]), append(c.ExitNS, edges[i+1]), append(c.Path, path)
	}
	return c
}

func burstsAt(edges ...int64) trace.Bursts {
	var b trace.Bursts
	for i := 0; i < len(edges); i += 2 {
		b.StartNS, b.DurationNS = append(b.StartNS, edges[i]), append(b.DurationNS, edges[i+1]-edges[i])
	}
	return b
}

// stamped lists the events of each thread with their stamps.
func stamped(t *testing.T, run *trace.Run) (list []string, p *plan) {
	t.Helper()
	p, err := planMessages(run)
	if err != nil {
		t.Fatal(err)
	}
	d := define(run, p)
	for i := range run.Threads {
		var l listener
		var events []string
		x := explainer{d: d, listener: &l}
		err := newStream(run, d, i, d.messageEnds(run), p, func(e event, _ int64) error {
			if e.kind != eventValues {
				kind := [...]string{"enter", "leave", "", "metric", "send", "isend", "recv", "posted", "irecv", "begin", "end", "asked", "done", "off/on", "mark", "mark"}[e.kind]
				if e.kind == eventEnter || e.kind == eventLeave {
					kind += " " + x.text(d.regions[e.ref].name)
				}
				events = append(events, fmt.Sprintf("%s %d", kind, e.timeNS))
			}
			return x.hear(e)
		}).write()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, strings.ReplaceAll(strings.Join(events, ", "), "MPI_", ""))
	}
	return list, p
}

// Stamps are the events' own times where there is room; a burst keeps both of its edges, and the call beside it is
// shorter.
func TestStamps(t *testing.T) {
	counted := func(b trace.Bursts, values ...int64) trace.Bursts {
		b.Counters = [][]int64{values}
		return b
	}
	message := func(sent, posted, received int64) trace.Message {
		return trace.Message{From: 0, To: 1, SendNS: sent, PhysicalSendNS: sent, RecvNS: posted, PhysicalRecvNS: received}
	}
	for _, c := range []struct {
		name string
		run  *trace.Run
		want []string
	}{
		{"a call between bursts is shorter by 1 ns at each edge", tiny(trace.Thread{Calls: callsAt(3, 20, 40), Bursts: burstsAt(10, 20, 40, 60)}),
			[]string{"enter burst 10, leave burst 20, enter Barrier 21, leave Barrier 39, enter burst 40, leave burst 60"}},
		{"items apart keep their times", tiny(trace.Thread{Calls: callsAt(3, 20, 40), Bursts: burstsAt(10, 18, 42, 60)}),
			[]string{"enter burst 10, leave burst 18, enter Barrier 20, leave Barrier 40, enter burst 42, leave burst 60"}},
		{"of calls that touch the second is shorter", tiny(trace.Thread{Calls: callsAt(3, 20, 40, 40, 50)}),
			[]string{"enter Barrier 20, leave Barrier 40, enter Barrier 41, leave Barrier 50"}},
		{"calls without length lie before the burst where there is room", tiny(trace.Thread{Calls: callsAt(3, 20, 40, 40, 40, 40, 40), Bursts: burstsAt(40, 60)}),
			[]string{"enter Barrier 20, leave Barrier 35, enter Barrier 36, leave Barrier 37, enter Barrier 38, leave Barrier 39, enter burst 40, leave burst 60"}},
		{"where there is none the burst behind it begins later", tiny(trace.Thread{Calls: callsAt(3, 20, 20), Bursts: burstsAt(10, 20, 20, 60)}),
			[]string{"enter burst 10, leave burst 20, enter Barrier 21, leave Barrier 22, enter burst 23, leave burst 60"}},
		{"and what has no room behind that goes on, no further", tiny(trace.Thread{Calls: callsAt(3, 20, 20, 22, 30), Bursts: burstsAt(10, 20, 20, 22, 30, 40)}),
			[]string{"enter burst 10, leave burst 20, enter Barrier 21, leave Barrier 22, enter burst 23, leave burst 24, enter Barrier 25, leave Barrier 29, enter burst 30, leave burst 40"}},
		{"at time 0", tiny(trace.Thread{Calls: callsAt(3, 0, 0), Bursts: burstsAt(0, 0, 0, 60)}),
			[]string{"enter Barrier 0, leave Barrier 1, enter burst 2, leave burst 3, enter burst 4, leave burst 60"}},
		{"counts lie inside the burst", withCounter(tiny(trace.Thread{Calls: callsAt(3, 20, 40), Bursts: counted(burstsAt(10, 20, 40, 42), 5, 6)})),
			[]string{"enter burst 10, metric 11, metric 19, leave burst 20, enter Barrier 21, leave Barrier 39, enter burst 40, metric 41, metric 42, leave burst 43"}},
		{"messages lie inside their calls", withMessages(tiny(
			trace.Thread{Calls: callsAt(1, 20, 40), Bursts: burstsAt(10, 20, 40, 60)}, trace.Thread{Calls: callsAt(2, 20, 50), Bursts: burstsAt(10, 20, 50, 60)}),
			message(20, 20, 50), message(20, 20, 50)),
			[]string{"enter burst 10, leave burst 20, enter Send 21, send 22, send 23, leave Send 39, enter burst 40, leave burst 60",
				"enter burst 10, leave burst 20, enter Recv 21, recv 47, recv 48, leave Recv 49, enter burst 50, leave burst 60"}},
		{"a receive waits for its send", withMessages(tiny(
			trace.Thread{Calls: callsAt(1, 20, 40), Bursts: burstsAt(10, 20, 40, 60)}, trace.Thread{Calls: callsAt(2, 10, 20), Bursts: burstsAt(20, 60)}),
			message(20, 10, 20)),
			[]string{"enter burst 10, leave burst 20, enter Send 21, send 22, leave Send 39, enter burst 40, leave burst 60",
				"enter Recv 10, recv 23, leave Recv 24, enter burst 25, leave burst 60"}},
		{"one that the run has before its send does not", withMessages(tiny(
			trace.Thread{Calls: callsAt(1, 20, 40), Bursts: burstsAt(10, 20)}, trace.Thread{Calls: callsAt(2, 10, 18), Bursts: burstsAt(18, 60)}),
			message(20, 10, 18)),
			[]string{"enter burst 10, leave burst 20, enter Send 21, send 22, leave Send 40", "enter Recv 10, recv 16, leave Recv 17, enter burst 18, leave burst 60"}},
		{"the end of the run moves too", tiny(trace.Thread{Calls: callsAt(3, 100, 100), Bursts: burstsAt(90, 100)}),
			[]string{"enter burst 90, leave burst 100, enter Barrier 101, leave Barrier 102"}},
	} {
		got, p := stamped(t, c.run)
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") || p.reversed != 0 {
			t.Errorf("%s: %d messages reversed,\n%s\nwant\n%s", c.name, p.reversed, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		expectStreams(t, c.run)
	}
}

func withCounter(run *trace.Run) *trace.Run {
	run.Counters = []trace.Counter{{Name: "a"}}
	return run
}

func withMessages(run *trace.Run, messages ...trace.Message) *trace.Run {
	run.Messages = messages
	return run
}

// Two ranks that receive from each other before they send, all at one time, cannot be put in order; they are counted,
// and it ends.
func TestStampsOfARing(t *testing.T) {
	both := func() trace.Thread {
		return trace.Thread{Calls: trace.Calls{EnterNS: []int64{10, 20}, ExitNS: []int64{20, 30}, Path: []uint32{2, 1}}}
	}
	run := withMessages(tiny(both(), both()), trace.Message{From: 0, To: 1, SendNS: 20, RecvNS: 10, PhysicalRecvNS: 20}, trace.Message{From: 1, To: 0, SendNS: 20, RecvNS: 10, PhysicalRecvNS: 20})
	_, p := stamped(t, run)
	if p.reversed == 0 {
		t.Error("a ring is in order")
	}
	expectStreams(t, run)
}

// Calls that come one after the other without bursts do not wait for one endlessly.
func TestStampsOfManyCalls(t *testing.T) {
	var calls trace.Calls
	for i := range int64(3 * maxHeld) {
		calls.EnterNS, calls.ExitNS, calls.Path = append(calls.EnterNS, 10*(i/4)), append(calls.ExitNS, 10*(i/4)+10*(i%4/3)), append(calls.Path, 3)
	}
	run := tiny(trace.Thread{Calls: calls, Bursts: burstsAt(30*maxHeld, 40*maxHeld)})
	most := 0
	d := define(run, nil)
	var s *stream
	s = newStream(run, d, 0, d.messageEnds(run), nil, func(event, int64) error {
		most = max(most, len(s.out.held))
		return nil
	})
	if err := s.write(); err != nil || most > maxHeld+4 {
		t.Errorf("%v: %d events held, want %d", err, most, maxHeld)
	}
	expectStreams(t, run)
}

func TestStampsOutOfRange(t *testing.T) {
	run := tiny(trace.Thread{Calls: callsAt(3, 20, math.MaxInt64)})
	if _, err := planMessages(run); err != nil {
		t.Fatal(err)
	}
	d := define(run, nil)
	err := newStream(run, d, 0, d.messageEnds(run), nil, func(event, int64) error { return nil }).write()
	if err == nil || !strings.Contains(err.Error(), "a time of 9223372036854775807 ns: the latest") {
		t.Error(err)
	}
}
