package waits

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// inCall is how long all threads are in the call of a row.
func inCall(run *Run, row int) (ns int64) {
	for i := range run.Threads {
		ns += run.Threads[i].ExitNS[row] - run.Threads[i].EnterNS[row]
	}
	return ns
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
	same(t, "not explained", r.NotExplained, []NotExplained{{What: "calls in which the process ended", Calls: 1, NS: 810}})
	run.Comms[0].Inter = true // which is a reason more, but the call is counted once
	same(t, "not explained between groups", solved(t, run).NotExplained, []NotExplained{{What: "collectives between two groups", Calls: 2, NS: 510 + 10}, {What: "calls in which the process ended", Calls: 1, NS: 810}})
	run.Comms[0].Inter = false
	run.Threads[2].EnterNS, run.Threads[2].ExitNS, run.Threads[2].Path, run.Threads[2].Collectives = nil, nil, nil, Collectives{}
	r = solved(t, run)
	same(t, "incomplete", r.Incomplete, 1)
}

// For whom a collective waits is not known without its communicator, and that is reported.
func TestUnknownCommunicators(t *testing.T) {
	m := newMachine(2)
	for rank, ns := range []int64{100, 400} {
		m.do(rank, compute(1, ns), barrier(), compute(1, ns), barrier())
	}
	run := recorded(t, m)
	run.Threads[0].Collectives.Comm[0], run.Threads[1].Collectives.Comm[0] = -1, -1
	r := solved(t, run)
	inside := inCall(run, 0)
	same(t, "kinds", kinds(run, r), byKind{Barrier: 300})
	same(t, "not explained", r.NotExplained, []NotExplained{{What: "collectives of unknown communicators", Calls: 2, NS: inside}})
	for i := range run.Threads {
		run.Threads[i].Collectives = Collectives{}
	}
	if r = solved(t, run); len(r.NotExplained) != 1 || r.NotExplained[0].Calls != 4 || r.WaitNS != 0 {
		t.Errorf("without collectives: %+v", r.NotExplained)
	}
	all := solved(t, run).MPINS
	run.Functions = []string{"", "MPI_Ibarrier"}
	for i := range run.Threads {
		for row := range run.Threads[i].Path {
			run.Threads[i].Path[row] = 1
		}
	}
	same(t, "nonblocking ones", solved(t, run).NotExplained, []NotExplained{{What: "collectives of unknown communicators", Calls: 4, NS: all}})
}

// Calls of which it is not recorded for whom they wait are reported with all of their time.
func TestUnrecorded(t *testing.T) {
	for why, functions := range unrecorded {
		m := newMachine(2)
		for _, function := range functions {
			m.do(0, compute(1, 100), step{what: "local", function: "MPI_" + function})
		}
		_, r := solve(t, m)
		same(t, reasons[why], r.NotExplained, []NotExplained{{What: reasons[why], Calls: int64(len(functions)), NS: 10 * int64(len(functions))}})
	}
}

// begun is a run of two ranks, of which the second is late, that begin a collective by their second call and complete
// it by the third. In the first one all wait for all.
func begun(t *testing.T, first, second string) *Run {
	m := newMachine(2)
	for rank, ns := range []int64{100, 400} {
		one, two := collective("allreduce", 0), step{what: "iallreduce", handle: "a", bytes: 8}
		one.function, two.function = first, second
		m.do(rank, compute(1, 50), one, compute(1, ns), two, waitall("a"))
	}
	return recorded(t, m)
}

// persistent is such a run, whose first call makes what the second one starts.
func persistent(t *testing.T, first string) *Run {
	run := begun(t, first, "MPI_Start")
	for i := range run.Threads {
		c := &run.Threads[i].Collectives
		c.Ordinal[1], c.Instance = c.Ordinal[0], []int32{-1, 0}
	}
	return run
}

// apart moves the first call of a thread, and the first collective, to another thread of its rank.
func apart(run *Run, thread int) {
	th := &run.Threads[thread]
	other, c := *th, &th.Collectives
	other.EnterNS, other.ExitNS, other.Path = th.EnterNS[:1], th.ExitNS[:1], th.Path[:1]
	th.EnterNS, th.ExitNS, th.Path = th.EnterNS[1:], th.ExitNS[1:], th.Path[1:]
	other.StartNS, other.DurationNS, other.Cluster = nil, nil, nil
	other.Collectives = Collectives{c.Call[:1], c.Done[:1], c.Comm[:1], c.Ordinal[:1], c.Instance[:1], c.Sent[:1], c.Received[:1], c.Root[:1]}
	*c = Collectives{c.Call[1:], c.Done[1:], c.Comm[1:], c.Ordinal[1:], c.Instance[1:], c.Sent[1:], c.Received[1:], c.Root[1:]}
	c.Call[0], c.Done[0] = c.Call[0]-1, c.Done[0]-1
	run.Threads = slices.Insert(run.Threads, thread+1, other)
}

