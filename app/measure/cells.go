package measure

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"moriens/agent"
	"moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/internal/hint"
	"moriens/internal/rendezvous"
)

// Cells say that bursts are kept on their nodes, as sequences of micro-cells.
type Cells struct {
	Side float64 // of a micro-cell, in units of the coordinates; 0 = by the options' resolution
}

// spec says what agents make micro-cells by; empty where bursts are sent. It has to be the same at all agents, and at
// the collector.
func (c *Cells) spec(o grouping.Options) string {
	if c == nil {
		return ""
	}
	or := func(text string, given bool) string {
		if given {
			return text
		}
		return "auto"
	}
	var dims []string
	for _, d := range o.Dims {
		dims = append(dims, d.String())
	}
	shortest := o.Filter.MinNS
	if o.Filter.Auto { // the collector finds it
		shortest = 0
	}
	return fmt.Sprintf("dims %s, by %s, side %s, resolution %s, min-duration %s", or(strings.Join(dims, ","), len(dims) > 0), or(o.By.String(), o.By != grouping.ByAuto),
		or(fmt.Sprint(c.Side), c.Side > 0), or(fmt.Sprint(o.Resolution), o.Resolution > 0), time.Duration(shortest))
}

// keep is how an agent keeps bursts; nil where it sends them.
func (c *Cells) keep(o grouping.Options, log *slog.Logger) (*agent.Cells, error) {
	if c == nil {
		return nil, nil
	}
	config := cells.Config{Dims: o.Dims, By: o.By, Side: c.Side, Resolution: o.Resolution, Kinds: true, Log: log}
	if !o.Filter.Auto {
		config.MinNS = o.Filter.MinNS
	}
	cellStore, err := cells.New(config)
	if err != nil {
		return nil, hint.With(err, "give a --cell-side that fits the dimensions, or leave out both it and --dims")
	}
	return &agent.Cells{Store: cellStore, Spec: c.spec(o)}, nil
}

// agree returns an error where an agent is not configured to keep its bursts as the collector expects it.
func (c *Cells) agree(meet rendezvous.Rendezvous, o grouping.Options) error {
	given := c.spec(o)
	const same = "start the agent with the collector's --dims, --by, --min-duration, --resolution and --cell-side"
	switch {
	case given == meet.Cells:
		return nil
	case given == "":
		return hint.With(fmt.Errorf("the collector of run %s expects agents to keep bursts as micro-cells: %s", meet.Run, meet.Cells), "start this one with --cells; "+same)
	case meet.Cells == "":
		return hint.With(fmt.Errorf("the collector of run %s expects agents to send bursts, but this agent keeps them", meet.Run),
			"start it without --cells (MORIENS_CELLS), or the collector with it")
	}
	return hint.With(fmt.Errorf("the collector of run %s expects micro-cells of %s, but this agent has %s", meet.Run, meet.Cells, given), same)
}
