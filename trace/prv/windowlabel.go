package prv

import (
	"fmt"
	"strings"

	"moriens/trace"
)

const (
	noWhy   = "window"
	noPhase = "no phase"
)

// windowLabel is "representative, phase 0, 1000 to 2000 ns: iterations 412-413", as parseWindow reads it.
func windowLabel(w *trace.Window) string {
	why, phase := w.Why.String(), noPhase
	if why == "" {
		why = noWhy
	}
	if w.Phase >= 0 {
		phase = fmt.Sprintf("phase %d", w.Phase)
	}
	return strings.TrimSpace(fmt.Sprintf("%s, %s, %d to %d ns: %s", why, phase, w.BeginNS, w.EndNS, oneLine(w.Reason)))
}

// parseWindow takes a label apart. What is none of ours is all reason.
func parseWindow(label string) trace.Window {
	w := trace.Window{Phase: -1}
	head, reason, ok := strings.Cut(label, ":")
	part := strings.SplitN(head, ", ", 3)
	if !ok || len(part) != 3 {
		w.Reason = label
		return w
	}
	why, known := whyOf(part[0])
	if _, err := fmt.Sscanf(part[1], "phase %d", &w.Phase); err != nil && part[1] != noPhase || w.Phase < -1 {
		known = false
	}
	if _, err := fmt.Sscanf(part[2], "%d to %d ns", &w.BeginNS, &w.EndNS); err != nil || !known {
		return trace.Window{Phase: -1, Reason: label}
	}
	w.Why, w.Reason = why, strings.TrimSpace(reason)
	return w
}

func whyOf(word string) (trace.Why, bool) {
	if word == noWhy {
		return 0, true
	}
	for why := trace.Representative; why.String() != ""; why++ {
		if why.String() == word {
			return why, true
		}
	}
	return 0, false
}
