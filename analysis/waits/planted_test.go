package waits

import (
	"fmt"
	"slices"
	"testing"

	"moriens/internal/team"
)

// solve carries out a program, and returns what was found of it; what must hold of every run is tested.
func solve(t testing.TB, m *machine) (*Run, *Result) {
	t.Helper()
	if err := m.run(); err != nil {
		t.Fatal(err)
	}
	run := m.recorded()
	return run, solved(t, run)
}

type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

func solved(t fatal, run *Run) *Result {
	t.Helper()
	lanes, err := Local(run, team.Threads{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	r := lanes.Solve()
	sums(t, run, r)
	return r
}

// sums tests the identities: charges and what is not explained are the waits, the path is the run, and every call is
// its wait and its residual.
func sums(t fatal, run *Run, r *Result) {
	t.Helper()
	var waits, charges, path, shares int64
	for i, list := range r.Waits {
		for k, w := range list {
			ns := w.UntilNS - run.Threads[i].EnterNS[w.Row]
			waits += ns
			if ns <= 0 || w.UntilNS > run.Threads[i].ExitNS[w.Row] || k > 0 && list[k-1].Row >= w.Row {
				t.Fatalf("thread %d: wait %+v of a call from %d to %d", i, w, run.Threads[i].EnterNS[w.Row], run.Threads[i].ExitNS[w.Row])
			}
		}
	}
	for _, c := range r.Causes {
		if c.NS < 0 || c.DirectNS < 0 || c.DirectNS > c.NS {
			t.Fatalf("%+v", c)
		}
		charges += c.NS
	}
	apart := waits
	for _, n := range r.NotExplained {
		apart += n.NS
	}
	if apart > r.MPINS {
		t.Fatalf("waits of %d ns and %+v in %d ns of MPI", waits, r.NotExplained, r.MPINS)
	}
	if waits != r.WaitNS || charges+r.UnexplainedNS != waits {
		t.Fatalf("waits %d, in sum %d; charges %d, unexplained %d", waits, r.WaitNS, charges, r.UnexplainedNS)
	}
	for i, p := range r.Path {
		if path += p.EndNS - p.BeginNS; i > 0 && p.BeginNS != r.Path[i-1].EndNS {
			t.Fatalf("the path goes from %+v to %+v", r.Path[i-1], p)
		}
	}
	for _, x := range r.Shares {
		shares += x.NS
	}
	if len(run.Threads) > 0 && (path != run.DurationNS || shares != run.DurationNS) {
		t.Fatalf("the path is %d ns, of parts of %d ns; the run %d", path, shares, run.DurationNS)
	}
	for _, l := range r.Links {
		if l.NS != l.ComputingNS+l.MPINS+l.OutsideNS+l.HandedOnNS+l.NotExplained && r.UnexplainedNS == 0 {
			t.Fatalf("%+v", l)
		}
	}
}

// kinds are the waits in sum, by kind.
func kinds(run *Run, r *Result) map[Kind]int64 {
	sums := make(map[Kind]int64)
	for i, list := range r.Waits {
		for _, w := range list {
			sums[w.Kind] += w.UntilNS - run.Threads[i].EnterNS[w.Row]
		}
	}
	return sums
}

// caused are the charges by thread and cluster; of MPI the cluster is 1000, of what is outside 2000.
func caused(r *Result) byCluster {
	sums := make(byCluster)
	for _, c := range r.Causes {
		sums.add(r, c.Thread, c.Key, c.NS)
	}
	return sums
}

// pathOf is what the critical path has, likewise.
func pathOf(r *Result) byCluster {
	sums := make(byCluster)
	for _, c := range r.Shares {
		sums.add(r, c.Thread, c.Key, c.NS)
	}
	return sums
}

func (sums byCluster) add(r *Result, thread, key int32, ns int64) {
	k := r.Keys[key]
	cluster := k.Cluster
	switch k.What {
	case MPI:
		cluster = 1000
	case Outside:
		cluster = 2000
	}
	sums[[2]int32{thread, cluster}] += ns
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s: %s, want %s", what, g, w)
	}
}

type byKind = map[Kind]int64
type byCluster map[[2]int32]int64

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
	same(t, "links", r.Links, []Link{{Thread: 0, For: 1, Waits: 1, NS: 300, ComputingNS: 300}})
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
	if err := m.run(); err != nil {
		t.Fatal(err)
	}
	run := m.recorded()
	waits := func() (list []int64) {
		r := solved(t, run)
		for _, c := range r.Causes {
			if k := r.Keys[c.Key]; k.Cluster == 1 && c.DirectNS > 0 {
				at := slices.IndexFunc(r.Direct, func(d Direct) bool { return d.Thread == c.Thread && d.Deed == r.Deeds[c.Key] })
				list = append(list, r.Direct[at].Waits)
			}
		}
		return list
	}
	same(t, "waits by call path", waits(), []int64{8, 4, 4})
	run.Places = make([]uint32, len(run.Functions))
	same(t, "waits by place", waits(), []int64{8, 8, 8})
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
	if err := m.run(); err != nil {
		t.Fatal(err)
	}
	run := m.recorded()
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
	if err := m.run(); err != nil {
		t.Fatal(err)
	}
	run = m.recorded()
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

// A call that is left before what it waits for is there shows that clocks or records are wrong: it waits until it is
// left at most, and is counted. Waits shorter than clocks of two hosts agree are no waits.
func TestClocks(t *testing.T) {
	m := newMachine(2)
	m.do(0, compute(1, 1000), recv(1))
	m.do(1, compute(1, 1300), send(0, 8))
	if err := m.run(); err != nil {
		t.Fatal(err)
	}
	run := m.recorded()
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
	if err := m.run(); err != nil {
		t.Fatal(err)
	}
	run := m.recorded()
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
	if err := m.run(); err != nil {
		t.Fatal(err)
	}
	run := m.recorded()
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
	if err := m.run(); err != nil {
		t.Fatal(err)
	}
	run := m.recorded()
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

// For whom a collective waits is not known without its communicator, and that is reported; of a nonblocking one it is
// the call that completes it that waits.
func TestUnknownCommunicators(t *testing.T) {
	m := newMachine(2)
	for rank, ns := range []int64{100, 400} {
		m.do(rank, compute(1, ns), barrier(), compute(1, ns), barrier())
	}
	if err := m.run(); err != nil {
		t.Fatal(err)
	}
	run := m.recorded()
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
