package stage

import "cmp"

// A Step is a stage of the end of a run.
type Step struct {
	Name string
	// Until is the part of the limit after which it is given up, 0 to 1. One that is done to its end, however long that
	// takes, has none.
	Until float64
	// Least is the part of what is left of the limit when it begins that it may have, if that is more.
	Least float64
	// Needs are the names of steps without which there is nothing to do for it. All others it does without.
	Needs []string
}

// last is the part of the limit by which everything but writing must be done.
const last = .95

// least is Step.Least of the steps that make the results: a run whose recount has taken too long still has something of
// everything. The first step, which needs the least time, has more.
const least = 1. / 6

// The stages of the end of a run, in their order. docs/reduction.md says what each does, and what is not there without
// it.
var (
	Freeze   = Step{Name: "freeze"}
	Return   = Step{Name: "return", Until: .1}
	FetchAll = Step{Name: "fetch", Until: .3} // where everything is kept

	// Of a run whose bursts were kept on their nodes.
	LineUp       = Step{Name: "line up"}
	Cells        = Step{Name: "cells", Until: .3}
	Sums         = Step{Name: "sums", Until: .36}
	FetchRanks   = Step{Name: "fetch ranks", Until: .46}
	RecountRanks = Step{Name: "recount", Until: .5}
	Label        = Step{Name: "label", Until: .5}

	Recount = Step{Name: "recount", Until: .33}
	Read    = Step{Name: "read"} // of a trace

	ProfileByCalls   = Step{Name: "profile by calls", Until: .4, Least: 1. / 2}
	StructureByCalls = Step{Name: "structure by calls", Until: .42, Least: 1. / 2}
	Cluster          = Step{Name: "cluster", Until: .5, Least: 1. / 4}
	Sample           = Step{Name: "sample", Until: .55, Least: 1. / 2}
	Symbols          = Step{Name: "symbols"}
	Periods          = Step{Name: "periods", Until: .58, Least: least}
	Profile          = Step{Name: "profile", Until: .62, Least: least}
	Instances        = Step{Name: "instances", Until: .63, Least: least}
	Structure        = Step{Name: "structure", Until: .64, Least: least}
	Waits            = Step{Name: "waits", Until: .65, Least: least}
	Program          = Step{Name: "program", Until: .655, Least: least}
	Classes          = Step{Name: "classes", Until: .66, Least: least}
	Pairs            = Step{Name: "pairs", Until: .67, Least: least}
	Efficiency       = Step{Name: "efficiency", Until: .67, Least: least}
	Size             = Step{Name: "size", Until: .69, Least: least}
	Windows          = Step{Name: "windows", Until: .71, Least: least, Needs: []string{"size"}}
	Choose           = Step{Name: "choose"}
	Fetch            = Step{Name: "fetch", Until: .85}
	Fit              = Step{Name: "fit", Until: .9, Least: least}
	Error            = Step{Name: "judge", Until: last, Needs: []string{"profile", "structure"}}
	Write            = Step{Name: "write"}
)

// shown are the names that users read in the place of those in files.
var shown = map[string]string{
	"return": "reconnect", "line up": "ranks", "cells": "micro-cells", "sums": "totals", "recount": "rebuild", "choose": "select", "judge": "error",
}

// Shown is the name of a step as users read it.
func Shown(name string) string { return cmp.Or(shown[name], name) }

// Plan are all steps of a run whose bursts arrived, in the order in which conclude takes them: tests hold runs against
// it.
var Plan = []Step{
	Freeze, Return, FetchAll, Recount, ProfileByCalls, StructureByCalls, Cluster, Sample, Symbols, Periods, Profile, Instances, Structure, Waits, Program, Classes, Pairs, Size, Windows, Choose, Fetch, Fit, Error, Efficiency, Write,
}
