package console

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"moriens/internal/plain"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A WaitsForm says how waits are printed.
type WaitsForm struct {
	Dir    string
	By     string // cluster, callpath, rank, kind; else: an overview
	Within string // which part of the run the table is about: main or run; empty: windows
	Others bool   // windows have a table too, which is not this one

	Outside rundir.Number // seconds of waits that lie outside of main, which the table is about

	Manifest *rundir.Manifest // nil: not known
}

// How many entries the overview has of each list.
const mostCauses, mostParts, mostLinks = 5, 6, 5

// Waits prints who waited for whom, and why. why is what is not known or marked.
func Waits(to io.Writer, t *rundir.WaitsTable, why []string, form WaitsForm) error {
	w := waitWordsOf(plain.Of(t))
	var b strings.Builder
	w.writeHead(&b, form)
	head, overview := b.Len(), false
	switch form.By {
	case "cluster":
		writeTable(&b, w.clusterTable())
	case "callpath":
		writeTable(&b, w.callPathTable())
		b.WriteByte('\n')
		writeTable(&b, w.causeTable())
		w.writeRest(&b, w.CausesTotal-len(w.Causes), "more cause")
	case "rank":
		writeTable(&b, w.rankTable())
		w.writeRest(&b, w.Locations-len(w.ByRank), "more "+w.location())
	case "kind":
		writeTable(&b, w.kindTable(true))
	default:
		overview = true
		w.writeOverview(&b)
	}
	w.writeDoubts(&b, plain.Of(why), strings.Contains(b.String()[head:], notRecorded))
	if overview {
		w.writeNext(&b, form)
	}
	_, err := io.WriteString(to, b.String())
	return err
}

func (w waitWords) location() string {
	if w.Locations > w.Ranks {
		return "thread"
	}
	return "rank"
}

func (w waitWords) writeHead(b *strings.Builder, form WaitsForm) {
	fields := []string{"windows", units.Counted(w.Ranks, "rank")}
	switch form.Within {
	case rundir.WithinMain:
		fields[0] = "within main (MPI_Init to MPI_Finalize)"
	case rundir.WithinRun:
		fields[0] = "within run (all of it)"
	}
	if w.Locations != w.Ranks {
		fields[1] += fmt.Sprintf(" (%s that called MPI)", units.Counted(w.Locations, "thread"))
	}
	if form.Within != "" {
		fields = append(fields, spent(w.Seconds))
	}
	basis := "collectives and messages"
	if w.Basis == rundir.WaitsCollectives {
		basis = "collectives only: waits for messages are in the residual"
	}
	fmt.Fprintf(b, "%s: %s\n", plain.Line(form.Dir), strings.Join(append(fields, basis), separator))
	if form.Within == "" {
		fmt.Fprintf(b, "windows: %s in all, from %s to %s of the run%s\n", spent(w.Seconds), spent(w.Begin), spent(w.End), w.ends())
	}
	if m := form.Manifest; m != nil {
		if text := warning(plain.Of(m)); text != "" {
			fmt.Fprintf(b, "%s; residual and causes include waiting for a core\n", reasons(text))
		}
	}
	fmt.Fprintf(b, "waits, %s: %s, %s of %s in MPI, %s of the %ss' time\n", w.all(), spent(w.Waiting), ratioText(float64(w.Waiting/w.MPI)), spent(w.MPI), ratioText(float64(w.Waiting/(w.Seconds*rundir.Number(w.Locations)))), w.location())
	if form.Outside >= .1*w.Waiting && form.Outside > 0 {
		fmt.Fprintf(b, "outside of main: %s more, before the last rank left MPI_Init or after the first one entered MPI_Finalize: --within run\n", spent(form.Outside))
	}
	b.WriteByte('\n')
}

