package waits

import "testing"

// A wait that is charged to what comes before several calls of one place counts once there, and so do waits that are
// charged to different ones.
func TestPlaces(t *testing.T) {
	m := newMachine(2)
	for k := range 8 {
		what := []string{"barrier", "allreduce"}[k%2]
		for rank, ns := range []int64{10, 60} {
			m.do(rank, compute(1, ns), step{what: "local"}, compute(1, ns), collective(what, 0), compute(2, 10))
		}
	}
	run := recorded(t, m)
	waits := func() (list []int64) {
		r := solved(t, run)
		for _, d := range r.Direct {
			if d.Thread == 1 && r.Keys[d.Key].Cluster == 1 {
				list = append(list, d.Waits)
			}
		}
		return list
	}
	same(t, "waits by call path", waits(), []int64{8, 4, 4})
	run.Places = make([]uint32, len(run.Functions))
	same(t, "waits by place", waits(), []int64{8})
}

// A is unequal, B behind it is not: only A is charged, though rank 1 is in B while rank 0 waits.
func TestDelayBeforeEvenWork(t *testing.T) {
	m := newMachine(2)
	m.do(0, compute(1, 1000), step{what: "local"}, compute(2, 5000), barrier())
	m.do(1, compute(1, 1800), step{what: "local"}, compute(2, 5000), barrier())
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{Barrier: 800})
	same(t, "causes", caused(r), byCluster{{1, 1}: 800})
}

// A nonblocking collective ties those who have completed it to those who have begun it: what delays the second one is
// computed after the first.
func TestNonblockingTies(t *testing.T) {
	m := newMachine(2)
	m.residual = 0
	for rank, ns := range []int64{10, 110} {
		for cluster := range int32(2) {
			m.do(rank, compute(1+cluster, ns), step{what: "iallreduce", handle: "a", bytes: 8}, waitall("a"))
		}
	}
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{NToN: 200})
	same(t, "causes", caused(r), byCluster{{1, 1}: 100, {1, 2}: 100})
}

// A scan ties a rank to all lower ones, whomever of these it waited for: that rank 1 took longer than rank 2 before the
// first one delayed nobody.
func TestScanTies(t *testing.T) {
	m := newMachine(3)
	m.residual = 0
	for rank, ns := range [][2]int64{{110, 10}, {80, 110}, {10, 10}} {
		m.do(rank, compute(int32(1+rank), ns[0]), collective("scan", 0), compute(4, ns[1]), collective("scan", 0))
	}
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{Scan: 30 + 100 + 100})
	same(t, "causes", caused(r), byCluster{{0, 1}: 130, {1, 4}: 100})
}

// A message that lay ready ties the receiver to the sender; docs/waits.md says why. If only messages that were waited
// for did, cluster 3 would have a part of the charge, which delayed nobody: rank 0 was later than that by itself.
func TestReadyMessageTies(t *testing.T) {
	m := newMachine(2)
	m.residual = 0
	m.do(0, compute(1, 100), recv(1), compute(2, 10), recv(1))
	m.do(1, compute(3, 50), send(0, 8), compute(4, 100), send(0, 8))
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{LateSender: 40})
	same(t, "causes", caused(r), byCluster{{1, 4}: 40})
}

// One that was sent without being waited for does not tie its sender: that the other was late then is part of the
// cause.
func TestUnawaitedMessageDoesNotTie(t *testing.T) {
	m := newMachine(2)
	m.residual = 0
	m.do(0, compute(1, 100), send(1, 8), compute(2, 100), recv(1))
	m.do(1, compute(1, 400), recv(0), compute(2, 50), send(0, 8)) // late by 300, then quicker by 50
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{LateSender: 250})
	same(t, "causes", caused(r), byCluster{{1, 1}: 250})
}

// Nor does what a test has found not complete: the sender is late, and what made it so comes before it sends.
func TestPolledMessageDoesNotTie(t *testing.T) {
	m := newMachine(2)
	m.do(0, irecv("a", 1), step{what: "isend", handle: "b", peer: 1, function: "MPI_Issend"})
	m.do(0, step{what: "test", ns: 100}, step{what: "wait", handles: []string{"a", "b"}, function: "MPI_Testall"})
	m.do(1, compute(1, 1000), isend("c", 0, 8), compute(2, 500), recv(0), waitall("c"))
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{LateSender: 110, LateReceiver: 1380})
	same(t, "causes", caused(r), byCluster{{1, 1}: 110 + 920, {1, 2}: 460}) // 1380 in proportion: 1000 to 500
}

// A reduction ties its root to all others, a broadcast all others to its root: what delays the second one is computed
// after the first.
func TestRootTies(t *testing.T) {
	for _, what := range []string{"reduce", "bcast"} {
		m := newMachine(2)
		m.residual = 0
		root := 0
		if what == "bcast" {
			root = 1
		}
		for rank, ns := range []int64{10, 110} {
			m.do(rank, compute(1, ns), collective(what, root), compute(2, ns), collective(what, root))
		}
		run, r := solve(t, m)
		same(t, what, waited(kinds(run, r)), 200)
		same(t, what, caused(r), byCluster{{1, 1}: 100, {1, 2}: 100})
	}
}

func waited(kinds byKind) (ns int64) {
	for _, of := range kinds {
		ns += of
	}
	return ns
}

// Of a reduction and a message the later one ties the root to the other, in whichever order they come.
func TestRootAndMessageTie(t *testing.T) {
	for _, order := range [][2][2]step{
		{{collective("reduce", 0), recv(1)}, {collective("reduce", 0), send(0, 8)}},
		{{recv(1), collective("reduce", 0)}, {send(0, 8), collective("reduce", 0)}},
	} {
		m := newMachine(2)
		m.residual = 0
		m.do(0, compute(5, 100), order[0][0], compute(5, 30), order[0][1], compute(5, 10), collective("reduce", 0))
		m.do(1, compute(1, 50), order[1][0], compute(2, 50), order[1][1], compute(3, 60), collective("reduce", 0))
		run, r := solve(t, m)
		same(t, "kinds", kinds(run, r), byKind{EarlyReduce: 20})
		same(t, "causes", caused(r), byCluster{{1, 3}: 20})
	}
}
