package waits

import (
	"reflect"
	"slices"
	"testing"
)

// A call that is left before what it waits for is there shows that clocks or records are wrong: it waits until it is
// left at most, and is counted. Waits shorter than clocks of two hosts agree are no waits.
func TestClocks(t *testing.T) {
	m := newMachine(2)
	m.do(0, compute(1, 1000), recv(1))
	m.do(1, compute(1, 1300), send(0, 8))
	run := recorded(t, m)
	message := run.Message(0)
	run.Threads[0].ExitNS[0], run.Threads[0].EndNS, message.DoneNS = 1200, 1200, 1200
	run.Message = func(int) Message { return message }
	r := solved(t, run)
	same(t, "kinds", kinds(run, r), byKind{LateSender: 200})
	same(t, "contradictions", []int64{r.Contradictions, r.ContradictionNS}, []int64{1, 100})

	m = newMachine(2)
	m.nodes, m.uncertain = []int32{0, 1}, []int64{100, 250}
	m.do(0, compute(1, 1000), recv(1))
	m.do(1, compute(1, 1300), send(0, 8))
	run, r = solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{})
	same(t, "uncertain", r.UncertainNS, 300)
}

// What begins before a window has no cause there.
func TestWindow(t *testing.T) {
	m := newMachine(2)
	m.residual = 0
	m.do(0, compute(1, 1000), recv(1), compute(1, 100), recv(1))
	m.do(1, compute(1, 1600), send(0, 8), compute(1, 500), send(0, 8))
	run := recorded(t, m)
	// Rank 0 waits from 1000 to 1600, and from 1700 to 2100. Only what is after 1650 is here.
	for i := range run.Threads {
		th := &run.Threads[i]
		th.EnterNS, th.ExitNS, th.Path = th.EnterNS[1:], th.ExitNS[1:], th.Path[1:]
		th.StartNS, th.DurationNS, th.Cluster = []int64{}, []int64{}, []int32{}
		th.Kept = []Span{{1650, run.DurationNS}}
	}
	second := run.Message(1)
	second.Sent = 0
	run.Messages, run.Message = 1, func(int) Message { return second }
	r := solved(t, run)
	same(t, "kinds", kinds(run, r), byKind{LateSender: 400})
	// The window has 450 ns before the send and 50 before the receive, of which nothing is known but that they were there.
	same(t, "causes", caused(r), byCluster{{1, 2000}: 400})

	run.Threads[1].Kept = []Span{{2000, run.DurationNS}}
	r = solved(t, run)
	if r.UnexplainedNS == 0 {
		t.Error("what was not kept explains it all")
	}
}

// windowOf keeps all but one of the threads, and what was found of their waits at collectives.
func windowOf(run *Run, r *Result, without int) *Run {
	kept := *run
	kept.Known, kept.Threads = true, slices.Clone(run.Threads)
	for i, list := range r.Waits {
		for _, w := range list {
			if w.Kind != LateSender {
				kept.Threads[i].Known = append(kept.Threads[i].Known, w)
			}
		}
	}
	kept.Threads[without] = Thread{Rank: int32(without), Kept: []Span{}}
	return &kept
}

// In a window, too, an operation with a root ties who takes something to who gives it, whomever it waited for there,
// and whoever is not kept: rank 0 is late by what it computes behind it.
func TestWindowRootTies(t *testing.T) {
	for _, c := range []struct {
		what        string
		root        int
		third       int64 // when rank 2, which is not kept, comes
		send        int64 // what rank 0 computes behind the operation
		message     int64
		unexplained int64
	}{
		{"bcast", 0, 50, 150, 100 + 150 - (200 + 10), 0},
		{"reduce", 1, 50, 150, 100 + 150 - (200 + 10), 0},
		{"reduce", 1, 300, 350, 100 + 350 - (300 + 10), 100},
	} {
		m := newMachine(3)
		m.residual = 0
		m.do(0, compute(1, 100), collective(c.what, c.root), compute(4, c.send), send(1, 8))
		m.do(1, compute(2, 200), collective(c.what, c.root), compute(3, 10), recv(0))
		m.do(2, compute(5, c.third), collective(c.what, c.root))
		run, whole := solve(t, m)
		r := solved(t, windowOf(run, whole, 2))
		same(t, c.what+": kinds", kinds(run, r)[LateSender], c.message)
		same(t, c.what+": causes", caused(r), byCluster{{0, 4}: c.message})
		same(t, c.what+": unexplained", r.UnexplainedNS, c.unexplained)
		window := func() *Run { return windowOf(m.recorded(), whole, 2) }
		if got := together(t, window, 2, []int32{0, 1, 1}); !reflect.DeepEqual(got, r) {
			t.Errorf("%s: a team finds\n%+v\none process\n%+v", c.what, got, r)
		}
	}
}

