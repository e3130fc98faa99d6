package waits

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
)

// random draws a program that does not hang: rounds, each of one pattern of all ranks.
func random(t *rapid.T) *machine {
	ranks := rapid.IntRange(1, 6).Draw(t, "ranks")
	m := newMachine(ranks)
	m.residual = rapid.Int64Range(1, 3).Draw(t, "residual")
	var even, odd []int
	for r := range ranks {
		if r%2 == 0 {
			even = append(even, r)
		} else {
			odd = append(odd, r)
		}
	}
	m.comms = append(m.comms, even, odd)
	if ranks > 1 { // which shows that no send of these programs is synchronous that is not called so
		m.do(0, send(1, 1<<20))
		m.do(1, compute(1, 100), recv(0))
	}
	work := func(r int) {
		if rapid.Bool().Draw(t, "works") {
			m.do(r, compute(rapid.Int32Range(-3, 4).Draw(t, "cluster"), rapid.Int64Range(0, 30).Draw(t, "ns")))
		}
		if rapid.IntRange(0, 4).Draw(t, "local") == 0 {
			m.do(r, step{what: "local"})
		}
	}
	for range rapid.IntRange(0, 12).Draw(t, "rounds") {
		pattern := rapid.IntRange(0, 7).Draw(t, "pattern")
		what := rapid.SampledFrom([]string{"barrier", "allreduce", "bcast", "reduce", "scan", "alltoallv"}).Draw(t, "what")
		root := rapid.IntRange(0, ranks-1).Draw(t, "root")
		synchronous := rapid.Bool().Draw(t, "synchronous")
		for r := range ranks {
			work(r)
			left, right := (r+ranks-1)%ranks, (r+1)%ranks
			switch {
			case pattern == 0:
				m.do(r, collective(what, root))
			case pattern == 1 && what != "bcast" && what != "reduce":
				x := collective(what, 0)
				x.comm = 1 + r%2
				m.do(r, x)
			case pattern == 2 && ranks > 1:
				m.do(r, sendrecv(right, left, 8))
			case pattern == 3 && ranks > 1:
				s := isend("s", right, 16)
				if synchronous {
					s.function = "MPI_Issend"
				}
				m.do(r, irecv("r", left), s)
				work(r)
				m.do(r, waitall("r", "s"))
			case pattern == 4 && ranks > 1 && r > 0: // to one
				if synchronous {
					m.do(r, ssend(0, 8))
				} else {
					m.do(r, send(0, 8))
				}
			case pattern == 4 && ranks > 1:
				order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
					for o := 1; o < ranks && yield(o); o++ {
					}
				})).Draw(t, "order")
				for _, other := range order {
					m.do(0, recv(other))
					work(0)
				}
			case pattern == 5: // a chain
				if r > 0 {
					m.do(r, recv(r-1))
					work(r)
				}
				if r < ranks-1 {
					m.do(r, send(r+1, 8))
				}
			case pattern == 6:
				m.do(r, step{what: "iallreduce", handle: "c", bytes: 8})
				work(r)
				m.do(r, waitall("c"))
			case pattern == 7: // two of different communicators at a time, one of which goes on during other calls
				row := step{what: "iallreduce", handle: "d", bytes: 8, comm: 1 + r%2}
				m.do(r, step{what: "ibarrier", handle: "c"}, row)
				work(r)
				m.do(r, waitall("d"), barrier())
				work(r)
				m.do(r, waitall("c"))
			}
		}
	}
	return m
}

// Of any program the waits are those that it had, charges add up to them, and the path is the run.
func TestRandomPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := random(t)
		run := recorded(t, m)
		r := solved(t, run)
		var want int64
		for rank, x := range m.ranks {
			var own, found int64
			for _, ns := range x.waited {
				own += ns
			}
			for _, w := range r.Waits[rank] {
				found += w.UntilNS - run.Threads[rank].EnterNS[w.Row]
			}
			if want += own; own != found {
				t.Fatalf("rank %d has waited %d ns, not %d: %+v", rank, own, found, x.waited)
			}
		}
		if r.WaitNS != want || r.Contradictions != 0 || r.UnexplainedNS != 0 || r.OneSided != 0 || r.NotSynchronising != 0 || r.Incomplete != 0 {
			t.Fatalf("waits of %d ns, want %d; %d contradictions, %d ns not explained, %d messages of one side, %d, %d", r.WaitNS, want, r.Contradictions, r.UnexplainedNS, r.OneSided, r.NotSynchronising, r.Incomplete)
		}
		rebuilt(t, run, r)
	})
}

