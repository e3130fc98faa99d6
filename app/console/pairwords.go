package console

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"moriens/internal/units"
	"moriens/trace/rundir"
)

// writePairs prints, in two lines of a width, 0: of any, what ranks exchange, and what is most unusual in it.
func writePairs(b *strings.Builder, r *Results, width int) {
	if r.Pairs == nil || r.Pairs.Totals == nil || r.Pairs.Totals.Messages == 0 {
		return
	}
	for _, text := range []string{pairsLine(r), findingLine(r.Pairs, width)} {
		if width > 0 {
			text = clauses(text, width)
		}
		fmt.Fprintf(b, "%s\n", text)
	}
}

// pairsLine is what ranks exchange, and where their time goes: sends are named where they take longer than receives.
func pairsLine(r *Results) string {
	t := r.Pairs.Totals
	text := fmt.Sprintf("pairs: %s (%s, %v", units.Integer(int(t.Pairs)), units.Counted(int(t.Messages), "message"), units.Bytes(t.Bytes))
	if hosts := len(hostsOf(r.Pairs)); hosts > 1 {
		text += fmt.Sprintf(", %s between nodes", ratioText(float64(t.InternodeBytes)/float64(t.Bytes)))
	}
	text += ")"
	ranks := 0 // with a record
	for _, h := range r.Pairs.Hosts {
		n, _ := rundir.CountRanks(h.Ranks)
		ranks += n
	}
	ofRanks := func(seconds rundir.Number) string {
		return ratioText(float64(seconds / (r.Pairs.Seconds * rundir.Number(ranks))))
	}
	if t.Send > t.Blocked {
		text += fmt.Sprintf("; sends %s (%s of ranks' time)", spent(t.Send), ofRanks(t.Send))
	}
	return text + fmt.Sprintf("; blocked %s (%s of ranks' time)", spent(t.Blocked), ofRanks(t.Blocked))
}

func hostsOf(p *rundir.Pairs) map[string]bool {
	names := make(map[string]bool)
	for _, h := range p.Hosts {
		names[h.Name] = true
	}
	return names
}

// findingLine is the largest finding, and how many there are besides, where there is room; without any it is what the
// waits in messages are.
func findingLine(p *rundir.Pairs, width int) string {
	if len(p.Findings) == 0 {
		return "pairs, findings: none" + waitedInMessages(p)
	}
	f := &p.Findings[0]
	text := f.Kind + ": " + f.Text
	if rest := len(p.Findings) - 1; rest > 0 {
		more := fmt.Sprintf("; %s: moriens pairs", units.Counted(rest, "more finding"))
		if width == 0 || utf8.RuneCountInString(text+more) <= width {
			text += more
		}
	}
	return text
}

// waitedInMessages is for how long sides were late.
func waitedInMessages(p *rundir.Pairs) string {
	t := p.Totals
	late := func(seconds, standardError rundir.Number) string {
		switch {
		case !(seconds >= 0):
			return "not known"
		case p.Basis == rundir.PairsAll:
			return spent(seconds)
		}
		return spent(seconds) + " ± " + spent(standardError)
	}
	switch {
	case !(t.LateSender >= 0):
		return "; late senders and receivers: not known"
	}
	return fmt.Sprintf("; late senders %s, late receivers %s", late(t.LateSender, t.LateSenderError), late(t.LateReceiver, t.LateReceiverError))
}
