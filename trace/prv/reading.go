package prv

import (
	"strings"

	"moriens/trace"
)

// A Reading says what a reader has made of a trace that is not as it should be.
type Reading struct {
	Records int64     // states, events and messages of all applications, those left out too
	LeftOut []LeftOut // of them
	// Of what is kept: its records, and how many of these were skipped or left out. Lines of an unknown application count
	// here.
	KeptRecords, KeptLost int64

	Sorted int64 // a little out of order
	// Messages between the application that is kept and others.
	OtherMessages int64

	HeaderEndNS int64 // what the header takes for the end
	LastNS      int64 // the end of the last record

	// Of the threads that are kept, but for those without an MPI call beside others.
	ThreadNS  float64 // from the first to the last record of each, together
	Missing   []Missing
	MissingNS float64 // of all of them, what they have in common once
	FlushNS   float64 // in which the tracer wrote its buffers
	Callless  Callless
}

// A LeftOut is a number of records that do not count.
type LeftOut struct {
	Why     string
	Records int64
	First   int // line of the first
}

// Why a record is left out.
const (
	reasonLate = iota
	reasonBackwards
	leftOutReasons
)

var leftOutTexts = [leftOutReasons]string{
	reasonLate:      "too far out of order to be sorted",
	reasonBackwards: "states that end before they begin, behind the end that the header names",
}

// Callless are threads of ranks of several threads that make no MPI call while others do: those of OpenMP.
type Callless struct {
	Threads, Ranks, Bursts int
	ComputingNS            float64
	All                    bool // no thread makes one
}

func (r *reader) leaveOut(t *threadReader, why int) {
	l := &r.leftOut[why]
	if l.Records++; l.Records == 1 {
		*l = LeftOut{leftOutTexts[why], 1, r.number}
	}
	r.late[t.world]++
	t.records++
}

// shares are the records of what is kept, of one application or of all, and how many of them do not count.
func (r *reader) shares(list []Application, one int) (records, lost int64) {
	records, lost = r.lost[0], r.lost[0]
	for i, a := range list {
		if one < 0 || i == one {
			records += a.Records + r.lost[i+1] // skipped lines are not among the threads' records
			lost += r.lost[i+1] + r.late[i]
		}
	}
	return records, lost
}

// reading sums up the threads that are kept; readers are theirs.
func (r *reader) reading(run *trace.Run, readers []*threadReader) Reading {
	x := Reading{Records: r.records, Sorted: r.sorted, HeaderEndNS: r.header.endNS, LastNS: r.endNS}
	for _, l := range r.leftOut {
		if l.Records > 0 {
			x.LeftOut = append(x.LeftOut, l)
		}
	}
	several := severalThreads(run)
	x.Callless = callless(run, several)
	spans := spansOf(run)
	off, empty, dropped := Missing{What: MissingOff}, Missing{What: MissingRecords}, Missing{What: MissingDetail}
	for i, reader := range readers {
		t := &run.Threads[i]
		if t.Calls.Len() == 0 && several(t) && !x.Callless.All {
			continue // it may well be idle without a word
		}
		x.ThreadNS += float64(t.EndNS - t.BeginNS)
		for _, s := range reader.cover.flushes {
			x.FlushNS += float64(s.EndNS - s.BeginNS)
		}
		var pauses []trace.Stretch
		for _, p := range t.Pauses {
			pauses = append(pauses, trace.Stretch(p))
		}
		gaps := reader.cover.missing(t.EndNS - t.BeginNS)
		if !reader.cover.sparse() {
			before, behind := spans.outside(run, i)
			x.ThreadNS += float64(before.EndNS - before.BeginNS + behind.EndNS - behind.BeginNS)
			for _, s := range []trace.Stretch{before, behind} {
				if s.EndNS > s.BeginNS {
					gaps = append(gaps[:len(gaps):len(gaps)], s)
				}
			}
		}
		off.add(t, pauses)
		empty.add(t, gaps)
		dropped.add(t, reader.cover.dropped)
		x.MissingNS += united(pauses, gaps, reader.cover.dropped)
	}
	for _, m := range []Missing{off, empty, dropped} {
		if m.NS > 0 {
			x.Missing = append(x.Missing, m)
		}
	}
	return x
}

// spans are from the first to the last record of the threads that call MPI, by world; and the first of these threads of
// each rank.
type spans struct {
	world map[int]trace.Stretch
	first map[[2]int]int
}

func spansOf(run *trace.Run) spans {
	s := spans{make(map[int]trace.Stretch), make(map[[2]int]int)}
	for i := range run.Threads {
		t := &run.Threads[i]
		if t.Calls.Len() == 0 {
			continue
		}
		rank := [2]int{t.World, t.Rank}
		if _, known := s.first[rank]; !known {
			s.first[rank] = i
		}
		span := trace.Stretch{BeginNS: t.BeginNS, EndNS: t.EndNS}
		if was, known := s.world[t.World]; known {
			span.BeginNS, span.EndNS = min(span.BeginNS, was.BeginNS), max(span.EndNS, was.EndNS)
		}
		s.world[t.World] = span
	}
	return s
}

// outsideShare is the part of a world's time by which a rank may begin later or end earlier than others without that
// anything is missing.
const outsideShare = .01

// outside is the time in which other ranks of its world have records, and a rank has none though it has not called
// MPI_Init first, or MPI_Finalize last. Of a rank with several threads the first one with MPI calls counts.
func (s spans) outside(run *trace.Run, thread int) (before, behind trace.Stretch) {
	t := &run.Threads[thread]
	if first, known := s.first[[2]int{t.World, t.Rank}]; !known || first != thread {
		return before, behind
	}
	world := s.world[t.World]
	least := int64(outsideShare * float64(world.EndNS-world.BeginNS))
	function := func(call int) string { return run.CallPaths[t.Calls.Path[call]].Function }
	if t.BeginNS-world.BeginNS > least && !strings.HasPrefix(function(0), "MPI_Init") {
		before = trace.Stretch{BeginNS: world.BeginNS, EndNS: t.BeginNS}
	}
	if world.EndNS-t.EndNS > least && function(t.Calls.Len()-1) != "MPI_Finalize" {
		behind = trace.Stretch{BeginNS: t.EndNS, EndNS: world.EndNS}
	}
	return before, behind
}

// severalThreads reports whether the rank of a thread has others with a record.
func severalThreads(run *trace.Run) func(t *trace.Thread) bool {
	threads := make(map[[2]int]int)
	for i := range run.Threads {
		threads[[2]int{run.Threads[i].World, run.Threads[i].Rank}]++
	}
	return func(t *trace.Thread) bool { return threads[[2]int{t.World, t.Rank}] > 1 }
}

func callless(run *trace.Run, several func(*trace.Thread) bool) Callless {
	var c Callless
	calls := 0
	lastWorld, lastRank := -1, -1
	for i := range run.Threads {
		t := &run.Threads[i]
		if t.Calls.Len() > 0 {
			calls++
			continue
		}
		if !several(t) {
			continue
		}
		c.Threads++
		if t.World != lastWorld || t.Rank != lastRank {
			c.Ranks++
			lastWorld, lastRank = t.World, t.Rank
		}
		c.Bursts += t.Bursts.Len()
		for _, ns := range t.Bursts.DurationNS {
			c.ComputingNS += float64(ns)
		}
	}
	c.All = calls == 0
	return c
}
