package waits

import "testing"

// All wait for the last of a barrier: Σ (max − a).
func TestBarrier(t *testing.T) {
	m := newMachine(5)
	for rank, ns := range []int64{500, 900, 100, 700, 900} {
		m.do(rank, compute(1, ns), barrier())
	}
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{Barrier: 400 + 800 + 200})
	same(t, "causes", caused(r), byCluster{{1, 1}: 1400}) // the first of two that are last
	same(t, "path", pathOf(r), byCluster{{0, 1000}: 10, {1, 1}: 900})
	if c := r.Causes[0]; c.Waits != 3 || c.MoreNS != 1400 {
		t.Errorf("%+v", c)
	}
}

// Non-roots wait for the root of a broadcast; the root of a reduction waits for all others, who do not wait.
func TestRoots(t *testing.T) {
	m := newMachine(3)
	m.do(0, compute(1, 900), collective("bcast", 0))
	m.do(1, compute(1, 400), collective("bcast", 0))
	m.do(2, compute(1, 950), collective("bcast", 0)) // after the root
	run, r := solve(t, m)
	same(t, "bcast", kinds(run, r), byKind{LateBroadcast: 500})
	same(t, "causes", caused(r), byCluster{{0, 1}: 500})

	m = newMachine(3)
	m.do(0, compute(1, 100), collective("reduce", 0))
	m.do(1, compute(1, 400), collective("reduce", 0))
	m.do(2, compute(1, 950), collective("reduce", 0))
	run, r = solve(t, m)
	same(t, "reduce", kinds(run, r), byKind{EarlyReduce: 850})
	same(t, "causes", caused(r), byCluster{{2, 1}: 850})

	m = newMachine(3) // each waits for the lower ranks alone
	m.do(0, compute(1, 100), collective("scan", 0))
	m.do(1, compute(1, 400), collective("scan", 0))
	m.do(2, compute(1, 50), collective("scan", 0))
	run, r = solve(t, m)
	same(t, "scan", kinds(run, r), byKind{Scan: 350})
	same(t, "causes", caused(r), byCluster{{1, 1}: 350})
}

// Rows and columns: who is late in its row is waited for in the columns too, by those who have waited for it.
func TestCrossingCommunicators(t *testing.T) {
	m := newMachine(4)
	m.residual = 0
	m.comms = append(m.comms, []int{0, 1}, []int{2, 3}, []int{0, 2}, []int{1, 3})
	for r := range 4 {
		ns := int64(100)
		if r == 3 {
			ns = 400
		}
		row, column := step{what: "allreduce", bytes: 8, comm: 1 + r/2}, step{what: "allreduce", bytes: 8, comm: 3 + r%2}
		m.do(r, compute(1, ns), row, compute(2, 50), column, compute(2, 50), barrier())
	}
	run, r := solve(t, m)
	// Rank 2 waits 300 in its row. Ranks 0 and 1 wait 300 each in their columns, for 2 and 3.
	same(t, "kinds", kinds(run, r), byKind{NToN: 900})
	same(t, "causes", caused(r), byCluster{{3, 1}: 900})
}

// MPI_Init and MPI_Finalize wait for the last rank, unless somebody left before.
func TestStartAndEnd(t *testing.T) {
	m := newMachine(3)
	for r, ns := range []int64{100, 400, 250} {
		m.do(r, compute(1, ns), step{what: "init"}, compute(2, ns), step{what: "finalize"})
	}
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{Start: 300 + 150, End: 300 + 150})
	same(t, "causes", caused(r), byCluster{{1, 1}: 450, {1, 2}: 450})

	run.Threads[0].ExitNS[1] = run.Threads[0].EnterNS[1] + 5 // it does not wait in MPI_Finalize
	run.Threads[0].EndNS = run.Threads[0].ExitNS[1]
	r = solved(t, run)
	same(t, "kinds", kinds(run, r), byKind{Start: 450})
	same(t, "not synchronising", r.NotSynchronising, 1)
	same(t, "contradictions", r.Contradictions, 0)
}

// A rank waits for those alone that have something to give to it.
func TestNothingToGive(t *testing.T) {
	m := newMachine(3)
	m.do(0, compute(1, 100), collective("allreduce", 0))
	m.do(1, compute(1, 400), collective("allreduce", 0))
	m.do(2, compute(1, 900), step{what: "allreduce"}) // 0 bytes
	run := recorded(t, m)
	run.Threads[0].ExitNS[0], run.Threads[1].ExitNS[0] = 420, 420 // as nobody waits for rank 2
	run.Threads[0].EndNS, run.Threads[1].EndNS = 420, 420
	r := solved(t, run)
	same(t, "kinds", kinds(run, r), byKind{NToN: 300})
	same(t, "causes", caused(r), byCluster{{1, 1}: 300})
	same(t, "contradictions", r.Contradictions, 0)

	// Of an MPI_Alltoallv it is not known who has something for whom: if one leaves early, it has not waited.
	m = newMachine(3)
	for rank, ns := range []int64{100, 400, 900} {
		m.do(rank, compute(1, ns), collective("alltoallv", 0))
	}
	run = recorded(t, m)
	run.Threads[0].ExitNS[0], run.Threads[0].EndNS = 150, 150
	r = solved(t, run)
	same(t, "kinds", kinds(run, r), byKind{})
	same(t, "not synchronising", r.NotSynchronising, 1)
	same(t, "contradictions", r.Contradictions, 0)
}

// A nonblocking collective waits where it is completed.
func TestNonblocking(t *testing.T) {
	m := newMachine(2)
	m.residual = 0
	m.do(0, compute(1, 100), step{what: "iallreduce", handle: "a", bytes: 8}, compute(2, 200), waitall("a"))
	m.do(1, compute(1, 900), step{what: "iallreduce", handle: "a", bytes: 8}, compute(2, 200), waitall("a"))
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{NToN: 600})
	same(t, "causes", caused(r), byCluster{{1, 1}: 600})
	same(t, "path", pathOf(r), byCluster{{1, 1}: 900, {1, 2}: 200})
}
