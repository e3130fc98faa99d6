package waits

import "testing"

// One of two ranks is late by 300 ns: the other waits so long for its message, and that is charged to its cluster. The
// path is on the late rank until it sends.
func TestLateSender(t *testing.T) {
	m := newMachine(2)
	m.do(0, compute(1, 1000), recv(1))
	m.do(1, compute(1, 1300), send(0, 8))
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{LateSender: 300})
	same(t, "causes", caused(r), byCluster{{1, 1}: 300})
	same(t, "path", pathOf(r), byCluster{{0, 1000}: 10, {1, 1}: 1300})
	same(t, "links", r.Links, []Link{{Thread: 0, For: 1, LinkSums: LinkSums{Waits: 1, NS: 300, ComputingNS: 300}}})
	if c := r.Causes[0]; c.MoreNS != 300 || c.Waits != 1 || c.DirectNS != 300 {
		t.Errorf("%+v", c)
	}
}

// The same with a synchronous send, whose receiver is late.
func TestLateReceiver(t *testing.T) {
	m := newMachine(2)
	m.do(0, compute(1, 1300), recv(1))
	m.do(1, compute(1, 1000), ssend(0, 8))
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{LateReceiver: 300})
	same(t, "causes", caused(r), byCluster{{0, 1}: 300})
	same(t, "path", pathOf(r), byCluster{{0, 1}: 1300, {0, 1000}: 10})

	// A nonblocking one waits where it is completed.
	m = newMachine(2)
	m.do(0, compute(1, 1300), recv(1))
	m.do(1, compute(1, 1000), step{what: "isend", peer: 0, handle: "a", function: "MPI_Issend"}, compute(2, 100), waitall("a"))
	run, r = solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{LateReceiver: 190})
	same(t, "causes", caused(r), byCluster{{0, 1}: 190})
}

// Standard sends wait for their receivers from some size on, which is known by those that did not.
func TestEager(t *testing.T) {
	m := newMachine(2)
	for k := range 300 {
		m.do(0, send(1, int64(100+k))) // over before it is received
		m.do(1, compute(1, 1000), recv(0))
		m.all(barrier())
	}
	// As large messages wait: the machine has them synchronous.
	m.do(0, step{what: "ssend", peer: 1, bytes: 5000, function: "MPI_Send"})
	m.do(1, compute(1, 500), recv(0))
	run, r := solve(t, m)
	same(t, "eager", r.Eager, []Eager{{true, 396}, {false, -1}})
	same(t, "late receivers", kinds(run, r)[LateReceiver], 500)
	if r.Contradictions != 0 {
		t.Errorf("%d contradictions", r.Contradictions)
	}
}

// Waits go through a chain of ranks: all are charged to the first one, which nobody but the second waits for.
func TestPipeline(t *testing.T) {
	m := newMachine(4)
	m.do(0, compute(1, 1000), send(1, 8))
	m.do(1, compute(2, 100), recv(0), compute(3, 50), send(2, 8))
	m.do(2, compute(2, 100), recv(1), compute(3, 50), send(3, 8))
	m.do(3, compute(2, 100), recv(2))
	run, r := solve(t, m)
	// Rank 1 waits from 100 to 1000, rank 2 to 1060, rank 3 to 1120.
	same(t, "kinds", kinds(run, r), byKind{LateSender: 900 + 960 + 1020})
	// Rank 2 waits 960: 1 has waited 900, and computed 50 and been in MPI 10 longer than it.
	same(t, "path", pathOf(r), byCluster{{0, 1}: 1000, {1, 3}: 50, {1, 1000}: 10, {2, 3}: 50, {2, 1000}: 20})
	of := caused(r)
	if of[[2]int32{0, 1}] < 2600 || of[[2]int32{1, 3}] == 0 || of[[2]int32{0, 1}] > 2880 {
		t.Errorf("%v", of)
	}
	direct := int64(0)
	for _, c := range r.Causes {
		if c.Thread == 0 {
			direct += c.DirectNS
		}
	}
	same(t, "direct", direct, 900)

	// Without work of their own between, the first one has it all.
	m = newMachine(4)
	m.residual = 0
	m.do(0, compute(1, 1000), send(1, 8))
	m.do(1, recv(0), send(2, 8))
	m.do(2, recv(1), send(3, 8))
	m.do(3, recv(2))
	_, r = solve(t, m)
	same(t, "causes", caused(r), byCluster{{0, 1}: 3000})
	same(t, "path", pathOf(r), byCluster{{0, 1}: 1000})
}