// rebuilt makes each call's times again, from what is before it, what it waits for, and its residual: they are those
// that were recorded.
func rebuilt(t *rapid.T, run *Run, r *Result) {
	lanes, err := Local(run, team.Threads{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range lanes.list {
		l := &lanes.list[i]
		ns, k := int64(0), 0
		for row := range l.EnterNS {
			l.eachPiece(row, func(_ int32, piece int64) { ns += piece })
			if ns != l.EnterNS[row] {
				t.Fatalf("thread %d enters call %d at %d, not %d", i, row, l.EnterNS[row], ns)
			}
			if k < len(r.Waits[i]) && int(r.Waits[i][k].Row) == row {
				w := r.Waits[i][k]
				ns = max(ns, min(run.Threads[w.For].EnterNS[w.ForRow], l.ExitNS[row]))
				k++
			}
			if residual := l.ExitNS[row] - ns; residual < 0 {
				t.Fatalf("thread %d: call %d has a residual of %d", i, row, residual)
			}
			ns = l.ExitNS[row]
		}
	}
}

// However columns are spoilt, there is an error, or the identities hold.
func TestSpoiltRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := random(t)
		run := recorded(t, m)
		for range rapid.IntRange(1, 4).Draw(t, "faults") {
			th := &run.Threads[rapid.IntRange(0, len(run.Threads)-1).Draw(t, "thread")]
			shift := rapid.Int64Range(-40, 40).Draw(t, "shift")
			switch fault := rapid.IntRange(0, 6).Draw(t, "fault"); {
			case fault == 0 && run.Messages > 0: // a clock that is wrong, or a call that is lost
				at, old := rapid.IntRange(0, run.Messages-1).Draw(t, "message"), run.Message
				run.Message = func(i int) Message {
					x := old(i)
					if i == at {
						x.SendNS += shift
					}
					return x
				}
			case fault == 1 && len(th.EnterNS) > 0: // a clock that is behind from some time on
				from := rapid.IntRange(0, len(th.EnterNS)-1).Draw(t, "from")
				for k := from; k < len(th.EnterNS); k++ {
					th.EnterNS[k] += max(shift, 0)
					th.ExitNS[k] += max(shift, 0)
				}
				for k := range th.StartNS {
					if th.StartNS[k] >= th.EnterNS[from]-max(shift, 0) {
						th.StartNS[k] += max(shift, 0)
					}
				}
				th.EndNS += max(shift, 0)
				run.DurationNS = max(run.DurationNS, th.EndNS)
			case fault == 2 && len(th.Collectives.Call) > 0:
				k := rapid.IntRange(0, len(th.Collectives.Call)-1).Draw(t, "collective")
				th.Collectives.Ordinal[k] += rapid.SampledFrom([]int64{1, -1, 1 << 31, 1 << 62}).Draw(t, "ordinal")
			case fault == 3 && len(th.Collectives.Call) > 0:
				k := rapid.IntRange(0, len(th.Collectives.Call)-1).Draw(t, "collective")
				th.Collectives.Root[k] = rapid.Int32Range(-3, 9).Draw(t, "root")
				th.Collectives.Comm[k] = rapid.Int32Range(-1, 2).Draw(t, "comm")
			case fault == 4 && len(th.EnterNS) > 0:
				th.Unfinished = true
			case fault == 5 && len(th.EnterNS) > 0: // the begin is not there
				th.Kept = []Span{{rapid.Int64Range(0, run.DurationNS).Draw(t, "kept"), run.DurationNS}}
			case fault == 6 && len(th.Path) > 0:
				th.Path[rapid.IntRange(0, len(th.Path)-1).Draw(t, "call")] = rapid.Uint32Range(0, uint32(len(run.Functions)-1)).Draw(t, "path")
			}
		}
		if lanes, err := Local(run, team.Threads{}); err == nil {
			sums(t, run, lanes.Solve())
		}
	})
}

// However the threads are distributed, the first member of a team finds what one process finds.
func TestTeam(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := random(t)
		durationNS := recorded(t, m).DurationNS
		begin := rapid.Int64Range(0, durationNS).Draw(t, "begin of main")
		main := Span{begin, rapid.Int64Range(begin, durationNS).Draw(t, "end of main")}
		run := func() *Run {
			run := m.recorded()
			run.Main = main
			return run
		}
		want := solved(t, run())
		members := rapid.Int32Range(2, 4).Draw(t, "members")
		of := rapid.SliceOfN(rapid.Int32Range(0, members-1), len(m.ranks), len(m.ranks)).Draw(t, "owners")
		if got := together(t, run, members, of); !reflect.DeepEqual(got, want) {
			t.Fatalf("threads at %v:\n%+v\nwant\n%+v", of, got, want)
		}
	})
}

