package console

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"moriens/collector/health"
	"moriens/internal/plain"
	"moriens/internal/stage"
	"moriens/internal/units"
)

// lostMuch is the share from which on the loss of ranks' time to other processes is reported.
const lostMuch = .1

// Progress prints how a run in progress is.
func Progress(w io.Writer, p *health.Page) error {
	p = plain.Of(p)
	b := new(strings.Builder)
	fmt.Fprintf(b, "moriens: run %s · %s for %s on %s (pid %d)\n\n", p.Run, p.Stage, span(p.Seconds), p.Host, p.PID)
	connected, done := p.Connected()
	writeTable(b, table{left: []bool{true, true}, rows: slices.Concat([][]string{
		{"agents", states(state{len(p.Agents), "in all"}, state{connected, "connected"}, state{len(p.Agents) - connected - done, "disconnected"}, state{done, "done"})},
		{"ranks", states(state{p.Ranks.Recorded, "in all"}, state{p.Ranks.Running, "running"}, state{p.Ranks.Ended, "ended"},
			state{p.Ranks.Died, "died"}, state{p.Ranks.Left, "continue unmeasured"})},
		{"MPI calls", calls(p)},
		{"bursts", fmt.Sprintf("%s, %s/s recently", units.Integer(int(p.Bursts)), units.Integer(int(p.BurstsPerSecond)))},
		{"clusters", clusters(p)},
		{"losses", progressLosses(&p.Losses)},
		{"rejected", turnedAway(p.Refused)},
		{"memory", units.Bytes(max(p.Memory.ResidentBytes, p.Memory.HeapBytes)).String()},
	}, unrecorded(&p.Losses), efficiencyRows(p), journal(p.Journal), analysis(p.Analysis))})
	if len(p.Members) > 0 {
		b.WriteByte('\n')
		t := table{head: []string{"collector", "host", "agents", "ranks", "bursts", "memory", "journal"}, left: []bool{false, true, false, false, false, false, false}}
		for _, m := range p.Members {
			written := "none"
			if m.Journal != nil {
				written = units.Bytes(m.Journal.Bytes).String()
			}
			t.rows = append(t.rows, []string{
				units.Integer(m.Member), m.Host, units.Integer(m.Agents), units.Integer(m.Ranks), units.Integer(int(m.Bursts)), units.Bytes(max(m.Memory.ResidentBytes, m.Memory.HeapBytes)).String(), written,
			})
		}
		writeTable(b, t)
	}
	if len(p.Agents) > 0 {
		b.WriteByte('\n')
		t := table{head: []string{"host", "agent", "ranks"}, left: []bool{true, true, false}}
		crowded := slices.ContainsFunc(p.Agents, func(a health.Agent) bool { return a.Lost >= lostMuch })
		if crowded { // of the time in which ranks could run
			t.head, t.left = append(t.head, "lost to other processes"), append(t.left, false)
		}
		for _, a := range p.Agents {
			how := "connected"
			switch {
			case a.Spool != nil && a.Spool.Unkept > 0:
				how = "ended, spool full"
			case a.Done:
				how = "done"
			case a.Spool != nil && a.Spool.Full:
				how = fmt.Sprintf("not reading, spool full (%s in total)", span(a.Spool.FullSeconds))
				if a.Spool.Error != "" {
					how += ": " + a.Spool.Error
				}
			case !a.Connected:
				how = "disconnected for " + span(a.Away)
			}
			row := []string{a.Host, how, units.Integer(a.Ranks)}
			if crowded {
				row = append(row, percent(a.Lost))
			}
			t.rows = append(t.rows, row)
		}
		writeTable(b, t)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// calls reports how many calls arrived; where they are kept on their nodes that is reported when a thread has ended.
func calls(p *health.Page) string {
	if p.Cells == nil {
		return units.Integer(int(p.Calls))
	}
	return units.Integer(int(p.Calls)) + " of threads that have ended"
}

// clusters reports what is known of clusters; where bursts are kept on their nodes there are none before the end of the
// run.
func clusters(p *health.Page) string {
	if p.Cells == nil {
		return fmt.Sprintf("%s, with %s of the time (of %s)", units.Integer(p.Clusters.Count), percent(p.Clusters.Explained), units.Counted(p.Clusters.Bursts, "burst"))
	}
	return "at the end of the run: bursts are kept on their nodes, " + Kept(p.Cells)
}

// Kept says what agents keep as micro-cells, and of what that lacks.
func Kept(k *health.Cells) string {
	if !k.Surveyed {
		if k.Error != "" {
			return "number not known: " + k.Error
		}
		return "number not known yet"
	}
	text := fmt.Sprintf("in %s, as of %s ago", units.Counted(k.Units, "micro-cell"), span(k.Age))
	if k.Silent > 0 {
		text += fmt.Sprintf("; %s of %s did not answer", units.Integer(k.Silent), units.Counted(k.Agents+k.Silent, "agent"))
	}
	if k.Lost > 0 {
		text += fmt.Sprintf("; %s lost", units.Counted(int(k.Lost), "burst"))
	}
	if k.Outside > 0 {
		text += fmt.Sprintf("; %s in no micro-cell", units.Counted(int(k.Outside), "burst"))
	}
	if k.Error != "" {
		text += "; the latest survey failed: " + k.Error
	}
	return text
}

type state struct {
	n    int
	what string
}

// states lists the first and those of the others of which there are any.
func states(all state, others ...state) string {
	parts := []string{units.Integer(all.n)}
	for _, s := range others {
		if s.n > 0 {
			parts = append(parts, units.Integer(s.n)+" "+s.what)
		}
	}
	return strings.Join(parts, ", ")
}

func progressLosses(l *health.Losses) string {
	var parts []string
	for _, x := range []struct {
		n    uint64
		what string
	}{
		{l.RecordsDropped, "MPI calls dropped because the ring buffer was full"}, {l.CallsAbandoned, "MPI calls left by longjmp or an exception"},
		{l.CallsUnrecorded, "MPI calls of threads that could not record"}, {l.RanksDied, "ranks that died"}, {l.RanksUnrecorded, "ranks that could not record"},
		{l.FilesUnreadable, "files of ranks that cannot be read"},
		{l.MessagesRefused, "messages refused"}, {l.BatchesResent, "messages sent again"}, {l.BatchesDuplicate, "duplicate messages"},
	} {
		if x.n > 0 {
			parts = append(parts, x.what+": "+units.Integer(int(x.n)))
		}
	}
	if l.SpoolFullSeconds > 0 {
		parts = append(parts, fmt.Sprintf("spools full for %s, MPI calls and marks dropped in that time: %s",
			span(l.SpoolFullSeconds), units.Integer(int(l.SpoolFullDropped))))
	}
	if l.RecordsUnkept > 0 {
		parts = append(parts, "MPI calls and marks left in the ring buffers because the spool was full: "+units.Integer(int(l.RecordsUnkept)))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, "; ")
}

// unrecorded says which ranks go unrecorded, and why.
func unrecorded(l *health.Losses) [][]string {
	var rows [][]string
	for _, u := range l.Unrecorded {
		rows = append(rows, []string{"unrecorded", fmt.Sprintf("%s on %s: %s", units.Counted(u.Ranks, "rank"), u.Host, u.Reason)})
	}
	return rows
}

func turnedAway(refused map[string]uint64) string {
	if len(refused) == 0 {
		return "none"
	}
	var parts []string
	for _, cause := range slices.Sorted(maps.Keys(refused)) {
		parts = append(parts, units.Integer(int(refused[cause]))+" "+strings.ReplaceAll(cause, "_", " "))
	}
	return strings.Join(parts, ", ")
}

func journal(j *health.Journal) [][]string {
	if j == nil {
		return nil
	}
	text := fmt.Sprintf("%s, %s not yet acknowledged", units.Bytes(j.Bytes), units.Counted(int(j.Pending), "message"))
	if j.Syncs > 0 {
		text += fmt.Sprintf(", %s per sync", Duration(j.SyncSeconds/float64(j.Syncs)*1e9))
	}
	if j.CutBytes > 0 {
		text += fmt.Sprintf(", %s cut off at its end", units.Bytes(j.CutBytes))
	}
	if j.Error != "" {
		text += "; cannot be written: " + j.Error
	}
	return [][]string{{"journal", text}}
}

// analysis says which stages there were, and for how long the last one is at work.
func analysis(steps []health.Step) [][]string {
	if len(steps) == 0 {
		return nil
	}
	var parts []string
	for _, s := range steps {
		text := stage.Shown(s.Name) + " " + Duration(s.Seconds*1e9)
		switch {
		case s.GivenUp:
			text += " (given up)"
		case !s.Ended:
			text += " so far"
		}
		parts = append(parts, text)
	}
	return [][]string{{"analysis", strings.Join(parts, ", ")}}
}

// span prints seconds as people say them: 1h2m3s.
func span(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Truncate(time.Second).String()
}
