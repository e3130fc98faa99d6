package console

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"moriens/internal/plain"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// The table shows the clusters with at least tableShare of the computing time, at most tableRows of
// them; clusters.json holds all.
const (
	tableRows  = 20
	tableShare = .001
)

// Summary prints the results of a run: its clusters, its losses, and the files in dir.
func Summary(w io.Writer, run *trace.Run, m *rundir.Manifest, c *rundir.Clusters, dir string, written []rundir.File) error {
	m, c, written = plain.Of(m), plain.Of(c), plain.Of(written)
	safe := plain.Of(*run) // what has no text in it is not copied
	run = &safe
	var b strings.Builder
	fmt.Fprintf(&b, "\nmoriens: %s\n", headline(m))
	if text := incomplete(m); text != "" {
		fmt.Fprintf(&b, "incomplete: %s\n", text)
	}
	writeApplications(&b, m)
	warning := ""
	if m.Scheduling != nil && m.Scheduling.Warning != "" {
		warning = m.Scheduling.Warning
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	b.WriteByte('\n')
	if m.Empty == "" {
		writeTable(&b, clusterTable(run, m, c))
		b.WriteByte('\n')
	}
	if len(m.Phases) > 0 {
		writeTable(&b, phaseTable(m, c))
		b.WriteByte('\n')
	}
	if text := kinds(run, c); text != "" {
		fmt.Fprintf(&b, "kinds: %s\n", text)
	}
	writeScore(&b, c)
	writeCells(&b, m, c)
	writeKept(&b, m)
	if text := pauses(&m.Paused); text != "" {
		fmt.Fprintf(&b, "%s\n", text)
	}
	if text := messages(&m.Messages); text != "" {
		fmt.Fprintf(&b, "messages: %s\n", text)
	}
	fmt.Fprintf(&b, "losses: %s\n", losses(m))
	for _, n := range m.Notes {
		if n != warning {
			fmt.Fprintf(&b, "note: %s\n", n)
		}
	}
	if text := advice(m, c); text != "" {
		fmt.Fprintf(&b, "hint: %s\n", text)
	}
	fmt.Fprintf(&b, "results: %s\n", plain.Line(dir))
	files := make([][]string, 0, len(written))
	for _, f := range written {
		files = append(files, []string{"  " + f.Name, units.Bytes(f.Bytes).String(), f.Content})
	}
	writeTable(&b, table{rows: files, left: []bool{true, false, true}})
	_, err := io.WriteString(w, b.String())
	return err
}

// Finished prints the same of a run directory that is complete, and since when it is.
func Finished(w io.Writer, m *rundir.Manifest, c *rundir.Clusters, dir string) error {
	run, err := c.Outline()
	if err != nil {
		return err
	}
	written, err := m.Written(dir)
	if err != nil {
		return err
	}
	if err := Summary(w, run, m, c, dir, written); err != nil {
		return err
	}
	if m.Empty != "" {
		_, err = fmt.Fprintf(w, "no bursts: %s\n", plain.Line(m.Empty))
	}
	_, endErr := fmt.Fprintf(w, "finished %s\n", m.Ended.Format(time.DateTime))
	return errors.Join(err, endErr)
}

// writeScore says how far the ranks do the same, and how the refinement ended where it had a choice.
func writeScore(b *strings.Builder, c *rundir.Clusters) {
	if text := score(float64(c.Score)); text != "" {
		beside := ""
		if shuffled := score(float64(c.Shuffled)); shuffled != "" {
			beside = fmt.Sprintf("; %s in shuffled order", shuffled)
		}
		fmt.Fprintf(b, "score: %s of 1 (1: all ranks compute the same clusters in the same order%s)\n", text, beside)
	}
	if len(c.Refinement.Levels) > 1 {
		fmt.Fprintf(b, "refinement: %s\n", c.Refinement.Why)
	}
}

// score is empty where there is none: NaN, or 0, which no cluster with bursts has.
func score(s float64) string {
	if !(s > 0) {
		return ""
	}
	return fmt.Sprintf("%.3f", s)
}

// mostReasons is how many reasons are printed why a run is incomplete; manifest.json has all.
const mostReasons = 3

// incomplete says what is missing of what the ranks did; empty: nothing.
func incomplete(m *rundir.Manifest) string {
	list := m.Incomplete
	text := strings.Join(list[:min(len(list), mostReasons)], "; ")
	if more := len(list) - mostReasons; more > 0 {
		text += fmt.Sprintf("; and %d more in %s", more, rundir.ManifestFile)
	}
	return text
}

func headline(m *rundir.Manifest) string {
	var programs []string
	var libraries []string
	for _, w := range m.Worlds {
		if w.Executable != "" {
			programs = appendNew(programs, trace.ProgramName(w.Executable))
		}
		if library := strings.TrimSpace(w.MPI.Library + " " + w.MPI.Version); library != "" {
			libraries = appendNew(libraries, library)
		}
	}
	what := cmp.Or(strings.Join(programs, ", "), strings.Join(m.Command, " "))
	if what == "" && m.Trace != "" {
		what = filepath.Base(m.Trace)
	}
	var fields []string
	if partial := m.Reading.Partial(); partial != "" {
		fields = append(fields, partial)
	}
	if what != "" { // else no process has arrived, and the command has not learned of one
		fields = append(fields, what)
	}
	fields = append(fields, units.Counted(m.Ranks, "rank"))
	if len(m.Worlds) > 1 {
		fields = append(fields, units.Counted(len(m.Worlds), "MPI world"))
	}
	if len(libraries) > 0 {
		fields = append(fields, strings.Join(libraries, ", "))
	}
	calls := 0
	for _, n := range m.MPICalls {
		calls += int(n)
	}
	if m.Seconds > 0 {
		fields = append(fields, Duration(float64(m.Seconds)*1e9))
	}
	fields = append(fields, units.Counted(calls, "MPI call"), units.Counted(m.Bursts, "burst"))
	return strings.Join(fields, " · ")
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// sites names the call paths that the table shows: MPI function and place of the innermost frame, with its offset where
// two different places would read alike.
func sites(run *trace.Run, clusters []trace.Cluster) map[uint32]string {
	names := make(map[uint32]string)
	byName := make(map[string][]uint32)
	for i := range clusters {
		for _, counts := range [][]trace.PathCount{clusters[i].Before, clusters[i].After} {
			if len(counts) == 0 || names[counts[0].Path] != "" {
				continue
			}
			path := counts[0].Path
			names[path] = run.CallPaths[path].String()
			if frames := run.CallPaths[path].Frames; len(frames) > 0 && names[path] != run.CallPaths[path].Function {
				names[path] = run.CallPaths[path].Function + "@" + frames[0].Brief()
			}
			byName[names[path]] = append(byName[names[path]], path)
		}
	}
	for name, alike := range byName {
		for _, path := range alike {
			frames := run.CallPaths[path].Frames
			if len(frames) > 0 && slices.ContainsFunc(alike, func(other uint32) bool {
				others := run.CallPaths[other].Frames
				return len(others) == 0 || !others[0].Same(&frames[0])
			}) {
				names[path] = frames[0].Precise(name)
			}
		}
	}
	return names
}

// callsRound names the MPI calls before and after a cluster's bursts: the most frequent, with their places in the
// program, and how many more there are.
func callsRound(run *trace.Run, x *trace.Cluster, names map[uint32]string) string {
	before, moreBefore := mostFrequent(x.Before)
	after, moreAfter := mostFrequent(x.After)
	if m := unplaced(run, before); m != "" && m == unplaced(run, after) {
		return offset(run, before) + moreBefore + " → " + offset(run, after) + moreAfter + " in " + m
	}
	name := func(path uint32) string {
		if n := names[path]; n != "" {
			return n
		}
		return "?"
	}
	return name(before) + moreBefore + " → " + name(after) + moreAfter
}

func mostFrequent(counts []trace.PathCount) (path uint32, more string) {
	if len(counts) == 0 {
		return 0, ""
	}
	if len(counts) > 1 {
		more = fmt.Sprintf(" and %d more", len(counts)-1)
	}
	return counts[0].Path, more
}

// unplaced returns the module of a call of which nothing but the module and the offset is known.
func unplaced(run *trace.Run, path uint32) string {
	if p := run.CallPaths[path]; len(p.Frames) > 0 && p.Frames[0].Function == "" && p.Frames[0].Line == 0 {
		return p.Frames[0].Module
	}
	return ""
}

// offset is a call path's function and offset, without the module.
func offset(run *trace.Run, path uint32) string {
	p := run.CallPaths[path]
	return fmt.Sprintf("%s+%#x", p.Function, p.Frames[0].Offset)
}

// messages says what was sent from point to point, and how much of it has no counterpart.
func messages(m *rundir.Messages) string {
	if m.Sends+m.Receives == 0 {
		return ""
	}
	parts := []string{fmt.Sprintf("%s, %s in total", units.Integer(int(m.Matched)), units.Bytes(m.Bytes))}
	if m.LateSenderSeconds > 0 {
		parts = append(parts, fmt.Sprintf("receivers waited %s for late senders", Duration(float64(m.LateSenderSeconds)*1e9)))
	}
	for _, u := range m.Unmatched {
		parts = append(parts, fmt.Sprintf("%s and %s not matched: %s", units.Counted(int(u.Sends), "send"), units.Counted(int(u.Receives), "receive"), u.Why))
	}
	return strings.Join(parts, "; ")
}

// spoolFullFrom is from how many seconds on a lack of room in the spools is said that has cost nothing.
const spoolFullFrom = 1

// spoolFull says for how long spools had no room, and what that has cost; "" where it does not matter.
func spoolFull(l *rundir.Losses) string {
	if l.SpoolFullDropped == 0 && !(l.SpoolFullSeconds >= spoolFullFrom) {
		return ""
	}
	text := fmt.Sprintf("the spool was full for %s", Duration(float64(l.SpoolFullSeconds)*1e9))
	if l.SpoolFullDropped > 0 {
		text += fmt.Sprintf(", %s dropped in that time", units.Counted(int(l.SpoolFullDropped), "MPI call"))
	}
	return text
}

func losses(m *rundir.Manifest) string {
	l := &m.Losses
	var parts []string
	add := func(n int64, one, many, what string) {
		if n > 0 {
			if n != 1 {
				one = many
			}
			parts = append(parts, fmt.Sprintf("%s %s%s", units.Integer(int(n)), one, what))
		}
	}
	record, records := "MPI call", "MPI calls"
	if len(m.Phases)+len(m.Events) > 0 {
		record, records = "MPI call or mark", "MPI calls or marks"
	}
	add(l.RecordsDropped, record, records, " dropped: ring buffer full")
	if text := spoolFull(l); text != "" {
		parts = append(parts, text)
	}
	add(l.RecordsUnkept, "MPI call or mark", "MPI calls or marks", " left in the ring buffers: spool full")
	add(l.CallsAbandoned, "MPI call", "MPI calls", " left by longjmp or an exception")
	if m.Trace != "" {
		add(int64(l.RanksMissing), "rank", "ranks", " without a record")
	} else {
		add(int64(l.RanksMissing-l.RanksUnrecorded), "rank", "ranks", " sent nothing")
	}
	add(int64(l.RanksUnrecorded), "rank", "ranks", " could not record")
	add(l.ThreadsUnrecorded, "thread", "threads", " could not record")
	add(l.CallsUnrecorded, "MPI call", "MPI calls", " of such threads")
	if len(l.Hidden) > 0 {
		parts = append(parts, "MPI calls that another tool made without calling moriens")
	}
	add(l.CallPathsLost, "call path", "call paths", " not named: table full")
	add(l.MarksNameless, "mark without its name", "marks without their names", ": table full")
	add(l.MarksInsideCalls, "mark", "marks", " set inside an MPI call")
	add(l.PhaseEndsUnmatched, "end of a phase without a begin", "ends of phases without a begin", "")
	add(l.PhasesUnfinished, "phase without an end", "phases without an end", "")
	add(l.CommunicatorsLost, "communicator", "communicators", " not named: table full")
	q := &m.Messages.Requests
	add(q.EndsUnknown, "completion of an unknown request", "completions of unknown requests", "")
	add(q.StartsUnknown, "start of an unknown request", "starts of unknown requests", "")
	add(q.Unfollowed, "request", "requests", " not tracked: too many were pending at once")
	add(q.Lost, "request", "requests", " given up: the completion may not have been recorded")
	add(q.Late, "event of a request", "events of requests", " read too late for ordering")
	add(q.Open, "request never completed", "requests never completed", "")
	add(l.WindowsEvicted, "window", "windows", " in full detail evicted on the nodes for lack of space")
	add(l.TransfersLost, "transfer", "transfers", " of kept MPI calls not known: their nodes did not send them")
	add(l.MessagesRefused, "message", "messages", " refused")
	add(l.FiguresDamaged, "count of losses", "counts of losses", " damaged (see the notes)")
	add(int64(l.LinesSkipped), "malformed line", "malformed lines", " of the trace skipped")
	if m.Reading != nil {
		leftOut := int64(-l.LinesSkipped)
		for _, x := range m.Reading.LeftOut {
			leftOut += x.Records
		}
		add(leftOut, "record", "records", " of the trace left out (see the notes)")
		if s := float64(m.Reading.MissingSeconds); s > 0 {
			parts = append(parts, Duration(s*1e9)+" of the threads' time missing in the trace")
		}
	}
	add(int64(l.FilesUnreadable), "file", "files", " with records cannot be read")
	parts = append(parts, died(m)...)
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, "; ")
}
