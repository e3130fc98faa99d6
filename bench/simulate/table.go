package main

import (
	"fmt"
	"io"
	"strings"

	"moriens/internal/units"
)

// printTables prints what the ends of runs took: of each run, and of each of its stages beside the model.
func printTables(out io.Writer, ends []*end) error {
	var text strings.Builder
	text.WriteString("| agents | ranks | bursts | side | units of an agent (most) | merged | places | segments | distinct sequences | labellings | an agent (most) | collector | resident before, at most | exact | kinds found |\n|" +
		strings.Repeat("---|", 15) + "\n")
	for _, e := range ends {
		fmt.Fprintf(&text, "| %d | %d | %d | %.4g | %d (%d) | %d | %d | %d | %d | %d | %v (%v) | %v | %v, %v | %s | %d of %d |\n",
			e.Job.Agents, e.Job.ranks(), e.Bursts, e.Side, e.UnitsOfAgent, e.MostUnitsOfAgent, e.Units, e.Places, e.Segments, e.Distinct, e.labellings(),
			units.Bytes(e.AgentBytes), units.Bytes(e.MostAgentBytes), units.Bytes(e.Heap), units.Bytes(e.Resident), units.Bytes(e.Peak), e.exact(), e.Found, e.Kinds)
	}
	text.WriteString("\nBy stage, and in brackets by the model. Seconds are of processor time: of all agents together, of the one that took longest, and of the collector.\n\n" +
		"| ranks, bursts | stage | times | messages down, up | down | up | compressed | agents, s | one agent, s | collector, s |\n|" + strings.Repeat("---|", 10) + "\n")
	for _, e := range ends {
		for i := range e.Stages {
			s := &e.Stages[i]
			m := e.model(s)
			fmt.Fprintf(&text, "| %d, %d | %s | %d | %d, %d | %v (%v) | %v (%v) | %v | %.3f%s | %.4f | %.3f (%.3f) |\n",
				e.Job.ranks(), e.Bursts, s.Name, s.Asked, s.Way.Down.Messages, s.Way.Up.Messages, units.Bytes(s.Way.Down.Bytes), units.Bytes(m.Down),
				units.Bytes(s.Way.Up.Bytes), units.Bytes(m.Up), units.Bytes(s.Compressed), s.Seconds, modelled(m.Agents), s.Largest, s.CPU, m.Central)
		}
	}
	for _, e := range ends {
		for _, line := range e.Lost {
			fmt.Fprintf(&text, "\n%d ranks, %d bursts: %s\n", e.Job.ranks(), e.Bursts, line)
		}
		if e.Equal != "" {
			fmt.Fprintf(&text, "\n%d ranks, %d bursts, compared with all bursts in one place: %s\n", e.Job.ranks(), e.Bursts, e.Equal)
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func modelled(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.3f)", seconds)
}

// exact says what the certificate says.
func (e *end) exact() string {
	c := &e.Certificate
	text := "yes"
	if !c.Exact {
		text = fmt.Sprintf("no: %d units with %d bursts", c.Units, c.Bursts)
	}
	if c.Bound {
		text += fmt.Sprintf(", Eps raised from %.3g to %.3g", c.Wanted, c.Floor)
	}
	return text
}
