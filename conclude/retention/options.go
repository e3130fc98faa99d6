package retention

import (
	"moriens/analysis/loops"
	"moriens/conclude/levels"
	"moriens/internal/units"
)

// Options say what of a run is described, and how much of it is kept.
type Options struct {
	All      bool        // everything does, and the rest does not matter
	Budget   units.Bytes // of the whole run directory
	Windows  int         // consecutive iterations that stand for a phase; 0 = represent.DefaultWindows
	Outliers int         // threads that are unlike their class, at most; below 0: in proportion to the classes
	// Functions are those of which phases are made, by their names in call paths.
	Functions []string
	Workers   int      // threads to compute with; below 1 means 1
	Sums      *Sums    // of all threads, where the run has the columns of some; nil = it has those of all
	Outline   *Outline // nil = none was made
	// Unclustered says that nothing has clustered the bursts.
	Unclustered bool
}

// DefaultBudget is that of the command line.
const DefaultBudget = units.Bytes(64 << 20)

// An Outline is levels 1 and 2 of a run by its call paths alone. It is made before anything is clustered, and is kept
// where there is no time for levels by clusters.
type Outline struct {
	profile   *levels.Profiled // like structure nil where that could not be done
	structure *loops.Structure // of the symbols of table
	table     *levels.Table
}
