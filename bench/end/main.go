// Command end measures how much time and memory the end of a run takes, stage by stage, and prints tables in
// Markdown:
//
//	make bench-moriens
//
// Simulated agents have sent what the ranks of a stencil code did: two phases of iterations, a slow rank, an odd
// iteration. From then on everything is as at the end of a job: the data is recounted, clustered and reduced to
// windows, the agents send these, and the run directory is written. Each job is measured in a separate process.
// Processor time does not depend on other load of the machine; elapsed time does.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"moriens/bench/timing"
	"moriens/conclude/retention"
)

func main() {
	p := plan{keep: retention.Options{Budget: retention.DefaultBudget}}
	flag.StringVar(&p.bursts, "bursts", "1000000,10000000", "numbers of bursts")
	flag.StringVar(&p.ranks, "ranks", "100,1000,10000", "numbers of ranks")
	flag.BoolVar(&p.counters, "counters", false, "bursts have instructions and cycles, and are clustered by them")
	flag.Func("keep", "bytes that a run directory may take, for example 16MiB", func(text string) error { return p.keep.Budget.UnmarshalText([]byte(text)) })
	flag.IntVar(&p.peers, "peers", 0, "other ranks that each rank has counted messages with, each way; 0 = none")
	flag.IntVar(&p.phases, "phases", 0, "phases that the program marks in each iteration, which is one itself; 0 = it marks none")
	flag.BoolVar(&p.keep.All, "all", false, "with -one: keep every burst and call")
	flag.IntVar(&p.rounds, "rounds", 0, "measure in so many rounds, and print the least and the most of what rebuild and cluster take, and the median of each stage")
	flag.StringVar(&p.before, "before", "", "with -rounds: this command of an earlier version, which is measured in turn")
	flag.BoolVar(&p.one, "one", false, "measure one number of bursts and ranks, in this process, and print it as JSON")
	flag.StringVar(&p.profile, "cpuprofile", "", "with -one: file for a profile of what comes behind the agents")
	flag.StringVar(&p.dir, "dir", "", "with -one: write the run directory here and leave it; without, it is removed")
	flag.DurationVar(&p.limit, "timeout", 0, "with -one: how long the end may take, as --moriens-timeout; 0 = any time")
	flag.Parse()
	if err := run(os.Stdout, p); err != nil {
		fmt.Fprintln(os.Stderr, "end:", err)
		os.Exit(1)
	}
}

// A plan is what is measured.
type plan struct {
	bursts, ranks string // numbers, by commas
	counters      bool
	peers, phases int
	keep          retention.Options
	rounds        int    // 0 = one of each, with all stages
	before        string // command of an earlier version, "" = none
	one           bool   // the first of the numbers, in this process
	profile, dir  string // files and directory of that one, "" = none
	limit         time.Duration
}

func run(out io.Writer, p plan) error {
	bursts, err := timing.Numbers("-bursts", p.bursts)
	if err != nil {
		return err
	}
	ranks, err := timing.Numbers("-ranks", p.ranks)
	if err != nil {
		return err
	}
	if p.one {
		if p.peers < 0 || p.peers >= ranks[0] {
			return fmt.Errorf("-peers %d of %d ranks: give 0 to %d", p.peers, ranks[0], ranks[0]-1)
		}
		j := newJob(ranks[0], bursts[0], p.counters)
		if p.phases < 0 || p.phases > len(kinds[0]) {
			return fmt.Errorf("-phases %d: give 0 to %d", p.phases, len(kinds[0]))
		}
		j.peers, j.phases = p.peers, p.phases
		e, err := measure(j, p.keep, p.profile, p.dir, p.limit)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(e)
	}
	if p.rounds > 0 {
		return runRounds(out, p, bursts, ranks)
	}
	var ends []end
	for _, n := range bursts {
		for _, r := range ranks {
			e, err := p.measured(os.Args[0], n, r)
			if err != nil {
				return err
			}
			ends = append(ends, e)
		}
	}
	return printTables(out, ends)
}

// measured is what a command, of this or an earlier version, has measured in a process of its own.
func (p *plan) measured(command string, bursts, ranks int) (e end, err error) {
	options := []string{command, "-one", "-bursts", strconv.Itoa(bursts), "-ranks", strconv.Itoa(ranks), "-counters=" + strconv.FormatBool(p.counters), "-peers", strconv.Itoa(p.peers),
		"-keep", strconv.FormatInt(int64(p.keep.Budget), 10)}
	if p.phases > 0 { // earlier versions have no such option
		options = append(options, "-phases", strconv.Itoa(p.phases))
	}
	text, err := timing.Output(nil, options...)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return e, fmt.Errorf("%w in %q", err, text)
	}
	return e, nil
}
