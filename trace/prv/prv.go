// Package prv writes a trace.Run as a Paraver trace (.prv with .pcf and .row beside it) and reads Paraver traces of any
// writer, plain or gzipped, in nanoseconds or microseconds. The model's times are nanoseconds and its indices 0-based;
// the format's objects are 1-based.
//
// Counters are deltas at the end of what they measure. The writer never sorts: it refuses a run that is not in the
// order of time. The reader sorts the records of a thread within a window. docs/format/prv.md describes what is written
// and how bursts are read.
package prv

import (
	"fmt"
	"hash/fnv"
	"strings"

	"moriens/internal/plain"
	"moriens/trace"
)

// Event types.
const (
	typeFlush       = 40000003 // the tracer writes its buffer, 1 from here, 0 to here
	typeTracing     = 40000012 // 0: the tracer is switched off from here on
	typeCounterSet  = 41999999
	typePreset      = 42000000 // + the PAPI preset's number
	typeNative      = 44000000 // + a hash of the name
	typeCountersEnd = 45000000
	typeMPI         = 50000001 // point-to-point; 2 collective, 3 other, 4 one-sided, 5 I/O
	typeMPILast     = 50000005
	typeMPIOther    = 50000003
	typeCaller      = 70000000 // + the level of a frame, 1 the innermost: the function that made the call
	typeCallerLine  = 80000000 // + the level: its line
	typeCluster     = 90000001
	typePhase       = 91000001 // + depth: the phase there, or 0
	typeUserEvent   = 92000000 // + the name's number from 1 on; the value is the event's
	typePolls       = 90000102 // with a call's begin: how many calls it stands for, one after the other
	typePath        = 90000103 // with a call's begin: the number of its call path
	typeWaitKind    = 90000104 // with a call's begin: the kind of its wait; 0 at the wait's end
	typeWaitFor     = 90000105 // likewise: the number of the thread that it waits for, see numberThreads; 0 = none
	typeCritical    = 90000106 // the critical path comes to the thread, or, 0, leaves it
	typeWindow      = 90000101 // the window of which the thread's detail is here, from here on; 0 = none, it was dropped
)

// Values of the cluster event.
const (
	clusterEnd      = 0
	clusterMissing  = 1
	clusterDuration = 2
	clusterRange    = 3
	clusterThresh   = 4
	clusterNoise    = 5 // cluster n is n + clusterNoise
)

// States.
const (
	stateIdle    = 0
	stateRunning = 1
	stateAbsent  = 2  // "not created"
	statePaused  = 14 // "tracing disabled"
)

// Values of typeMPIOther for functions that internal/mpicall does not know start here.
const firstForeignCall = 100000

const unknownCall = "unknown MPI call"

func clusterValue(label int32) (value int64, err error) {
	switch {
	case label > 0:
		return int64(label) + clusterNoise, nil
	case label == trace.LabelNoise:
		return clusterNoise, nil
	case label == trace.LabelFiltered:
		return clusterDuration, nil
	case label == trace.LabelMissing:
		return clusterMissing, nil
	}
	return 0, fmt.Errorf("no cluster has the number %d", label)
}

// maxCluster bounds what a hostile trace can make a reader allocate.
const maxCluster = 1 << 16

func clusterLabel(value int64) (label int32, ok bool) {
	switch {
	case value > clusterNoise && value <= maxCluster+clusterNoise:
		return int32(value - clusterNoise), true
	case value == clusterNoise:
		return trace.LabelNoise, true
	case value == clusterMissing:
		return trace.LabelMissing, true
	case value == clusterDuration, value == clusterRange, value == clusterThresh:
		return trace.LabelFiltered, true
	}
	return 0, false
}

// A coding gives the run's call paths and counters their numbers in the trace; the same run always gets the same.
type coding struct {
	calls    []callCode // by call path
	callers  *callers
	counters []uint32 // event type by counter
}

type callCode struct {
	name      string
	eventType uint32
	value     int64
	state     int64
}

func newCoding(run *trace.Run) *coding {
	c := &coding{calls: make([]callCode, len(run.CallPaths)), counters: make([]uint32, len(run.Counters))}
	foreign := make(map[string]int64)
	for i, p := range run.CallPaths {
		c.calls[i] = codeCall(p.Function, foreign)
	}
	c.callers = codeCallers(run)
	taken := make(map[uint32]bool)
	for i, counter := range run.Counters {
		t, ok := presetType(counter.Name)
		if !ok {
			h := fnv.New32a()
			h.Write([]byte(counter.Name))
			t = typeNative + h.Sum32()%(typeCountersEnd-typeNative)
		}
		for taken[t] {
			if t++; t == typeCountersEnd {
				t = typeNative
			}
		}
		taken[t] = true
		c.counters[i] = t
	}
	return c
}

// oneLine makes a name fit the line-oriented .pcf and .row.
func oneLine(name string) string {
	return plain.Line(strings.TrimSpace(name))
}
