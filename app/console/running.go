package console

import (
	"fmt"
	"strings"

	"moriens/collector/health"
)

// efficiencyRows say how well a run in progress uses its processors, and which rank waits.
func efficiencyRows(p *health.Page) [][]string {
	if p.Efficiency == nil {
		return nil // of a collector of an earlier version
	}
	rows := [][]string{{"efficiency", efficiencyText(p.Efficiency)}}
	if x := p.Waiting; x != nil && x.Seconds >= health.WaitSeconds {
		rows = append(rows, []string{"waiting", waitingText(x)})
	}
	return rows
}

// efficiencyText is the run so far and its last minute, in one line.
func efficiencyText(e *health.Efficiency) string {
	var parts []string
	if f := &e.Run; f.ParallelEfficiency != nil && f.Seconds != nil {
		parts = append(parts, fmt.Sprintf("parallel efficiency %s, load balance %s, communication %s in %s", ratioOf(f.ParallelEfficiency), ratioOf(f.LoadBalance),
			ratioOf(f.CommunicationEfficiency), span(*f.Seconds)))
	}
	if f := &e.Minute; f.ParallelEfficiency != nil && f.Seconds != nil && len(parts) > 0 {
		parts = append(parts, fmt.Sprintf("last %s: %s, %s, %s", span(*f.Seconds), ratioOf(f.ParallelEfficiency), ratioOf(f.LoadBalance), ratioOf(f.CommunicationEfficiency)))
	}
	if e.Why != "" {
		parts = append(parts, e.Why)
	}
	if len(parts) == 0 {
		return "not known: no rank has computed yet"
	}
	return strings.Join(parts, "; ")
}

// waitingText says which rank waits, where and for how long.
func waitingText(x *health.Waiting) string {
	rank := fmt.Sprintf("rank %d", x.Rank)
	if x.World > 0 {
		rank += fmt.Sprintf(" of world %d", x.World)
	}
	call := x.Call
	if x.CallPath != "" {
		call += "@" + x.CallPath
	}
	return fmt.Sprintf("%s in %s for %d s", rank, call, int64(x.Seconds))
}

func ratioOf(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100**x)
}
