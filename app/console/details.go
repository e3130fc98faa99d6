package console

import (
	"fmt"
	"strings"

	"moriens/internal/plain"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// The table of all clusters shows those with at least tableShare of the computing time, at most tableRows of them;
// clusters.json holds all.
const (
	tableRows  = 20
	tableShare = .001
)

// writeDetails prints all that is known: clusters, phases, kinds, what is kept, losses, notes, and the files.
func writeDetails(b *strings.Builder, r *Results) {
	m, c := r.Manifest, r.Clusters
	if text := warning(m); text != "" {
		fmt.Fprintf(b, "%s\n", text)
	}
	b.WriteByte('\n')
	if m.Empty == "" {
		writeTable(b, clusterTable(r))
		b.WriteByte('\n')
	}
	if len(m.Phases) > 0 {
		writeTable(b, phaseTable(m, c))
		b.WriteByte('\n')
	}
	if text := kinds(r.Run, c); text != "" {
		fmt.Fprintf(b, "kinds: %s\n", text)
	}
	writeScore(b, c)
	writeCells(b, m, c)
	writeKept(b, m, r.Efficiency)
	if text := pauses(&m.Paused); text != "" {
		fmt.Fprintf(b, "%s\n", text)
	}
	if text := messages(&m.Messages); text != "" {
		fmt.Fprintf(b, "messages: %s\n", text)
	}
	if !m.Nobody() {
		fmt.Fprintf(b, "losses: %s\n", losses(m))
	}
	if text := overhead(m, r.Efficiency); text != "" {
		fmt.Fprintf(b, "overhead: %s\n", text)
	}
	for _, n := range m.Notes {
		if m.Scheduling == nil || n != m.Scheduling.Warning {
			fmt.Fprintf(b, "note: %s\n", n)
		}
	}
	if text := advice(m, c); text != "" {
		fmt.Fprintf(b, "hint: %s\n", text)
	}
	fmt.Fprintf(b, "results: %s\n", plain.Line(r.Dir))
	files := make([][]string, 0, len(r.Written))
	for _, f := range r.Written {
		files = append(files, []string{"  " + f.Name, units.Bytes(f.Bytes).String(), f.Content})
	}
	writeTable(b, table{rows: files, left: []bool{true, false, true}})
}

// writeScore says how far the ranks do the same, and how the refinement ended where it had a choice.
func writeScore(b *strings.Builder, c *rundir.Clusters) {
	if text := score(float64(c.Score)); text != "" {
		beside := ""
		if shuffled := score(float64(c.Shuffled)); shuffled != "" {
			beside = fmt.Sprintf("; %s in shuffled order", shuffled)
		}
		fmt.Fprintf(b, "score: %s of 1 (1: all ranks compute the same clusters in the same order%s)\n", text, beside)
	}
	if len(c.Refinement.Levels) > 1 {
		fmt.Fprintf(b, "refinement: %s\n", c.Refinement.Why)
	}
}

// score is empty where there is none: NaN, or 0, which no cluster with bursts has.
func score(s float64) string {
	if !(s > 0) {
		return ""
	}
	return fmt.Sprintf("%.3f", s)
}
