package moriens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"moriens/analysis/team"
	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/internal/anchor"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// detail is what the agents have sent of windows that are kept.
type detail struct {
	history *history
	frozen  *store.Frozen
	desk    Desk
	steps   map[int][]step // by process
	asked   map[windows.Window]bool
	rings   map[*store.Ring]*ringDetail
	said    map[string]bool // of what is missing
	broken  error           // what the team has ended with
}

// ringDetail is what came of a ring.
type ringDetail struct {
	rows      []rows // apart, ascending
	transfers []*store.Detail
}

// rows are calls of a ring: first ≤ i < behind.
type rows struct{ first, behind uint64 }

func newDetail(h *history, f store.Frozen, desk Desk) *detail {
	return &detail{
		history: h, frozen: &f, desk: desk, steps: make(map[int][]step), asked: make(map[windows.Window]bool),
		rings: make(map[*store.Ring]*ringDetail), said: make(map[string]bool),
	}
}

// Fetch asks for the windows of spans that have not been asked for, each member of the team its own agents; what is missing is told to all. Processes of which the
// same windows are wanted are asked for together.
func (d *detail) Fetch(ctx context.Context, kept [][]trace.Span) (missing []string) {
	var own absent
	together := make(map[string][]uint64)
	wanted := make(map[string][]anchor.Window)
	for i := range d.history.processes {
		if d.desk == nil || !d.history.mine(int32(i)) {
			continue
		}
		p := &d.history.processes[i]
		list := d.wanted(i, kept)
		if len(list) > 0 {
			key := fmt.Sprint(list)
			together[key] = append(together[key], p.Info.Process)
			wanted[key] = list
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		for _, answer := range d.desk.Fetch(ctx, wanted[key], together[key]...) {
			if answer.Err != nil {
				own.Troubles = append(own.Troubles, unanswered("sends and receives in kept windows", d.frozen, answer))
			}
			for _, part := range answer.Parts {
				if err := d.take(part); err != nil {
					own.Troubles = append(own.Troubles, err.Error())
				}
			}
		}
	}
	own.Hosts = d.lacking(kept)
	all, err := team.Values(d.history.team, own)
	if err != nil {
		d.broken = err
		return nil
	}
	troubles := tellAbsent(all)
	for _, text := range troubles {
		if !d.said[text] {
			d.said[text] = true
			missing = append(missing, text)
		}
	}
	return missing
}

// absent is what did not come to one member.
type absent struct {
	Troubles []string
	Hosts    map[string]lack
}

// A lack is how many calls in spans the windows of a host's agents do not have, and of how many ranks.
type lack struct{ Calls, Ranks int }

// tellAbsent says what did not come to any member, each text once.
func tellAbsent(all []absent) []string {
	var list []string
	hosts := make(map[string]lack)
	for _, a := range all {
		list = append(list, a.Troubles...)
		for host, l := range a.Hosts { // which may have agents of several members
			hosts[host] = lack{hosts[host].Calls + l.Calls, hosts[host].Ranks + l.Ranks}
		}
	}
	for host, l := range hosts {
		list = append(list, fmt.Sprintf("sends and receives of %s in kept windows of %s on %s: their node does not have them",
			units.Count(l.Calls, "MPI call"), units.Count(l.Ranks, "rank"), host))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// wanted are the windows of a process that spans of its threads lie in, and that have not been asked for.
func (d *detail) wanted(of int, kept [][]trace.Span) []anchor.Window {
	p := &d.history.processes[of]
	var list []anchor.Window
	for _, thread := range p.threads {
		for _, s := range kept[thread] {
			if d.steps[of] == nil {
				d.steps[of] = d.history.steps(of)
			}
			list = append(list, d.history.windowsOf(of, d.steps[of], s)...)
		}
	}
	slices.Sort(list)
	list = slices.DeleteFunc(slices.Compact(list), func(w anchor.Window) bool {
		key := windows.Window{Process: p.Info.Process, Window: w}
		was := d.asked[key]
		d.asked[key] = true
		return was
	})
	return list
}

// unanswered says of what its agent has not answered, and why.
func unanswered(what string, f *store.Frozen, answer windows.Fetched) string {
	host := fmt.Sprintf("%016x", answer.Agent)
	for _, a := range f.Agents {
		if a.Hello.Agent == answer.Agent {
			host = a.Hello.Host
		}
	}
	why := answer.Err.Error()
	switch {
	case errors.Is(answer.Err, windows.ErrGone):
		why = "it had left"
	case errors.Is(answer.Err, context.DeadlineExceeded), errors.Is(answer.Err, context.Canceled):
		why = "it has not answered in time"
	}
	return fmt.Sprintf("%s of ranks on %s: their agent did not give them: %s", what, host, why)
}

// take takes a part of a window.
func (d *detail) take(part *moriensv1.WindowPart) error {
	for _, m := range part.Messages {
		switch b := m.Body.(type) {
		case *moriensv1.ReportRequest_Calls:
			if r := d.frozen.Ring(b.Calls.Ring); r != nil {
				x := d.ring(r)
				x.rows = append(x.rows, rows{b.Calls.First, b.Calls.First + uint64(len(b.Calls.Function))})
			}
		case *moriensv1.ReportRequest_Transfers:
			t, err := d.frozen.Detail(b.Transfers)
			if err != nil {
				return fmt.Errorf("sends and receives of a kept window: %w", err)
			}
			x := d.ring(t.Ring)
			x.transfers = append(x.transfers, t)
		}
	}
	return nil
}

func (d *detail) ring(r *store.Ring) *ringDetail {
	if d.rings[r] == nil {
		d.rings[r] = new(ringDetail)
	}
	return d.rings[r]
}

// lacking says for each host how many calls in spans its agents' windows do not have.
func (d *detail) lacking(kept [][]trace.Span) map[string]lack {
	hosts := make(map[string]lack)
	for i := range d.history.processes {
		if !d.history.mine(int32(i)) {
			continue
		}
		p := &d.history.processes[i]
		lacking := 0
		for _, thread := range p.threads {
			calls := &d.history.run.Threads[thread].Calls
			var came []rows
			if x := d.rings[d.history.rings[thread]]; x != nil {
				x.rows = merged(x.rows)
				came = x.rows
			}
			for _, s := range kept[thread] {
				lacking += uncovered(callsIn(calls, s), came)
			}
		}
		if host := p.Agent.Hello.Host; lacking > 0 {
			hosts[host] = lack{hosts[host].Calls + lacking, hosts[host].Ranks + 1}
		}
	}
	return hosts
}

// callsIn are the rows of calls that lie in a span.
func callsIn(c *trace.Calls, s trace.Span) rows {
	first, _ := slices.BinarySearch(c.EnterNS, s.BeginNS)
	behind := first
	for behind < c.Len() && c.ExitNS[behind] <= s.EndNS {
		behind++
	}
	return rows{uint64(first), uint64(behind)}
}

// merged puts rows together that touch each other.
func merged(list []rows) []rows {
	slices.SortFunc(list, func(a, b rows) int { return cmp.Compare(a.first, b.first) })
	var out []rows
	for _, r := range list {
		if n := len(out); n > 0 && r.first <= out[n-1].behind {
			out[n-1].behind = max(out[n-1].behind, r.behind)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// uncovered is how many of some rows no others have, which lie apart and ascend.
func uncovered(wanted rows, others []rows) int {
	lacking := wanted.behind - wanted.first
	for _, r := range others {
		if from, to := max(wanted.first, r.first), min(wanted.behind, r.behind); from < to {
			lacking -= to - from
		}
	}
	return int(lacking)
}
