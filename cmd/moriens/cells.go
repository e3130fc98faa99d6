package main

import (
	"errors"
	"fmt"

	"moriens/analysis/grouping"
	"moriens/app/measure"
	"moriens/conclude/retention"
)

// cellsFlags say whether bursts are kept on their nodes.
type cellsFlags struct {
	Cells    bool     `help:"For runs too large for one collector: bursts remain on their nodes as micro-cells (small cells of the burst space) and are summarised there. Collector and agents that are started separately need the same option." env:"MORIENS_CELLS"`
	CellSide *float64 `help:"Side of a micro-cell, in units of the dimensions (default and maximum: half the smallest Eps, 0.005 in ln(duration); with counters a quarter, 0.005. With --dbscan any, but Eps is at least 4·S·√dimensions)." placeholder:"S" env:"MORIENS_CELL_SIDE"`
}

// mostSide is a side of micro-cells with which all that 64 bits can count is in one.
const mostSide = 1 << 64

// cells says how bursts are kept on their nodes; nil where they are not.
func (f *cellsFlags) cells() (*measure.Cells, error) {
	switch {
	case f.CellSide != nil && !(*f.CellSide > 0 && *f.CellSide <= mostSide):
		return nil, usage(fmt.Errorf("--cell-side=%v: want a length above 0 and at most %.3g, in units of the dimensions", *f.CellSide, float64(mostSide)),
			"leave the option out for the default; with duration as the only dimension it is 0.005")
	case !f.Cells && f.CellSide != nil:
		return nil, usage(errors.New("--cell-side needs --cells"), "give --cells too")
	case !f.Cells:
		return nil, nil
	case f.CellSide == nil:
		return &measure.Cells{}, nil
	}
	return &measure.Cells{Side: *f.CellSide}, nil
}

// obeyed is cells, of options that are supported where bursts are kept on their nodes.
func (f *cellsFlags) obeyed(o grouping.Options, keep retention.Options) (*measure.Cells, error) {
	kept, err := f.cells()
	switch {
	case err != nil || kept == nil:
		return nil, err
	case keep.All:
		return nil, usage(errors.New("--keep-bursts all with --cells: bursts are kept on the nodes only until the job ends"), "use only one of the two options")
	case len(keep.Functions) > 0:
		return nil, usage(errors.New("--phase-function with --cells: calls stay on the nodes, which know the phases that the program marks only"), "mark the phases in the program (docs/annotations.md), or leave --cells out")
	case o.Strict:
		return nil, usage(errors.New("--strict with --cells: ClusteringSuite's rules need all bursts in one place"), "use only one of the two options")
	case o.Fixed == nil:
		if err := grouping.CheckCells(o.Dims, o.Resolution, kept.Side); err != nil {
			return nil, usage(fmt.Errorf("--cells: %w", err), "leave --cell-side out, use logarithmic --dims, or fix Eps and MinPts with --dbscan")
		}
	}
	return kept, nil
}