// In a ring of Sendrecv each waits for its left neighbour; where one is late, that goes round.
func TestRing(t *testing.T) {
	const ranks = 6
	m := newMachine(ranks)
	m.residual = 0
	for round := range 5 {
		for r := range ranks {
			ns := int64(100)
			if r == 2 && round == 0 {
				ns = 600
			}
			m.do(r, compute(1, ns), sendrecv((r+1)%ranks, (r+ranks-1)%ranks, int64(8<<r)))
		}
	}
	run, r := solve(t, m)
	// The delay goes on by one rank a round.
	same(t, "kinds", kinds(run, r), byKind{LateSender: 5 * 500})
	same(t, "causes", caused(r), byCluster{{2, 1}: 2500})
	direct := int64(0)
	for _, c := range r.Causes {
		direct += c.DirectNS
	}
	same(t, "direct", direct, 500)
}

// What is computed between Irecv and Waitall hides the wait, as far as it goes. Of several messages the latest counts.
func TestWaitall(t *testing.T) {
	m := newMachine(5)
	m.residual = 0
	m.do(0, irecv("a", 1), irecv("b", 2), irecv("c", 3), irecv("d", 4), compute(2, 700), waitall("a", "b", "c", "d"))
	for r, ns := range []int64{0, 300, 1000, 600, 900} {
		if r > 0 {
			m.do(r, compute(1, ns), isend("s", 0, 8), waitall("s"))
		}
	}
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{LateSender: 300})
	same(t, "causes", caused(r), byCluster{{2, 1}: 300})

	m = newMachine(2) // all is hidden
	m.do(0, irecv("a", 1), compute(2, 1500), waitall("a"))
	m.do(1, compute(1, 1000), send(0, 8))
	run, r = solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{})
}

// A run of polls is one wait, until the message was sent; so is a probe.
func TestPolls(t *testing.T) {
	m := newMachine(2)
	m.do(0, irecv("a", 1), step{what: "test", ns: 990}, step{what: "test", handles: []string{"a"}})
	m.do(1, compute(1, 800), send(0, 8))
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{LateSender: 790})
	same(t, "causes", caused(r), byCluster{{1, 1}: 790})
	if r.Contradictions != 0 {
		t.Errorf("%d contradictions", r.Contradictions)
	}

	m = newMachine(2) // what follows the message before is the cause of all waits for the next one
	poll := step{what: "test", ns: 20}
	m.do(0, recv(1), irecv("a", 1), poll, poll, poll, step{what: "test", handles: []string{"a"}})
	m.do(1, compute(1, 100), send(0, 8), compute(2, 100), send(0, 8))
	run, r = solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{LateSender: 100 + 90})
	same(t, "causes", caused(r), byCluster{{1, 1}: 100, {1, 2}: 90})

	m = newMachine(2)
	m.do(0, compute(1, 100), step{what: "probe", peer: 1}, compute(2, 20), recv(1))
	m.do(1, compute(1, 800), send(0, 8))
	run, r = solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{LateSender: 700})
}

// So it is for what began a collective.
func TestPollsOfCollectives(t *testing.T) {
	begin := step{what: "iallreduce", handle: "a", bytes: 8}
	m := newMachine(2)
	m.do(0, begin, step{what: "test", ns: 990}, step{what: "test", handles: []string{"a"}})
	m.do(1, compute(1, 800), begin, waitall("a"))
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{NToN: 790})
	same(t, "causes", caused(r), byCluster{{1, 1}: 790})
	if r.Contradictions != 0 {
		t.Errorf("%d contradictions", r.Contradictions)
	}

	m = newMachine(2) // between computations one asks, and hides what is computed
	poll := step{what: "test", ns: 20}
	m.do(0, begin, compute(2, 100), poll, compute(2, 100), poll, compute(2, 100), step{what: "test", handles: []string{"a"}})
	m.do(1, compute(1, 230), begin, waitall("a"))
	run, r = solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{NToN: 30}) // the first test, as long as it takes
	same(t, "causes", caused(r), byCluster{{1, 1}: 30})
}

// A receive that waits while a message is there that the rank takes later is in the wrong order.
func TestWrongOrder(t *testing.T) {
	m := newMachine(3)
	m.do(0, recv(1), recv(2))
	m.do(1, compute(1, 500), send(0, 8))
	m.do(2, compute(1, 200), send(0, 8))
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{WrongOrder: 500})

	m = newMachine(3)
	m.do(0, recv(2), recv(1))
	m.do(1, compute(1, 500), send(0, 8))
	m.do(2, compute(1, 200), send(0, 8))
	run, r = solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{LateSender: 200 + 290})
}
