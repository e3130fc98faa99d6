package waits

import "testing"

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

// A rank that dies inside a call waits there for nobody that is known; those that wait for it do so until they end.
func TestDeath(t *testing.T) {
	m := newMachine(3)
	for rank, ns := range []int64{100, 400, 900} {
		m.do(rank, compute(1, ns), barrier())
	}
	run := recorded(t, m)
	run.Threads[0].Unfinished = true
	r := solved(t, run)
	same(t, "kinds", kinds(run, r), byKind{Barrier: 500})
	same(t, "not explained", r.NotExplained, []NotExplained{{"calls in which the process ended", 1, 810}})
	run.Comms[0].Inter = true // which is a reason more, but the call is counted once
	same(t, "not explained between groups", solved(t, run).NotExplained, []NotExplained{{"collectives between two groups", 2, 510 + 10}, {"calls in which the process ended", 1, 810}})
	run.Comms[0].Inter = false
	run.Threads[2].EnterNS, run.Threads[2].ExitNS, run.Threads[2].Path, run.Threads[2].Collectives = nil, nil, nil, Collectives{}
	r = solved(t, run)
	same(t, "incomplete", r.Incomplete, 1)
}

// For whom a collective waits is not known without its communicator, and that is reported; of a nonblocking one it is
// the call that completes it that waits.
func TestUnknownCommunicators(t *testing.T) {
	m := newMachine(2)
	for rank, ns := range []int64{100, 400} {
		m.do(rank, compute(1, ns), barrier(), compute(1, ns), barrier())
	}
	run := recorded(t, m)
	run.Threads[0].Collectives.Comm[0], run.Threads[1].Collectives.Comm[0] = -1, -1
	r := solved(t, run)
	inside := int64(0)
	for i := range run.Threads {
		inside += run.Threads[i].ExitNS[0] - run.Threads[i].EnterNS[0]
	}
	same(t, "kinds", kinds(run, r), byKind{Barrier: 300})
	same(t, "not explained", r.NotExplained, []NotExplained{{"collectives of unknown communicators", 2, inside}})
	for i := range run.Threads {
		run.Threads[i].Collectives = Collectives{}
	}
	if r = solved(t, run); len(r.NotExplained) != 1 || r.NotExplained[0].Calls != 4 || r.WaitNS != 0 {
		t.Errorf("without collectives: %+v", r.NotExplained)
	}
	run.Functions = []string{"", "MPI_Ibarrier"}
	for i := range run.Threads {
		for row := range run.Threads[i].Path {
			run.Threads[i].Path[row] = 1
		}
	}
	same(t, "nonblocking ones", len(solved(t, run).NotExplained), 0)
}
