package clustering

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/analysis/partition"
	"moriens/trace"
	"moriens/trace/rundir"
)

// byKinds says that clusters were found by kinds of computation. Else each is a kind.
func byKinds(result *partition.Result) bool {
	return slices.ContainsFunc(result.Clusters, func(c partition.Cluster) bool { return c.MedianNS > 0 })
}

func describeSpeed(run *trace.Run, speed []float64) []rundir.Speed {
	var list []rundir.Speed
	for i, factor := range speed {
		list = append(list, rundir.Speed{ThreadName: rundir.NameOf(&run.Threads[i]), Factor: rundir.Number(factor)})
	}
	return list
}

const (
	// secondMode is from which share of a kind's time on its variants are a second mode rather than what happens now and then.
	secondMode = .2
	// toldShare is from which share of the computing time on that is told.
	toldShare = .05
	// fewInPlace is below how many bursts on each thread a pair of calls has no order.
	fewInPlace = 4
	// toldSpeed is from which factor on it is told that a rank takes longer.
	toldSpeed = 1.04
	// mostSlow is how many ranks are told.
	mostSlow = 3
)

// kindNotes are what the user should know of how kinds were told apart, each a sentence without a full stop.
func kindNotes(run *trace.Run, result *partition.Result, o *partition.Options) []string {
	if !byKinds(result) {
		return nil
	}
	var notes []string
	if o.Kinds == partition.KindsByOrder {
		if share := randomModes(result.Clusters); share >= toldShare {
			notes = append(notes, fmt.Sprintf("not told apart: %.0f %% of the time is in kinds with two modes at random", 100*share))
		}
		if o.By == partition.ByCalls && !slices.ContainsFunc(result.Groups, func(g partition.Group) bool { return g.Bursts >= fewInPlace*len(run.Threads) }) {
			notes = append(notes, fmt.Sprintf("no order to judge by: fewer than %d bursts of a pair of calls on each rank", fewInPlace))
		}
	}
	if text := slowRanks(run, result.Speed); text != "" {
		notes = append(notes, text)
	}
	return notes
}

// randomModes is the share of the kinds of which variants have much of the time.
func randomModes(clusters []partition.Cluster) (share float64) {
	time, variants := make([]int64, len(clusters)), make([]int64, len(clusters))
	shares := make([]float64, len(clusters))
	for i := range clusters {
		c := &clusters[i]
		kind := c.Kind - 1
		time[kind] += c.TimeNS
		shares[kind] += c.Share
		if c.Kind != c.ID {
			variants[kind] += c.TimeNS
		}
	}
	for kind := range clusters {
		if variants[kind] > 0 && float64(variants[kind]) >= secondMode*float64(time[kind]) {
			share += shares[kind]
		}
	}
	return share
}

// slowRanks says which ranks take longer, or less, in all kinds; "" where none does.
func slowRanks(run *trace.Run, speed []float64) string {
	var odd []int
	for i, factor := range speed {
		if math.Abs(math.Log(factor)) >= math.Log(toldSpeed) {
			odd = append(odd, i)
		}
	}
	if len(odd) == 0 {
		return ""
	}
	slices.SortStableFunc(odd, func(a, b int) int { return cmp.Compare(math.Abs(math.Log(speed[b])), math.Abs(math.Log(speed[a]))) })
	name := func(i int) string { return run.RankName(run.Threads[i].World, run.Threads[i].Rank) }
	const compared = "; durations were compared after dividing by that"
	if len(speed) == 2 {
		slow, quick := odd[0], 1-odd[0]
		factor := speed[slow] / speed[quick]
		if factor < 1 {
			slow, quick, factor = quick, slow, 1/factor
		}
		return fmt.Sprintf("%s takes %.2g times as long as %s in all kinds%s", name(slow), factor, name(quick), compared)
	}
	var told []string
	for _, i := range odd[:min(len(odd), mostSlow)] {
		if factor := speed[i]; factor > 1 {
			told = append(told, fmt.Sprintf("%s takes %.0f %% longer", name(i), 100*(factor-1)))
		} else {
			told = append(told, fmt.Sprintf("%s takes %.0f %% less", name(i), 100*(1-factor)))
		}
	}
	if more := len(odd) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("%d more differ by less", more))
	}
	return strings.Join(told, ", ") + " in all kinds" + compared
}
