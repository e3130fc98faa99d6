package console

import (
	"fmt"
	"math"
	"slices"

	"moriens/trace/rundir"
)

// overhead says what processor time measuring has taken, in all, as a share of the time that all threads that called
// MPI ran together, and for each MPI call; "" where that is not recorded.
func overhead(m *rundir.Manifest, e *rundir.Efficiency) string {
	o := m.Overhead
	if o == nil {
		return ""
	}
	// What killed processes used in the end is not known.
	restarted := slices.ContainsFunc(m.Agents, func(a rundir.Agent) bool { return a.Restarts > 0 })
	collector := "collector"
	if o.Shared {
		collector = "collector and agent in one process"
	}
	text := fmt.Sprintf("%s %s of processor time", collector, processorTime(o.CollectorSeconds, m.Losses.CollectorRestarts > 0))
	if o.AgentSeconds != 0 {
		agents := processorTime(o.AgentSeconds, restarted || len(m.Losses.AgentsUnfinished) > 0)
		text = fmt.Sprintf("agents %s, %s", agents, text)
	}
	if e != nil && len(e.Runs) > 0 {
		all := float64(m.Seconds) * float64(e.Runs[0].Locations)
		if share := float64(o.AgentSeconds+o.CollectorSeconds) / all; all > 0 && !math.IsNaN(share) {
			text += fmt.Sprintf(" (%s of the ranks' time)", smallPercent(share))
		}
	}
	if ns := float64(o.NSPerCall); !math.IsNaN(ns) {
		text += fmt.Sprintf("; %s per MPI call", Duration(ns))
	}
	return text
}

// smallPercent has a digit more than others, because measuring is to take less than 1 %.
func smallPercent(share float64) string {
	if share < 1e-4 {
		return "less than 0.01 %"
	}
	return fmt.Sprintf("%.2f %%", 100*share)
}

// processorTime is NaN where it is not known.
func processorTime(seconds rundir.Number, atLeast bool) string {
	text := Duration(float64(seconds) * 1e9)
	switch {
	case math.IsNaN(float64(seconds)):
		return "an unknown amount"
	case atLeast:
		return "at least " + text
	}
	return text
}
