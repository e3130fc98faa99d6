package collector

import (
	"fmt"

	moriensv1 "moriens/proto/moriens/v1"
)

// A ModeError is an agent that does not keep its bursts as the others of the run do, or that does where the others send
// them.
type ModeError struct {
	Host         string // of the agent
	Agent, Wants string // how it keeps micro-cells, and how the run's agents do; empty = bursts are sent
}

func (e *ModeError) Error() string {
	switch {
	case e.Agent == "":
		return fmt.Sprintf("the agent on %s sends its bursts; the others of the run keep them as micro-cells: %s", e.Host, e.Wants)
	case e.Wants == "":
		return fmt.Sprintf("the agent on %s keeps its bursts as micro-cells; the others of the run send them", e.Host)
	}
	return fmt.Sprintf("the agent on %s keeps its bursts as micro-cells: %s; the others of the run: %s", e.Host, e.Agent, e.Wants)
}

// Advice is what to do about it.
func (e *ModeError) Advice() string {
	switch {
	case e.Agent == "":
		return "start it with --cells and the collector's --dims, --by, --min-duration, --resolution and --cell-side, or start the collector without --cells"
	case e.Wants == "":
		return "start it without --cells, or start the collector with --cells"
	}
	return "start it with the collector's --dims, --by, --min-duration, --resolution and --cell-side"
}

// mode refuses agents that keep their bursts in another way, and notifies the user.
func (c *Collector) mode(h *moriensv1.Hello) error {
	if h.Cells == c.cells {
		return nil
	}
	e := &ModeError{Host: h.Host, Agent: h.Cells, Wants: c.cells}
	if c.notify != nil {
		c.notify("refused: "+e.Error(), e.Advice())
	}
	return fmt.Errorf("%w; %s", e, e.Advice())
}
