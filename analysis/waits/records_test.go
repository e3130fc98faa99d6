package waits

import (
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
	// window keeps two of the ranks, and what was found of their waits at the collective.
	window := func(run *Run, r *Result) *Run {
		kept := *run
		kept.Known, kept.Threads = true, slices.Clone(run.Threads)
		for i, list := range r.Waits {
			for _, w := range list {
				if w.Kind == NToN {
					kept.Threads[i].Known = append(kept.Threads[i].Known, w)
				}
			}
		}
		kept.Threads[2] = Thread{Rank: 2, Kept: []Span{}}
		return &kept
	}

	run := program(300)
	whole := solved(t, run)
	same(t, "kinds", kinds(run, whole), byKind{NToN: 300, LateSender: 50})
	run = window(run, whole)
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
	run = window(run, whole)
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
