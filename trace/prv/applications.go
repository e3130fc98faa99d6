package prv

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"moriens/trace"
)

// Busiest as Options.Application keeps the application with most computing time; where none computes, that with most
// records.
const Busiest = -1

// An Application is one of a trace, as it is there.
type Application struct {
	Name        string // of the .row; empty where it has none
	Tasks       int
	Threads     int // with a record
	Records     int64
	Bursts      int
	ComputingNS float64
	Kept        bool
}

// A NoApplicationError says that a trace has no application of a number.
type NoApplicationError struct {
	Number       int
	Applications []Application // Name and Tasks of those that are there
}

func (e *NoApplicationError) Error() string {
	const named = 8
	var list []string
	for i, a := range e.Applications[:min(len(e.Applications), named)] {
		text := fmt.Sprintf("%d (", i+1)
		if a.Name != "" {
			text += a.Name + ", "
		}
		if text += fmt.Sprintf("%d task", a.Tasks); a.Tasks != 1 {
			text += "s"
		}
		list = append(list, text+")")
	}
	if more := len(e.Applications) - named; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("no application %d: the trace has %s", e.Number, strings.Join(list, ", "))
}

func (r *reader) noApplication(number int) error {
	return &NoApplicationError{number, r.applications(nil)}
}

// applications sums up what threads did.
func (r *reader) applications(threads []trace.Thread) []Application {
	list := make([]Application, len(r.header.tasks))
	for i, tasks := range r.header.tasks {
		list[i] = Application{Name: nameOf(r.names.worlds, i, "APPL"), Tasks: len(tasks)}
	}
	for i := range threads {
		a := &list[threads[i].World]
		a.Threads++
		a.Records += r.threads[i].records
		a.Bursts += threads[i].Bursts.Len()
		for _, ns := range threads[i].Bursts.DurationNS {
			a.ComputingNS += float64(ns)
		}
	}
	return list
}

// choose marks the applications to keep and returns the index of the one, or -1 for all.
func choose(list []Application, application int) int {
	one := application - 1
	if application == Busiest {
		for i := range list {
			if one < 0 || cmp.Or(cmp.Compare(list[i].ComputingNS, list[one].ComputingNS), cmp.Compare(list[i].Bursts, list[one].Bursts),
				cmp.Compare(list[i].Records, list[one].Records)) > 0 {
				one = i
			}
		}
	}
	for i := range list {
		list[i].Kept = one < 0 || one == i
	}
	if len(list) == 1 {
		return -1 // it is all
	}
	return one
}

// keepOnly takes everything out of a run that is not of one application, which becomes world 0. place gives the new
// index of each thread, -1 = none. It returns how many messages with other applications are left out.
func keepOnly(run *trace.Run, one int, place []int) (messages int64) {
	run.Worlds = run.Worlds[one : one+1]
	comms := make([]int32, len(run.Communicators))
	var kept []trace.Communicator
	for i, c := range run.Communicators {
		comms[i] = -1
		if c.World == one {
			comms[i] = int32(len(kept))
			c.World = 0
			kept = append(kept, c)
		}
	}
	run.Communicators = kept
	threads := make([]int, len(run.Threads))
	n := 0
	for i := range run.Threads {
		threads[i] = -1
		if run.Threads[i].World != one {
			continue
		}
		threads[i] = n
		run.Threads[n] = run.Threads[i]
		t := &run.Threads[n]
		n++
		t.World = 0
		for k, comm := range t.Collectives.Comm {
			if comm >= 0 {
				t.Collectives.Comm[k] = comms[comm]
			}
		}
	}
	clear(run.Threads[n:])
	run.Threads = run.Threads[:n]
	for i := range run.Threads {
		list := run.Threads[i].Waits.For
		for k, thread := range list {
			if thread >= 0 {
				list[k] = int32(threads[thread])
			}
		}
	}
	for i, k := range place {
		place[i] = threads[k]
	}
	run.Messages = slices.DeleteFunc(run.Messages, func(m trace.Message) bool {
		from, to := place[m.From] >= 0, place[m.To] >= 0
		if from != to {
			messages++
		}
		return !from || !to
	})
	keepPaths(run)
	keepCounters(run)
	return messages
}

// keepPaths takes the call paths out that no thread has.
func keepPaths(run *trace.Run) {
	used := make([]bool, len(run.CallPaths))
	used[0] = true
	for i := range run.Threads {
		for _, p := range run.Threads[i].Calls.Path {
			used[p] = true
		}
	}
	number := make([]uint32, len(used))
	var kept []trace.CallPath
	for i, is := range used {
		if is {
			number[i] = uint32(len(kept))
			kept = append(kept, run.CallPaths[i])
		}
	}
	run.CallPaths = kept
	for i := range run.Threads {
		t := &run.Threads[i]
		for _, list := range [][]uint32{t.Calls.Path, t.Bursts.Before, t.Bursts.After} {
			for k := range list {
				list[k] = number[list[k]]
			}
		}
	}
}

// keepCounters takes the counters out of which no burst has a value.
func keepCounters(run *trace.Run) {
	for k := len(run.Counters) - 1; k >= 0; k-- {
		if slices.ContainsFunc(run.Threads, func(t trace.Thread) bool {
			return slices.ContainsFunc(t.Bursts.Counters[k], func(v int64) bool { return v != trace.NoCount })
		}) {
			continue
		}
		run.Counters = slices.Delete(run.Counters, k, k+1)
		for i := range run.Threads {
			b := &run.Threads[i].Bursts
			b.Counters = slices.Delete(b.Counters, k, k+1)
		}
	}
}
