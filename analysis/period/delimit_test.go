package period_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"moriens/analysis/period"
	"moriens/conclude/levels"
	"moriens/internal/team"
	"moriens/internal/testenv"
	"moriens/trace/prv"
)

// seeded gives seeds that differ from run to run, and prints them where the test fails; MORIENS_SEED gives the first.
func seeded(t *testing.T, n int) []uint64 {
	t.Helper()
	first := testenv.Seed(t)
	list := make([]uint64, n)
	for i := range list {
		list[i] = first + uint64(i)
	}
	return list
}

// mostly draws what a program does and sees that all but one of ten are right. Steps are drawn, and of some hundred
// rows of them one repeats by chance: where more are wrong, 40 more are drawn, of which one in twenty may be.
func mostly(t *testing.T, name string, wrong func(seed uint64) string) {
	t.Helper()
	failed := 0
	draw := func(n int) {
		for _, seed := range seeded(t, n) {
			if why := wrong(seed); why != "" {
				failed++
				t.Logf("%s, seed %d: %s", name, seed, why)
			}
		}
	}
	if draw(10); failed <= 1 {
		return
	}
	failed = 0
	if draw(40); failed > 2 {
		t.Errorf("%s: %d of 40 are wrong", name, failed)
	}
}

const (
	plantedCalls = 60           // pairs of calls of planted programs
	otherCluster = plantedCalls // added to a symbol, and twice and three times: the same pair with another cluster
)

// plantedPairs gives symbols as pairs of calls.
func plantedPairs() []uint32 {
	list := make([]uint32, 4*plantedCalls)
	for i := range list {
		list[i] = uint32(i % plantedCalls)
	}
	return list
}

// A damage is done to a planted sequence: shares of bursts that get another cluster, are added, are lost, and of
// iterations in which half of all bursts get another cluster for a while.
type damage struct{ other, more, lost, bursty float64 }

// A planted is one thread and where its iterations begin.
type planted struct {
	script
	damage
	random  *rand.Rand
	begins  []int32
	changed int // bursts still to be disturbed
	quiet   int // iterations until more may be
}

func (p *planted) burstOf(symbol uint32, ns int64) {
	if p.changed > 0 {
		p.changed--
		if p.random.IntN(2) == 0 {
			symbol += otherCluster
		}
	}
	x := p.random.Float64()
	switch {
	case x < p.other:
		p.burst(symbol%plantedCalls+otherCluster*uint32(1+p.random.IntN(3)), 2*ns)
	case x < p.other+p.lost:
		p.nowNS += ns
	default:
		p.burst(symbol, ns)
	}
	if p.random.Float64() < p.more {
		p.burst(59, 300)
	}
}

// step is one of a particle code: as in EPOCH, every second or so sorts, and loops within go round as often as there is
// to do. Rounds occur as often on all threads.
func (p *planted) step(first uint32, rounds int, sorts bool) {
	p.begins = append(p.begins, int32(len(p.Symbols)))
	if p.quiet--; p.quiet < 0 && p.random.Float64() < p.bursty {
		p.quiet = 10
		p.changed = 30 + p.random.IntN(60)
	}
	for k := range uint32(8) {
		p.burstOf(first+k, 20_000)
	}
	for range rounds {
		p.burstOf(first+8, 400)
		p.burstOf(first+9, 500)
		p.burstOf(first+9, 500)
	}
	for k := range uint32(4) {
		p.burstOf(first+10+k, 15_000)
	}
	if sorts {
		for range 5 {
			p.burstOf(first+14, 200)
			p.burstOf(first+15, 300)
		}
	}
	p.burstOf(first+16, 10_000)
}

// particles gives threads that take steps of which hardly two are the same.
func particles(seed uint64, steps int, d damage, anchored bool) []*planted {
	var list []*planted
	for thread := range uint64(3) {
		alike := rand.New(rand.NewPCG(seed, 0))
		p := &planted{damage: d, random: rand.New(rand.NewPCG(seed, 1+thread))}
		p.do("ABCABD", 1)
		for range steps {
			rounds, sorts := 4+alike.IntN(2), alike.IntN(2) == 0
			if anchored {
				p.do("|", 1)
			}
			p.step(10, rounds, sorts)
		}
		p.begins = append(p.begins, int32(len(p.Symbols)))
		p.do("E", 1)
		list = append(list, p)
	}
	return list
}

