package main

import (
	"fmt"
	"io"
	"strings"
)

const mib = 1 << 20

// printTables prints what the ends of runs took: of each run, and of each of its stages.
func printTables(out io.Writer, ends []end) error {
	var text strings.Builder
	text.WriteString("| ranks | iterations | bursts | seconds | processor s | ns of processor per burst | resident before, MiB | at most, MiB | directory, MiB | of the full trace | found |\n|" + strings.Repeat("---|", 11) + "\n")
	for _, e := range ends {
		all := cost{}
		for _, c := range e.Costs {
			all.Seconds += c.Seconds
			all.CPU += c.CPU
			all.Peak = max(all.Peak, c.Peak)
		}
		fmt.Fprintf(&text, "| %d | %d | %d | %.2f | %.2f | %.0f | %.0f | %.0f | %.1f | 1/%.0f | %s |\n", e.Ranks, e.Iterations, e.Bursts, all.Seconds, all.CPU,
			all.CPU*1e9/float64(e.Bursts), e.Before/mib, all.Peak/mib, float64(e.Bytes)/mib, e.Ratio, e.found())
	}
	text.WriteString("\nSeconds that went by, seconds of processor time, and memory at most in MiB, by stage (-: over within 2 ms):\n\n| stage |")
	for _, e := range ends {
		fmt.Fprintf(&text, " %d ranks, %d bursts |", e.Ranks, e.Bursts)
	}
	text.WriteString("\n|" + strings.Repeat("---|", 1+len(ends)) + "\n")
	for _, name := range names(ends) {
		fmt.Fprintf(&text, "| %s |", name)
		for _, e := range ends {
			for _, c := range e.Costs {
				switch {
				case c.Stage != name:
				case c.Peak == 0: // over before anybody looked
					text.WriteString(" -")
				default:
					fmt.Fprintf(&text, " %.2f, %.2f, %.0f", c.Seconds, c.CPU, c.Peak/mib)
				}
			}
			text.WriteString(" |")
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// names are the stages that any run went through, in order.
func names(ends []end) []string {
	var list []string
	seen := make(map[string]bool)
	for _, e := range ends {
		for _, c := range e.Costs {
			if !seen[c.Stage] {
				seen[c.Stage] = true
				list = append(list, c.Stage)
			}
		}
	}
	return list
}

// found describes the results of a run.
func (e *end) found() string {
	list := []string{fmt.Sprintf("%d iterations in %d phases, %d windows, %d messages", e.Found, e.Phases, e.Windows, e.Messages)}
	if !e.Slow && e.Ranks > slowRank {
		list = append(list, "not the slow rank")
	}
	if !e.Odd {
		list = append(list, "not the odd iteration")
	}
	return strings.Join(append(list, e.Missing...), "; ")
}
