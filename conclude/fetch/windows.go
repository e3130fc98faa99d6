package fetch

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/conclude/rebuild"
	"moriens/internal/anchor"
	"moriens/internal/team"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// Windows are the windows of calls that are kept, as far as the agents have sent them.
type Windows struct {
	run      *rebuild.Rebuilt
	frozen   *store.Frozen
	agents   Agents
	taken    map[windows.Key]bool
	rings    map[*store.Ring]*ringWindows
	reported map[string]bool // sentences on what is missing
	broken   error           // what the team has ended with
}

// ringWindows is what was requested and received of a ring.
type ringWindows struct {
	requested, rows []rows // apart, ascending
	transfers       []*store.Detail
}

// NewWindows returns none yet of a run. Without agents none will be.
func NewWindows(r *rebuild.Rebuilt, f *store.Frozen, agents Agents) *Windows {
	return &Windows{
		run: r, frozen: f, agents: agents, taken: make(map[windows.Key]bool), rings: make(map[*store.Ring]*ringWindows), reported: make(map[string]bool),
	}
}

// Err is what the team has ended with; nil if it has not.
func (d *Windows) Err() error { return d.broken }

// Fetch asks for the windows that calls in spans are in and that have not been asked for, each member of the team its
// own agents; all learn who has not answered. Which windows those are, only the agents say, which have put the calls
// there.
func (d *Windows) Fetch(ctx context.Context, kept [][]trace.Span) (missing []string) {
	var troubles []string
	if calls := d.wanted(kept); len(calls) > 0 {
		arrived := make(map[windows.Key]bool)
		for _, answer := range d.agents.FetchCalls(ctx, calls) {
			if answer.Err != nil {
				troubles = append(troubles, Unanswered("sends and receives in kept windows", d.frozen, answer))
			}
			for _, part := range answer.Parts {
				w := windows.Key{Process: part.Process, Window: anchor.ID(part.Window)}
				if arrived[w] = true; d.taken[w] {
					continue
				}
				troubles = append(troubles, d.take(part)...)
			}
		}
		maps.Copy(d.taken, arrived)
	}
	all, err := team.Values(d.run.Team, troubles)
	if err != nil {
		d.broken = err
		return nil
	}
	for _, text := range slices.Concat(all...) {
		if !d.reported[text] {
			d.reported[text] = true
			missing = append(missing, text)
		}
	}
	slices.Sort(missing)
	return missing
}

// Lacking says how many transfers of calls in spans have not reached any member, and of which hosts' calls.
func (d *Windows) Lacking(kept [][]trace.Span) (transfers int64, missing []string) {
	all, err := team.Values(d.run.Team, d.lacking(kept))
	if err != nil {
		d.broken = err
		return 0, nil
	}
	hosts := make(map[string]lack)
	for _, own := range all {
		for host, l := range own { // which may have agents of several members
			hosts[host] = lack{hosts[host].Transfers + l.Transfers, hosts[host].Calls + l.Calls, hosts[host].Ranks + l.Ranks}
		}
	}
	for host, l := range hosts {
		transfers += int64(l.Transfers)
		missing = append(missing, fmt.Sprintf("%s of %s in kept windows of %s on %s: not available on their node",
			units.Count(l.Transfers, "transfer"), units.Count(l.Calls, "MPI call"), units.Count(l.Ranks, "rank"), host))
	}
	slices.Sort(missing)
	return transfers, missing
}

// A lack is how many transfers, of how many calls in spans, the windows of a host's agents do not have, and of how many
// ranks.
type lack struct{ Transfers, Calls, Ranks int }

// wanted are the calls in spans that have not been asked for; from now on they have.
func (d *Windows) wanted(kept [][]trace.Span) (list []windows.Calls) {
	for _, thread := range d.run.Own {
		p := &d.run.Processes[d.run.ProcessOf[thread]]
		if d.agents == nil || len(kept[thread]) == 0 {
			continue
		}
		ring := d.run.Rings[thread]
		x := d.ring(ring)
		calls := &d.run.Run.Threads[thread].Calls
		for _, s := range kept[thread] {
			for _, r := range without(callsIn(calls, s), merged(slices.Concat(x.requested, x.rows))) {
				list = append(list, windows.Calls{Agent: p.Agent.Hello.Agent, Ring: ring.Info.Ring, First: r.first, Behind: r.behind})
				x.requested = merged(append(x.requested, r))
			}
		}
	}
	return list
}

