package conclude

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/analysis/profile"
	"moriens/collector/windows"
	"moriens/conclude/clustering"
	"moriens/conclude/retention"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// describe says in the manifest's cells what came.
func (a *account) describe() {
	c := &a.cells
	if a.result != nil {
		x := &a.result.Certificate
		c.Side, c.Floor, c.Bound, c.Exact = rundir.Number(x.Side), rundir.Number(x.Floor), x.Bound, x.Exact
		c.UnitsInQuestion, c.BurstsInQuestion = x.Units, x.Bursts
	}
	if a.centre != nil {
		for _, x := range a.centre.Told() {
			c.LostBursts += int64(x.Lost)
			c.OutsideBursts += int64(x.Outside)
			c.HeldBytes = max(c.HeldBytes, int64(x.HeldBytes))
		}
		all := a.centre.Traffic().All()
		c.BytesDown, c.BytesUp = all.Down.Bytes, all.Up.Bytes
	}
	a.describeUnanswered()
	inFull, inSum, silent := make(map[worldRankKey]bool), make(map[worldRankKey]bool), make(map[worldRankKey]bool)
	for i, w := range a.lineup.worlds {
		for _, p := range w.ranks() {
			key := worldRankKey{i, int(p.Info.Rank)}
			silent[key] = true
			for _, r := range p.Rings {
				if r.Calls > 0 {
					inFull[key] = true
				}
				if a.sums[r.Info.Ring] != nil {
					inSum[key] = true
				}
			}
		}
	}
	c.RanksInFull = len(inFull)
	for key := range silent {
		switch {
		case inFull[key]:
		case inSum[key]:
			c.RanksInSum++
		default:
			c.RanksSilent++
		}
	}
}

// describeUnanswered says which agents have told nothing, or not all.
func (a *account) describeUnanswered() {
	why := make(map[uint64]string)
	asked := make(map[uint64]bool)
	if a.centre != nil {
		for _, id := range a.end.Cells.Agents.IDs() {
			asked[id] = true
		}
		for _, x := range a.centre.Told() {
			asked[x.Agent] = true
		}
		for _, l := range a.centre.Left() {
			why[l.Agent] = l.Err.Error()
			if errors.Is(l.Err, windows.ErrGone) {
				why[l.Agent] = "it had disconnected"
			}
		}
	}
	a.cells.Agents = len(asked)
	for _, agent := range a.frozen.Agents {
		if agent.Hello.Cells == "" {
			continue
		}
		text, left := why[agent.Hello.Agent]
		if !left && asked[agent.Hello.Agent] {
			continue
		}
		a.cells.Unanswered = append(a.cells.Unanswered, fmt.Sprintf("%s: %s", agent.Hello.Host, cmp.Or(text, "it had disconnected")))
	}
	slices.Sort(a.cells.Unanswered)
}

// A labelled is a clustering of a history's bursts by that of micro-cells.
type labelled struct {
	*clustering.Proposal
	clustering.Located
}

// found is the clustering of a history's bursts, by that of the micro-cells.
func (a *account) found(h *history, o grouping.Options) (*labelled, error) {
	if a.set == nil && len(a.lineup.rings) == 0 { // no agent had anything to tell
		return &labelled{Proposal: clustering.None(h.run, o)}, nil
	}
	if a.err != nil {
		return nil, a.err
	}
	numbers := make(map[microcell.Group]microcell.Group) // the store's, by the run's
	set, path := a.set, a.frozen.Path
	c := clustering.Cells{
		Result: between(a.result, path), Dims: set.Dims, Side: set.Side, Counters: set.Counters, By: by(set, o),
		Locate: func(before, after uint32, at []float64) (int32, bool) {
			g, known := numbers[microcell.Group{Before: before, After: after}]
			if !known {
				return 0, false
			}
			return a.centre.Locate(g.Before, g.After, at)
		},
	}
	if a.result.Labels == nil {
		c.Found, c.Speed = a.labelsOf(h), a.speedOf(h)
	}
	if !o.Filter.Auto { // else it was found from the cells
		c.MinNS = o.Filter.MinNS
	}
	for _, g := range set.Groups {
		of := microcell.Group{Before: path(g.Before), After: path(g.After)}
		numbers[of] = g
		c.Between = append(c.Between, of)
	}
	found, located, err := clustering.FromCells(h.run, c, o)
	return &labelled{found, located}, err
}

// labelsOf are, by thread of a history, the labels of its bursts, as their node has told them by row.
func (a *account) labelsOf(h *history) [][]clustering.BurstLabel {
	list := make([][]clustering.BurstLabel, len(h.rings))
	for thread, r := range h.rings {
		runs, behind := a.labels[r.Info.Ring], uint64(0) // the rows of the runs that are done
		gaps := h.gaps[thread]
		for now := range uint64(r.Calls) {
			if len(gaps) > 0 && uint64(gaps[0]) == now {
				gaps = gaps[1:]
				continue
			}
			row := a.filled.Row(r, now)
			for len(runs) > 0 && row >= behind+uint64(runs[0].Rows) {
				behind += uint64(runs[0].Rows)
				runs = runs[1:]
			}
			label := clustering.BurstLabel{}
			if len(runs) > 0 {
				label = clustering.BurstLabel{Cluster: runs[0].Cluster, Kind: runs[0].Kind}
			}
			list[thread] = append(list[thread], label)
		}
	}
	return list
}