// A message that stands for others counts as often in what is said of waits in messages, however a wait is handed on,
// and once in all else.
func TestHalved(t *testing.T) {
	const few = 8 // divisions, each rounded down
	program := func(halved uint8) *Run {
		m := newMachine(3)
		m.do(0, compute(1, 500), send(1, 8), compute(1, 300), send(1, 8))
		m.do(1, compute(2, 10), recv(0), compute(2, 20), send(2, 8), recv(0))
		m.do(2, compute(3, 30), recv(1))
		run := recorded(t, m)
		message := run.Message
		run.Message = func(i int) Message {
			x := message(i)
			x.Halved = halved
			return x
		}
		return run
	}
	one, eight := solved(t, program(0)), solved(t, program(3))
	if one.MessagesWaitNS == 0 || eight.MessagesWaitNS != 8*one.MessagesWaitNS || eight.MessagesUnexplainedNS != 8*one.MessagesUnexplainedNS || eight.WaitNS != one.WaitNS {
		t.Errorf("%+v\n%+v", one, eight)
	}
	for i := range eight.Waits {
		for k := range eight.Waits[i] {
			w := &eight.Waits[i][k]
			if w.Kind.InMessages() != (w.Halved == 3) {
				t.Errorf("%+v", w)
			}
			w.Halved = 0
		}
	}
	if !reflect.DeepEqual(eight.Waits, one.Waits) || !reflect.DeepEqual(eight.Links, one.Links) || len(eight.Causes) != len(one.Causes) {
		t.Errorf("%+v\n%+v", one, eight)
	}
	sum := eight.MessagesUnexplainedNS
	for i, c := range eight.Causes {
		sum += c.Messages.NS
		if o := one.Causes[i]; c.Charge != o.Charge || max(c.Messages.NS-8*o.Messages.NS, 8*o.Messages.NS-c.Messages.NS) > 8*few || c.Messages.Waits != o.Messages.Waits {
			t.Errorf("%+v, of one message each %+v", c, o)
		}
	}
	if sum != eight.MessagesWaitNS {
		t.Errorf("causes of %d ns, waits of %d", sum, eight.MessagesWaitNS)
	}
	if got := together(t, func() *Run { return program(3) }, 3, []int32{0, 1, 2}); !reflect.DeepEqual(got, solved(t, program(3))) {
		t.Errorf("a team finds %+v", got)
	}
}

// A collective of which not all members are kept has synchronised those that are if one of them waited there, as was
// found for the whole run. What they have themselves does not say so: another may have left before.
func TestWindowOfSomeRanks(t *testing.T) {
	program := func(third int64) *Run {
		m := newMachine(3)
		m.residual = 0
		m.do(0, compute(1, 100), collective("alltoallv", 0), compute(2, 100), recv(1))
		m.do(1, compute(3, 200), collective("alltoallv", 0), compute(4, 150), send(0, 8))
		m.do(2, compute(1, third), collective("alltoallv", 0))
		return recorded(t, m)
	}
	run := program(300)
	whole := solved(t, run)
	same(t, "kinds", kinds(run, whole), byKind{NToN: 300, LateSender: 50})
	run = windowOf(run, whole, 2)
	r := solved(t, run)
	same(t, "kinds", kinds(run, r), byKind{NToN: 300, LateSender: 50})
	same(t, "causes", caused(r), byCluster{{1, 4}: 50})
	same(t, "unexplained", r.UnexplainedNS, 300)
	same(t, "incomplete", r.Incomplete, 0)

	run = program(50)
	run.Threads[2].ExitNS[0], run.Threads[2].EndNS = 60, 60
	whole = solved(t, run)
	same(t, "kinds", kinds(run, whole), byKind{LateSender: 50})
	same(t, "not synchronising", whole.NotSynchronising, 1)
	run = windowOf(run, whole, 2)
	r = solved(t, run)
	same(t, "causes", caused(r), caused(whole))
	if caused(r)[[2]int32{1, 3}] == 0 {
		t.Errorf("the cause ends at the collective: %v", caused(r))
	}
	same(t, "incomplete", r.Incomplete, 1)
}

// A message of which one call is not there, and a call that has no other side, are counted.
func TestOneSided(t *testing.T) {
	m := newMachine(2)
	m.do(0, compute(1, 1000), recv(1))
	m.do(1, compute(1, 1300), send(0, 8))
	run := recorded(t, m)
	message := run.Message(0)
	message.SendNS++
	run.Message = func(int) Message { return message }
	r := solved(t, run)
	same(t, "kinds", kinds(run, r), byKind{})
	same(t, "one-sided", r.OneSided, 1)
}
