package console

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// clusterTable shows the clusters with most time. Where they were found by kinds, it shows the median and its core rather than the mean and its deviation, which one
// long burst can set to anything.
func clusterTable(run *trace.Run, m *rundir.Manifest, c *rundir.Clusters) table {
	byKinds := slices.ContainsFunc(run.Clusters, func(x trace.Cluster) bool { return x.Known() })
	t := table{
		head: []string{"cluster", "bursts", "share", "mean", "spread", "score", "between the MPI calls"},
		left: []bool{false, false, false, false, false, false, true},
	}
	if byKinds {
		t.head = []string{"cluster", "bursts", "share", "median", "core", "kind", "score", "between the MPI calls"}
		t.left = []bool{false, false, false, false, false, false, false, true}
	}
	add := func(name string, bursts int, share float64, length, spread, kind, score, between string) {
		row := []string{name, units.Integer(bursts), percent(share), length, spread}
		if byKinds {
			row = append(row, kind)
		}
		t.rows = append(t.rows, append(row, score, between))
	}
	shown, folded := tableOf(run.Clusters)
	fold := func(kind int32) {
		if len(folded[kind]) == 0 {
			return
		}
		bursts, share, shortest, longest := 0, 0.0, math.Inf(1), 0.0
		for _, i := range folded[kind] {
			x := &run.Clusters[i]
			bursts, share = bursts+x.Bursts, share+x.Share
			shortest, longest = min(shortest, x.MedianNS), max(longest, x.MedianNS)
		}
		add(fmt.Sprintf("%d more", len(folded[kind])), bursts, share, "", "", fmt.Sprint(kind), "", fmt.Sprintf("variants of %d too, of %s to %s", kind, Duration(shortest), Duration(longest)))
	}
	names := sites(run, run.Clusters[:shown])
	order := inKinds(run.Clusters, shown)
	for k, i := range order {
		x := &run.Clusters[i]
		last := k+1 == len(order) || run.Clusters[order[k+1]].Kind() != x.Kind()
		if slices.Contains(folded[x.Kind()], i) {
			if last {
				fold(x.Kind())
			}
			continue
		}
		between := callsRound(run, x, names)
		if text := kinship(run, i); text != "" && (x.VariantOf == 0 || between == callsRound(run, &run.Clusters[x.VariantOf-1], names)) {
			between = text
		} else if text != "" {
			between += " (" + text + ")"
		}
		between += inTime(x)
		if x.Rare {
			between += " (rare)"
		}
		if byKinds {
			add(fmt.Sprint(x.ID), x.Bursts, x.Share, Duration(x.MedianNS), "±"+percent(x.Core), fmt.Sprint(x.Kind()), score(x.Score), between)
		} else {
			add(fmt.Sprint(x.ID), x.Bursts, x.Share, Duration(x.MeanNS), "± "+percent(x.StdNS/max(x.MeanNS, 1)), "", score(x.Score), between)
		}
		if last {
			fold(x.Kind())
		}
	}
	if rest := run.Clusters[shown:]; len(rest) > 0 {
		bursts, share := 0, 0.0
		for _, x := range rest {
			bursts += x.Bursts
			share += x.Share
		}
		add(fmt.Sprintf("%d more", len(rest)), bursts, share, "", "", "", "", "in "+rundir.ClustersFile)
	}
	total := &c.Total
	if total.NoiseBursts > 0 {
		add("noise", total.NoiseBursts, float64(total.Noise), "", "", "", score(float64(c.NoiseScore)), "like no others")
	}
	if total.FilteredBursts > 0 {
		add("filtered", total.FilteredBursts, float64(total.Filtered), "", "", "", "", "up to "+Duration(float64(m.Filtered.LongestNS)))
	}
	if total.MissingBursts > 0 {
		add("missing", total.MissingBursts, float64(total.Missing), "", "", "", "", "have no value in a dimension")
	}
	return t
}

