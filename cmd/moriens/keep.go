package main

import (
	"fmt"
	"time"

	"moriens/conclude/retention"
	"moriens/internal/units"
)

// keepFlags say what of a run stays in the run directory.
type keepFlags struct {
	Keep       units.Bytes `help:"Bytes that the run directory may take: levels 1 and 2 of all ranks always, and windows of full detail that stand for the run, as many as fit (default: ${default})." placeholder:"SIZE" default:"64MiB"`
	Windows    int         `help:"Consecutive iterations in full detail that stand for a phase (default: ${default})." placeholder:"N" default:"2"`
	Outliers   int         `help:"Ranks that are unlike their class and are kept beside its exemplar, at most; -1: in proportion to the classes, the default." placeholder:"N" default:"-1"`
	KeepBursts string      `help:"Which bursts and MPI calls stay: windows, with a sample of the other bursts, or all." enum:"windows,all" default:"windows"`
}

func (k *keepFlags) retention() (retention.Options, error) {
	if k.Windows < 1 {
		return retention.Options{}, usage(fmt.Errorf("--windows=%d", k.Windows), "it is a number of iterations from 1 up")
	}
	if k.Outliers < -1 {
		return retention.Options{}, usage(fmt.Errorf("--outliers=%d", k.Outliers), "it is a number of ranks from 0 up, or -1 for the default")
	}
	return retention.Options{All: k.KeepBursts == "all", Budget: k.Keep, Windows: k.Windows, Outliers: k.Outliers}, nil
}

// timeoutFlag says how long the end of a run may take.
type timeoutFlag struct {
	MoriensTimeout time.Duration `help:"How long the end of the run may take: what there is no time for is left out, and said (default: ${default})." placeholder:"TIME" default:"60s"`
}
