package conclude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/internal/anchor"
	"moriens/internal/team"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// detail is what the agents have sent of windows that are kept.
type detail struct {
	history *history
	frozen  *store.Frozen
	desk    Desk
	taken   map[windows.Key]bool
	rings   map[*store.Ring]*ringDetail
	said    map[string]bool // of what is missing
	broken  error           // what the team has ended with
}

// ringDetail is what was asked for, and came, of a ring.
type ringDetail struct {
	asked, rows []rows // apart, ascending
	transfers   []*store.Detail
}

// rows are calls of a ring: first ≤ i < behind.
type rows struct{ first, behind uint64 }

func newDetail(h *history, f store.Frozen, desk Desk) *detail {
	return &detail{
		history: h, frozen: &f, desk: desk, taken: make(map[windows.Key]bool), rings: make(map[*store.Ring]*ringDetail), said: make(map[string]bool),
	}
}

// Fetch asks for the windows that calls in spans are in and that have not been asked for, each member of the team its own agents; who has not answered is told to all.
// Which windows those are, only the agents say, which have put the calls there.
func (d *detail) Fetch(ctx context.Context, kept [][]trace.Span) (missing []string) {
	var troubles []string
	if calls := d.wanted(kept); len(calls) > 0 {
		came := make(map[windows.Key]bool)
		for _, answer := range d.desk.FetchCalls(ctx, calls) {
			if answer.Err != nil {
				troubles = append(troubles, unanswered("sends and receives in kept windows", d.frozen, answer))
			}
			for _, part := range answer.Parts {
				w := windows.Key{Process: part.Process, Window: anchor.ID(part.Window)}
				if came[w] = true; d.taken[w] {
					continue
				}
				if err := d.take(part); err != nil {
					troubles = append(troubles, err.Error())
				}
			}
		}
		maps.Copy(d.taken, came)
	}
	all, err := team.Values(d.history.team, troubles)
	if err != nil {
		d.broken = err
		return nil
	}
	for _, text := range slices.Concat(all...) {
		if !d.said[text] {
			d.said[text] = true
			missing = append(missing, text)
		}
	}
	slices.Sort(missing)
	return missing
}

// Lacking says how many transfers of calls in spans have not come to any member, and of which hosts' calls.
func (d *detail) Lacking(kept [][]trace.Span) (transfers int64, missing []string) {
	all, err := team.Values(d.history.team, d.lacking(kept))
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

// A lack is how many transfers, of how many calls in spans, the windows of a host's agents do not have, and of how many ranks.
type lack struct{ Transfers, Calls, Ranks int }

// wanted are the calls in spans that have not been asked for; from now on they have.
func (d *detail) wanted(kept [][]trace.Span) (list []windows.Calls) {
	for _, thread := range d.history.own {
		p := &d.history.processes[d.history.processOf[thread]]
		if d.desk == nil || len(kept[thread]) == 0 {
			continue
		}
		ring := d.history.rings[thread]
		x := d.ring(ring)
		calls := &d.history.run.Threads[thread].Calls
		for _, s := range kept[thread] {
			for _, r := range without(callsIn(calls, s), merged(slices.Concat(x.asked, x.rows))) {
				list = append(list, windows.Calls{Agent: p.Agent.Hello.Agent, Ring: ring.Info.Ring, First: r.first, Behind: r.behind})
				x.asked = merged(append(x.asked, r))
			}
		}
	}
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
		why = "it had disconnected"
	case errors.Is(answer.Err, context.DeadlineExceeded), errors.Is(answer.Err, context.Canceled):
		why = "it did not answer in time"
	}
	return fmt.Sprintf("%s of ranks on %s: not received from their agent: %s", what, host, why)
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

// lacking says for each host what of calls in spans its agents' windows do not have.
func (d *detail) lacking(kept [][]trace.Span) map[string]lack {
	hosts := make(map[string]lack)
	for i := range d.history.processes {
		if !d.history.mine(int32(i)) {
			continue
		}
		p := &d.history.processes[i]
		lacking := make(map[uint32]int) // calls by call path
		for _, thread := range p.threads {
			calls := &d.history.run.Threads[thread].Calls
			var came []rows
			if x := d.rings[d.history.rings[thread]]; x != nil {
				x.rows = merged(x.rows)
				came = x.rows
			}
			for _, s := range kept[thread] {
				for _, r := range without(callsIn(calls, s), came) {
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

// lost is what some calls of a process have moved, by call path: each as much as the others from that place, of which the process has told the sum. One that has
// not told it may have moved something with each.
func (d *detail) lost(of int, lacking map[uint32]int) (l lack) {
	if len(lacking) == 0 {
		return l
	}
	p := &d.history.processes[of]
	if p.TransfersEnd == nil {
		for _, n := range lacking {
			l.Transfers, l.Calls = l.Transfers+n, l.Calls+n
		}
		return l
	}
	moved, calls := make(map[uint32]uint64), make(map[uint32]int)
	for _, x := range p.Traffic.Sites {
		moved[d.frozen.Path(x.Path)] += x.Count
	}
	for _, thread := range p.threads {
		for _, path := range d.history.run.Threads[thread].Calls.Path {
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

// without are those of some rows that are not among others, which lie apart and ascend.
func without(wanted rows, others []rows) (list []rows) {
	for _, r := range others {
		if from := max(wanted.first, r.first); from < min(wanted.behind, r.behind) {
			if from > wanted.first {
				list = append(list, rows{wanted.first, from})
			}
			wanted.first = r.behind
		}
	}
	if wanted.first < wanted.behind {
		list = append(list, wanted)
	}
	return list
}
