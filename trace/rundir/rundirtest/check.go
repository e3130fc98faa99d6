package rundirtest

import (
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"moriens/internal/files"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// CheckWaits checks that what a run directory says of waits adds up, to the nanosecond, within main and in all of the
// run: causes to the waits, parts of the critical path to the time, kinds, ranks and clusters to both. It returns
// waits.json.
func CheckWaits(t testing.TB, dir string) *rundir.Waits {
	t.Helper()
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	w, err := rundir.ReadWaits(dir)
	if err != nil {
		t.Fatal(err)
	}
	file, err := files.Open(filepath.Join(dir, rundir.WaitsTableFile))
	if w.WholeRun == nil {
		if err == nil || len(w.Why) == 0 || w.Windows != nil || w.Main != nil {
			t.Errorf("nothing is known of waits, for %q, but of windows %+v, and reading %s: %v", w.Why, w.Windows, rundir.WaitsTableFile, err)
		}
		return w
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := parquet.ReadWaits(file, file.Size())
	if err != nil {
		t.Fatal(err)
	}
	c := checker{t, m}
	c.rows(w.WholeRun, rows, false)
	c.table("whole run", w.WholeRun)
	c.equal("the whole run ends", ns(w.WholeRun.End), ns(w.WholeRun.Seconds))
	if w.Main != nil {
		c.rows(w.Main, rows, true)
		c.table("main", w.Main)
		c.inside(w.Main, w.WholeRun)
	} else {
		c.nearlyAll(w.WholeRun, rows)
	}
	if w.Windows != nil {
		c.table("windows", w.Windows)
	}
	c.basis(w)
	return w
}

// A checker compares what files of a run say.
type checker struct {
	testing.TB
	manifest *rundir.Manifest
}

// equal compares nanoseconds.
func (c checker) equal(what string, got, want int64) {
	c.Helper()
	if got != want {
		c.Errorf("%s: %d ns, want %d", what, got, want)
	}
}

// ns are those of a figure in seconds, which has no fraction of one.
func ns(s rundir.Number) int64 { return int64(math.Round(float64(s) * 1e9)) }

// sumOf adds figures of a list, in nanoseconds.
func sumOf[T any](list []T, of func(*T) rundir.Number) (total int64) {
	for i := range list {
		total += ns(of(&list[i]))
	}
	return total
}

// nearlyAll checks that main has no table only where hardly anything lies outside of it.
func (c checker) nearlyAll(t *rundir.WaitsTable, rows []parquet.WaitsRow) {
	c.Helper()
	var waits, path int64
	for i := range rows {
		if rows[i].Kind != parquet.WaitsLink {
			waits += rows[i].MainWaitNS
		}
		path += rows[i].MainPathNS
	}
	for what, x := range map[string][2]int64{"waits": {waits, ns(t.Waiting)}, "path": {path, ns(t.Seconds)}} {
		if float64(x[0]) < .999*float64(x[1]) || x[0] > x[1] {
			c.Errorf("main has no table, and of the %s of %d ns %d lie in it", what, x[1], x[0])
		}
	}
}

// inside checks that main is a part of the run.
func (c checker) inside(main, run *rundir.WaitsTable) {
	c.Helper()
	c.equal("main", ns(main.End)-ns(main.Begin), ns(main.Seconds))
	for what, x := range map[string][2]rundir.Number{
		"begin": {0, main.Begin}, "end": {main.End, run.End}, "length": {main.Seconds, run.Seconds}, "time in MPI": {main.MPI, run.MPI}, "waits": {main.Waiting, run.Waiting},
		"residual": {main.Residual, run.Residual}, "what is not explained": {main.Unexplained, run.Unexplained},
	} {
		if x[0] > x[1] {
			c.Errorf("%s of main: %v s, more than %v", what, x[0], x[1])
		}
	}
	if main.Seconds == run.Seconds || main.CausesTotal > run.CausesTotal || main.LinksTotal > run.LinksTotal || main.Path.PartsTotal > run.Path.PartsTotal || main.Path.Changes > run.Path.Changes {
		c.Errorf("main has %+v, the run %+v", main, run)
	}
}

// rows compares waits.parquet with a table of waits.json: that of main, or that of the run.
func (c checker) rows(t *rundir.WaitsTable, rows []parquet.WaitsRow, main bool) {
	c.Helper()
	var waits, residual, charged, path, links, forMessages int64
	for _, row := range rows {
		r := &row
		if main {
			r.WaitNS, r.ChargedNS, r.DirectNS, r.PathNS = r.MainWaitNS, r.MainChargedNS, r.MainDirectNS, r.MainPathNS
		}
		switch kind, _ := trace.ParseWaitKind(r.Wait); r.Kind {
		case parquet.WaitsWait:
			waits += r.WaitNS
			residual += r.ResidualNS
			if kind == trace.LateSender || kind == trace.WrongOrder || kind == trace.LateReceiver {
				forMessages += r.WaitNS
			}
			if r.Count < 1 || !main && r.LongestNS > r.WaitNS || r.LongestNS*r.Count < r.WaitNS {
				c.Errorf("%d waits of %d ns, the longest of %d: %+v", r.Count, r.WaitNS, r.LongestNS, r)
			}
		case parquet.WaitsCause:
			charged += r.ChargedNS
		case parquet.WaitsPath:
			path += r.PathNS
		case parquet.WaitsLink:
			links += r.WaitNS
			if !main && r.ComputingNS+r.MPINS+r.OutsideNS+r.HandedOnNS > r.WaitNS {
				c.Errorf("more than all of a link is charged: %+v", r)
			}
		}
	}
	c.equal("waits", waits, ns(t.Waiting))
	c.equal("causes and what is not explained", charged+ns(t.Unexplained), waits)
	c.equal("waits for messages, by whom they are for", links, forMessages)
	c.equal("parts of the critical path", path, ns(t.Seconds))
	if main {
		return
	}
	if t.Seconds < c.manifest.Seconds { // the manifest's are those of the longest world
		c.Errorf("%v s, of which a world takes %v", t.Seconds, c.manifest.Seconds)
	}
	if residual > ns(t.Residual) {
		c.Errorf("calls that wait have a residual of %d ns, all calls of %d", residual, ns(t.Residual))
	}
}

// table checks that a table of waits.json adds up.
func (c checker) table(name string, t *rundir.WaitsTable) {
	c.Helper()
	waits := ns(t.Waiting)
	not := sumOf(t.NotExplained, func(x *rundir.WaitsNotExplained) rundir.Number { return x.Seconds })
	c.equal(name+": waits, residual and what is not explained", waits+ns(t.Residual)+not, ns(t.MPI))
	c.equal(name+": kinds", sumOf(t.Kinds, func(x *rundir.WaitsKind) rundir.Number { return x.Seconds }), waits)
	c.equal(name+": call paths", sumOf(t.CallPaths, func(x *rundir.WaitsCallPath) rundir.Number { return x.Seconds }), waits)
	caused := waits - ns(t.Unexplained)
	if len(t.Causes) == t.CausesTotal {
		c.equal(name+": causes", sumOf(t.Causes, func(x *rundir.WaitsCause) rundir.Number { return x.Seconds }), caused)
	}
	if len(t.ByRank) == t.Locations {
		c.equal(name+": waits of ranks", sumOf(t.ByRank, func(x *rundir.WaitsRank) rundir.Number { return x.Waiting }), waits)
		c.equal(name+": what ranks cause", sumOf(t.ByRank, func(x *rundir.WaitsRank) rundir.Number { return x.Caused }), caused)
	}
	clusters := sumOf(t.Clusters, func(x *rundir.WaitsCluster) rundir.Number { return x.Caused })
	c.equal(name+": what clusters and others cause", clusters+sumOf(t.Others, func(x *rundir.WaitsOther) rundir.Number { return x.Caused }), caused)
	explained := sumOf(t.Causes, func(x *rundir.WaitsCause) rundir.Number { return x.Seconds })
	if waits > ns(t.MPI) || waits < 0 || ns(t.Unexplained) > waits || explained > caused {
		c.Errorf("%s: of %v s in MPI %v are waits, of these %v not explained, and %d ns have causes", name, t.MPI, t.Waiting, t.Unexplained, explained)
	}
	c.path(name, t)
}

// path checks the critical path of a table: of windows there is none.
func (c checker) path(name string, t *rundir.WaitsTable) {
	c.Helper()
	p := &t.Path
	if math.IsNaN(float64(p.Seconds)) {
		if len(p.Parts)+len(p.Ranks)+p.PartsTotal+p.Changes > 0 || name != "windows" {
			c.Errorf("%s: a critical path of unknown length: %+v", name, p)
		}
		return
	}
	c.equal(name+": the critical path", ns(p.Seconds), ns(t.Seconds))
	clusters := sumOf(t.Clusters, func(x *rundir.WaitsCluster) rundir.Number { return x.Path })
	c.equal(name+": the path in clusters and others", clusters+sumOf(t.Others, func(x *rundir.WaitsOther) rundir.Number { return x.Path }), ns(t.Seconds))
	c.equal(name+": parts of the path", sumOf(p.Parts, func(x *rundir.WaitsPathPart) rundir.Number { return x.Seconds })+ns(p.Rest), ns(t.Seconds))
	if len(t.ByRank) == t.Locations {
		c.equal(name+": the path on ranks", sumOf(t.ByRank, func(x *rundir.WaitsRank) rundir.Number { return x.Path }), ns(t.Seconds))
	}
}

// basis checks what waits were computed from.
func (c checker) basis(w *rundir.Waits) {
	c.Helper()
	t := w.WholeRun
	lacking := slices.Contains(w.Why, rundir.WaitsWithoutMessages)
	doubted := t.Basis == rundir.WaitsCollectives || c.manifest.Losses.LinesSkipped > 0
	if doubted == (len(w.Why) == 0) || t.Basis == rundir.WaitsFull && w.Windows != nil || lacking && c.manifest.Trace == "" {
		c.Errorf("%s: why %q, windows %+v", t.Basis, w.Why, w.Windows)
	}
	several := c.manifest.Trace != "" // whose clocks are not known
	for _, x := range c.manifest.Clocks {
		several = several || x.Clock != c.manifest.Clocks[0].Clock
	}
	if !several && (t.Contradictions > 0 || t.Marked || t.Uncertain > 0) {
		c.Errorf("one clock: %d contradictions, marked %v, %v s uncertain", t.Contradictions, t.Marked, t.Uncertain)
	}
	if c.manifest.Kept.How == "everything" && c.manifest.Losses.TransfersLost == 0 {
		if t.Basis != rundir.WaitsFull && !lacking {
			c.Errorf("everything is kept, and the basis is %s", t.Basis)
		}
		c.lateSenders(t)
	}
}

// lateSenders compares waits for late senders with those of the manifest, which has those of the calls that receive:
// polls and probes wait too, and where a call waits for a late receiver even longer, it is that.
func (c checker) lateSenders(t *rundir.WaitsTable) {
	c.Helper()
	known := c.manifest.Messages.LateSenderSeconds
	if math.IsNaN(float64(known)) {
		return
	}
	var late, polled, forReceivers int64
	for _, x := range t.CallPaths {
		switch kind, _ := trace.ParseWaitKind(x.Kind); kind {
		case trace.LateSender, trace.WrongOrder:
			late += ns(x.Seconds)
			if polls.MatchString(x.CallPath) {
				polled += ns(x.Seconds)
			}
		case trace.LateReceiver:
			forReceivers += ns(x.Seconds)
		}
	}
	if late < ns(known)-forReceivers || late > ns(known)+polled {
		c.Errorf("late senders: %d ns, %d of them in polls, and %d for late receivers; the manifest has %d", late, polled, forReceivers, ns(known))
	}
}

var polls = regexp.MustCompile(`^MPI_(Test|I?[Mm]?[Pp]robe)`)
