package period_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"moriens/analysis/period"
)

// phases are the numbers of iterations of the phases with at least so many.
func phases(r *period.Result, least int) []int {
	var list []int
	for _, p := range r.Phases {
		if p.Iterations >= least {
			list = append(list, p.Iterations)
		}
	}
	return list
}

// several gives threads that do what the program says.
func several(seed uint64, d damage, program func(p *planted, alike *rand.Rand)) []*planted {
	var list []*planted
	for thread := range uint64(3) {
		p := &planted{damage: d, random: rand.New(rand.NewPCG(seed, 1+thread))}
		p.do("ABCABD", 1)
		program(p, rand.New(rand.NewPCG(seed, 0)))
		p.do("E", 1)
		list = append(list, p)
	}
	return list
}

// Two loops, and one that does something else from an iteration on, are two phases each; what three iterations in a row
// do, or slowly changes, is none.
func TestPhasesBetweenDelimiters(t *testing.T) {
	steps := func(p *planted, alike *rand.Rand, first uint32, n int) {
		for range n {
			p.step(first, 4+alike.IntN(2), alike.IntN(2) == 0)
		}
	}
	slower := func(p *planted, n int) { // after each step
		for range n {
			p.burstOf(27, 20_000)
		}
	}
	for _, c := range []struct {
		name    string
		wanted  []int
		program func(p *planted, alike *rand.Rand)
	}{
		{"two loops", []int{30, 40}, func(p *planted, alike *rand.Rand) {
			steps(p, alike, 10, 30)
			p.do("F", 3)
			steps(p, alike, 30, 40)
		}},
		{"one loop, more to do", []int{30, 20}, func(p *planted, alike *rand.Rand) {
			steps(p, alike, 10, 30)
			for range 20 {
				steps(p, alike, 10, 1)
				slower(p, 8)
			}
		}},
		{"for a while", []int{50}, func(p *planted, alike *rand.Rand) {
			steps(p, alike, 10, 30)
			for range 3 {
				steps(p, alike, 10, 1)
				slower(p, 8)
			}
			steps(p, alike, 10, 17)
		}},
		{"more and more", []int{60}, func(p *planted, alike *rand.Rand) {
			for k := range 60 {
				steps(p, alike, 10, 1)
				slower(p, 10+k/10)
			}
		}},
	} {
		for _, other := range []float64{0, .01, .1} {
			mostly(t, fmt.Sprintf("%s, %g disturbed", c.name, other), func(seed uint64) string {
				r := findPlanted(t, plantedThreads(several(seed, damage{other: other}, c.program)))
				if got := phases(r, 10); len(got) != len(c.wanted) || got[0] != c.wanted[0] || got[len(got)-1] != c.wanted[len(got)-1] {
					return fmt.Sprintf("phases of %v iterations, want %v", got, c.wanted)
				}
				return ""
			})
		}
	}
}

// What changes on one thread of several is no phase of the run, though iterations are found by that thread.
func TestOneThreadChangesAlone(t *testing.T) {
	for _, seed := range seeded(t, 10) {
		var list []*planted
		for thread := range uint64(5) {
			p, alike := &planted{random: rand.New(rand.NewPCG(seed, 1+thread))}, rand.New(rand.NewPCG(seed, 0))
			p.do("ABCABD", 1)
			for k := range 60 {
				p.step(10, 4+alike.IntN(2), alike.IntN(2) == 0)
				slow := int64(20_000)
				kind := uint32(27)
				if thread == 3 { // in another cluster for a third of the run
					slow += 20_000 // so it is the one that takes most time
					if k >= 20 && k < 40 {
						kind += otherCluster
					}
				}
				for range 8 {
					p.burstOf(kind, slow)
				}
			}
			p.do("E", 1)
			list = append(list, p)
		}
		r := findPlanted(t, plantedThreads(list))
		if got := phases(r, 10); len(got) != 1 || got[0] != 60 {
			t.Errorf("seed %d: phases of %v iterations, want 60", seed, got)
		}
	}
}

// lookedRegular is a seed of TestNoDelimiter of which runs of two tasks take, one of each together, less various times
// than by chance.
const lookedRegular = 17191470114780184381

// What comes in any order has no delimiter. A few tasks in a row may repeat.
func TestNoDelimiter(t *testing.T) {
	kinds := func(list ...uint32) func(*planted, *rand.Rand) {
		return func(p *planted, random *rand.Rand) {
			for range 2000 {
				k := list[random.IntN(len(list))]
				p.burstOf(k, 1000*int64(1+k%7))
			}
		}
	}
	tasks := func(kinds int, same uint32) func(*planted, *rand.Rand) {
		return func(p *planted, random *rand.Rand) {
			for range 1000 {
				p.burstOf(10+same*uint32(random.IntN(kinds)), 5000)
				p.burstOf(9, 3000)
			}
		}
	}
	for name, program := range map[string]func(*planted, *rand.Rand){
		"coin": kinds(10, 11), "dice": kinds(10, 11, 12, 13, 14, 15), "loaded coin": kinds(10, 10, 10, 11), "clusters by chance": kinds(10, 10+otherCluster, 11),
		"tasks": tasks(4, 1), "two tasks": tasks(2, 1), "tasks of one pair": tasks(4, otherCluster), "two tasks of one pair": tasks(2, otherCluster),
	} {
		wrong := func(seed uint64) string {
			r := findPlanted(t, plantedThreads(several(seed, damage{}, program)))
			if got := phases(r, 40); len(got) > 0 {
				return fmt.Sprintf("phases of %v iterations: %s", got, longest(r).Reason)
			}
			return ""
		}
		mostly(t, name, wrong)
		if why := wrong(lookedRegular); why != "" {
			t.Errorf("%s, seed %d: %s", name, uint64(lookedRegular), why)
		}
	}
}

// Threads may have done nothing, or end early, or be alone.
func TestDelimitersOfFewThreads(t *testing.T) {
	for name, some := range map[string]func(list []period.Thread, early period.Thread) []period.Thread{
		"alone": func(list []period.Thread, _ period.Thread) []period.Thread { return list[:1] },
		"one without bursts": func(list []period.Thread, _ period.Thread) []period.Thread {
			return []period.Thread{list[0], {}, list[1]}
		},
		"one ended early": func(list []period.Thread, early period.Thread) []period.Thread {
			return []period.Thread{list[0], list[1], early}
		},
	} {
		mostly(t, name, func(seed uint64) string {
			d := damage{other: .05}
			p := longest(findPlanted(t, some(plantedThreads(particles(seed, 30, d, false)), particles(seed, 27, d, false)[0].Thread)))
			if p.Iterations != 30 {
				return fmt.Sprintf("%d iterations of 30: %s", p.Iterations, p.Reason)
			}
			return ""
		})
	}
}
