package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"moriens/conclude/retention"
	"moriens/internal/units"
)

// keepFlags say what is kept of a run in the run directory.
type keepFlags struct {
	Keep          units.Bytes `help:"Target size of the run directory. The profile and the loop structure of all ranks are always kept, even if larger; the rest is used for representative windows in full detail (default: ${default})." placeholder:"SIZE" default:"64MiB"`
	Windows       int         `help:"Number of consecutive iterations kept in full detail for each phase (default: ${default})." placeholder:"N" default:"2"`
	Outliers      int         `help:"Maximum number of ranks unlike the others of their class that are kept in detail, beside one rank for each class; -1: in proportion to the classes (default: -1)." placeholder:"N" default:"-1"`
	PhaseFunction string      `help:"Functions that are phases of the program, separated by commas: from the first MPI call inside one to the last, as call paths show it. C++ names may lack their namespaces, Fortran names the final _." placeholder:"NAME,..."`
	KeepBursts    string      `help:"Bursts and MPI calls to keep: windows (and a sample of the other bursts), or all (default: windows)." enum:"windows,all" default:"windows" placeholder:"WHAT"`
}

func (k *keepFlags) retention() (retention.Options, error) {
	if k.Windows < 1 {
		return retention.Options{}, usage(fmt.Errorf("--windows=%d", k.Windows), "give a number of iterations of at least 1")
	}
	if k.Outliers < -1 {
		return retention.Options{}, usage(fmt.Errorf("--outliers=%d", k.Outliers), "give a number of ranks of at least 0, or -1 for the default")
	}
	functions, err := functionsOf(k.PhaseFunction)
	if err != nil {
		return retention.Options{}, err
	}
	return retention.Options{All: k.KeepBursts == "all", Budget: k.Keep, Windows: k.Windows, Outliers: k.Outliers, Functions: functions}, nil
}

// functionsOf are the names of a list, in which commas within <> and () are of a name.
func functionsOf(list string) (names []string, err error) {
	if list == "" {
		return nil, nil
	}
	depth, from := 0, 0
	for i := 0; i <= len(list); i++ {
		if i < len(list) {
			switch list[i] {
			case '<', '(':
				depth++
				continue
			case '>', ')':
				depth = max(depth-1, 0)
				continue
			}
			if list[i] != ',' || depth > 0 {
				continue
			}
		}
		name := strings.TrimSpace(list[from:i])
		if name == "" || slices.Contains(names, name) {
			return nil, usage(fmt.Errorf("--phase-function: %q: a name is empty or given twice", list), "for example --phase-function x_solve,y_solve")
		}
		names, from = append(names, name), i+1
	}
	return names, nil
}

// timeoutFlag says how long the end of a run may take.
type timeoutFlag struct {
	MoriensTimeout time.Duration `help:"Time limit for the analysis after the job has ended. What does not fit is left out and reported (default: ${default})." placeholder:"TIME" default:"60s"`
}
