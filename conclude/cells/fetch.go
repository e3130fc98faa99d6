package cells

import (
	"context"
	"fmt"
	"maps"
	"slices"

	agentcells "moriens/collector/cells"
	"moriens/collector/store"
	"moriens/conclude/fetch"
	"moriens/internal/units"
)

// A fetched is the ranks that are kept in detail. The store has their records.
type fetched struct {
	filled store.Filled
	labels map[uint64][]agentcells.Labelled // by ring: the labels of its rows on its node
	notes  []string
	lacks  []string // what there was no time for, or what agents did not send, and why
}

// fetch gets all that nodes hold of the ranks that are to be kept.
func (a *asker) fetch(ctx context.Context, c clustered, s summed) (d fetched) {
	chosen, note := a.choose(s)
	if note != "" {
		d.notes = append(d.notes, note)
	}
	if len(chosen) == 0 || len(a.Asked.AgentStates()) == 0 { // no agent answers
		return d
	}
	var ids []uint64
	for _, p := range chosen {
		ids = append(ids, p.Info.Process)
	}
	var parts [][]byte
	for _, answer := range a.Agents.FetchAll(ctx, ids...) {
		if answer.Err != nil && a.asked(answer.Agent, chosen) {
			d.lacks = append(d.lacks, fetch.Unanswered("everything to be kept", a.Frozen, answer))
		}
		for _, part := range answer.Parts {
			parts = append(parts, part.Sections)
		}
	}
	d.filled = a.Frozen.Fill(parts)
	a.label(ctx, c, chosen, &d)
	said := make(map[string]bool)
	for _, err := range d.filled.Refused {
		if text := err.Error(); !said[text] && len(said) < mostRefused {
			said[text] = true
			d.notes = append(d.notes, "data of a rank from its node was refused: "+text)
		}
	}
	if n := len(d.filled.Refused); n > len(said) {
		d.notes = append(d.notes, fmt.Sprintf("data of ranks from their nodes was refused: %s in total", units.Count(n, "section")))
	}
	return d
}

// label asks for the labels of the bursts of the ranks that are kept.
func (a *asker) label(ctx context.Context, c clustered, chosen []*store.Process, d *fetched) {
	if c.result == nil || c.result.Labels != nil {
		return
	}
	d.labels = make(map[uint64][]agentcells.Labelled)
	rings := make(map[uint64][]uint64) // by agent
	for _, p := range chosen {
		for _, r := range p.Rings {
			rings[p.Agent.Hello.Agent] = append(rings[p.Agent.Hello.Agent], r.Info.Ring)
		}
	}
	for agent, list := range rings {
		rows, err := a.Asked.Rows(ctx, agent, list, len(c.result.Clusters))
		if err != nil {
			d.lacks = append(d.lacks, fmt.Sprintf("clusters of the bursts of ranks in full: %v", err))
			continue
		}
		maps.Copy(d.labels, rows)
	}
}

// mostRecords bounds the MPI calls of the ranks that are fetched: they take about 100 bytes each while the run is
// concluded.
const mostRecords = 50_000_000

// choose is which processes are fetched: those of the exemplars, then those of the outliers, as far as there is room
// for their calls; all where everything is to be kept. Where ranks are not distinguished it is the first one.
func (a *asker) choose(s summed) (list []*store.Process, note string) {
	rings := a.threads.Rings
	if !a.Keep.All {
		rings = nil
		if s.classes != nil {
			for i := range s.classes.Classes.Classes {
				rings = append(rings, a.threads.Rings[s.classes.of[s.classes.Classes.Classes[i].Exemplar]])
			}
			for _, o := range s.classes.Outliers {
				rings = append(rings, a.threads.Rings[s.classes.of[o.Thread]])
			}
		} else if len(a.threads.Rings) > 0 {
			rings = a.threads.Rings[:1]
		}
	}
	room, left := int64(mostRecords), 0
	for _, r := range rings {
		p := r.Process
		if slices.Contains(list, p) {
			continue
		}
		records := int64(0)
		for _, o := range p.Rings {
			if own := s.byRing[o.Info.Ring]; own != nil {
				records += own.records
			}
		}
		if records > room {
			left++
			continue
		}
		room -= records
		list = append(list, p)
	}
	if left > 0 {
		note = fmt.Sprintf("kept as totals only for lack of space: %s that would have been kept in detail; for those in detail at most %d MPI calls are fetched",
			units.Count(left, "rank"), mostRecords)
	}
	return list, note
}

// mostRefused is how many reasons are reported for rejected parts of fetched windows.
const mostRefused = 8

// asked says whether an agent is that of some processes.
func (a *asker) asked(agent uint64, processes []*store.Process) bool {
	return slices.ContainsFunc(processes, func(p *store.Process) bool { return p.Agent.Hello.Agent == agent })
}
