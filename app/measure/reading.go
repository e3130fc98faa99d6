package measure

import (
	"errors"
	"fmt"

	"moriens/app/console"
	"moriens/internal/units"
	"moriens/trace/prv"
	"moriens/trace/rundir"
)

// worthReporting is the share of the time from which on a header that is late, or a tracer that wrote its buffers, is
// reported.
const worthReporting = .01

// describeReading puts into the manifest what a trace has, and what was made of it.
func describeReading(m *rundir.Manifest, read *prv.Result) {
	for i, a := range read.Applications {
		m.Applications = append(m.Applications, rundir.Application{
			Number: i + 1, Name: a.Name, Tasks: a.Tasks, Threads: a.Threads, Records: a.Records, Bursts: a.Bursts,
			ComputingSeconds: rundir.Number(a.ComputingNS / 1e9), Analysed: a.Kept,
		})
	}
	x := &read.Reading
	r := &rundir.Reading{
		Records: x.Records, Sorted: x.Sorted, OtherMessages: x.OtherMessages, LeftOut: []rundir.LeftOut{}, Missing: []rundir.UnrecordedTime{},
		HeaderSeconds: inSeconds(float64(x.HeaderEndNS)), LastRecordSeconds: inSeconds(float64(x.LastNS)), ThreadSeconds: inSeconds(x.ThreadNS),
		MissingSeconds: inSeconds(x.MissingNS), FlushSeconds: inSeconds(x.FlushNS),
		Callless: rundir.Callless{
			Threads: x.Callless.Threads, Ranks: x.Callless.Ranks, Bursts: x.Callless.Bursts,
			ComputingSeconds: inSeconds(x.Callless.ComputingNS), All: x.Callless.All,
		},
	}
	m.Reading = r
	note := func(format string, args ...any) { m.Notes = append(m.Notes, fmt.Sprintf(format, args...)) }
	leave := func(l rundir.LeftOut) { r.LeftOut = append(r.LeftOut, l) }
	if read.Skipped > 0 {
		leave(rundir.LeftOut{Why: rundir.Malformed, Records: int64(read.Skipped), FirstLine: lineOf(read.FirstSkipped)})
	}
	for _, l := range x.LeftOut {
		leave(rundir.LeftOut{Why: l.Why, Records: l.Records, FirstLine: l.First})
		note("left out of the trace: %s, %s; the first in line %d", units.Count(l.Records, "record"), l.Why, l.First)
	}
	if x.KeptRecords > 0 {
		r.LeftOutShare = rundir.Number(float64(x.KeptLost) / float64(x.KeptRecords))
	}
	if x.ThreadNS > 0 {
		r.MissingShare = rundir.Number(x.MissingNS / x.ThreadNS)
	}
	for _, s := range x.Missing {
		unrecorded := rundir.UnrecordedTime{
			What: s.What, Stretches: s.Stretches, Seconds: inSeconds(s.NS), Rank: s.Rank, Thread: s.Thread,
			LongestSeconds: inSeconds(float64(s.Longest.EndNS - s.Longest.BeginNS)), LongestFrom: inSeconds(float64(s.Longest.BeginNS)),
		}
		r.Missing = append(r.Missing, unrecorded)
		if r.Partial() == "" { // else the summary says it
			note("%s", unrecorded)
		}
	}
	header, last := float64(x.HeaderEndNS), float64(x.LastNS)
	switch {
	case last > header:
		note("the trace ends after %s according to its header, but its last record is at %s: the run is taken to end there", console.Duration(header), console.Duration(last))
	case header-last > worthReporting*header:
		note("the trace ends after %s according to its header, but its last record is at %s: was the trace cut?", console.Duration(header), console.Duration(last))
	}
	if x.Sorted > 0 {
		note("records of the trace slightly out of order, sorted: %d", x.Sorted)
	}
	if x.FlushNS > worthReporting*x.ThreadNS {
		note("the tracer flushed its buffers for %s of the threads' time", console.Duration(x.FlushNS))
	}
	if x.OtherMessages > 0 {
		note("messages between the analysed application and others are left out: %d", x.OtherMessages)
	}
}

func inSeconds(ns float64) rundir.Number { return rundir.Number(ns / 1e9) }

// lineOf is the line of a fault of a trace, 0 where it has none.
func lineOf(err error) int {
	var at *prv.Error
	if errors.As(err, &at) {
		return at.Line
	}
	return 0
}

// emptyReading says why there is no burst.
func emptyReading(list []rundir.Application) string {
	with, one := 0, 0
	for _, a := range list {
		if a.Bursts > 0 && !a.Analysed {
			with = a.Number
		}
		if a.Analysed {
			one = a.Number
		}
	}
	if with == 0 {
		return "no thread of the trace is ever running"
	}
	return fmt.Sprintf("no thread of application %d is ever running, but some of application %d are", one, with)
}
