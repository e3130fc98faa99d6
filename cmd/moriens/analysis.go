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
	Dims        string  `help:"Quantities by which bursts are compared, each with :log or :lin, separated by commas (default: PAPI_TOT_INS:log,IPC if counted, else duration:log)." placeholder:"SPEC"`
	By          string  `help:"Cluster bursts separately for each pair of surrounding MPI call paths (calls), or all together (none); auto: none if a counter is a dimension, otherwise calls (default: ${by})." enum:"calls,none,auto" default:"${by}" placeholder:"HOW"`
	MinDuration string  `help:"Do not cluster shorter bursts; auto: the shortest ones that together take less than 1 % of computing time (default: ${minDuration})." placeholder:"TIME" default:"${minDuration}"`
	Resolution  float64 `help:"Lower bound of Eps, DBSCAN's radius, where it is chosen from the data; in units of the dimensions (default: of logarithmic durations 0.01 where these have distinct peaks, else 0.1)." placeholder:"R"`
}

// analysisFlags say how bursts become clusters.
type analysisFlags struct {
	spaceFlags
	DBSCAN    string  `name:"dbscan" help:"Eps (radius) and MinPts (bursts within it) of DBSCAN for all clusters, without refinement (default: chosen from the data)." placeholder:"EPS,MINPTS"`
	MinPoints int     `help:"MinPts of DBSCAN for all clusters (default: max(4, T/4, bursts/200) for T measured threads, lower if many bursts belong to smaller kinds)." placeholder:"K"`
	Freeze    float64 `help:"If time allows clustering only a sample of the bursts: do not split clusters whose score is at least S, 0 to 1 (default: 0.99)." placeholder:"S"`
	Strict    bool    `help:"Refine by the rules of ClusteringSuite, for comparison: dimensions scaled to their range, MinPts max(2, T/4) for T measured threads, result of the last step."`
	Kinds     string  `help:"How clusters become kinds of computation. order: merge clusters that the bursts before, after and on other ranks do not separate; density: each cluster is a kind (default: order)." placeholder:"METHOD"`
	Align     bool    `name:"align-ranks" help:"Before clustering, divide the durations of uniformly slower ranks by their slowdown. Reported durations are as measured (default: on)." default:"true" negatable:""`
	Strata    bool    `help:"Cluster bursts separately by the bursts around them or by rank, where their durations depend on these (default: on)." default:"true" negatable:""`
	Threads   int     `help:"CPU threads that the analysis uses (default: all)." placeholder:"N"`
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
		return o, usage(fmt.Errorf("--resolution=%v", f.Resolution), "give a number of at least 0, or leave the option out for the default")
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
		return o, usage(fmt.Errorf("--freeze: %v is not a score", a.Freeze), "a score is between 0 and 1")
	}
	if a.Strict && (a.DBSCAN != "" || a.Freeze != 0) {
		return o, usage(errors.New("--strict chooses Eps and MinPts itself and freezes at a score of 1"), "leave out --dbscan and --freeze")
	}
	if a.DBSCAN != "" {
		if o.Fixed, err = parseDensity(a.DBSCAN); err != nil {
			return o, usage(fmt.Errorf("--dbscan: %w", err), "for example --dbscan 0.1,4")
		}
		if a.MinPoints != 0 || a.Resolution != 0 || a.Freeze != 0 {
			return o, usage(errors.New("--dbscan fixes Eps and MinPts and does not refine"), "leave out --min-points, --resolution and --freeze")
		}
	}
	if err := a.kinds(&o); err != nil {
		return o, err
	}
	if a.MinPoints < 0 || a.Threads < 0 {
		return o, usage(errors.New("--min-points and --threads must be at least 0"), "leave the option out for the default")
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
		return nil, fmt.Errorf("invalid Eps %q: want a number of at least 0", epsText)
	}
	minPts, err := strconv.Atoi(strings.TrimSpace(minPtsText))
	if err != nil || minPts < 1 {
		return nil, fmt.Errorf("MinPts %q is not an integer of at least 1", minPtsText)
	}
	return &grouping.Density{Eps: eps, MinPts: minPts}, nil
}
