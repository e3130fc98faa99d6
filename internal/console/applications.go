package console

import (
	"fmt"
	"strings"

	"moriens/internal/units"
	"moriens/trace/rundir"
)

// othersNamed is how many of the other applications of a trace are told one by one.
const othersNamed = 4

// writeApplications says which application of a trace was analysed, where it has several, and which threads of it make no MPI call.
func writeApplications(b *strings.Builder, m *rundir.Manifest) {
	if text := applications(m.Applications); text != "" {
		fmt.Fprintf(b, "applications: %s\n", text)
	}
	if m.Reading != nil {
		if text := callless(&m.Reading.Callless); text != "" {
			fmt.Fprintf(b, "threads: %s\n", text)
		}
	}
}

func applications(list []rundir.Application) string {
	if len(list) < 2 {
		return ""
	}
	var analysed, others []string
	for _, a := range list {
		if a.Analysed {
			analysed = append(analysed, fmt.Sprintf("%d of %d is analysed (%s)", a.Number, len(list), application(&a)))
		} else {
			others = append(others, fmt.Sprintf("%d is not (%s)", a.Number, application(&a)))
		}
	}
	if len(others) == 0 {
		return fmt.Sprintf("all %d are analysed together", len(list))
	}
	if more := len(others) - othersNamed; more > 0 {
		others = append(others[:othersNamed], fmt.Sprintf("nor are %d more, of which %s tells", more, rundir.ManifestFile))
	}
	return strings.Join(append(analysed, others...), "; ")
}

func application(a *rundir.Application) string {
	var parts []string
	if a.Name != "" {
		parts = append(parts, a.Name)
	}
	parts = append(parts, count(a.Tasks, "task"))
	if a.Bursts == 0 {
		return strings.Join(append(parts, "no bursts", count(int(a.Records), "record")), ", ")
	}
	return strings.Join(append(parts, count(a.Bursts, "burst"), Duration(float64(a.ComputingSeconds)*1e9)+" computing"), ", ")
}

// callless says which threads are those of OpenMP.
func callless(c *rundir.Callless) string {
	switch {
	case c.Threads == 0:
		return ""
	case c.All:
		return fmt.Sprintf("%s of %s, none of which makes an MPI call: their bursts are those of OpenMP, or of another model of threads",
			units.Count(c.Threads, "thread"), units.Count(c.Ranks, "rank"))
	}
	return fmt.Sprintf("%s of %s without an MPI call, as those of OpenMP are: %s of %s, analysed as threads of their ranks",
		units.Count(c.Threads, "thread"), units.Count(c.Ranks, "rank"), count(c.Bursts, "burst"), Duration(float64(c.ComputingSeconds)*1e9))
}
