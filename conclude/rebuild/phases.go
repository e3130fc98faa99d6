package rebuild

import (
	"slices"

	"moriens/analysis/phase"
	"moriens/collector/store"
	"moriens/trace"
)

// Unbalanced counts marks that do not fit together.
type Unbalanced struct {
	Ends       int64 // of phases that had not begun
	Unfinished int64 // phases that were never ended
	Deep       int64 // begins of phases deeper than phase.MostDepth
}

func (u *Unbalanced) add(more Unbalanced) {
	u.Ends += more.Ends
	u.Unfinished += more.Unfinished
	u.Deep += more.Deep
}

// addMarks makes phases and events of a ring's marks. A phase that is still open when one round it ends, ends there
// too; what is open at the thread's end, there. nameOf gives the run's number of a name.
func addMarks(t *trace.Thread, r *store.Ring, nameOf func(number uint32) uint32, at func(ticks uint64) int64) Unbalanced {
	var u Unbalanced
	var nest phase.Nest
	var open []int32 // phases, outermost first, without those that lie too deep
	for _, c := range r.Marks {
		ticks, values := c.Origin, c.Value
		for i, what := range c.What {
			ticks += c.Ticks[i]
			now, name := at(ticks), nameOf(c.Name[i])
			t.EndNS = max(t.EndNS, now)
			switch what {
			case store.Event:
				t.Events = append(t.Events, trace.Event{Name: name, TimeNS: now, Value: values[0]})
				values = values[1:]
			case store.BeginPhase:
				if !nest.Begin(name) {
					u.Deep++
					continue
				}
				open = append(open, int32(len(t.Phases)))
				t.Phases = append(t.Phases, trace.Phase{Name: name, Depth: int32(len(open) - 1), BeginNS: now})
			case store.EndPhase:
				were := nest.Len()
				k := nest.End(name)
				if k < 0 {
					u.Ends++
					continue
				}
				u.Unfinished += int64(were - k - 1)
				if k < len(open) {
					t.Phases[open[k]].EndNS = now
					leave(t, open[k+1:], now)
					open = open[:k]
				}
			}
		}
	}
	u.Unfinished += int64(nest.Len())
	leave(t, open, t.EndNS)
	t.LocatePhases()
	return u
}

// addReadings gives a thread what its ring's marks have read, in the columns of the run's counters: events has the
// process's event of each, -1 = it does not count that.
func addReadings(t *trace.Thread, r *store.Ring, events []int, at func(ticks uint64) int64) {
	x, n := &t.Readings, 0
	for i := range r.Marks {
		n += len(r.Marks[i].Counted)
	}
	if n == 0 {
		return
	}
	x.TimeNS, x.Counters = make([]int64, 0, n), make([][]int64, len(events))
	for _, c := range r.Marks {
		ticks, next := c.Origin, c.Counted
		for i, since := range c.Ticks {
			if ticks += since; len(next) > 0 && int(next[0]) == i {
				x.TimeNS, next = append(x.TimeNS, at(ticks)), next[1:]
			}
		}
		for column, event := range events {
			if event >= 0 && len(c.Counts) > 0 {
				x.Counters[column] = append(x.Counters[column], c.Counts[event]...)
			} else {
				x.Counters[column] = append(x.Counters[column], slices.Repeat([]int64{trace.NoCount}, len(c.Counted))...)
			}
		}
	}
}

// leave ends phases that the program has not.
func leave(t *trace.Thread, open []int32, now int64) {
	for _, k := range open {
		t.Phases[k].EndNS, t.Phases[k].Unfinished = now, true
	}
}
