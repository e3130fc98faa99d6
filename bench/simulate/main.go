// Command simulate drives the end of a run whose bursts are kept with the agents, without a network: any number of
// agents, each a real one with the messages of ranks of a synthetic program, the collector's part, and the clustering.
// It prints the cost of each stage, on the model's curve of docs/design/scale.md, and whether the planted kinds were
// found.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"moriens/bench/timing"
)

type options struct {
	Agents, Ranks, Bursts, Sides string
	Side, noise                  float64
	Points                       int64
	counters, equal, one         bool
	eps                          float64
	minPts, split                int
	profile                      string
}

func main() {
	var o options
	flag.StringVar(&o.Agents, "agents", "10,100,1000", "numbers of agents")
	flag.StringVar(&o.Ranks, "ranks", "100", "numbers of ranks of an agent")
	flag.StringVar(&o.Bursts, "bursts", "100", "numbers of bursts of a rank")
	flag.StringVar(&o.Sides, "sides", "0", "sides of a micro-cell, in units of the coordinates; 0 = as by default")
	flag.Float64Var(&o.noise, "noise", 1, "what the spread of all kinds is multiplied by")
	flag.Int64Var(&o.Points, "points", 1<<20, "bytes that the points of bursts may take at each agent")
	flag.BoolVar(&o.counters, "counters", false, "bursts have instructions and cycles, and are clustered by them")
	flag.BoolVar(&o.equal, "equal", false, "compare with the clustering of all bursts in one place")
	flag.BoolVar(&o.one, "one", false, "measure the first of all numbers, in this process, and print it as JSON")
	flag.Float64Var(&o.eps, "eps", 0, "Eps of all groups; 0 = automatic, and refined")
	flag.IntVar(&o.minPts, "min-points", 100, "with -eps: MinPts")
	flag.IntVar(&o.split, "split", 0, "bursts that may be asked for one by one; 0 = as by default, negative = none")
	flag.StringVar(&o.profile, "cpuprofile", "", "with -one: file for a profile of what comes behind the ranks")
	flag.Parse()
	if err := o.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

// run measures every combination, each in a separate process, and prints the tables. What was planted and not found,
// and labels that differ, are an error after them.
func (o *options) run(out io.Writer) error {
	jobs, sides, err := o.jobs()
	if err != nil {
		return err
	}
	if o.one {
		o.Side = sides[0]
		e, err := measure(jobs[0], o)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(e)
	}
	var ends []*end
	for _, j := range jobs {
		for _, side := range sides {
			e, err := o.apart(j, side)
			if err != nil {
				return err
			}
			ends = append(ends, e)
		}
	}
	if err := printTables(out, ends); err != nil {
		return err
	}
	return failures(ends)
}

// apart measures in another process.
func (o *options) apart(j job, side float64) (*end, error) {
	text, err := timing.Output(nil, os.Args[0], "-one", "-agents", strconv.Itoa(j.Agents), "-ranks", strconv.Itoa(j.Ranks), "-bursts", strconv.Itoa(j.Bursts),
		"-sides", strconv.FormatFloat(side, 'g', -1, 64), "-noise", strconv.FormatFloat(o.noise, 'g', -1, 64), "-points", strconv.FormatInt(o.Points, 10),
		"-counters="+strconv.FormatBool(o.counters), "-equal="+strconv.FormatBool(o.equal), "-eps", strconv.FormatFloat(o.eps, 'g', -1, 64), "-min-points", strconv.Itoa(o.minPts), "-split", strconv.Itoa(o.split))
	if err != nil {
		return nil, err
	}
	e := new(end)
	if err := json.Unmarshal([]byte(text), e); err != nil {
		return nil, fmt.Errorf("%w in %q", err, text)
	}
	return e, nil
}

// failures is an error if the result of an end is not as planted.
func failures(ends []*end) error {
	var errs []error
	for _, e := range ends {
		if e.Found < e.Kinds {
			errs = append(errs, fmt.Errorf("%d ranks with %d bursts each: %s", e.Job.ranks(), e.Job.bursts(), strings.Join(e.Lost, "; ")))
		}
		if e.Certificate.Exact && e.SameEps && e.Differ > 0 {
			errs = append(errs, fmt.Errorf("%d ranks with %d bursts each are certified, and yet: %s", e.Job.ranks(), e.Job.bursts(), e.Equal))
		}
	}
	return errors.Join(errs...)
}

// jobs are all combinations of the numbers.
func (o *options) jobs() ([]job, []float64, error) {
	var lists [3][]int
	for i, list := range []struct{ name, text string }{{"-agents", o.Agents}, {"-ranks", o.Ranks}, {"-bursts", o.Bursts}} {
		var err error
		if lists[i], err = timing.Numbers(list.name, list.text); err != nil {
			return nil, nil, err
		}
	}
	var sides []float64
	for _, field := range strings.Split(o.Sides, ",") {
		side, err := strconv.ParseFloat(field, 64)
		if err != nil || !(side >= 0) {
			return nil, nil, fmt.Errorf("-sides %s: want numbers ≥ 0", o.Sides)
		}
		sides = append(sides, side)
	}
	var jobs []job
	for _, agents := range lists[0] {
		for _, ranks := range lists[1] {
			for _, bursts := range lists[2] {
				jobs = append(jobs, job{Agents: agents, Ranks: ranks, Bursts: bursts, Counters: o.counters, Noise: o.noise})
			}
		}
	}
	return jobs, sides, nil
}
