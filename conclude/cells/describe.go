package cells

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"moriens/collector/windows"
	"moriens/conclude/clustering"
	"moriens/conclude/rebuild"
	"moriens/conclude/retention"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// Describe adds the figures of all ranks to the content of a run directory. For bursts of ranks in full the origin of
// their labels is known.
func (c *Collected) Describe(r *rebuild.Rebuilt, of clustering.Located, content *rundir.Content) *retention.Sums {
	d := c.cells
	d.BurstsMoved, d.BurstsAstray = of.Moved, of.Astray
	phases := c.phases.number(c.Frozen, r)
	rows := c.rows(r, phases)
	m := content.Manifest
	m.Cells = &d
	m.Notes = append(m.Notes, c.notes...)
	m.Notes = append(append(m.Notes, c.troubles()...), located(&d, r.Run.Bursts())...)
	m.Reduction.Missing = append(append(m.Reduction.Missing, c.missing...), c.lacks...)
	if text := c.phaseless(); text != "" {
		m.Reduction.Missing = append(m.Reduction.Missing, text)
	}
	content.Sums = c.figures(r, rows)
	s := &retention.Sums{Rows: rows, Classes: c.threadClasses(r)}
	if phases != nil {
		s.Phases = phases.Phases
	}
	return s
}

// Empty says whether there are bursts, and if not why none is known and what to do, where the agents are to blame.
func (c *Collected) Empty() (bursts bool, why, advice string) {
	switch {
	case c.set != nil && c.set.Bursts > 0:
		return true, "", ""
	case c.set == nil && len(c.threads.Rings) > 0:
		return false, "no agent has reported the bursts that it kept on its node", "agents must run until the analysis is done: did they end with the job's last rank?"
	}
	return false, "", ""
}

// describe is what the manifest says of the cells.
func (c *Collected) describe() (d rundir.Cells) {
	d.CallsEvicted, d.Stretches = int64(c.filled.Missing), c.filled.Holes
	if c.result != nil {
		x := &c.result.Certificate
		d.Side, d.Floor, d.Bound, d.Exact = rundir.Number(x.Side), rundir.Number(x.Floor), x.Bound, x.Exact
		d.UnitsInQuestion, d.BurstsInQuestion = x.Units, x.Bursts
	}
	if c.Asked != nil {
		for _, x := range c.Asked.AgentStates() {
			d.LostBursts += int64(x.Lost)
			d.OutsideBursts += int64(x.Outside)
			d.HeldBytes = max(d.HeldBytes, int64(x.HeldBytes))
		}
		all := c.Asked.Traffic().All()
		d.BytesDown, d.BytesUp = all.Down.Bytes, all.Up.Bytes
	}
	c.describeUnanswered(&d)
	type rank struct{ world, rank int }
	inFull, inSum, silent := make(map[rank]bool), make(map[rank]bool), make(map[rank]bool)
	for i, w := range c.threads.Worlds {
		for _, p := range w.Ranks() {
			key := rank{i, int(p.Info.Rank)}
			silent[key] = true
			for _, r := range p.Rings {
				if r.Calls > 0 {
					inFull[key] = true
				}
				if c.byRing[r.Info.Ring] != nil {
					inSum[key] = true
				}
			}
		}
	}
	d.RanksInFull = len(inFull)
	for key := range silent {
		switch {
		case inFull[key]:
		case inSum[key]:
			d.RanksInSum++
		default:
			d.RanksSilent++
		}
	}
	return d
}

// describeUnanswered says which agents have sent nothing, or not all.
func (c *Collected) describeUnanswered(d *rundir.Cells) {
	why := make(map[uint64]string)
	asked := make(map[uint64]bool)
	if c.Asked != nil {
		for _, id := range c.Agents.IDs() {
			asked[id] = true
		}
		for _, x := range c.Asked.AgentStates() {
			asked[x.Agent] = true
		}
		for _, l := range c.Asked.Left() {
			why[l.Agent] = l.Err.Error()
			if errors.Is(l.Err, windows.ErrGone) {
				why[l.Agent] = "it had disconnected"
			}
		}
	}
	d.Agents = len(asked)
	for _, agent := range c.Frozen.Agents {
		if agent.Hello.Cells == "" {
			continue
		}
		text, left := why[agent.Hello.Agent]
		if !left && asked[agent.Hello.Agent] {
			continue
		}
		d.Unanswered = append(d.Unanswered, fmt.Sprintf("%s: %s", agent.Hello.Host, cmp.Or(text, "it had disconnected")))
	}
	slices.Sort(d.Unanswered)
}

// movedOfAll is the share of bursts over the edge of their cell above which the user is warned.
const movedOfAll = .001

// troubles are what the user should know of the cells.
func (c *Collected) troubles() (list []string) {
	d := &c.cells
	if len(d.Unanswered) > 0 {
		list = append(list, fmt.Sprintf("micro-cells are missing for ranks on %s whose agent did not answer: %s", units.Count(len(d.Unanswered), "host"), someOf(d.Unanswered)))
	}
	if d.LostBursts > 0 {
		list = append(list, fmt.Sprintf("not included: %s that agents knew before they were restarted and whose windows were already evicted", units.Count(d.LostBursts, "burst")))
	}
	if d.OutsideBursts > 0 {
		list = append(list, fmt.Sprintf("in no micro-cell, counted as missing data: %s; the values are too large for cells of side %.3g; --cell-side sets another side",
			units.Count(d.OutsideBursts, "burst"), float64(d.Side)))
	}
	if d.CallsEvicted > 0 {
		list = append(list, fmt.Sprintf("the ranks in full lack %s in %s: their nodes had no space for those windows", units.Count(d.CallsEvicted, "MPI call"), units.Count(d.Stretches, "stretch")))
	}
	if c.result != nil && !d.Exact {
		list = append(list, fmt.Sprintf("clusters may differ from those of the individual bursts: they depend on the positions of %s in %s, which are no longer known",
			units.Count(d.BurstsInQuestion, "burst"), units.Count(d.UnitsInQuestion, "micro-cell")))
	}
	return list
}

// someOf are the first few of a list, in words.
func someOf(list []string) string {
	const most = 5
	text := ""
	for i, x := range list[:min(len(list), most)] {
		if i > 0 {
			text += "; "
		}
		text += x
	}
	if rest := len(list) - most; rest > 0 {
		text += fmt.Sprintf("; and %d more", rest)
	}
	return text
}

// located is what the user should know of the labels of the bursts of ranks in full.
func located(d *rundir.Cells, bursts int) (list []string) {
	if float64(d.BurstsMoved) > movedOfAll*float64(bursts) {
		list = append(list, fmt.Sprintf("outside their micro-cell, labelled like the adjacent one: %s of the ranks in full", units.Count(d.BurstsMoved, "burst")))
	}
	if d.BurstsAstray > 0 {
		list = append(list, fmt.Sprintf("in no micro-cell, counted as noise: %s of the ranks in full", units.Count(d.BurstsAstray, "burst")))
	}
	return list
}

// phaseless says of which ranks phases are not known; empty: of none.
func (c *Collected) phaseless() string {
	var hosts []string
	for _, a := range c.Frozen.Agents {
		if c.older[a.Hello.Agent] {
			hosts = append(hosts, a.Hello.Host)
		}
	}
	if len(hosts) == 0 {
		return ""
	}
	return fmt.Sprintf("named phases are missing in the profile of ranks on %s, whose agent is of an earlier version: %s", units.Count(len(hosts), "host"), someOf(hosts))
}
