package perfettotest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"moriens/trace"
)

// nameOf is the name under which a thread is in the trace.
func nameOf(run *trace.Run, t *trace.Thread) string {
	if len(run.Worlds) > 1 {
		return fmt.Sprintf("world %d rank %d thread %d", t.World, t.Rank, t.Thread)
	}
	return fmt.Sprintf("rank %d thread %d", t.Rank, t.Thread)
}

// Compare checks that a trace holds the bursts, calls, transfers, messages, phases, events, pauses, waits,
// windows, communicators and clusters of a run, and its critical path.
func Compare(t T, run *trace.Run, file []byte) {
	t.Helper()
	d := Decode(t, file)
	got := make(map[string][]string) // by category
	for _, s := range d.Slices {
		text := fmt.Sprintf("%s: %s %d-%d", d.ThreadOf(t, s.Track), s.Name, s.BeginNS, s.EndNS)
		got[s.Category] = append(got[s.Category], text+" "+describe(s))
	}
	for _, s := range d.Instants {
		got[s.Category] = append(got[s.Category], fmt.Sprintf("%s: %s %d %s", d.ThreadOf(t, s.Track), s.Name, s.BeginNS, describe(s)))
	}
	delete(got, "message") // compareMessages
	want := wantedOf(run)
	for _, all := range []map[string][]string{want, got} {
		for category := range all {
			slices.Sort(all[category])
		}
	}
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("the trace (+) differs from the run (-):\n%s", cmp.Diff(want, got))
	}
	compareMessages(t, run, d)
}

// describe is what an event's annotations say, but for those of messages that arrive.
func describe(e *Event) string {
	notes := make(map[string]any)
	for key, v := range e.Notes {
		if key != "messages" {
			notes[key] = v
		}
	}
	return notesText(notes)
}

func notesText(notes map[string]any) string {
	var list []string
	for key, v := range notes {
		list = append(list, fmt.Sprintf("%s=%v", key, v))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// compareMessages checks that each message is a flow from its sender to its receiver, and is reported at its end.
func compareMessages(t T, run *trace.Run, d *Trace) {
	t.Helper()
	type end struct {
		e       *Event
		message map[string]any
	}
	from, to := make(map[uint64]*Event), make(map[uint64]end)
	for _, e := range slices.Concat(d.Slices, d.Instants) {
		for _, flow := range e.Flows {
			from[flow] = e
		}
		list, _ := e.Notes["messages"].([]map[string]any)
		if len(list) != len(e.Closes) {
			t.Fatalf("%d messages listed where %d flows end", len(list), len(e.Closes))
		}
		for i, flow := range e.Closes {
			if _, twice := to[flow]; twice {
				t.Fatalf("flow %d ends twice", flow)
			}
			to[flow] = end{e, list[i]}
		}
	}
	if len(from) != len(run.Messages) || len(to) != len(run.Messages) {
		t.Fatalf("%d flows begin and %d end, of %d messages", len(from), len(to), len(run.Messages))
	}
	for i, m := range run.Messages {
		a, b := from[uint64(i)+1], to[uint64(i)+1]
		sender, receiver := &run.Threads[m.From], &run.Threads[m.To]
		if got, want := d.ThreadOf(t, a.Track), nameOf(run, sender); got != want {
			t.Fatalf("message %d is sent by %s, not %s", i, got, want)
		}
		if got, want := d.ThreadOf(t, b.e.Track), nameOf(run, receiver); got != want {
			t.Fatalf("message %d arrives at %s, not %s", i, got, want)
		}
		within := func(e *Event, ns int64) bool {
			return e.kind == instant && e.BeginNS == ns || e.kind == sliceBegin && e.Category == "mpi" && e.BeginNS <= ns && ns <= e.EndNS
		}
		if !within(a, m.SendNS) || !within(b.e, m.PhysicalRecvNS) {
			t.Fatalf("message %d: sent in %d-%d, arrived in %d-%d: %+v", i, a.BeginNS, a.EndNS, b.e.BeginNS, b.e.EndNS, m)
		}
		want := map[string]any{
			"from_rank": int64(sender.Rank), "bytes": m.Bytes, "tag": m.Tag, "send_ns": m.SendNS, "receive_ns": m.RecvNS, "physical_receive_ns": m.PhysicalRecvNS,
		}
		if sender.World != receiver.World {
			want["from_world"] = int64(sender.World)
		}
		if sender.Thread != 0 {
			want["from_thread"] = int64(sender.Thread)
		}
		if m.PhysicalSendNS != m.SendNS {
			want["physical_send_ns"] = m.PhysicalSendNS
		}
		if m.LateNS != 0 {
			want["late_ns"] = m.LateNS
		}
		if d := cmp.Diff(want, b.message); d != "" {
			t.Fatalf("message %d:\n%s", i, d)
		}
	}
}
