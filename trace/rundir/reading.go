package rundir

import (
	"fmt"
	"math"
	"strings"

	"moriens/internal/units"
)

// An Application is one of a trace that was analysed, as it is there.
type Application struct {
	Number           int    `json:"number"` // in the trace, from 1 on
	Name             string `json:"name"`
	Tasks            int    `json:"tasks"`
	Threads          int    `json:"threads"` // with a record
	Records          int64  `json:"records"`
	Bursts           int    `json:"bursts"`
	ComputingSeconds Number `json:"computing_seconds"`
	Analysed         bool   `json:"analysed"`
}

// A Reading says what of a trace is in the results, and what a reader had to make of it.
type Reading struct {
	Records       int64     `json:"records"` // states, events and messages of all applications
	Sorted        int64     `json:"sorted"`
	LeftOut       []LeftOut `json:"left_out"`
	LeftOutShare  Number    `json:"left_out_share"` // of the records
	OtherMessages int64     `json:"other_messages"` // between the application that was analysed and others

	HeaderSeconds     Number `json:"header_seconds"`
	LastRecordSeconds Number `json:"last_record_seconds"`

	ThreadSeconds  Number           `json:"thread_seconds"`
	Missing        []UnrecordedTime `json:"missing"`
	MissingSeconds Number           `json:"missing_seconds"`
	MissingShare   Number           `json:"missing_share"` // of the threads' time
	FlushSeconds   Number           `json:"flush_seconds"`

	Callless Callless `json:"threads_without_mpi"`
}

// A LeftOut is a number of records that do not count, and why.
type LeftOut struct {
	Why       string `json:"why"`
	Records   int64  `json:"records"`
	FirstLine int    `json:"first_line"`
}

// An UnrecordedTime is time of threads in which the trace does not show what they did.
type UnrecordedTime struct {
	What           string `json:"what"`
	Stretches      int    `json:"stretches"`
	Seconds        Number `json:"seconds"`
	LongestSeconds Number `json:"longest_seconds"`
	LongestFrom    Number `json:"longest_from"` // in seconds of the run
	Rank           int    `json:"rank"`         // of the longest
	Thread         int    `json:"thread"`
}

// Callless are threads, of ranks that have several, that make no MPI call.
type Callless struct {
	Threads          int    `json:"threads"`
	Ranks            int    `json:"ranks"`
	Bursts           int    `json:"bursts"`
	ComputingSeconds Number `json:"computing_seconds"`
	All              bool   `json:"all"` // no thread of the trace makes one
}

// mostLeftOut is the share of the records, and of the time, from which on results are those of a part.
const mostLeftOut = .01

// Partial says how much is left out of the results where that is over mostLeftOut; else it is empty.
func (r *Reading) Partial() string {
	if r == nil {
		return ""
	}
	var parts []string
	if r.LeftOutShare > mostLeftOut {
		parts = append(parts, percent(float64(r.LeftOutShare))+" of the records left out")
	}
	if r.MissingShare > mostLeftOut {
		parts = append(parts, percent(float64(r.MissingShare))+" of the time missing")
	}
	return strings.Join(parts, ", ")
}

// percent is a share in three digits, rounded down so that not quite all is not all.
func percent(share float64) string {
	digits := 100.
	if share >= .1 {
		digits = 10
	}
	return fmt.Sprintf("%g %%", math.Floor(100*share*digits)/digits)
}

// assess says what is missing of what the trace should contain. Malformed lines are counted elsewhere.
func (r *Reading) assess(say func(format string, args ...any)) {
	if r == nil {
		return
	}
	if r.LeftOutShare > mostLeftOut {
		for _, l := range r.LeftOut {
			if l.Why != Malformed {
				say("%s of the trace left out: %s", units.Count(l.Records, "record"), l.Why)
			}
		}
	}
	if r.MissingShare > mostLeftOut {
		for _, a := range r.Missing {
			say("%s", a)
		}
	}
}

// Malformed is LeftOut.Why of lines that are no records, or contradict others.
const Malformed = "malformed"

// String is a sentence.
func (a UnrecordedTime) String() string {
	text := fmt.Sprintf("%s for %s of the threads' time", a.What, duration(a.Seconds))
	if a.Stretches > 1 {
		text += fmt.Sprintf(", in %d stretches, the longest %s", a.Stretches, duration(a.LongestSeconds))
	}
	thread := ""
	if a.Thread > 0 {
		thread = fmt.Sprintf(" thread %d", a.Thread)
	}
	return text + fmt.Sprintf(" from %s on in rank %d%s", duration(a.LongestFrom), a.Rank, thread)
}

func duration(seconds Number) string {
	switch s := float64(seconds); {
	case s >= 1:
		return fmt.Sprintf("%.2f s", s)
	case s >= 1e-3:
		return fmt.Sprintf("%.3g ms", s*1e3)
	case s >= 1e-6:
		return fmt.Sprintf("%.3g us", s*1e6)
	default:
		return fmt.Sprintf("%.3g ns", s*1e9)
	}
}
