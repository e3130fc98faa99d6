package console

import (
	"fmt"
	"math"

	"moriens/trace/rundir"
)

// overhead says what processor time measuring has taken; "" where that is not recorded.
func overhead(o *rundir.Overhead) string {
	if o == nil {
		return ""
	}
	collector := "collector"
	if o.Shared {
		collector = "collector and agent in one process"
	}
	text := fmt.Sprintf("%s %s of processor time", collector, processorTime(o.CollectorSeconds))
	if o.AgentSeconds != 0 {
		text = fmt.Sprintf("agents %s, %s", processorTime(o.AgentSeconds), text)
	}
	if ns := float64(o.NSPerCall); !math.IsNaN(ns) {
		text += fmt.Sprintf("; %s per MPI call", Duration(ns))
	}
	return text
}

// processorTime is NaN where it is not known.
func processorTime(seconds rundir.Number) string {
	if math.IsNaN(float64(seconds)) {
		return "an unknown amount"
	}
	return Duration(float64(seconds) * 1e9)
}
