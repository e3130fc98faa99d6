package rebuild

import (
	"math"
	"time"

	"moriens/internal/team"
)

// startAtZero is collective: it makes all times those since the first call, puts bursts between the calls, gives all
// members the begin and end of all threads, and returns when the run started and how long it took.
func startAtZero(u *unpacked) (start time.Time, durationNS int64, err error) {
	origin, err := u.firstEntry()
	if err != nil {
		return start, 0, err
	}
	u.allotBursts()
	if origin == math.MaxInt64 {
		return start, 0, nil
	}
	u.each(func(i int) {
		t := &u.run.Threads[i]
		for _, column := range [][]int64{t.Calls.EnterNS, t.Calls.ExitNS} {
			for k := range column {
				column[k] -= origin
			}
		}
		u.cuts[i].fill(t)
		for k := range t.Phases {
			t.Phases[k].BeginNS -= origin
			t.Phases[k].EndNS -= origin
		}
		for k := range t.Events {
			t.Events[k].TimeNS -= origin
		}
		for k := range t.Readings.TimeNS {
			t.Readings.TimeNS[k] -= origin
		}
		for k := range t.Pauses {
			t.Pauses[k].BeginNS -= origin
			t.Pauses[k].EndNS -= origin
		}
		for k := range t.Lost {
			t.Lost[k].BeginNS -= origin
			t.Lost[k].EndNS -= origin
		}
		t.BeginNS -= origin
		t.EndNS -= origin
		if t.Calls.Len() == 0 && u.Rings[i].Silent() { // when it ran is not known
			t.BeginNS, t.EndNS = 0, 0
		}
	})
	if err := u.shareSpans(); err != nil {
		return start, 0, err
	}
	for i := range u.run.Threads {
		durationNS = max(durationNS, u.run.Threads[i].EndNS)
	}
	return time.Unix(0, origin), durationNS, nil
}

// firstEntry is when the first call of the run was entered.
func (u *unpacked) firstEntry() (ns int64, err error) {
	first := []int64{math.MaxInt64}
	for _, i := range u.Own {
		if enter := u.run.Threads[i].Calls.EnterNS; len(enter) > 0 {
			first[0] = min(first[0], enter[0])
		}
	}
	err = u.Team.AllReduce(first, team.Min)
	return first[0], err
}

// shareSpans gives all members the begin and end of the threads of each.
func (u *unpacked) shareSpans() error {
	spans := make([][]int64, len(u.run.Threads))
	for i := range spans {
		spans[i] = []int64{u.run.Threads[i].BeginNS, u.run.Threads[i].EndNS}
	}
	all, err := team.ByThread(u.Team, spans)
	if err != nil {
		return err
	}
	for i, s := range all {
		u.run.Threads[i].BeginNS, u.run.Threads[i].EndNS = s[0], s[1]
	}
	return nil
}
