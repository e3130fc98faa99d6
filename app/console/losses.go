package console

import (
	"fmt"
	"strings"

	"moriens/internal/units"
	"moriens/trace/rundir"
)

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

const noLosses = "none"

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
	add(l.PhasesTooDeep, "phase", "phases", " in 256 or more others: part of the innermost of the first 256")
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
		return noLosses
	}
	return strings.Join(parts, "; ")
}