// together is what members of a team that have some of the threads each find.
func together(t fatal, recorded func() *Run, members int32, of []int32) *Result {
	t.Helper()
	all, err := mpixtest.Run(int(members), func(member team.Team) (*Result, error) {
		run := recorded()
		for i := range run.Threads {
			if int(of[i]) != member.Rank() {
				th := &run.Threads[i]
				*th = Thread{World: th.World, Rank: th.Rank, Node: th.Node}
			}
		}
		owners := team.Threads{Team: member, Of: of}
		lanes, err := Local(run, owners)
		if err == nil {
			err = lanes.Merge(owners)
		}
		if err != nil || member.Rank() != 0 {
			return nil, err
		}
		return lanes.Solve(), nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return all[0]
}

// So it is for what a call does for another: for tests, and for a receive that another thread of the rank completes.
func TestTeamOfFew(t *testing.T) {
	m := newMachine(2)
	m.do(0, step{what: "iallreduce", handle: "a", bytes: 8}, step{what: "test", ns: 990}, step{what: "test", handles: []string{"a"}})
	m.do(1, compute(1, 800), step{what: "iallreduce", handle: "a", bytes: 8}, waitall("a"))
	tests := recorded(t, m)
	if got, want := together(t, m.recorded, 2, []int32{0, 1}), solved(t, tests); !reflect.DeepEqual(got, want) || want.WaitNS == 0 {
		t.Errorf("tests: %+v\nwant\n%+v", got, want)
	}

	m = newMachine(3)
	m.do(0, compute(1, 500), send(1, 8))
	m.do(1, irecv("a", 0), compute(2, 100))
	m.do(2, compute(3, 50), recv(0))
	m.do(0, send(2, 8))
	threads := func() *Run { // ranks 1 and 2 are threads of one, of which the other completes the receive
		run := m.recorded()
		run.Threads[2].Rank = 1
		message, doneNS := run.Message, run.Threads[2].ExitNS[0]
		run.Messages, run.Message = 1, func(int) Message {
			x := message(0)
			x.DoneNS = doneNS
			return x
		}
		return run
	}
	if err := m.run(); err != nil {
		t.Fatal(err)
	}
	want := solved(t, threads())
	if len(want.Waits[2]) != 1 || want.OneSided != 0 {
		t.Errorf("waits of the thread that completes: %+v, %d messages of one side", want.Waits[2], want.OneSided)
	}
	for _, of := range [][]int32{{0, 0, 1}, {0, 1, 0}, {1, 0, 1}, {0, 1, 2}, {2, 1, 0}} {
		if got := together(t, threads, 3, of); !reflect.DeepEqual(got, want) {
			t.Errorf("threads at %v: %+v\nwant\n%+v", of, got, want)
		}
	}
}

// What does not fit together is an error, and no index beyond what is there.
func TestSpoiltColumns(t *testing.T) {
	message := func(change func(m *Message)) func(run *Run) {
		return func(run *Run) {
			old := run.Message
			run.Message = func(i int) Message {
				m := old(i)
				change(&m)
				return m
			}
		}
	}
	for name, x := range map[string]struct {
		fits  bool
		spoil func(run *Run)
	}{
		"sent":       {false, message(func(m *Message) { m.Sent = 1 << 20 })},
		"from":       {false, message(func(m *Message) { m.From = 1 << 20 })},
		"to":         {false, message(func(m *Message) { m.To = -1 })},
		"node":       {false, func(run *Run) { run.Threads[0].Node = -1 }},
		"node above": {false, func(run *Run) { run.UncertaintyNS, run.Clock, run.Threads[0].Node = []int64{0, 0}, []int32{0, 1}, 7 }},
		"comm above": {false, func(run *Run) { run.Threads[0].Collectives.Comm[0] = 7 }},
		"done above": {false, func(run *Run) { run.Threads[0].Collectives.Done[0] = 70 }},
		"cluster":    {false, func(run *Run) { run.Threads[0].Cluster[0] = 70 }},
		"call order": {false, func(run *Run) { slices.Reverse(run.Threads[0].Collectives.Call) }},
		"one call":   {true, func(run *Run) { c := &run.Threads[0].Collectives; c.Call[1] = c.Call[0] }},
		"world":      {true, func(run *Run) { run.Threads[1].World = 1 << 30 }},
		"comm":       {true, func(run *Run) { run.Threads[0].Collectives.Comm[0] = -7 }},
		"root":       {true, func(run *Run) { run.Threads[0].Collectives.Root[0] = 1 << 30 }},
		"done":       {true, func(run *Run) { run.Threads[0].Collectives.Done[0] = -9 }},
		"kinds":      {true, func(run *Run) { run.Kinds = []int32{9} }},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(2)
			m.do(0, compute(1, 10), recv(1), barrier(), compute(1, 10), barrier(), recv(1))
			m.do(1, compute(1, 30), send(0, 8), barrier(), compute(1, 30), barrier(), compute(1, 50), send(0, 8))
			run := recorded(t, m)
			x.spoil(run)
			lanes, err := Local(run, team.Threads{})
			if (err == nil) != x.fits {
				t.Fatalf("error %v", err)
			}
			if err == nil {
				sums(t, run, lanes.Solve())
			}
		})
	}
}
