package console

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"moriens/trace"
	"moriens/trace/rundir"
)

// The table shows the clusters with at least tableShare of the computing time, at most tableRows of
// them; clusters.json holds all.
const (
	tableRows  = 20
	tableShare = .001
)

// Summary prints what a run came to: its clusters, its losses, and the files in dir.
func Summary(w io.Writer, run *trace.Run, m *rundir.Manifest, c *rundir.Clusters, dir string, written []rundir.File) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nmoriens: %s\n\n", headline(m))
	if m.Empty == "" {
		writeTable(&b, clusterTable(run, m, c))
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "losses: %s\n", losses(m))
	for _, n := range m.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	fmt.Fprintf(&b, "results: %s\n", dir)
	files := make([][]string, 0, len(written))
	for _, f := range written {
		files = append(files, []string{"  " + f.Name, bytes(f.Bytes), f.Content})
	}
	writeTable(&b, table{rows: files, left: []bool{true, false, true}})
	_, err := io.WriteString(w, b.String())
	return err
}

func headline(m *rundir.Manifest) string {
	var programs []string
	var libraries []string
	for _, w := range m.Worlds {
		programs = appendNew(programs, trace.ProgramName(w.Executable))
		libraries = appendNew(libraries, strings.TrimSpace(w.MPI.Library+" "+w.MPI.Version))
	}
	what := strings.Join(programs, ", ")
	if what == "" {
		what = strings.Join(m.Command, " ")
	}
	fields := []string{what, count(m.Ranks, "rank")}
	if len(m.Worlds) > 1 {
		fields = append(fields, count(len(m.Worlds), "MPI world"))
	}
	if len(libraries) > 0 {
		fields = append(fields, strings.Join(libraries, ", "))
	}
	calls := 0
	for _, n := range m.MPICalls {
		calls += int(n)
	}
	if m.Seconds > 0 {
		fields = append(fields, Duration(float64(m.Seconds)*1e9))
	}
	fields = append(fields, count(calls, "MPI call"), count(m.Bursts, "burst"))
	return strings.Join(fields, " · ")
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func clusterTable(run *trace.Run, m *rundir.Manifest, c *rundir.Clusters) table {
	t := table{
		head: []string{"cluster", "bursts", "share", "mean", "spread", "between the MPI calls"},
		left: []bool{false, false, false, false, false, true},
	}
	add := func(name string, bursts int, share float64, cells ...string) {
		t.rows = append(t.rows, append([]string{name, Integer(bursts), percent(share)}, cells...))
	}
	shown := 0
	for shown < min(len(run.Clusters), tableRows) && (shown == 0 || run.Clusters[shown].Share >= tableShare) {
		shown++
	}
	for i := range run.Clusters[:shown] {
		x := &run.Clusters[i]
		between := callsRound(run, x)
		if x.Rare {
			between += " (rare)"
		}
		add(fmt.Sprint(x.ID), x.Bursts, x.Share, Duration(x.MeanNS), "± "+percent(x.StdNS/max(x.MeanNS, 1)), between)
	}
	if rest := run.Clusters[shown:]; len(rest) > 0 {
		bursts, share := 0, 0.0
		for _, x := range rest {
			bursts += x.Bursts
			share += x.Share
		}
		add(fmt.Sprintf("%d more", len(rest)), bursts, share, "", "", "in "+rundir.ClustersFile)
	}
	total := &c.Total
	if total.NoiseBursts > 0 {
		add("noise", total.NoiseBursts, float64(total.Noise), "", "", "like no others")
	}
	if total.FilteredBursts > 0 {
		add("filtered", total.FilteredBursts, float64(total.Filtered), "", "",
			"up to "+Duration(float64(m.Filtered.LongestNS)))
	}
	if total.MissingBursts > 0 {
		add("missing", total.MissingBursts, float64(total.Missing), "", "", "have no value in a dimension")
	}
	return t
}

// callsRound names the MPI calls before and after a cluster's bursts: the most frequent, with their places in the
// program, and how many more there are.
func callsRound(run *trace.Run, x *trace.Cluster) string {
	before, moreBefore := mostFrequent(run, x.Before)
	after, moreAfter := mostFrequent(run, x.After)
	if m := module(before); m != "" && m == module(after) {
		return place(before) + moreBefore + " → " + place(after) + moreAfter + " in " + m
	}
	return before.String() + moreBefore + " → " + after.String() + moreAfter
}

func mostFrequent(run *trace.Run, counts []trace.PathCount) (path trace.CallPath, more string) {
	if len(counts) == 0 {
		return trace.CallPath{}, ""
	}
	if len(counts) > 1 {
		more = fmt.Sprintf(" and %d more", len(counts)-1)
	}
	return run.CallPaths[counts[0].Path], more
}

func module(p trace.CallPath) string {
	if len(p.Frames) == 0 {
		return ""
	}
	return p.Frames[0].Module
}

// place is a call path's function and offset, without the module.
func place(p trace.CallPath) string { return fmt.Sprintf("%s+%#x", p.Function, p.Frames[0].Offset) }

func losses(m *rundir.Manifest) string {
	l := &m.Losses
	var parts []string
	add := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", Integer(int(n)), what))
		}
	}
	add(l.RecordsDropped, "MPI calls dropped, the ring was full")
	add(l.CallsAbandoned, "MPI calls left by longjmp or an exception")
	add(int64(l.RanksMissing), "ranks sent nothing")
	add(int64(l.RanksUnrecorded), "ranks could not record")
	add(l.ThreadsUnrecorded, "threads could not record")
	add(l.CallsUnrecorded, "MPI calls of such threads")
	add(l.CallPathsLost, "call paths not named, their table was full")
	add(l.MessagesRefused, "messages refused")
	for _, d := range l.RanksDied {
		parts = append(parts, fmt.Sprintf("rank %d died (%s)", d.Rank, d.How))
		if len(m.Worlds) > 1 {
			parts[len(parts)-1] = fmt.Sprintf("rank %d of world %d died (%s)", d.Rank, d.World, d.How)
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, "; ")
}
