// Command agent measures what a node's agent takes of its node while ranks run, and prints a table in Markdown:
//
//	make bench-agent
//
// Agent and collector are separate processes, as in a batch job, with TLS between them. This process writes the rings
// as libmoriens.so would: each of so many MPI calls a second, a send with two counters of the burst before it, every
// tenth a reduction of all ranks. The measurement covers a stretch in the middle of the run, without its start and its
// end. With several directories of programs each measurement is made with all of them in turn, so that versions can be
// compared on a machine that does other things too.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"moriens/bench/timing"
)

func main() {
	var p plan
	flag.StringVar(&p.ranks, "ranks", "1,4,16,64", "numbers of ranks on the node")
	flag.IntVar(&p.load.rate, "rate", 1000, "MPI calls a second of each rank; 0: every other rank is in one all the time, and the others compute")
	flag.IntVar(&p.rounds, "rounds", 3, "measurements of each")
	flag.DurationVar(&p.load.warm, "warm", 10*time.Second, "how long ranks run before it is measured")
	flag.DurationVar(&p.load.span, "for", 30*time.Second, "how long is measured")
	bin := flag.String("bin", "bin", "directories with moriens, by commas")
	flag.Parse()
	p.bins = strings.Split(*bin, ",")
	if err := run(os.Stdout, p); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

// A plan is what is measured.
type plan struct {
	bins   []string // directories of programs
	ranks  string   // numbers, by commas
	rounds int
	load   load // without its ranks
}

// run prints a row for each number of ranks and each directory of programs: the medians of the measurements, of
// processor time the least and the greatest too.
func run(out io.Writer, p plan) error {
	list, err := timing.Numbers("-ranks", p.ranks)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "| ranks | calls/s of each | programs | agent, ms/s | % of a core per rank | least … greatest | us a call | sleeps/s | MiB at most | of it rings, MiB | collector, ms/s | us a call | sleeps/s |")
	fmt.Fprintln(out, "|"+strings.Repeat("---|", 13))
	for _, ranks := range list {
		costs := make([][]cost, len(p.bins))
		l := p.load
		l.ranks = ranks
		for range p.rounds {
			for i, bin := range p.bins {
				c, err := measure(bin, l)
				if err != nil {
					return err
				}
				costs[i] = append(costs[i], c)
			}
		}
		for i, bin := range p.bins {
			printRow(out, bin, l, costs[i])
		}
	}
	return nil
}

func printRow(out io.Writer, bin string, l load, costs []cost) {
	const mib = 1 << 20
	of := func(figure func(cost) float64) (least, median, greatest float64) {
		var list []float64
		for _, c := range costs {
			list = append(list, figure(c))
		}
		return timing.Interval(list)
	}
	calls := float64(l.ranks * l.rate)
	least, median, greatest := of(func(c cost) float64 { return 100 * c.agent / float64(l.ranks) })
	_, sleeps, _ := of(func(c cost) float64 { return c.sleeps })
	_, peak, _ := of(func(c cost) float64 { return c.peak })
	_, rings, _ := of(func(c cost) float64 { return c.rings })
	_, collector, _ := of(func(c cost) float64 { return c.collector })
	_, itsSleeps, _ := of(func(c cost) float64 { return c.itsSleeps })
	perCall := func(seconds float64) string {
		if calls == 0 {
			return "-"
		}
		return fmt.Sprintf("%.2f", seconds*1e6/calls)
	}
	agent := median * float64(l.ranks) / 100
	fmt.Fprintf(out, "| %d | %d | %s | %.2f | %.3f | %.3f … %.3f | %s | %.0f | %.0f | %.0f | %.2f | %s | %.0f |\n", l.ranks, l.rate, bin, 1e3*agent, median, least, greatest,
		perCall(agent), sleeps, peak/mib, rings/mib, 1e3*collector, perCall(collector), itsSleeps)
}
