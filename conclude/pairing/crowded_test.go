package pairing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"moriens/conclude/blame"
	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// scheduled measures a run whose kernels have said what share of their time ranks of some nodes lost.
func scheduled(t *testing.T, run *trace.Run, lost map[int]float64) *Pairing {
	t.Helper()
	b, err := blame.Measure(run, team.Threads{}, blame.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Measure(run, team.Threads{}, Options{Blame: b, Scheduling: kernels(run, lost)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func kernels(run *trace.Run, lost map[int]float64) *rundir.Scheduling {
	s := &rundir.Scheduling{}
	for node, share := range lost {
		s.Hosts = append(s.Hosts, rundir.HostScheduling{Host: run.NodeName(node), Cores: 1, RanksAtOnce: 2, LostShare: rundir.Number(share)})
	}
	return s
}

// Where ranks have to wait for a core, what messages take says nothing of links: pairs there are not compared with
// others. What kernels have counted decides; where they say nothing, it is the number of CPUs.
func TestCrowded(t *testing.T) {
	m := newMachine(12, 3)
	m.apart(30, func(a, b int) bool { return min(a, b) == 7 && max(a, b) == 10 })
	talk(m, random(t), 100, 1, 3)
	run := m.run(t)
	const note = "ranks waited for cores of "
	for what, c := range map[string]struct {
		cpus  int
		lost  map[int]float64
		slow  bool
		nodes string
	}{
		"room for all":     {cpus: 3, slow: true},
		"CPUs unknown":     {slow: true},
		"too few CPUs":     {cpus: 2, nodes: "n0 and 3 more nodes"},
		"next to no loss":  {cpus: 2, lost: map[int]float64{0: .01, 1: .01, 2: .01, 3: .01}, slow: true},
		"others crowded":   {cpus: 3, lost: map[int]float64{0: .4, 1: .01, 2: 0, 3: 0}, slow: true, nodes: "n0"},
		"its node crowded": {cpus: 3, lost: map[int]float64{0: 0, 1: 0, 2: 0, 3: .4}, nodes: "n3"},
	} {
		for i := range run.Nodes {
			run.Nodes[i].CPUs = c.cpus
		}
		p := scheduled(t, run, c.lost)
		if slow := slices.Contains(kinds(p), rundir.PairsSlowLink); slow != c.slow {
			t.Errorf("%s: %v", what, kinds(p))
		}
		said := slices.IndexFunc(p.File.Why, func(text string) bool { return strings.HasPrefix(text, note) })
		switch {
		case c.nodes == "" && said >= 0, c.nodes != "" && said < 0:
			t.Errorf("%s: %q", what, p.File.Why)
		case said >= 0 && !strings.HasPrefix(p.File.Why[said], note+c.nodes+": "):
			t.Errorf("%s: %q", what, p.File.Why[said])
		}
	}
}

// First messages, sizes off the line and heavy pairs are not findings there either; a rank that is late is one, and its
// text says that it may have waited for a core.
func TestCrowdedFindings(t *testing.T) {
	first := newMachine(8, 2)
	first.slowFirst(func(int, int) bool { return true })
	talk(first, random(t), 40, 2)

	r := random(t)
	odd := oddSize(r)

	heavy := newMachine(16, 16)
	for range 50 {
		for rank := range 16 {
			bytes := int64(1024)
			if rank/2 == 3 {
				bytes = 8 << 20
			}
			heavy.do(rank, compute(1_000_000))
			heavy.do(rank, exchange(bytes, rank^1)...)
		}
	}

	late := newMachine(16, 4)
	halo(late, 4, 4, 200, r, func(rank, _ int) int64 {
		if rank == 6 {
			return 500_000
		}
		return 0
	})
	for kind, m := range map[string]*machine{rundir.PairsFirstMessage: first, rundir.PairsIrregular: odd, rundir.PairsHeavyPair: heavy} {
		run := m.run(t)
		lost := make(map[int]float64)
		if p := scheduled(t, run, nil); !slices.Contains(kinds(p), kind) {
			t.Errorf("%s: %v", kind, kinds(p))
		}
		for node := range run.Nodes {
			lost[node] = .3
		}
		if p := scheduled(t, run, lost); slices.Contains(kinds(p), kind) {
			t.Errorf("crowded: %+v", p.File.Findings)
		}
	}
	run := late.run(t)
	const reserve = "; waiting for a core included"
	for _, lost := range []float64{.01, .3} {
		p := scheduled(t, run, map[int]float64{1: lost})
		firstIs(t, p, rundir.PairsLateSender, []int{6})
		if has := strings.HasSuffix(p.File.Findings[0].Text, reserve); has != (lost > .1) {
			t.Errorf("lost %g: %q", lost, p.File.Findings[0].Text)
		}
	}
}

// What the kernel of each node has counted is known to one member: the first learns it.
func TestCrowdedMembers(t *testing.T) {
	m := newMachine(12, 3)
	m.apart(30, func(a, b int) bool { return min(a, b) == 7 && max(a, b) == 10 })
	talk(m, random(t), 100, 1, 3)
	whole := m.run(t)
	of := make([]int32, len(whole.Threads))
	for i := range of {
		of[i] = int32(whole.Threads[i].Node / 2)
	}
	found, err := mpixtest.Run(2, func(m team.Team) (*Pairing, error) {
		run, owners := partOf(whole, of, m.Rank()), team.Threads{Team: m, Of: of}
		b, err := blame.Measure(run, owners, blame.Options{})
		if err != nil {
			return nil, err
		}
		lost := map[int]float64{0: 0, 1: 0}
		if m.Rank() == 1 {
			lost = map[int]float64{2: 0, 3: .4}
		}
		return Measure(run, owners, Options{Blame: b, Scheduling: kernels(run, lost)})
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(found[0].File.Why); !strings.Contains(got, "ranks waited for cores of n3: ") {
		t.Error(got)
	}
}