// tableOf says how many clusters the table is about, and by kind which of these it sums up: variants, where there are many, as there are on a machine that is shared.
func tableOf(clusters []trace.Cluster) (shown int, folded map[int32][]int) {
	const most = 2 // that have rows of their own
	folded = make(map[int32][]int)
	variants := make(map[int32][]int)
	rows := 0
	for rows < tableRows && shown < len(clusters) && (shown == 0 || clusters[shown].Share >= tableShare) {
		if x := &clusters[shown]; x.VariantOf != 0 {
			variants[x.VariantOf] = append(variants[x.VariantOf], shown)
		}
		if x := &clusters[shown]; x.VariantOf == 0 || len(variants[x.VariantOf]) <= most {
			rows++
		}
		shown++
	}
	for kind, list := range variants {
		if len(list) > most+1 {
			folded[kind] = list[most:]
		}
	}
	return shown, folded
}

// inKinds puts so many clusters in an order in which those of a kind are together, the one that stands for it first, and the kind with most time before others.
func inKinds(clusters []trace.Cluster, shown int) []int {
	time := make(map[int32]int64)
	for i := range clusters {
		time[clusters[i].Kind()] += clusters[i].TimeNS
	}
	order := make([]int, shown)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &clusters[a], &clusters[b]
		return cmp.Or(cmp.Compare(time[y.Kind()], time[x.Kind()]), cmp.Compare(x.Kind(), y.Kind()), cmp.Compare(min(x.VariantOf, 1), min(y.VariantOf, 1)))
	})
	return order
}

// A pair is the call paths round the bursts of a cluster that has one of each; else zero.
type pair struct{ before, after uint32 }

func pairOf(x *trace.Cluster) (p pair, one bool) {
	if len(x.Before) != 1 || len(x.After) != 1 {
		return p, false
	}
	return pair{x.Before[0].Path, x.After[0].Path}, true
}

// kinship says of a cluster whose variant it is, or that it comes between the calls of one above; "" where neither is.
func kinship(run *trace.Run, i int) string {
	x := &run.Clusters[i]
	if !x.Known() {
		return ""
	}
	if x.VariantOf != 0 {
		bursts := 0
		for k := range run.Clusters {
			if run.Clusters[k].Kind() == x.Kind() {
				bursts += run.Clusters[k].Bursts
			}
		}
		return fmt.Sprintf("variant: in place of %d by chance, %.0f %% of the time", x.VariantOf, 100*float64(x.Bursts)/float64(max(1, bursts)))
	}
	own, one := pairOf(x)
	if !one {
		return ""
	}
	elsewhere := func(x trace.Cluster) bool { p, one := pairOf(&x); return !one || p != own }
	first := slices.IndexFunc(run.Clusters, func(x trace.Cluster) bool { return !elsewhere(x) && x.VariantOf == 0 })
	if first == i {
		return ""
	}
	text := fmt.Sprintf("same place as %d", run.Clusters[first].ID)
	switch {
	case x.ToldBy == byDensity:
		text += "; told apart by density"
	case x.ToldBy == byTurns:
		text += fmt.Sprintf("; takes turns with %d", x.ToldFrom)
	case x.Predicted >= 0:
		text += fmt.Sprintf("; foretold to %.0f %%", 100*x.Predicted)
	}
	return text
}

// inTime says when a cluster comes that does not come all over the run.
func inTime(x *trace.Cluster) string {
	if x.InTime == (trace.Stretch{}) {
		return ""
	}
	return fmt.Sprintf("; in time: %s to %s", Duration(float64(x.InTime.BeginNS)), Duration(float64(x.InTime.EndNS)))
}

// Words of kinds.Cause that the summary speaks of.
const (
	byOrder        = "order"
	byCalls        = "calls"
	byInstructions = "instructions"
	byTurns        = "turns"
	byDensity      = "density"
	unjudged       = "unjudged"
)