// ends says that ranks wait in starting or ending MPI.
func (w waitWords) ends() string {
	var names []string
	for _, call := range []struct {
		kind trace.WaitKind
		name string
	}{{trace.AtStart, "MPI_Init"}, {trace.AtEnd, "MPI_Finalize"}} {
		if slices.ContainsFunc(w.Kinds, func(k rundir.WaitsKind) bool { return k.Kind == call.kind.String() }) {
			names = append(names, call.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", " + strings.Join(names, " and ") + " included"
}

func (w waitWords) writeOverview(b *strings.Builder) {
	writeTable(b, w.kindTable(false))
	if text := w.causingLine(); text != "" {
		fmt.Fprintf(b, "\n%s\n", text)
	}
	if len(w.Causes) > 0 {
		b.WriteByte('\n')
	}
	shown := w.Causes[:min(mostCauses, len(w.Causes))]
	for i := range shown {
		fmt.Fprintf(b, "%s\n", w.cause(&shown[i]))
		if text := w.indirect(&shown[i]); text != "" {
			fmt.Fprintf(b, "  %s\n", text)
		}
	}
	w.writeRest(b, w.CausesTotal-len(shown), "more cause")
	if len(w.Links) > 0 {
		b.WriteByte('\n')
		links := w.Links[:min(mostLinks, len(w.Links))]
		writeTable(b, w.linkTable(links))
		w.writeRest(b, w.LinksTotal-len(links), "more pair")
	}
	if math.IsNaN(float64(w.Path.Seconds)) {
		return
	}
	fmt.Fprintf(b, "\ncritical path: %s, with %s of %s\n", spent(w.Path.Seconds), units.Counted(w.Path.Changes, "change"), w.location())
	parts := w.Path.Parts[:min(mostParts, len(w.Path.Parts))]
	t := table{left: []bool{true, false, false}}
	for i := range parts {
		p := &parts[i]
		t.rows = append(t.rows, []string{"  " + w.pathPart(p), spent(p.Seconds), percent(float64(p.Share))})
	}
	writeTable(b, t)
	w.writeRest(b, w.Path.PartsTotal-len(parts), "more part")
	if len(w.Path.Ranks) > 0 {
		p := &w.Path.Ranks[0]
		fmt.Fprintf(b, "longest on %s: %s, %s\n", w.who(p.ThreadName), spent(p.Seconds), percent(float64(p.Share)))
	}
}

// writeRest says how many there are besides those that are printed.
func (w waitWords) writeRest(b *strings.Builder, n int, what string) {
	if n > 0 {
		fmt.Fprintf(b, "%s\n", units.Counted(n, what))
	}
}

// pathPart is what the path has of one kind of computation, or call.
func (w waitWords) pathPart(p *rundir.WaitsPathPart) string {
	if w.Basis == rundir.WaitsCollectives && p.Messages() {
		return strings.TrimSuffix(w.mpi()+": "+p.CallPath, ": ")
	}
	return before(place(p.What, p.Cluster, variantsText(p.Variants)), p.What, p.CallPath)
}

// writeDoubts says what is not known, or not certain; outside that something above is named as not recorded.
func (w waitWords) writeDoubts(b *strings.Builder, why []string, outside bool) {
	var list []string
	say := func(there bool, format string, args ...any) {
		if there {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	say(outside, notRecorded+": before the first MPI call of a %s, while its recording was paused, or lost", w.location())
	say(w.Marked, "marked: clocks do not agree well enough to trust all of it")
	say(w.Uncertain > 0, "uncertain: %s more look like waits, but are shorter than the clock uncertainty between two hosts; they are in the residual", spent(w.Uncertain))
	say(w.Unexplained > 0, "unexplained: the cause of %s of the waits lies before what is kept", spent(w.Unexplained))
	say(w.Contradictions > 0, "contradictions: %s ended before what %s waited for: clocks or records are wrong", units.Count(w.Contradictions, "call"), them(w.Contradictions))
	say(w.Incomplete > 0, "incomplete: not all members of %s are known: their waits are lower bounds", units.Count(w.Incomplete, "collective"))
	say(w.NotSynchronising > 0, "not synchronising: in %s a member left before the last one entered", units.Count(w.NotSynchronising, "collective"))
	say(w.OneSided > 0, "one side known: waits for %s are in the residual", units.Count(w.OneSided, "message"))
	for _, e := range w.Eager {
		between := "between nodes"
		if e.SameNode {
			between = "within a node"
		}
		if e.Bytes != nil {
			say(true, "eager: sends of up to %s %s returned before their receives; larger ones count as waiting for theirs", units.Bytes(*e.Bytes), between)
		}
	}
	say(w.Locations > w.Ranks, "note: a thread that waits for threads of its rank (pthread_join) counts as computing, and the critical path remains on it")
	for _, text := range why {
		say(text != rundir.WaitsOfCollectives || w.Basis == rundir.WaitsCollectives, "note: %s", text)
	}
	if len(list) > 0 {
		fmt.Fprintf(b, "\n%s\n", strings.Join(list, "\n"))
	}
}

// writeNext says how to see more.
func (w waitWords) writeNext(b *strings.Builder, form WaitsForm) {
	part := ""
	switch form.Within {
	case rundir.WithinRun:
		part = " --within run"
	case "":
		part = " --windows"
	}
	fmt.Fprintf(b, "\nnext: moriens waits%s --by rank %s (or callpath, cluster, kind)", part, quoted(plain.Line(form.Dir)))
	if form.Others {
		b.WriteString("; --windows: what is kept in full detail, with messages")
	}
	b.WriteString("; docs/waits.md\n")
}

// kindTable has the time in MPI by kind of wait, long with the call paths of each.
func (w waitWords) kindTable(long bool) table {
	t := table{head: []string{"waits by kind", "calls that waited", "time", "longest", "of MPI"}, left: []bool{true, false, false, false, false}}
	share := func(s rundir.Number) string { return ratioText(float64(s / w.MPI)) }
	for _, k := range w.Kinds {
		t.rows = append(t.rows, []string{k.Kind, count(k.Count), spent(k.Seconds), spent(k.Longest), share(k.Seconds)})
		for _, p := range w.CallPaths {
			if long && p.Kind == k.Kind {
				t.rows = append(t.rows, []string{"  " + p.CallPath, count(p.Count), spent(p.Seconds), "", share(p.Seconds)})
			}
		}
	}
	residual := "residual: in MPI, not waiting"
	if w.Basis == rundir.WaitsCollectives {
		residual = "residual, with waits for messages"
	}
	t.rows = append(t.rows, []string{residual, "", spent(w.Residual), "", share(w.Residual)})
	for _, x := range w.NotExplained {
		t.rows = append(t.rows, []string{"not explained: " + x.What, count(x.Calls), spent(x.Seconds), "", share(x.Seconds)})
	}
	return t
}

// them stands for calls.
func them(n int64) string {
	if n == 1 {
		return "it"
	}
	return "they"
}

func count(n int64) string { return units.Integer(int(n)) }

// spent is a time, or a dash for one that is not known.
func spent(s rundir.Number) string {
	return orDash(float64(s), func(s float64) string { return Duration(s * 1e9) })
}

// clusterTable has a row for each kind of computation, and below it its clusters, if there are several; and what there
// is beside: columns add up to all waits, and to the whole path.
func (w waitWords) clusterTable() table {
	t := table{head: []string{"cluster", "makes others wait", "on the critical path", "of the path", "on path − mean"}, left: []bool{true, false, false, false, false}}
	row := func(name string, c *rundir.WaitsCluster, imbalance string) {
		t.rows = append(t.rows, []string{name, spent(c.Caused), spent(c.Path), ratioText(float64(c.PathShare)), imbalance})
	}
	variants, sums, order := make(map[int32][]*rundir.WaitsCluster), make(map[int32]*rundir.WaitsCluster), []int32(nil)
	all := rundir.WaitsCluster{Caused: w.Unexplained}
	for i := range w.Clusters {
		c := &w.Clusters[i]
		kind := cmp.Or(c.Kind, c.Cluster)
		if sums[kind] == nil {
			sums[kind] = new(rundir.WaitsCluster)
			order = append(order, kind)
		}
		variants[kind] = append(variants[kind], c)
		addCluster(sums[kind], c)
		addCluster(&all, c)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(sums[b].Caused, sums[a].Caused) })
	for _, kind := range order {
		row(fmt.Sprint(kind), sums[kind], spent(sums[kind].Imbalance))
		if list := variants[kind]; len(list) > 1 {
			for _, c := range list {
				row(fmt.Sprintf("  variant %d", c.Cluster), c, "")
			}
		}
	}
	for _, x := range w.Others {
		c := rundir.WaitsCluster{Caused: x.Caused, Path: x.Path, PathShare: x.PathShare}
		addCluster(&all, &c)
		row(w.partName(x.What, nil), &c, "")
	}
	if w.Unexplained > 0 {
		t.rows = append(t.rows, []string{"unexplained", spent(w.Unexplained), "", "", ""})
	}
	if w.Others != nil { // else a version wrote it that did not list what there is beside clusters
		row("total", &all, "")
	}
	return t
}

func addCluster(sum, c *rundir.WaitsCluster) {
	sum.Caused += c.Caused
	sum.Path += c.Path
	sum.PathShare += c.PathShare
	sum.Imbalance += c.Imbalance
}

func (w waitWords) callPathTable() table {
	t := table{head: []string{"calls that wait", "kind", "calls", "time", "residual"}, left: []bool{true, true, false, false, false}}
	for _, p := range w.CallPaths {
		t.rows = append(t.rows, []string{p.CallPath, p.Kind, count(p.Count), spent(p.Seconds), spent(p.Residual)})
	}
	return t
}

// causeTable has the causes by what was done and by call path, over all ranks.
func (w waitWords) causeTable() table {
	type key struct {
		what, path string
		cluster    int32 // 0: none
	}
	sums := make(map[key]*rundir.WaitsCause)
	ranks, clusters := make(map[key]map[rundir.ThreadName]bool), make(map[key]map[int32]bool)
	var keys []key
	for i := range w.Causes {
		c := &w.Causes[i]
		k := key{what: c.What, path: c.CallPath}
		if c.Cluster != nil {
			k.cluster = *c.Cluster
		}
		if sums[k] == nil {
			sums[k], ranks[k] = &rundir.WaitsCause{What: c.What, Cluster: c.Cluster, CallPath: c.CallPath}, make(map[rundir.ThreadName]bool)
			clusters[k] = make(map[int32]bool)
			keys = append(keys, k)
		}
		s := sums[k]
		for _, id := range c.Variants {
			clusters[k][id] = true
		}
		if len(c.Variants) == 0 {
			clusters[k][k.cluster] = true
		}
		s.Seconds, s.Direct, s.Share = s.Seconds+c.Seconds, s.Direct+c.Direct, s.Share+c.Share
		ranks[k][c.ThreadName] = true
	}
	slices.SortStableFunc(keys, func(a, b key) int { return cmp.Compare(sums[b].Seconds, sums[a].Seconds) })
	t := table{head: []string{"longer on some " + w.location() + "s than on others", w.location() + "s", "makes others wait", "directly", "of all waits"}, left: []bool{true, false, false, false, false}}
	for _, k := range keys {
		s := sums[k]
		s.Variants = rundir.VariantsOf(k.cluster, clusters[k])
		t.rows = append(t.rows, []string{w.did(s, true), units.Integer(len(ranks[k])), spent(s.Seconds), spent(s.Direct), percent(float64(s.Share))})
	}
	return t
}

// rankTable has those first that make others wait most.
func (w waitWords) rankTable() table {
	t := table{head: []string{w.location(), "waits", "makes others wait", "of all waits", "directly", "on the critical path"}, left: []bool{true, false, false, false, false, false}}
	list := slices.Clone(w.ByRank)
	slices.SortStableFunc(list, func(a, b rundir.WaitsRank) int { return cmp.Compare(b.Caused, a.Caused) })
	for _, r := range list {
		t.rows = append(t.rows, []string{w.who(r.ThreadName), spent(r.Waiting), spent(r.Caused), ratioText(float64(r.Caused / w.Waiting)), spent(r.Direct), spent(r.Path)})
	}
	return t
}

func (w waitWords) linkTable(links []rundir.WaitsLink) table {
	t := table{
		head: []string{"waits", "for", "calls", "time", "computing", "MPI", notRecorded, "its own waits"}, left: []bool{true, true, false, false, false, false, false, false},
	}
	if w.Unexplained > 0 { // what the others are short of the waits by
		t.head, t.left = append(t.head, "unexplained"), append(t.left, false)
	}
	for _, l := range links {
		row := []string{w.who(l.Waiting), w.who(l.For), count(l.Count), spent(l.Seconds), spent(l.Computing), spent(l.MPI), spent(l.Outside), spent(l.HandedOn)}
		if w.Unexplained > 0 {
			row = append(row, spent(max(0, l.Seconds-l.Computing-l.MPI-l.Outside-l.HandedOn)))
		}
		t.rows = append(t.rows, row)
	}
	return t
}
