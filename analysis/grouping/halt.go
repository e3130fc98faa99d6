package grouping

import (
	"errors"

	"moriens/analysis/refine"
	"moriens/internal/team"
)

// ErrHalted is why there is no result where Options.Halt was true before there were clusters.
var ErrHalted = refine.ErrHalted

// over ends at all members what Options.Halt ends at one.
func (c *computation) over() error { return c.overAt(c.team) }

func (c *computation) overAt(t team.Team) error {
	return refine.Halted(t, c.options.Halt)
}

// agree makes an error of one member an error of all. All return ErrHalted if one was halted.
func (c *computation) agree(err error) error {
	halted := errors.Is(err, ErrHalted)
	if halted {
		err = nil
	}
	if err := team.Explain(c.team, err); err != nil {
		return err
	}
	halted, err = team.Any(c.team, halted)
	if err == nil && halted {
		err = ErrHalted
	}
	return err
}
