// Command endbench measures how much time and memory the end of a run takes, stage by stage, and prints tables in
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
	bursts := flag.String("bursts", "1000000,10000000", "numbers of bursts")
	ranks := flag.String("ranks", "100,1000,10000", "numbers of ranks")
	counters := flag.Bool("counters", false, "bursts have instructions and cycles, and are clustered by them")
	keep := retention.DefaultBudget
	flag.Func("keep", "bytes that a run directory may take, for example 16MiB", func(text string) error { return keep.UnmarshalText([]byte(text)) })
	all := flag.Bool("all", false, "with -one: keep every burst and call")
	one := flag.Bool("one", false, "measure one number of bursts and ranks, in this process, and print it as JSON")
	profile := flag.String("cpuprofile", "", "with -one: file for a profile of what comes behind the agents")
	dir := flag.String("dir", "", "with -one: write the run directory here and leave it; without, it is removed")
	limit := flag.Duration("timeout", 0, "with -one: how long the end may take, as --moriens-timeout; 0 = any time")
	flag.Parse()
	if err := run(os.Stdout, *bursts, *ranks, *counters, retention.Options{Budget: keep, All: *all}, *one, *profile, *dir, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "endbench:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, burstList, rankList string, counters bool, keep retention.Options, one bool, profile, dir string, limit time.Duration) error {
	bursts, err := timing.Numbers("-bursts", burstList)
	if err != nil {
		return err
	}
	ranks, err := timing.Numbers("-ranks", rankList)
	if err != nil {
		return err
	}
	if one {
		e, err := measure(newJob(ranks[0], bursts[0], counters), keep, profile, dir, limit)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(e)
	}
	var ends []end
	for _, n := range bursts {
		for _, r := range ranks {
			text, err := timing.Output(nil, os.Args[0], "-one", "-bursts", strconv.Itoa(n), "-ranks", strconv.Itoa(r), "-counters="+strconv.FormatBool(counters), "-keep", strconv.FormatInt(int64(keep.Budget), 10))
			if err != nil {
				return err
			}
			var e end
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				return fmt.Errorf("%w in %q", err, text)
			}
			ends = append(ends, e)
		}
	}
	return printTables(out, ends)
}
