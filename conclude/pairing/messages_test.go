package pairing

import (
	"math/rand/v2"
	"slices"
	"testing"

	"moriens/conclude/blame"
	"moriens/internal/team"
	"moriens/trace/rundir"
)

// Two hundred messages of 128 B before each of 3,456 B could be packed.
func TestSmallMessages(t *testing.T) {
	m := newMachine(4, 2)
	r := random(t)
	for range 50 {
		for rank := range 4 {
			peer := rank ^ 1
			m.do(rank, compute(200_000+r.Int64N(2000)))
			for range 200 {
				if rank < peer {
					m.do(rank, send(peer, 128))
				} else {
					m.do(rank, recv(peer, 0))
				}
			}
			if rank < peer {
				m.do(rank, send(peer, 3456))
			} else {
				m.do(rank, recv(peer, 0))
			}
		}
	}
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsSmallMessages, []int{0, 1, 2, 3}, "19,900 of 20,000 messages of 128 B of 2 pairs could go together: saves about ")
}

// A pair that sends far more messages than others, small ones: the paper's first case.
func TestHeavyPairOfSmallMessages(t *testing.T) {
	m := newMachine(16, 4)
	r := random(t)
	halo(m, 4, 4, 40, r, nothing)
	for range 40 {
		for range 300 {
			m.do(2, send(11, 128))
			m.do(11, recv(2, 0))
		}
		m.do(2, send(11, 3456))
		m.do(11, recv(2, 0))
	}
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsSmallMessages, []int{2, 11}, "messages of 128 B of 2–11 could go together: saves about ")
}

// oddSize has four pairs exchange messages of twelve sizes, of which those of 7,040 B take what such of 164,032 B take.
func oddSize(r *rand.Rand) *machine {
	m := newMachine(8, 8)
	m.eager = 2 << 20
	m.way = func(a, b int, bytes int64) int64 {
		if bytes == 7040 {
			bytes = 164032
		}
		return 3000 + bytes/10
	}
	for range 60 {
		for _, bytes := range []int64{8, 128, 512, 1024, 3456, 7040, 16384, 65536, 164032, 262144, 524288, 1 << 20} {
			for rank := range 4 {
				m.do(rank, compute(5000+r.Int64N(500)), send(rank+4, bytes), recv(rank+4, 0))
				m.do(rank+4, recv(rank, 0), compute(5000+r.Int64N(500)), send(rank, bytes))
			}
		}
	}
	return m
}

// Messages of 7,040 B take what such of 164,032 B take: the second.
func TestOddSize(t *testing.T) {
	m := oddSize(random(t))
	p := measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsIrregular, nil, "messages of 7,040 B within a node take", "× what their size says: as long as 164,032 B")
	if p.File.Findings[0].Bytes != 7040 {
		t.Errorf("%+v", p.File.Findings[0])
	}
}

// slowFirst has the first message of pairs take 3 ms.
func (m *machine) slowFirst(of func(a, b int) bool) {
	usual := m.way
	m.way = func(a, b int, bytes int64) int64 {
		if len(m.sends[channel{a, b}]) == 1 && of(a, b) {
			return 3_000_000
		}
		return usual(a, b, bytes)
	}
}

// First messages of pairs set up connections.
func TestFirstMessage(t *testing.T) {
	m := newMachine(8, 2)
	m.slowFirst(func(int, int) bool { return true })
	talk(m, random(t), 200, 2)
	run := m.run(t)
	p := measured(t, run, blame.Options{})
	firstIs(t, p, rundir.PairsFirstMessage, nil, "the first messages of 4 pairs take", "connections are set up")
	unwaited, err := Measure(run, team.Threads{}, Options{Unwaited: "nobody looked"})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(kinds(unwaited), rundir.PairsFirstMessage) { // it may have waited for the sender
		t.Errorf("%v", kinds(unwaited))
	}
	for _, begin := range []bool{true, false} { // in windows it is known only of those that have the first messages
		some, window := *run, -1
		counted(&some, p, 10, 2, func() bool { window++; return window > 0 && window%2 == 0 || window == 0 && begin })
		found := inWindows(t, &some)
		if is := slices.Contains(kinds(found), rundir.PairsFirstMessage); is != begin {
			t.Errorf("begin known: %t; %v", begin, kinds(found))
		}
		if !begin {
			continue
		}
		firstIs(t, found, rundir.PairsFirstMessage, nil, "the first messages of 4 pairs take")
		for i := range some.Traffic.Ranks { // it was another message that was the first
			routes := slices.Collect(some.Traffic.Ranks[i].EachRoute)
			for k := range routes {
				routes[k].FirstNS *= 2
			}
			some.Traffic.Ranks[i].Routes = slices.Values(routes)
		}
		if other := inWindows(t, &some); slices.Contains(kinds(other), rundir.PairsFirstMessage) {
			t.Errorf("%v", kinds(other))
		}
	}
}

// Few small messages are none that could go together, however short the run is; one pair is one.
func TestFew(t *testing.T) {
	m := newMachine(2, 2)
	for rank := range 2 {
		for range 20 {
			if rank == 0 {
				m.do(rank, send(1, 128))
			} else {
				m.do(rank, recv(0, 0))
			}
		}
	}
	p := measured(t, m.run(t), blame.Options{})
	if slices.Contains(kinds(p), rundir.PairsSmallMessages) {
		t.Errorf("%+v", p.File.Findings)
	}
	m = newMachine(4, 2)
	m.slowFirst(func(a, b int) bool { return a+b == 2 })
	talk(m, random(t), 40, 2)
	p = measured(t, m.run(t), blame.Options{})
	firstIs(t, p, rundir.PairsFirstMessage, nil, "the first messages of 1 pair take")
}
