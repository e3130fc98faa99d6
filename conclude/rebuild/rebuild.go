// Package rebuild makes a run of what the store holds. store.Frozen comes in; a trace.Run on one time line, in
// nanoseconds since its first call, and facts on its processes, clocks and messages go out. No other package of
// conclude reads the store's columns.
package rebuild

import (
	"context"
	"slices"

	"moriens/collector/store"
	"moriens/conclude/match"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A Rebuilt is a run on one time line, and what else the store held of it.
type Rebuilt struct {
	Threads
	ClockReport
	Run     *trace.Run
	Gaps    [][]int32          // by thread that is here: its rows without a burst before them
	Columns trace.BurstColumns // of the bursts of the run's threads that are here
	Marks   Unbalanced
	Absent  []rundir.Absence // ranks of Worlds and Unseen without a record
	Unseen  []rundir.World   // without any rank that has a record; numbered after Worlds
	Refused int              // of Absent, those that could not record

	Scheduling *rundir.Scheduling // of the ranks by the kernel; nil where no agent has figures

	Unpaired     match.Unpaired
	LateSenderNS int64    // how long the calls of all ranks that received waited for messages that had not been sent
	Notes        []string // what the user should know
	Missing      []string // what there was no time for, and why

	comms *communicators
}

// Rebuild is collective: it turns what the stores of all members held into a trace on one time line, of which each has
// the columns of its own threads. When ctx ends at one of them what is left is done without: messages are not matched,
// clocks not compared. An error is the team's.
func Rebuild(ctx context.Context, f store.Frozen, t team.Team, workers int) (*Rebuilt, error) {
	r, _, err := rebuild(ctx, unpack(f, t, workers))
	return r, err
}

func rebuild(ctx context.Context, u *unpacked) (r *Rebuilt, m matched, err error) {
	c := communicatorsOf(u)
	addColumns(u, c)
	if m, err = pair(ctx, u, c); err != nil {
		return nil, m, err
	}
	for _, i := range u.Own {
		u.frozen.Drop(u.Rings[i])
	}
	a, err := align(ctx, u, m.causes)
	if err != nil {
		return nil, m, err
	}
	marks, err := u.sumMarks()
	if err != nil {
		return nil, m, err
	}
	if u.run.Start, u.run.DurationNS, err = startAtZero(u); err != nil {
		return nil, m, err
	}
	r = &Rebuilt{
		Threads: u.Threads, ClockReport: a.at.describe(a.ordered), Run: u.run, Gaps: u.gaps(), Columns: u.all, Marks: marks, Absent: append(u.roster.absent, silent(u.Worlds)...), Unseen: u.roster.unseen(), Refused: u.roster.unrecorded,
		Scheduling: Scheduling(u.Worlds, u.frozen.Agents), Unpaired: m.Unpaired, Notes: slices.Concat(u.notes, a.notes), Missing: slices.Concat(m.missing, a.missing), comms: c,
	}
	r.Run.Communicators = c.list
	if r.Run.Messages, r.LateSenderNS, err = draw(u, m.Pairs); err != nil {
		return nil, m, err
	}
	if !r.Whole {
		r.Run.Traffic, r.Unpaired = sumTraffic(u, c, m.processes)
		t := r.Run.Traffic
		if t.Sample, t.Compared, err = sample(u, c, r.Run.Messages); err != nil {
			return nil, m, err
		}
	}
	return r, m, nil
}

// matched are the messages of a run and what they say of its clocks.
type matched struct {
	*match.Matching
	processes []match.Process
	causes    causes
	missing   []string // what there was no time for, and why
}

// pair is collective: it matches the messages, and finds what calls waited for where there is more than one clock.
func pair(ctx context.Context, u *unpacked, c *communicators) (matched, error) {
	m := matched{causes: noCauses()}
	isOver, err := over(ctx, u.Team)
	if err != nil {
		return m, err
	}
	if isOver {
		m.Matching, m.processes = new(match.Matching), u.forMatching()
		m.missing = append(m.missing, "sends and receives are not matched: rebuild: "+why(ctx))
		return m, nil
	}
	if m.Matching, m.processes, err = matchMessages(u, c); err == nil && u.at.clocks.severalClocks() {
		m.causes, err = causesOf(u, c, m.Pairs)
	}
	return m, err
}