// kinds says how many kinds of computation there are between the same calls, what tells them apart, and how many of their bursts are disturbed; "" where all have a place of their own. Where all bursts were clustered
// together, it is about all kinds.
func kinds(run *trace.Run, c *rundir.Clusters) string {
	told, where := severalAtAPlace(run, c.By == "none")
	if len(told) == 0 {
		return ""
	}
	var bursts, disturbed int
	var predicted, weight float64
	causes := make(map[string]int)
	for i := range run.Clusters {
		x := &run.Clusters[i]
		if !told[x.Kind()] {
			continue
		}
		bursts += x.Bursts + x.DisturbedBursts
		disturbed += x.DisturbedBursts
		if x.VariantOf == 0 {
			cause := causeOf(x)
			if causes[cause]++; cause == byOrder && x.Predicted >= 0 {
				predicted += x.Predicted * float64(x.TimeNS)
				weight += float64(x.TimeNS)
			}
		}
	}
	words := map[string]string{byCalls: "by the MPI calls round them", byInstructions: "by their instructions", byOrder: "by their order", byDensity: "by density"}
	if weight > 0 {
		words[byOrder] += fmt.Sprintf(" (predicted %s)", strings.TrimPrefix(fmt.Sprintf("%.2f", predicted/weight), "0"))
	}
	var parts []string
	for _, cause := range []string{byCalls, byInstructions, byOrder, byDensity} {
		if n := causes[cause]; n == len(told) {
			parts = []string{"told apart " + words[cause]}
		} else if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", units.Integer(n), words[cause]))
		}
	}
	if len(parts) > 1 {
		parts[0] = "told apart: " + parts[0]
	}
	text := units.Integer(len(told)) + where + ", " + strings.Join(parts, ", ")
	if disturbed > 0 {
		text += fmt.Sprintf("; %s of their bursts disturbed", atLeast(float64(disturbed)/float64(bursts)))
	}
	return text
}

// severalAtAPlace are the kinds that share a place, a pair of calls, with another one, and where that is; with whole, all kinds are at one.
func severalAtAPlace(run *trace.Run, whole bool) (told map[int32]bool, where string) {
	at := make(map[pair][]int32)
	for i := range run.Clusters {
		x := &run.Clusters[i]
		if p, one := pairOf(x); x.Known() && x.VariantOf == 0 && (one || whole) {
			if whole {
				p = pair{}
			}
			at[p] = append(at[p], x.ID)
		}
	}
	told = make(map[int32]bool)
	places := 0
	for _, list := range at {
		if len(list) > 1 {
			places++
			for _, kind := range list {
				told[kind] = true
			}
		}
	}
	switch {
	case places > 1:
		return told, fmt.Sprintf(" between %s pairs of calls", units.Integer(places))
	case !whole:
		return told, " between one pair of calls"
	}
	return told, ""
}

// causeOf is what tells a kind apart, in fewer words: turns and surroundings are order too.
func causeOf(x *trace.Cluster) string {
	switch x.ToldBy {
	case byCalls, byInstructions, byDensity:
		return x.ToldBy
	case unjudged:
		return byDensity
	}
	return byOrder
}

// atLeast is a share in whole percents, if it is one.
func atLeast(share float64) string {
	if share < .005 {
		return "under 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// noisy is from which share of the computing time on noise says that durations do not tell kinds well.
const noisy = .2

// advice says what would tell kinds better than this run could; "" where nothing is known that would. A crowded machine is told by itself.
func advice(m *rundir.Manifest, c *rundir.Clusters) string {
	counted := slices.ContainsFunc(c.Dimensions, func(d rundir.Dimension) bool { return d.Name != "duration" })
	crowded := m.Scheduling != nil && m.Scheduling.Overcommitted
	if m.Trace != "" || counted || crowded || !(float64(c.Total.Noise) >= noisy) {
		return ""
	}
	return "counters (--events) tell kinds better than time"
}