// What completes a collective waits, if that is known; else what has begun it is reported.
func TestUnknownCompletion(t *testing.T) {
	for name, run := range map[string]*Run{"nonblocking": begun(t, "MPI_Barrier", "MPI_Iallreduce"), "persistent": persistent(t, "MPI_Allreduce_init")} {
		t.Run(name, func(t *testing.T) {
			same(t, "kinds", kinds(run, solved(t, run))[NToN], int64(300-10))
			same(t, "not explained", len(solved(t, run).NotExplained), 0)
			run.Threads[0].Collectives.Done[1] = -1
			r := solved(t, run)
			same(t, "waits for the second", kinds(run, r)[NToN], 0)
			same(t, "not explained", r.NotExplained, []NotExplained{{What: "collectives whose completion is not known", Calls: 1, NS: 10}})
		})
	}
}

// What completes a send waits for a receive that is posted later, if the send is synchronous or large. Where that is
// not known, what began the send is reported, but for sends that do not wait.
func TestUnknownCompletionOfSends(t *testing.T) {
	for name, x := range map[string]struct {
		function string
		late     int64 // the receive
		want     []NotExplained
	}{
		"synchronous":        {"MPI_Issend", 1000, []NotExplained{{What: "sends whose completion is not known", Calls: 1, NS: 10}}},
		"large":              {"MPI_Isend", 1000, []NotExplained{{What: "sends whose completion is not known", Calls: 1, NS: 10}}},
		"buffered":           {"MPI_Ibsend", 1000, nil},
		"receive was posted": {"MPI_Issend", 50, nil},
	} {
		m := newMachine(2)
		s := isend("a", 1, 8)
		s.function = x.function
		m.do(0, compute(1, 100), s, compute(1, 100), waitall("a"))
		m.do(1, compute(1, x.late), recv(0))
		run := recorded(t, m)
		same(t, name, len(solved(t, run).NotExplained), 0)
		message := run.Message(0)
		message.Sent = -1
		run.Message = func(int) Message { return message }
		same(t, name, fmt.Sprint(solved(t, run).NotExplained), fmt.Sprint(x.want))
	}
}

// A start is what the call that made its request says, on whichever thread of the rank. Where that is not known, or not
// for whom it waits, the start is reported.
func TestStartsOfPersistent(t *testing.T) {
	for name, x := range map[string]struct {
		first string
		spoil func(run *Run)
		want  []NotExplained
	}{
		"own thread":      {"MPI_Allreduce_init", func(*Run) {}, nil},
		"other thread":    {"MPI_Allreduce_init", func(run *Run) { apart(run, 1); apart(run, 0) }, nil},
		"not recorded":    {"MPI_Allreduce_init", func(run *Run) { run.Threads[1].Collectives.Ordinal[0]++ }, []NotExplained{{What: "persistent collectives whose creation is not known", Calls: 1, NS: 10}}},
		"no communicator": {"MPI_Allreduce_init", func(run *Run) { run.Threads[1].Collectives.Comm[1] = -1 }, []NotExplained{{What: "collectives of unknown communicators", Calls: 1, NS: 10}}},
		"neighbours":      {"MPI_Neighbor_alltoall_init", func(*Run) {}, []NotExplained{{What: "neighbourhood collectives", Calls: 2, NS: 20}}},
		"groups":          {"MPI_Allreduce_init", func(run *Run) { run.Comms[0].Inter = true }, []NotExplained{{What: "collectives between two groups", Calls: 4, NS: 40}}},
		"outside":         {"MPI_Allreduce_init", func(run *Run) { run.Known, run.Threads[1].Collectives.Ordinal[0] = true, 9 }, nil},
		"process ended":   {"MPI_Allreduce_init", func(run *Run) { run.Threads[0].Unfinished = true }, []NotExplained{{What: "calls in which the process ended", Calls: 1, NS: 300}}},
	} {
		t.Run(name, func(t *testing.T) {
			spoilt := func() *Run {
				run := persistent(t, x.first)
				x.spoil(run)
				return run
			}
			run := spoilt()
			r := solved(t, run)
			if got := together(t, spoilt, 2, []int32{0, 1, 1, 0}[:len(run.Threads)]); !reflect.DeepEqual(got, r) {
				t.Errorf("a team finds %+v, not %+v", got, r)
			}
			same(t, "not explained", fmt.Sprint(r.NotExplained), fmt.Sprint(x.want))
			explained := int64(300 - 10)
			if x.want != nil || run.Known {
				explained = 0
			}
			same(t, "waits", kinds(run, r)[NToN], explained)
		})
	}
}

// What makes a persistent collective is one itself, in which all have to agree.
func TestMakingOfPersistent(t *testing.T) {
	m := newMachine(2)
	for rank, ns := range []int64{100, 400} {
		x := collective("allreduce", 0)
		x.function = "MPI_Bcast_init"
		m.do(rank, compute(1, ns), x)
	}
	run, r := solve(t, m)
	same(t, "kinds", kinds(run, r), byKind{NToN: 300})
	run.Threads[0].ExitNS[0] = 150 // it does not wait for the other
	r = solved(t, run)
	same(t, "kinds", kinds(run, r), byKind{})
	same(t, "not synchronising", r.NotSynchronising, 1)
}
