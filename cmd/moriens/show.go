package main

import "moriens/app/measure"

// showFlags are what is printed of the results.
type showFlags struct {
	Verbose bool `group:"results" help:"Print all figures in the place of the summary, as moriens status --long does." xor:"show"`
	Quiet   bool `group:"results" help:"Print no summary." xor:"show"`
	JSON    bool `group:"results" name:"json" help:"Print the results as JSON in the place of the summary." xor:"show"`
}

func (f *showFlags) show() measure.Show {
	switch {
	case f.Verbose:
		return measure.ShowLong
	case f.Quiet:
		return measure.ShowNothing
	case f.JSON:
		return measure.ShowJSON
	}
	return measure.ShowSummary
}