func plantedThreads(list []*planted) []period.Thread {
	var all []period.Thread
	for _, p := range list {
		all = append(all, p.Thread)
	}
	return all
}

// findPlanted finds phases by calls as one process and as a team.
func findPlanted(t *testing.T, list []period.Thread) *period.Result {
	t.Helper()
	o := period.Options{Workers: 2, Calls: plantedPairs()}
	r, err := period.Find(list, o)
	if err != nil {
		t.Fatal(err)
	}
	checkPartition(t, list, r)
	checkTeam(t, list, o, inTurns(len(list), 2), 2, r)
	return r
}

// longest is the phase with most time in iterations.
func longest(r *period.Result) period.Phase {
	return slices.MaxFunc(r.Phases, func(a, b period.Phase) int {
		return int(int64(a.Iterations)*a.MedianNS - int64(b.Iterations)*b.MedianNS)
	})
}

func TestStepsBetweenDelimiters(t *testing.T) {
	for _, c := range []struct {
		name string
		damage
		wrong int // at most: steps that repeat in all but one place are not delimited, and may lack the last iteration
	}{
		{"clean", damage{}, 1},
		{"1 % disturbed", damage{other: .01}, 1},
		{"10 % disturbed", damage{other: .1}, 1},
		{"30 % disturbed", damage{other: .3}, 1},
		{"disturbed in bursts", damage{bursty: .1}, 1},
		{"1 % added and lost", damage{more: .005, lost: .005}, 3},
	} {
		for _, anchored := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, anchored %v", c.name, anchored), func(t *testing.T) {
				mostly(t, c.name, func(seed uint64) string {
					list := particles(seed, 60, c.damage, anchored)
					p := longest(findPlanted(t, plantedThreads(list)))
					if off := c.off(p, list); off > c.wrong {
						return fmt.Sprintf("%d are wrong of 60: %s", off, p.Reason)
					}
					return ""
				})
			})
		}
	}
}

// off is how many iterations are wrong on the worst thread. Where bursts are lost, delimiters are as well, and only the
// number counts.
func (d damage) off(p period.Phase, list []*planted) int {
	most := max(p.Iterations-60, 60-p.Iterations)
	for i, l := range p.Threads {
		if d.lost == 0 {
			most = max(most, apart(l.Begins, list[i].begins))
		}
	}
	return most
}

// apart is how many begins are in one list alone, of both the mean.
func apart(a, b []int32) int {
	common := 0
	for _, x := range a {
		_, has := slices.BinarySearch(b, x)
		common += map[bool]int{true: 1}[has]
	}
	return max(len(a), len(b)) - common
}

// TestEpoch has a particle-in-cell code of ten steps, every second of which sorts; hardly two steps side by side repeat
// exactly.
func TestEpoch(t *testing.T) {
	for _, name := range []string{"epoch_2proc.prv.gz", "epoch_4proc.prv.gz"} {
		read, err := prv.ReadFile(testenv.RealTrace(t, name), prv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		table, err := levels.Symbols(read.Run, team.Threads{}, 2)
		if err != nil {
			t.Fatal(err)
		}
		var list []period.Thread
		for i := range read.Run.Threads {
			b := &read.Run.Threads[i].Bursts
			list = append(list, period.Thread{Symbols: table.Threads[i], BeginNS: b.StartNS, DurationNS: b.DurationNS})
		}
		r, err := period.Find(list, period.Options{Workers: 2, Calls: table.Calls()})
		if err != nil {
			t.Fatal(err)
		}
		checkPartition(t, list, r)
		p := longest(r)
		if p.Iterations != 10 {
			t.Errorf("%s: %d iterations of 10: %s", name, p.Iterations, p.Reason)
		}
		for i, l := range p.Threads {
			for k := range len(l.Begins) - 1 {
				if x, first := list[i].Symbols[l.Begins[k]], list[i].Symbols[l.Begins[0]]; x != first {
					t.Errorf("%s: iteration %d of thread %d begins with %d, the first with %d", name, k, i, x, first)
				}
			}
		}
	}
}
