package console

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"moriens/internal/plain"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// An EfficiencyForm says how factors are printed.
type EfficiencyForm struct {
	Dirs     []string // by run
	BSC      bool     // with the rows of BSC's script
	Additive bool     // per cent of the elapsed time that are lost, in the place of ratios
}

// Efficiency prints how well runs used their processors.
func Efficiency(w io.Writer, e *rundir.Efficiency, form EfficiencyForm) error {
	e = plain.Of(e)
	var b strings.Builder
	fmt.Fprintf(&b, "within %s\n", partOfRun(e.Within))
	for i := range e.Runs {
		r := &e.Runs[i]
		fmt.Fprintf(&b, "%s: %s", plain.Line(form.Dirs[i]), sizeOf(r))
		if r.Bound {
			b.WriteString(" · bounds")
		}
		b.WriteByte('\n')
	}
	if e.Scaling != "" {
		fmt.Fprintf(&b, "%s scaling against %s\n", e.Scaling, plain.Line(form.Dirs[0]))
	}
	b.WriteByte('\n')
	writeTable(&b, factorTable(e, form))
	writeBounds(&b, e)
	if len(e.Runs) == 1 {
		writeLosses(&b, &e.Runs[0], e.Within)
	}
	writeFits(&b, e)
	_, err := io.WriteString(w, b.String())
	return err
}

// sizeOf is how large a run is, and how long.
func sizeOf(r *rundir.EfficiencyRun) string {
	text := units.Counted(r.Ranks, "rank")
	if r.Locations != r.Ranks {
		text += fmt.Sprintf(" (%s that called MPI)", units.Counted(r.Locations, "thread"))
	}
	return text + separator + elapsed(r.Seconds)
}

func elapsed(seconds rundir.Number) string { return Duration(float64(seconds) * 1e9) }

// writeBounds says why factors are bounds.
func writeBounds(b *strings.Builder, e *rundir.Efficiency) {
	for i := range e.Runs {
		r := &e.Runs[i]
		which := ""
		if len(e.Runs) > 1 {
			which = " of " + shortOf(e, i)
		}
		for _, why := range r.Why {
			fmt.Fprintf(b, "\nbounds%s: %s", which, why)
		}
		if len(r.Why) > 0 {
			b.WriteByte('\n')
		}
	}
}

// partOfRun says what a stretch is.
func partOfRun(name string) string {
	switch name {
	case "main":
		return "main: from the end of MPI_Init to the start of MPI_Finalize"
	case "run":
		return "run: the whole run"
	case "loop":
		return "loop: from the first iteration to the end of the last"
	}
	return "phase " + name
}

// A factorRow is one factor of the tree; lost is what it costs, in seconds of the elapsed time.
type factorRow struct {
	name  string
	ratio func(r *rundir.EfficiencyRun) rundir.Number
	lost  func(r *rundir.EfficiencyRun) rundir.Number
	text  func(x float64) string // nil: per cent
}

// factorRows are the rows of runs. Those of nodes are there where one of the runs had several.
func factorRows(e *rundir.Efficiency, form EfficiencyForm) []factorRow {
	type run = rundir.EfficiencyRun
	rows := []factorRow{
		{"parallel efficiency", func(r *run) rundir.Number { return r.Parallel }, func(r *run) rundir.Number { return r.Seconds - r.MeanComputing }, nil},
		{"  load balance", func(r *run) rundir.Number { return r.Balance }, func(r *run) rundir.Number { return r.MostComputing - r.MeanComputing }, nil},
	}
	nodes := false
	for i := range e.Runs {
		nodes = nodes || len(e.Runs[i].Nodes) > 1
	}
	if nodes {
		rows = append(rows,
			factorRow{"    in nodes", func(r *run) rundir.Number { return r.InNodes }, func(r *run) rundir.Number { return r.MostComputing * (1 - r.InNodes) }, nil},
			factorRow{"    between nodes", func(r *run) rundir.Number { return r.BetweenNodes }, func(r *run) rundir.Number { return r.MostComputing*r.InNodes - r.MeanComputing }, nil})
	}
	rows = append(rows,
		factorRow{"  communication", func(r *run) rundir.Number { return r.Communication }, func(r *run) rundir.Number { return r.Seconds - r.MostComputing }, nil},
		factorRow{"    serialisation", func(r *run) rundir.Number { return r.Serialisation }, nil, nil},
		factorRow{"    transfer", func(r *run) rundir.Number { return r.Transfer }, nil, nil})
	if len(e.Runs) > 1 {
		rows = append(rows,
			factorRow{"computation scaling", func(r *run) rundir.Number { return r.ComputationScaling }, nil, nil},
			factorRow{"  instructions", func(r *run) rundir.Number { return r.InstructionScaling }, nil, nil},
			factorRow{"  IPC", func(r *run) rundir.Number { return r.IPCScaling }, nil, nil},
			factorRow{"  frequency", func(r *run) rundir.Number { return r.FrequencyScaling }, nil, nil},
			factorRow{"global efficiency", func(r *run) rundir.Number { return r.Global }, nil, nil},
			factorRow{"speedup", func(r *run) rundir.Number { return r.Speedup }, nil, figure})
	}
	if form.BSC {
		bsc := func(x float64) string { return fmt.Sprintf("%.6f", x) }
		notBefore := func(*run) rundir.Number { return rundir.Number(math.NaN()) } // replay
		rows = append(rows,
			factorRow{"serialisation (BSC)", notBefore, nil, nil},
			factorRow{"transfer (BSC)", notBefore, nil, nil},
			factorRow{"IPC (BSC)", func(r *run) rundir.Number { return r.IPC }, nil, bsc},
			factorRow{"frequency, GHz (BSC)", func(r *run) rundir.Number { return r.GHz }, nil, bsc},
			factorRow{"elapsed, s (BSC)", func(r *run) rundir.Number { return r.Seconds }, nil, bsc},
			factorRow{"most outside MPI, s (BSC)", func(r *run) rundir.Number { return r.MostOutsideMPI }, nil, bsc})
	}
	return rows
}

