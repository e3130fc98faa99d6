package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"moriens/bench/timing"
	"moriens/internal/stage"
)

// A series is the ends of runs of one size that one version of this command has measured, round after round.
type series struct {
	version string
	command string // of that version
	ends    []end
}

// runRounds measures each size in rounds, this version and the one before in turn, and prints what their first stages
// took.
func runRounds(out io.Writer, p plan, bursts, ranks []int) error {
	var all []*series
	for _, n := range bursts {
		for _, r := range ranks {
			versions := []*series{{version: "now", command: os.Args[0]}}
			if p.before != "" {
				versions = slices.Insert(versions, 0, &series{version: "before", command: p.before})
			}
			for range p.rounds {
				for _, v := range versions {
					e, err := p.measured(v.command, n, r)
					if err != nil {
						return fmt.Errorf("%s: %w", v.version, err)
					}
					v.ends = append(v.ends, e)
				}
			}
			all = append(all, versions...)
		}
	}
	return printRounds(out, all)
}

// printRounds prints the least and the most of what stages took.
func printRounds(out io.Writer, all []*series) error {
	var text strings.Builder
	text.WriteString("| ranks | bursts | version | rebuild, s | cluster, s | both, s | both, processor s | MiB at most | bytes per burst |\n|" + strings.Repeat("---|", 9) + "\n")
	for _, s := range all {
		seconds := func(c cost) float64 { return c.Seconds }
		processor := func(c cost) float64 { return c.CPU }
		var peaks []float64
		for i := range s.ends {
			peaks = append(peaks, max(s.ends[i].cost(stage.Recount).Peak, s.ends[i].cost(stage.Cluster).Peak))
		}
		least, most, first := slices.Min(peaks), slices.Max(peaks), &s.ends[0]
		fmt.Fprintf(&text, "| %d | %d | %s | %s | %s | %s | %s | %.0f – %.0f | %.0f |\n", first.Ranks, first.Bursts, s.version, s.span(seconds, stage.Recount), s.span(seconds, stage.Cluster),
			s.span(seconds, stage.Recount, stage.Cluster), s.span(processor, stage.Recount, stage.Cluster), least/mib, most/mib, most/float64(first.Bursts))
	}
	text.WriteString("\nOf each stage, medians of the rounds, seconds and seconds of processor time:\n\n| stage |")
	for _, s := range all {
		fmt.Fprintf(&text, " %d ranks, %d bursts, %s |", s.ends[0].Ranks, s.ends[0].Bursts, s.version)
	}
	text.WriteString("\n|" + strings.Repeat("---|", 1+len(all)) + "\n")
	var ends []end
	for _, s := range all {
		ends = append(ends, s.ends...)
	}
	for _, name := range append(names(ends), "") {
		text.WriteString("| " + cmp.Or(name, "all") + " |")
		for _, s := range all {
			fmt.Fprintf(&text, " %.2f, %.2f |", s.median(name, func(c cost) float64 { return c.Seconds }), s.median(name, func(c cost) float64 { return c.CPU }))
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// median is that of what a stage, or all if it has no name, took in each round.
func (s *series) median(stage string, of func(cost) float64) float64 {
	var list []float64
	for i := range s.ends {
		sum := 0.
		for _, c := range s.ends[i].Costs {
			if stage == "" || c.Stage == stage {
				sum += of(c)
			}
		}
		list = append(list, sum)
	}
	_, mid, _ := timing.Quartiles(list)
	return mid
}

// span is the least and the most of what some stages took together.
func (s *series) span(of func(cost) float64, stages ...stage.Step) string {
	var list []float64
	for i := range s.ends {
		sum := 0.
		for _, x := range stages {
			sum += of(s.ends[i].cost(x))
		}
		list = append(list, sum)
	}
	return fmt.Sprintf("%.2f – %.2f", slices.Min(list), slices.Max(list))
}

// cost is what a stage took.
func (e *end) cost(of stage.Step) cost {
	for _, c := range e.Costs {
		if c.Stage == of.Name {
			return c
		}
	}
	return cost{}
}
