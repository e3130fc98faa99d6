package clustering

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/analysis/grouping"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// byKinds reports whether clusters were found by kinds of computation. Else each is a kind.
func byKinds(result *grouping.Result) bool {
	return slices.ContainsFunc(result.Clusters, func(c grouping.Cluster) bool { return c.MedianNS > 0 })
}

func describeSpeed(run *trace.Run, speed []float64) []rundir.Speed {
	var list []rundir.Speed
	for i, factor := range speed {
		list = append(list, rundir.Speed{ThreadName: rundir.NameOf(&run.Threads[i]), Factor: rundir.Number(factor)})
	}
	return list
}

const (
	// secondMode is from which share of a kind's time on its variants are a second mode rather than what happens now and
	// then.
	secondMode = .2
	// mixedShare is from which share of the computing time on that is worth a note.
	mixedShare = .05
	// fewInPlace is below how many bursts on each thread a pair of calls has no order.
	fewInPlace = 4
	// oddSpeed is from which factor on it is worth a note that a rank takes longer.
	oddSpeed = 1.04
	// mostNamed is how many ranks or kinds a note names.
	mostNamed = 3
)

// kindNotes are what the user should know of how kinds were separated, each a sentence without a full stop.
func kindNotes(run *trace.Run, result *grouping.Result, o *grouping.Options) []string {
	if !byKinds(result) {
		return nil
	}
	var notes []string
	if o.Kinds == grouping.KindsByOrder && o.By == grouping.ByCalls && !slices.ContainsFunc(result.Groups, func(g grouping.Group) bool { return g.Bursts >= fewInPlace*len(run.Threads) }) {
		notes = append(notes, fmt.Sprintf("kinds are not separated by order: no pair of calls has %d bursts on each rank", fewInPlace))
	}
	if text := slowRanks(run, result.Speed); text != "" {
		notes = append(notes, text)
	}
	if o.Kinds == grouping.KindsByOrder {
		if text := mixedKinds(result.Clusters); text != "" {
			notes = append(notes, text)
		}
	}
	return notes
}

// mixedKinds names the kinds of which variants have much of the time, and how many bursts each has, since few say
// little; "" where these kinds have little time.
func mixedKinds(clusters []grouping.Cluster) string {
	time, variants := make([]int64, len(clusters)), make([]int64, len(clusters))
	shares, bursts := make([]float64, len(clusters)), make([]int, len(clusters))
	for i := range clusters {
		c := &clusters[i]
		kind := c.Kind - 1
		time[kind] += c.TimeNS
		shares[kind] += c.Share
		bursts[kind] += c.Bursts
		if c.Kind != c.ID {
			variants[kind] += c.TimeNS
		}
	}
	var mixed []int
	share := 0.0
	for kind := range clusters {
		if variants[kind] > 0 && float64(variants[kind]) >= secondMode*float64(time[kind]) {
			mixed = append(mixed, kind)
			share += shares[kind]
		}
	}
	if share < mixedShare {
		return ""
	}
	slices.SortStableFunc(mixed, func(a, b int) int { return cmp.Compare(time[b], time[a]) })
	var names []string
	for _, kind := range mixed[:min(len(mixed), mostNamed)] {
		names = append(names, fmt.Sprintf("kind %d (%s)", kind+1, units.Count(bursts[kind], "burst")))
	}
	if more := len(mixed) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("durations have several modes that order does not explain, in %.0f %% of the computing time: %s", 100*share, strings.Join(names, ", "))
}

// slowRanks says which ranks take longer, or less, in all kinds; "" where none does.
func slowRanks(run *trace.Run, speed []float64) string {
	var odd []int
	for i, factor := range speed {
		if math.Abs(math.Log(factor)) >= math.Log(oddSpeed) {
			odd = append(odd, i)
		}
	}
	if len(odd) == 0 {
		return ""
	}
	slices.SortStableFunc(odd, func(a, b int) int { return cmp.Compare(math.Abs(math.Log(speed[b])), math.Abs(math.Log(speed[a]))) })
	name := func(i int) string { return run.RankName(run.Threads[i].World, run.Threads[i].Rank) }
	const compared = "; durations were corrected for this before clustering"
	if len(speed) == 2 {
		slow, quick := odd[0], 1-odd[0]
		factor := speed[slow] / speed[quick]
		if factor < 1 {
			slow, quick, factor = quick, slow, 1/factor
		}
		return fmt.Sprintf("typically %s takes %.0f %% longer than %s in all kinds%s", name(slow), 100*(factor-1), name(quick), compared)
	}
	var parts []string
	for _, i := range odd[:min(len(odd), mostNamed)] {
		if factor := speed[i]; factor > 1 {
			parts = append(parts, fmt.Sprintf("%s takes %.0f %% longer", name(i), 100*(factor-1)))
		} else {
			parts = append(parts, fmt.Sprintf("%s takes %.0f %% less", name(i), 100*(1-factor)))
		}
	}
	if more := len(odd) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more differ by less", more))
	}
	return "typically " + strings.Join(parts, ", ") + " in all kinds" + compared
}
