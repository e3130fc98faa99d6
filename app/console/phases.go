package console

import (
	"fmt"
	"strings"
	"unicode"

	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// maxName bounds what a name takes of a line.
const maxName = 40

// phaseTable shows the phases that the program named, those with the most time first, and in which clusters the bursts
// of each lie.
func phaseTable(m *rundir.Manifest, c *rundir.Clusters) table {
	t := table{
		head: []string{"phase", "times", "mean", "computing", "of all", "clusters"},
		left: []bool{true, false, false, false, false, true},
	}
	bursts := make(map[string]*rundir.PhaseBursts)
	for i := range c.Phases {
		if !c.Phases[i].Outside {
			bursts[c.Phases[i].Name] = &c.Phases[i]
		}
	}
	shown := min(len(m.Phases), tableRows)
	for _, p := range m.Phases[:shown] {
		share := 0.0
		if m.ComputingSeconds > 0 {
			share = float64(p.Computing / m.ComputingSeconds)
		}
		clusters := ""
		if b := bursts[p.Name]; b != nil {
			clusters = mostOf(b)
		}
		t.rows = append(t.rows, []string{
			shorten(p.Name), units.Integer(p.Count), Duration(float64(p.Seconds) * 1e9 / float64(p.Count)),
			Duration(float64(p.Computing) * 1e9), percent(share), clusters,
		})
	}
	if rest := len(m.Phases) - shown; rest > 0 {
		t.rows = append(t.rows, []string{fmt.Sprintf("%d more", rest), "", "", "", "", "in " + rundir.ManifestFile})
	}
	return t
}

// mostOf names the clusters that have most of the bursts' time.
func mostOf(b *rundir.PhaseBursts) string {
	const clusters = 3
	var parts []string
	for _, c := range b.Clusters[:min(clusters, len(b.Clusters))] {
		share := 0.0
		if b.Seconds > 0 {
			share = float64(c.Seconds / b.Seconds)
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", clusterName(c.ID), percent(share)))
	}
	if rest := len(b.Clusters) - clusters; rest > 0 {
		parts = append(parts, fmt.Sprintf("%d more", rest))
	}
	return strings.Join(parts, ", ")
}

func clusterName(id int32) string {
	switch {
	case id > 0:
		return fmt.Sprint(id)
	case id == trace.LabelNoise:
		return "noise"
	case id == trace.LabelFiltered:
		return "filtered"
	case id == trace.LabelMissing:
		return "missing"
	}
	return "none"
}

// shorten makes a program's name fit a line.
func shorten(name string) string {
	// What a terminal would take for a command is no part of a name either.
	name = strings.Join(strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }), " ")
	if name == "" {
		return `""`
	}
	if r := []rune(name); len(r) > maxName {
		return string(r[:maxName-1]) + "…"
	}
	return name
}

// pauses says how much of the run the program has left out; empty where it has not.
func pauses(p *rundir.Paused) string {
	if p.Calls == 0 && p.Pauses == 0 {
		return ""
	}
	return fmt.Sprintf("paused by MPI_Pcontrol: %s not recorded, %s in %s", units.Counted(int(p.Calls), "MPI call"), Duration(float64(p.Seconds)*1e9), units.Counted(p.Pauses, "pause"))
}
