package console

import (
	"fmt"
	"slices"
	"strings"

	"moriens/internal/units"
	"moriens/trace/rundir"
)

// othersNamed is how many of the other applications of a trace are listed one by one.
const othersNamed = 4

// writeApplications says which application of a trace was analysed, where it has several, and which threads of it make
// no MPI call.
func writeApplications(b *strings.Builder, m *rundir.Manifest) {
	if text := applications(m.Applications); text != "" {
		fmt.Fprintf(b, "%s\n", text)
	}
	if m.Reading != nil {
		if text := callless(&m.Reading.Callless); text != "" {
			fmt.Fprintf(b, "threads: %s\n", text)
		}
	}
}

// applications is "application 2 of 2: 12 tasks, 600 bursts, 420 us computing; application 1 has no bursts (8 tasks, 16
// records)".
func applications(list []rundir.Application) string {
	if len(list) < 2 {
		return ""
	}
	var parts, others []string
	for i := range list {
		a := &list[i]
		size := units.Counted(a.Tasks, "task")
		did := fmt.Sprintf("%s, %s computing", units.Counted(a.Bursts, "burst"), Duration(float64(a.ComputingSeconds)*1e9))
		records := units.Counted(int(a.Records), "record")
		switch {
		case a.Analysed && a.Bursts == 0:
			parts = append(parts, fmt.Sprintf("application %d of %d%s: %s, no bursts, %s", a.Number, len(list), inBrackets(a.Name), size, records))
		case a.Analysed:
			parts = append(parts, fmt.Sprintf("application %d of %d%s: %s, %s", a.Number, len(list), inBrackets(a.Name), size, did))
		case a.Bursts == 0:
			others = append(others, fmt.Sprintf("application %d%s has no bursts (%s, %s)", a.Number, inBrackets(a.Name), size, records))
		default:
			others = append(others, fmt.Sprintf("application %d%s is left out (%s, %s, %s)", a.Number, inBrackets(a.Name), size, did, records))
		}
	}
	if len(others) == 0 {
		return fmt.Sprintf("applications: all %d are analysed together", len(list))
	}
	if more := len(others) - othersNamed; more > 0 {
		others = append(others[:othersNamed], fmt.Sprintf("%d more are left out (listed in %s)", more, rundir.ManifestFile))
	}
	text := strings.Join(append(parts, others...), "; ")
	if slices.ContainsFunc(list, func(a rundir.Application) bool { return !a.Analysed && a.Bursts > 0 }) {
		text += "; --application selects another one, or all"
	}
	return text
}

func inBrackets(name string) string {
	if name == "" {
		return ""
	}
	return " (" + name + ")"
}

// callless says which threads are those of OpenMP.
func callless(c *rundir.Callless) string {
	switch {
	case c.Threads == 0:
		return ""
	case c.All:
		return fmt.Sprintf("%s of %s, none of which calls MPI: their bursts are those of OpenMP or another threading model",
			units.Count(c.Threads, "thread"), units.Count(c.Ranks, "rank"))
	}
	return fmt.Sprintf("%s of %s without MPI calls, as with OpenMP: %s of %s, analysed as threads of their ranks",
		units.Count(c.Threads, "thread"), units.Count(c.Ranks, "rank"), units.Counted(c.Bursts, "burst"), Duration(float64(c.ComputingSeconds)*1e9))
}