// take takes a part of a window. What is sound of it counts; the rest is said.
func (d *Windows) take(part *moriensv1.WindowPart) (troubles []string) {
	if err := d.takeRows(part); err != nil {
		troubles = append(troubles, fmt.Sprintf("MPI calls of a kept window: %v", err))
	}
	details, err := d.frozen.Details(part.Sections)
	if err != nil {
		troubles = append(troubles, fmt.Sprintf("sends and receives of a kept window: %v", err))
	}
	for _, t := range details {
		x := d.ring(t.Ring)
		x.transfers = append(x.transfers, t)
	}
	return troubles
}

// takeRows takes which calls a window has, if all of them can be; of a window in several parts the first says it.
func (d *Windows) takeRows(part *moriensv1.WindowPart) error {
	if len(part.FirstRow) != len(part.Ring) || len(part.BehindRow) != len(part.Ring) {
		return fmt.Errorf("columns of %d, %d and %d rows", len(part.Ring), len(part.FirstRow), len(part.BehindRow))
	}
	for i, id := range part.Ring {
		r := d.frozen.Ring(id)
		switch first, behind := part.FirstRow[i], part.BehindRow[i]; {
		case r == nil || r.Process.Info.Process != part.Process:
			return fmt.Errorf("ring %016x is none of process %016x", id, part.Process)
		case first > behind || behind > r.Calls:
			return fmt.Errorf("ring %016x: rows from %d to before %d of %d", id, first, behind, r.Calls)
		}
	}
	for i, id := range part.Ring {
		x := d.ring(d.frozen.Ring(id))
		x.rows = append(x.rows, rows{part.FirstRow[i], part.BehindRow[i]})
	}
	return nil
}

func (d *Windows) ring(r *store.Ring) *ringWindows {
	if d.rings[r] == nil {
		d.rings[r] = new(ringWindows)
	}
	return d.rings[r]
}

// lacking says for each host what of calls in spans its agents' windows do not have.
func (d *Windows) lacking(kept [][]trace.Span) map[string]lack {
	hosts := make(map[string]lack)
	for i := range d.run.Processes {
		if !d.run.Mine(i) {
			continue
		}
		p := &d.run.Processes[i]
		lacking := make(map[uint32]int) // calls by call path
		for _, thread := range p.Threads {
			calls := &d.run.Run.Threads[thread].Calls
			var arrived []rows
			if x := d.rings[d.run.Rings[thread]]; x != nil {
				x.rows = merged(x.rows)
				arrived = x.rows
			}
			for _, s := range kept[thread] {
				for _, r := range without(callsIn(calls, s), arrived) {
					for _, path := range calls.Path[r.first:r.behind] {
						lacking[path]++
					}
				}
			}
		}
		if own := d.lost(i, lacking); own.Transfers > 0 {
			host := p.Agent.Hello.Host
			hosts[host] = lack{hosts[host].Transfers + own.Transfers, hosts[host].Calls + own.Calls, hosts[host].Ranks + 1}
		}
	}
	return hosts
}

// lost is what some calls of a process have moved, by call path: each as much as the others from that place, of which
// the process has counted the sum. One without a sum may have moved something with each.
func (d *Windows) lost(of int, lacking map[uint32]int) (l lack) {
	if len(lacking) == 0 {
		return l
	}
	p := &d.run.Processes[of]
	if p.TransfersEnd == nil {
		for _, n := range lacking {
			l.Transfers, l.Calls = l.Transfers+n, l.Calls+n
		}
		return l
	}
	moved, calls := make(map[uint32]uint64), make(map[uint32]int)
	for x := range p.Sums.Of(moriensv1.Sums_WHAT_SITE) {
		moved[d.frozen.Path(x.Path())] += x.Count
	}
	for _, thread := range p.Threads {
		for _, path := range d.run.Run.Threads[thread].Calls.Path {
			calls[path]++
		}
	}
	for path, n := range lacking {
		if moved[path] > 0 {
			l.Transfers += int(math.Ceil(float64(moved[path]) / float64(calls[path]) * float64(n)))
			l.Calls += n
		}
	}
	return l
}

// Add gives a run the transfers of the windows that are here, and the messages of which both sides are, at whichever
// member.
func (d *Windows) Add(run *trace.Run) *trace.Run {
	fetched := make(map[*store.Ring][]*store.Detail)
	for r, x := range d.rings {
		fetched[r] = x.transfers
	}
	var with *trace.Run
	with, d.broken = d.run.With(run, fetched)
	return with
}
