package console

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"moriens/collector/health"
	"moriens/trace/rundir"
)

// Progress prints how a run in progress is.
func Progress(w io.Writer, p *health.Page) error {
	b := new(strings.Builder)
	fmt.Fprintf(b, "moriens: run %s · %s for %s on %s (pid %d)\n\n", p.Run, p.Stage, span(p.Seconds), p.Host, p.PID)
	connected, done := p.Connected()
	writeTable(b, table{left: []bool{true, true}, rows: slices.Concat([][]string{
		{"agents", states(state{len(p.Agents), "in all"}, state{connected, "connected"}, state{len(p.Agents) - connected - done, "away"}, state{done, "done"})},
		{"ranks", states(state{p.Ranks.Recorded, "in all"}, state{p.Ranks.Running, "running"}, state{p.Ranks.Ended, "ended"},
			state{p.Ranks.Died, "died"}, state{p.Ranks.Left, "went on unmeasured"})},
		{"MPI calls", Integer(int(p.Calls))},
		{"bursts", fmt.Sprintf("%s, %s/s lately", Integer(int(p.Bursts)), Integer(int(p.BurstsPerSecond)))},
		{"clusters", fmt.Sprintf("%s, with %s of the time (of %s)", Integer(p.Clusters.Count), percent(p.Clusters.Explained), count(p.Clusters.Bursts, "burst"))},
		{"losses", progressLosses(&p.Losses)},
		{"turned away", turnedAway(p.Refused)},
		{"memory", bytes(int64(max(p.Memory.ResidentBytes, p.Memory.HeapBytes)))},
	}, journal(p.Journal))})
	if len(p.Agents) > 0 {
		b.WriteByte('\n')
		t := table{head: []string{"host", "agent", "ranks"}, left: []bool{true, true, false}}
		for _, a := range p.Agents {
			how := "connected"
			switch {
			case a.Done:
				how = "done"
			case !a.Connected:
				how = "away for " + span(a.Away)
			}
			t.rows = append(t.rows, []string{a.Host, how, Integer(a.Ranks)})
		}
		writeTable(b, t)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Finished prints what a run directory that is complete says.
func Finished(w io.Writer, m *rundir.Manifest, c *rundir.Clusters, dir string) error {
	b := new(strings.Builder)
	fmt.Fprintf(b, "moriens: %s\n\n", headline(m))
	if m.Empty == "" {
		t := table{
			head: []string{"cluster", "bursts", "share", "mean", "score", "between the MPI calls"},
			left: []bool{false, false, false, false, false, true},
		}
		for _, k := range c.Clusters[:min(len(c.Clusters), tableRows)] {
			t.rows = append(t.rows, []string{
				fmt.Sprint(k.ID), Integer(k.Bursts), percent(float64(k.Share)), Duration(float64(k.MeanNS)), score(float64(k.Score)),
				firstName(k.Before) + " → " + firstName(k.After),
			})
		}
		if rest := len(c.Clusters) - len(t.rows); rest > 0 {
			t.rows = append(t.rows, []string{fmt.Sprintf("%d more", rest), "", "", "", "", "in " + rundir.ClustersFile})
		}
		writeTable(b, t)
		b.WriteByte('\n')
	} else {
		fmt.Fprintf(b, "no bursts: %s\n", m.Empty)
	}
	fmt.Fprintf(b, "losses: %s\n", losses(m))
	for _, note := range m.Notes {
		fmt.Fprintf(b, "note: %s\n", note)
	}
	fmt.Fprintf(b, "finished %s; results: %s\n", m.Ended.Format(time.DateTime), dir)
	_, err := io.WriteString(w, b.String())
	return err
}

func firstName(paths []rundir.CallPath) string {
	if len(paths) == 0 {
		return "?"
	}
	return paths[0].Name
}

type state struct {
	n    int
	what string
}

// states lists the first and those of the others of which there are any.
func states(all state, others ...state) string {
	parts := []string{Integer(all.n)}
	for _, s := range others {
		if s.n > 0 {
			parts = append(parts, Integer(s.n)+" "+s.what)
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
		{l.RecordsDropped, "MPI calls dropped because the ring was full"}, {l.CallsAbandoned, "MPI calls left by longjmp or an exception"},
		{l.CallsUnrecorded, "MPI calls of threads that could not record"}, {l.RanksDied, "ranks that died"}, {l.RanksUnrecorded, "ranks that could not record"},
		{l.MessagesRefused, "messages refused"}, {l.BatchesResent, "messages sent again"}, {l.BatchesDuplicate, "messages that came twice"},
	} {
		if x.n > 0 {
			parts = append(parts, x.what+": "+Integer(int(x.n)))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, "; ")
}

func turnedAway(refused map[string]uint64) string {
	if len(refused) == 0 {
		return "nobody"
	}
	var parts []string
	for _, cause := range slices.Sorted(maps.Keys(refused)) {
		parts = append(parts, Integer(int(refused[cause]))+" "+strings.ReplaceAll(cause, "_", " "))
	}
	return strings.Join(parts, ", ")
}

func journal(j *health.Journal) [][]string {
	if j == nil {
		return nil
	}
	text := fmt.Sprintf("%s, %s not acknowledged yet", bytes(int64(j.Bytes)), count(int(j.Pending), "message"))
	if j.Syncs > 0 {
		text += fmt.Sprintf(", %s a sync", Duration(j.SyncSeconds/float64(j.Syncs)*1e9))
	}
	if j.CutBytes > 0 {
		text += fmt.Sprintf(", %s cut off at its end", bytes(int64(j.CutBytes)))
	}
	if j.Error != "" {
		text += "; it does not grow: " + j.Error
	}
	return [][]string{{"journal", text}}
}

// span prints seconds as people say them: 1h2m3s.
func span(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Truncate(time.Second).String()
}
