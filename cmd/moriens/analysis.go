package main

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
)

// spaceFlags say where bursts lie: agents that keep them as micro-cells need the collector's.
type spaceFlags struct {
	Dims        string  `help:"Dimensions of the burst space: a quantity each, with :log or :lin (default: PAPI_TOT_INS:log,IPC where they are counted, else duration:log)." placeholder:"SPEC"`
	By          string  `help:"Cluster the bursts of each pair of surrounding MPI call paths apart (calls), or all together (none); auto: none where a counter is a dimension." enum:"calls,none,auto" default:"${by}"`
	MinDuration string  `help:"Leave out shorter bursts; auto: the shortest that together make up less than 1 % of the computing time (default: ${minDuration})." placeholder:"TIME" default:"${minDuration}"`
	Resolution  float64 `help:"Lower bound for automatically chosen Eps, in units of the dimensions (default for logarithmic durations: 0.01 where basins of density split, else 0.1)." placeholder:"R"`
}

// analysisFlags say how bursts become clusters.
type analysisFlags struct {
	spaceFlags
	DBSCAN    string  `name:"dbscan" help:"Eps and MinPts of all clusters, without refinement (default: found from the data)." placeholder:"EPS,MINPTS"`
	MinPoints int     `help:"MinPts of all clusters (default: max(4, threads/4, bursts/200), less where many bursts are of smaller kinds)." placeholder:"K"`
	Freeze    float64 `help:"Of a sample of the bursts, where there is no time for all: score from which on a cluster is not refined, 0 to 1 (default: 0.99)." placeholder:"S"`
	Strict    bool    `help:"Refine by ClusteringSuite's rules, to compare: dimensions scaled to their range, MinPts max(2, threads/4), the last step is the answer."`
	Kinds     string  `help:"Which clusters are one kind of computation: those that order (the bursts before, after and on other ranks) does not separate, or with density each cluster by itself (default: order)." placeholder:"METHOD"`
	Align     bool    `name:"align-ranks" help:"Before clustering, correct the durations of ranks that are slower in everything." default:"true" negatable:""`
	Strata    bool    `help:"Cluster bursts separately by the bursts around them, or by rank, where that changes their durations." default:"true" negatable:""`
	Threads   int     `help:"Threads to analyse with (default: all CPUs)." placeholder:"N"`
}

// space is the part of the options that these flags give.
func (f *spaceFlags) space() (o grouping.Options, err error) {
	o.Resolution = f.Resolution
	if f.Dims != "" {
		if o.Dims, err = space.Parse(f.Dims); err != nil {
			return o, usage(fmt.Errorf("--dims: %w", err), "for example --dims duration:log")
		}
	}
	o.By = grouping.ByAuto
	if f.By != "auto" {
		if o.By, err = grouping.ParseBy(f.By); err != nil {
			return o, usage(fmt.Errorf("--by: %w", err), "--by calls, --by none or --by auto")
		}
	}
	if f.MinDuration == "auto" {
		o.Filter.Auto = true
	} else if d, err := time.ParseDuration(f.MinDuration); err != nil || d < 0 {
		return o, usage(fmt.Errorf("--min-duration: %q is not a duration", f.MinDuration), "for example --min-duration 100us, 0 for no filter, or auto")
	} else {
		o.Filter.MinNS = d.Nanoseconds()
	}
	if !(f.Resolution >= 0 && f.Resolution < 1e300) {
		return o, usage(fmt.Errorf("--resolution=%v", f.Resolution), "it is a number from 0 up; leave it out for the default")
	}
	return o, nil
}

func (a *analysisFlags) options() (grouping.Options, error) {
	o, err := a.space()
	if err != nil {
		return o, err
	}
	o.MinPts, o.Freeze, o.Strict, o.Workers = a.MinPoints, a.Freeze, a.Strict, a.Threads
	if !(a.Freeze >= 0 && a.Freeze <= 1) {
		return o, usage(fmt.Errorf("--freeze: %v is not a score", a.Freeze), "a score is from 0 to 1")
	}
	if a.Strict && (a.DBSCAN != "" || a.Freeze != 0) {
		return o, usage(errors.New("--strict has its own densities and freezes at a score of 1"), "leave out --dbscan and --freeze")
	}
	if a.DBSCAN != "" {
		if o.Fixed, err = parseDensity(a.DBSCAN); err != nil {
			return o, usage(fmt.Errorf("--dbscan: %w", err), "for example --dbscan 0.1,4")
		}
		if a.MinPoints != 0 || a.Resolution != 0 || a.Freeze != 0 {
			return o, usage(errors.New("--dbscan gives Eps and MinPts, and there is no refinement"), "leave out --min-points, --resolution and --freeze")
		}
	}
	if err := a.kinds(&o); err != nil {
		return o, err
	}
	if a.MinPoints < 0 || a.Threads < 0 {
		return o, usage(errors.New("--min-points and --threads are numbers from 0 up"), "leave the option out for the default")
	}
	if o.Workers == 0 {
		o.Workers = runtime.NumCPU()
	}
	return o, nil
}

// kinds sets how clusters become kinds of computation.
func (a *analysisFlags) kinds(o *grouping.Options) (err error) {
	o.Unaligned, o.Unstrated = !a.Align, !a.Strata
	if (a.Strict || a.DBSCAN != "") && (a.Kinds != "" || !a.Align || !a.Strata) {
		return usage(errors.New("--strict and --dbscan do not use kinds"), "leave out --kinds, --align-ranks and --strata")
	}
	if a.Kinds != "" {
		if o.Kinds, err = grouping.ParseKinds(a.Kinds); err != nil {
			return usage(fmt.Errorf("--kinds: %w", err), "--kinds order or --kinds density")
		}
	}
	return nil
}

func parseDensity(s string) (*grouping.Density, error) {
	epsText, minPtsText, both := strings.Cut(s, ",")
	if !both {
		return nil, fmt.Errorf("%q is not EPS,MINPTS", s)
	}
	eps, err := strconv.ParseFloat(strings.TrimSpace(epsText), 64)
	if err != nil || !(eps >= 0 && eps < 1e300) {
		return nil, fmt.Errorf("the Eps %q is not a number from 0 up", epsText)
	}
	minPts, err := strconv.Atoi(strings.TrimSpace(minPtsText))
	if err != nil || minPts < 1 {
		return nil, fmt.Errorf("the MinPts %q is not a whole number from 1 up", minPtsText)
	}
	return &grouping.Density{Eps: eps, MinPts: minPts}, nil
}
