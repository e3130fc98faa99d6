// Command pairs measures the algorithms behind `moriens pairs`, and prints tables in Markdown: linkage and its cut, of
// stencils of so many ranks, beside scipy on the dense matrix where that has room; placement on shuffled tori, beside
// METIS and Scotch where they are installed; and lines of messages. Times are processor time, the least of some rounds:
// they hold on a machine that has other work too.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"moriens/analysis/line"
	"moriens/analysis/linkage"
	"moriens/analysis/placement"
)

func main() {
	rounds := flag.Int("rounds", 3, "rounds, of which the least time is printed")
	flag.Parse()
	for _, part := range []func(rounds int) error{linkages, placements, lines} {
		if err := part(*rounds); err != nil {
			fmt.Fprintln(os.Stderr, "pairs:", err)
			os.Exit(1)
		}
		fmt.Println()
	}
}

// processorTime is what all threads of this process have used so far.
func processorTime() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// least does work several times, and gives the least processor time and what was allocated once.
func least(rounds int, work func() error) (seconds float64, allocated uint64, err error) {
	seconds = math.Inf(1)
	for range rounds {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		from, err := processorTime()
		if err != nil {
			return 0, 0, err
		}
		if err := work(); err != nil {
			return 0, 0, err
		}
		to, err := processorTime()
		if err != nil {
			return 0, 0, err
		}
		runtime.ReadMemStats(&after)
		seconds, allocated = min(seconds, (to-from).Seconds()), after.TotalAlloc-before.TotalAlloc
	}
	return seconds, allocated, nil
}

const mb = 1e6

// linkages are of ranks with 26 neighbours each.
func linkages(rounds int) error {
	fmt.Println("| ranks | pairs | linkage | s | MB allocated | scipy, s | scipy, MB |")
	fmt.Println("| ---: | ---: | --- | ---: | ---: | ---: | ---: |")
	for _, c := range []struct {
		ranks int
		link  string
	}{{2_000, "single"}, {2_000, "average"}, {20_000, "average"}, {100_000, "single"}, {100_000, "average"}} {
		edges := stencil(c.ranks)
		link := linkage.Single
		if c.link == "average" {
			link = linkage.Average
		}
		seconds, allocated, err := least(rounds, func() error {
			tree, err := link(c.ranks, edges)
			if err == nil {
				tree.Best(edges)
			}
			return err
		})
		if err != nil {
			return err
		}
		peer := "- | -" // the matrix has no room
		if c.ranks <= 2_000 {
			peer = scipy(c.ranks, edges, c.link, rounds)
		}
		fmt.Printf("| %d | %d | %s and cut | %.3f | %.0f | %s |\n", c.ranks, len(edges), c.link, seconds, float64(allocated)/mb, peer)
	}
	return nil
}

// stencil is of ranks in a box, each with the 26 round it, those at the ends of the box too.
func stencil(ranks int) []linkage.Edge {
	side := int(math.Ceil(math.Cbrt(float64(ranks))))
	r := rand.New(rand.NewPCG(1, 2))
	var edges []linkage.Edge
	for a := range ranks {
		at := [3]int{a % side, a / side % side, a / side / side}
		for k := range 27 {
			b, factor := 0, 1
			for d, step := range [3]int{k % 3, k / 3 % 3, k / 9} {
				b += (at[d] + step - 1 + side) % side * factor
				factor *= side
			}
			if a < b && b < ranks {
				edges = append(edges, linkage.Edge{A: int32(a), B: int32(b), Weight: math.Exp(r.NormFloat64())})
			}
		}
	}
	slices.SortFunc(edges, func(a, b linkage.Edge) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) })
	return slices.Compact(edges)
}

// placements are of shuffled tori on hosts that each have room for a square or a cube, which is best.
func placements(rounds int) error {
	fmt.Println("| torus | hosts | at best | moriens | s | METIS k-way | s | METIS bisection | s | Scotch | s |")
	fmt.Println("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, c := range []struct{ side, dimensions, square int }{{16, 2, 4}, {32, 2, 8}, {64, 2, 8}, {16, 3, 4}, {128, 2, 8}} {
		ranks, hosts, face := 1, 1, 1
		for range c.dimensions {
			ranks, hosts, face = ranks*c.side, hosts*(c.side/c.square), face*c.square
		}
		edges := torus(ranks, c.side)
		room := make([]int32, hosts)
		for i := range room {
			room[i] = int32(ranks / hosts)
		}
		var plan *placement.Plan
		seconds, _, err := least(rounds, func() (err error) {
			plan, err = placement.Advise(ranks, edges, room, nil)
			return err
		})
		if err != nil {
			return err
		}
		best := hosts * c.dimensions * face / c.square
		fmt.Printf("| %d^%d | %d | %d | %g | %.2f |%s\n", c.side, c.dimensions, hosts, best, plan.Between, seconds, partitioners(ranks, edges, hosts, rounds))
	}
	return nil
}

func torus(ranks, side int) []placement.Edge {
	number := rand.New(rand.NewPCG(3, 4)).Perm(ranks)
	var edges []placement.Edge
	for at := range ranks {
		for step := 1; step < ranks; step *= side {
			to := at + step
			if at/step%side == side-1 {
				to -= step * side
			}
			edges = append(edges, placement.Edge{A: int32(number[at]), B: int32(number[to]), Weight: 1})
		}
	}
	return edges
}

// lines are of messages of 24 sizes.
func lines(rounds int) error {
	fmt.Println("| messages | sizes | added, million a second | fit, ms |")
	fmt.Println("| ---: | ---: | ---: | ---: |")
	for _, sizes := range []int64{8, 24, 200} {
		const messages = 4_000_000
		r := rand.New(rand.NewPCG(5, 6))
		bytes, ns := make([]int64, 1<<16), make([]int64, 1<<16)
		for i := range bytes {
			bytes[i] = 64 + 4096*r.Int64N(sizes)
			ns[i] = int64((1500 + float64(bytes[i])/10) * (1 + .3*r.ExpFloat64()))
		}
		var times line.Times
		add, _, err := least(rounds, func() error {
			times = line.Times{}
			for i := range messages {
				times.Add(bytes[i%len(bytes)], ns[i%len(bytes)], 1)
			}
			return nil
		})
		if err != nil {
			return err
		}
		fit, _, err := least(rounds, func() error { times.Fit(); return nil })
		if err != nil {
			return err
		}
		fmt.Printf("| %d | %d | %.0f | %.1f |\n", messages, sizes, messages/add/1e6, fit*1e3)
	}
	return nil
}