// factorTable has a column for each run; of one run a second one, with what each factor costs.
func factorTable(e *rundir.Efficiency, form EfficiencyForm) table {
	t := table{head: []string{""}, left: []bool{true}}
	if form.Additive {
		t.head[0] = "lost of the elapsed time"
	}
	alone := len(e.Runs) == 1
	for i := range e.Runs {
		t.head, t.left = append(t.head, columnOf(e, i)), append(t.left, false)
	}
	if alone {
		t.head[1] = ""
		t.head, t.left = append(t.head, "lost"), append(t.left, false)
	}
	for _, row := range factorRows(e, form) {
		if form.Additive && row.lost == nil && row.text == nil {
			continue // it is no loss of elapsed time, or not known as one
		}
		cells := []string{row.name}
		for i := range e.Runs {
			r := &e.Runs[i]
			x, text := float64(row.ratio(r)), ratioText
			if row.text != nil {
				text = func(x float64) string { return orDash(x, row.text) }
			}
			if form.Additive && row.lost != nil {
				x = math.Max(0, float64(row.lost(r)/r.Seconds))
			}
			cells = append(cells, text(x))
		}
		if alone {
			cells = append(cells, lostText(row, &e.Runs[0]))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// columnOf names a run's column: by its ranks, where these differ.
func columnOf(e *rundir.Efficiency, i int) string {
	for k := range e.Runs {
		if k != i && e.Runs[k].Ranks == e.Runs[i].Ranks {
			return shortOf(e, i)
		}
	}
	return units.Counted(e.Runs[i].Ranks, "rank")
}

// shortOf is the base name of a run's directory, or all of it where another one has the same.
func shortOf(e *rundir.Efficiency, i int) string {
	name := filepath.Base(e.Runs[i].Dir)
	for k := range e.Runs {
		if k != i && filepath.Base(e.Runs[k].Dir) == name {
			return e.Runs[i].Dir
		}
	}
	return name
}

func lostText(row factorRow, r *rundir.EfficiencyRun) string {
	if row.lost == nil {
		return ""
	}
	return orDash(float64(row.lost(r)), func(x float64) string { return Duration(math.Max(0, x) * 1e9) })
}

// orDash is a dash for what is not known.
func orDash(x float64, text func(float64) string) string {
	if math.IsNaN(x) {
		return "-"
	}
	return text(x)
}

func ratioText(x float64) string { return orDash(x, percent) }

// writeFits prints the laws that runs follow, and what they say of larger ones.
func writeFits(b *strings.Builder, e *rundir.Efficiency) {
	if len(e.Fits) == 0 {
		return
	}
	t := table{head: []string{"law over n, the number of ranks", ""}, left: []bool{true, true}}
	if e.Runs[0].Locations != e.Runs[0].Ranks {
		t.head[0] = "law over n, the number of threads that called MPI"
	}
	for _, p := range e.Fits[0].Projected {
		t.head, t.left = append(t.head, "n = "+units.Integer(p.Locations)), append(t.left, true)
	}
	for i := range e.Fits {
		f := &e.Fits[i]
		cells := []string{strings.ReplaceAll(strings.TrimPrefix(strings.TrimSuffix(f.What, "_seconds"), "budget."), "_", " ")}
		switch {
		case f.Amdahl != nil:
			cells = append(cells, fmt.Sprintf("%.3f/(f + (1−f)·n), f = %.6f, ± %s", float64(f.Amdahl.X0), float64(f.Amdahl.F), percent(float64(f.Amdahl.Residual))))
		case f.Law != nil:
			cells = append(cells, lawText(f.Law))
		}
		for _, p := range f.Projected {
			switch {
			case f.Amdahl != nil:
				cells = append(cells, percent(float64(p.Value)))
			default:
				cells = append(cells, fmt.Sprintf("%s (%s to %s)", elapsed(p.Value), elapsed(p.Low), elapsed(p.High)))
			}
		}
		t.rows = append(t.rows, cells)
	}
	b.WriteByte('\n')
	writeTable(b, t)
}

// lawText is a law in seconds.
func lawText(l *rundir.EfficiencyLaw) string {
	text := fmt.Sprintf("%.4g s", float64(l.C))
	if l.A > 0 {
		text += fmt.Sprintf(" + %.4g s", float64(l.A))
		if l.I != 0 {
			text += fmt.Sprintf("·n^%g", float64(l.I))
		}
		if l.J != 0 {
			text += fmt.Sprintf("·(log₂ n)^%g", float64(l.J))
		}
	}
	return text + ", ± " + percent(float64(l.Error))
}
