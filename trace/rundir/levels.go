package rundir

import (
	"io"

	"moriens/trace/parquet"
)

// Levels are what is kept of all ranks; nil = not there.
type Levels struct {
	Profile    *parquet.Profile // level 1
	Structure  *Structure       // level 2
	Efficiency *Efficiency
	Waits      *Waits
}

// files are those that are there, as they are to be written.
func (l *Levels) files() []file {
	var list []file
	if l != nil && l.Profile != nil {
		list = append(list, file{ProfileFile, "profile of all ranks: times, counters, bytes", func(w io.Writer) error { return parquet.WriteProfile(w, l.Profile) }})
	}
	if l != nil && l.Structure != nil {
		list = append(list, file{StructureFile, "structure of all ranks, as loops", l.Structure.Write})
	}
	if l != nil && l.Efficiency != nil {
		list = append(list, file{EfficiencyFile, "efficiency: load balance, communication, by cluster, phase and node", l.Efficiency.Write})
	}
	return list
}
