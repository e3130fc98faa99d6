package rundir

import (
	"io"

	"moriens/trace/parquet"
)

// Levels are what is kept of all ranks; nil = not there.
type Levels struct {
	Profile    *parquet.Profile      // level 1
	Instances  []parquet.InstanceRow // what each instance of each phase took; nil = not known
	Structure  *Structure            // level 2
	Efficiency *Efficiency
	Waits      *Waits             // who waited for whom, and why
	WaitsRows  []parquet.WaitsRow // the whole run of it, complete; not nil where Waits has a whole run
	Pairs      *Pairs             // who exchanged what with whom
	PairsRows  []parquet.PairsRow // all of it; nil where Pairs has no totals
	Program    *Structured        // the structure as a person would have written it
}

// files are those that are there, as they are to be written.
func (l *Levels) files() []file {
	var list []file
	if l != nil && l.Profile != nil {
		list = append(list, file{ProfileFile, "profile of all ranks: times, counters, bytes", func(w io.Writer) error { return parquet.WriteProfile(w, l.Profile) }})
	}
	if l != nil && l.Instances != nil {
		list = append(list, file{InstancesFile, "instances of phases and iterations: times over all ranks", func(w io.Writer) error { return parquet.WriteInstances(w, l.Instances) }})
	}
	if l != nil && l.Structure != nil {
		list = append(list, file{StructureFile, "structure of all ranks, as loops", l.Structure.Write})
	}
	if l != nil && l.Efficiency != nil {
		list = append(list, file{EfficiencyFile, "efficiency: load balance, communication, by cluster, phase and node", l.Efficiency.Write})
	}
	if l != nil && l.Waits != nil {
		list = append(list, file{WaitsFile, "waits: kinds, causes, critical path", l.Waits.Write})
		if l.Waits.WholeRun != nil {
			list = append(list, file{WaitsTableFile, "waits of all ranks: by call path, causes, critical path, links", func(w io.Writer) error { return parquet.WriteWaits(w, l.WaitsRows) }})
		}
	}
	if l != nil && l.Pairs != nil {
		list = append(list, file{PairsFile, "pairs: who exchanged messages with whom, what it cost, findings", l.Pairs.Write})
		if l.Pairs.Totals != nil {
			list = append(list, file{PairsTableFile, "pairs of ranks: messages, bytes and times, by sizes", func(w io.Writer) error { return parquet.WritePairs(w, l.PairsRows) }})
		}
	}
	if l != nil && l.Program != nil {
		list = append(list, l.Program.files()...)
	}
	return list
}
