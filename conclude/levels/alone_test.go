package levels

import (
	"bytes"
	"errors"

	"moriens/analysis/loops"
	"moriens/analysis/period"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// alone has all threads.
var alone team.Threads

// fataler is a test, a benchmark or a check of rapid.
type fataler interface{ Fatal(args ...any) }

func symbolsOf(t fataler, run *trace.Run, workers int) *Table {
	table, err := Symbols(run, alone, workers)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func profileOf(t fataler, run *trace.Run, phases []period.Phase, workers int) *Profiled {
	p, err := Profile(run, alone, phases, workers)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func structureOf(t fataler, run *trace.Run, table *Table, workers int) *loops.Structure {
	s, err := Structure(run, alone, table, workers)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func describe(t fataler, run *trace.Run, s *loops.Structure, table *Table) *rundir.Structure {
	d, err := Describe(run, alone, s, table)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// filesOf are profile.parquet and structure.json.
func filesOf(t fataler, run *trace.Run, p *Profiled, s *loops.Structure, table *Table) (profileFile, structureFile []byte) {
	var a, b bytes.Buffer
	if err := errors.Join(parquet.WriteProfile(&a, ProfileRows(run, p)), describe(t, run, s, table).Write(&b)); err != nil {
		t.Fatal(err)
	}
	return a.Bytes(), b.Bytes()
}
