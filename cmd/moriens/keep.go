package main

import (
	"fmt"
	"time"

	"moriens/conclude/retention"
	"moriens/internal/units"
)

// keepFlags say what is kept of a run in the run directory.
type keepFlags struct {
	Keep       units.Bytes `help:"Target size of the run directory. The profile and the loop structure of all ranks are always kept, even if larger; the rest is used for representative windows in full detail (default: ${default})." placeholder:"SIZE" default:"64MiB"`
	Windows    int         `help:"Number of consecutive iterations kept in full detail for each phase (default: ${default})." placeholder:"N" default:"2"`
	Outliers   int         `help:"Maximum number of ranks unlike the others of their class that are kept in detail, beside one rank for each class; -1: in proportion to the classes (default: -1)." placeholder:"N" default:"-1"`
	KeepBursts string      `help:"Bursts and MPI calls to keep: windows (and a sample of the other bursts), or all." enum:"windows,all" default:"windows"`
}

func (k *keepFlags) retention() (retention.Options, error) {
	if k.Windows < 1 {
		return retention.Options{}, usage(fmt.Errorf("--windows=%d", k.Windows), "give a number of iterations of at least 1")
	}
	if k.Outliers < -1 {
		return retention.Options{}, usage(fmt.Errorf("--outliers=%d", k.Outliers), "give a number of ranks of at least 0, or -1 for the default")
	}
	return retention.Options{All: k.KeepBursts == "all", Budget: k.Keep, Windows: k.Windows, Outliers: k.Outliers}, nil
}

// timeoutFlag says how long the end of a run may take.
type timeoutFlag struct {
	MoriensTimeout time.Duration `help:"Time limit for the analysis after the job has ended. What does not fit is left out and reported (default: ${default})." placeholder:"TIME" default:"60s"`
}