// speedOf are the speeds of a history's threads; nil = they were not compared.
func (a *account) speedOf(h *history) []float64 {
	if a.result.Speed == nil {
		return nil
	}
	list := slices.Repeat([]float64{1}, len(h.run.Threads))
	for i, r := range a.lineup.rings {
		if thread, there := h.threadOf[r]; there {
			list[thread] = a.result.Speed[i]
		}
	}
	return list
}

// empty says whether there are bursts, and if not why none is known and what to do, where the agents are to blame.
func (a *account) empty() (bursts bool, why, advice string) {
	switch {
	case a.set != nil && a.set.Bursts > 0:
		return true, "", ""
	case a.set == nil && len(a.lineup.rings) > 0:
		return false, "no agent has reported the bursts that it kept on its node", "agents must run until the analysis is done: did they end with the job's last rank?"
	}
	return false, "", ""
}

// put has the content of a run directory tell of all ranks.
func (a *account) put(h *history, c *rundir.Content) *retention.Told {
	rows := a.rows(h)
	c.Manifest.Cells = &a.cells
	c.Manifest.Notes = append(c.Manifest.Notes, a.notes...)
	c.Manifest.Notes = append(append(c.Manifest.Notes, a.tellTroubles()...), a.located(h.run.Bursts())...)
	c.Manifest.Reduction.Missing = append(c.Manifest.Reduction.Missing, a.missing...)
	c.Sums = a.figures(h, rows)
	return &retention.Told{Rows: rows, Classes: a.threadClasses(h)}
}

// figures are what manifest and clusters count. Bursts are counted by the micro-cells, which are what the clusters tell of; where they are not clustered, by the sums.
func (a *account) figures(h *history, rows []profile.Row) *rundir.Sums {
	s := &rundir.Sums{Calls: make([]int64, len(h.run.CallPaths)), Bursts: make(map[int32]rundir.LabelSums)}
	add := func(label int32, bursts int, ns, longest int64) {
		x := s.Bursts[label]
		s.Bursts[label] = rundir.LabelSums{Bursts: x.Bursts + bursts, TimeNS: x.TimeNS + ns, LongestNS: max(x.LongestNS, longest)}
	}
	for i := range rows {
		switch r := &rows[i]; {
		case r.Kind == profile.MPI:
			s.Calls[r.Path] += r.Count
		case a.result == nil:
			add(r.Cluster, int(r.Count), r.Time.Total, r.Time.Max)
		default:
			add(r.Cluster, 0, 0, r.Time.Max)
		}
	}
	if a.result == nil {
		return s
	}
	if a.result.Labels == nil { // each burst has its own
		for i := range a.result.Clusters {
			x := &a.result.Clusters[i]
			add(x.ID, x.Bursts, x.TimeNS, 0)
		}
		add(grouping.LabelNoise, a.result.Noise.Bursts, a.result.Noise.TimeNS, 0)
		add(grouping.LabelFiltered, a.result.Filtered.Bursts-a.set.Short.Bursts, a.result.Filtered.TimeNS-a.set.Short.TimeNS, 0)
	}
	for i := range a.result.Labels {
		u := &a.result.Units[i]
		add(a.result.Labels[i], int(u.Cell.Count), int64(u.Duration.Total[0]), 0)
	}
	add(grouping.LabelMissing, a.set.Missing.Bursts, a.set.Missing.TimeNS, 0)
	add(grouping.LabelFiltered, a.set.Short.Bursts, a.set.Short.TimeNS, 0)
	maps.DeleteFunc(s.Bursts, func(_ int32, x rundir.LabelSums) bool { return x.Bursts == 0 })
	return s
}

// movedOfAll is the share of bursts over the edge of their cell above which the user is told.
const movedOfAll = .001

// tellTroubles says what the user should know of it.
func (a *account) tellTroubles() (list []string) {
	c := &a.cells
	if len(c.Unanswered) > 0 {
		list = append(list, fmt.Sprintf("micro-cells are missing for ranks on %s whose agent did not answer: %s", units.Count(len(c.Unanswered), "host"), someOf(c.Unanswered)))
	}
	if c.LostBursts > 0 {
		list = append(list, fmt.Sprintf("not included: %s that agents knew before they were restarted and whose windows were already evicted", units.Count(c.LostBursts, "burst")))
	}
	if c.OutsideBursts > 0 {
		list = append(list, fmt.Sprintf("in no micro-cell, counted as missing data: %s; the values are too large for cells of side %.3g; --cell-side sets another side",
			units.Count(c.OutsideBursts, "burst"), float64(c.Side)))
	}
	if c.CallsEvicted > 0 {
		list = append(list, fmt.Sprintf("the ranks in full lack %s in %s: their nodes had no space for those windows", units.Count(c.CallsEvicted, "MPI call"), units.Count(c.Stretches, "stretch")))
	}
	if a.result != nil && !c.Exact {
		list = append(list, fmt.Sprintf("clusters may differ from those of the individual bursts: they depend on the positions of %s in %s, which are no longer known",
			units.Count(c.BurstsInQuestion, "burst"), units.Count(c.UnitsInQuestion, "micro-cell")))
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

// located says what became of the bursts of ranks in full, as far as the user should know.
func (a *account) located(bursts int) (list []string) {
	c := &a.cells
	if float64(c.BurstsMoved) > movedOfAll*float64(bursts) {
		list = append(list, fmt.Sprintf("outside their micro-cell, labelled like the adjacent one: %s of the ranks in full", units.Count(c.BurstsMoved, "burst")))
	}
	if c.BurstsAstray > 0 {
		list = append(list, fmt.Sprintf("in no micro-cell, counted as noise: %s of the ranks in full", units.Count(c.BurstsAstray, "burst")))
	}
	return list
}
