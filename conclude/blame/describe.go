package blame

import (
	"cmp"
	"fmt"
	"slices"

	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

func seconds(ns int64) rundir.Number { return rundir.Number(float64(ns) / 1e9) }

// describer puts what was found into the words of files.
type describer struct {
	*Blame
	run     *trace.Run
	places  []string // by call path: the name of its place
	names   []string // by call path
	threads []rundir.ThreadName
	counted counted
}

func (b *Blame) describer(run *trace.Run, c counted) *describer {
	d := &describer{Blame: b, run: run, names: run.Names(), counted: c}
	for _, place := range run.Places() {
		d.places = append(d.places, d.names[place])
	}
	for i := range run.Threads {
		d.threads = append(d.threads, rundir.NameOf(&run.Threads[i]))
	}
	return d
}

// Describe is collective: it gives the first member waits.json and the rows of waits.parquet.
func (b *Blame) Describe(run *trace.Run, owners team.Threads) (*rundir.Waits, []parquet.WaitsRow, error) {
	c, err := b.count(run, owners)
	if err != nil {
		return nil, nil, err
	}
	d := b.describer(run, c)
	all, err := team.Values(owners, d.waitRows(owners))
	if err != nil {
		return nil, nil, err
	}
	found := slices.Concat(all...)
	slices.SortStableFunc(found, func(x, y waitRow) int {
		a, b := &x.Row, &y.Row
		return cmp.Or(cmp.Compare(a.World, b.World), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Thread, b.Thread))
	})
	w := &rundir.Waits{Format: rundir.WaitsFormat, Why: b.why()}
	switch {
	case b.locations == 0:
		w.Why = []string{"no call of MPI is known"}
		return w, nil, nil
	case b.givenUp():
		return w, nil, nil
	}
	w.WholeRun = d.table(found, false)
	if d.apart() {
		w.Main = d.table(found, true)
	}
	rows := make([]parquet.WaitsRow, 0, len(found))
	for i := range found {
		rows = append(rows, found[i].Row)
	}
	return w, append(rows, d.otherRows()...), nil
}

// apartFrom is the share of the run's time, of the time in MPI, or of the waits, that has to lie outside of main for it
// to have a table of its own: below, its figures are those of the whole run.
const apartFrom = .001

// apart says that main is not the whole run.
func (d *describer) apart() bool {
	less := func(main, all int64) bool { return float64(all-main) >= apartFrom*float64(all) && main < all }
	main := d.options.Main
	return less(main.EndNS-main.BeginNS, d.run.DurationNS) || less(d.MainMPINS, d.MPINS) || less(d.MainWaitNS, d.WaitNS)
}

// From these shares of the waits on, of what may be wrong about clocks, waits are marked, and given up.
const markedFrom, givenUpFrom = .01, .1

// fewWaits is the share of the threads' time up to which doubts are measured by that instead of by the waits: where
// hardly anybody waits, it does not matter that clocks cannot say whether it is a little more.
const fewWaits = .01

// doubt is which part of the waits may be wrong for what clocks disagree.
func (b *Blame) doubt() float64 {
	few := fewWaits * float64(b.elapsedNS) * float64(b.locations)
	return float64(b.UncertainNS+b.options.MovedNS) / max(float64(b.WaitNS), few, 1)
}

// several says that threads are on nodes whose clocks may differ.
func (b *Blame) several() bool { return b.options.UncertaintyNS != nil }

func (b *Blame) marked() bool { return b.several() && b.doubt() >= markedFrom }

func (b *Blame) givenUp() bool { return b.several() && b.doubt() >= givenUpFrom }

// disagreement says why waits are given up.
func (b *Blame) disagreement() string {
	return fmt.Sprintf("clocks of hosts do not agree well enough: waits of %.3g s are shorter than their uncertainty, calls were moved by %.3g s in sum, for waits of %.3g s",
		seconds(b.UncertainNS), seconds(b.options.MovedNS), seconds(b.WaitNS))
}

func (b *Blame) why() (why []string) {
	switch {
	case b.givenUp():
		return []string{b.disagreement()}
	case b.marked():
		why = append(why, fmt.Sprintf("clocks of hosts do not agree to better than %.2g %% of the waits", 100*b.doubt()))
	}
	if b.options.Skipped > 0 {
		why = append(why, fmt.Sprintf("malformed lines of the trace skipped: %d; calls and messages may be missing, and with them waits", b.options.Skipped))
	}
	switch {
	case b.options.NoMessages:
		why = append(why, rundir.WaitsWithoutMessages)
	case !b.Full:
		why = append(why, rundir.WaitsOfCollectives)
	}
	return why
}
