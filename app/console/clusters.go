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

// A clusterRow is a row of the table; "" = nothing to say.
type clusterRow struct {
	name   string
	bursts int
	share  float64 // of the computing time
	length string  // of a burst: the mean, or the median
	spread string
	kind   string
	score  string

	between string // which MPI calls
}

// clusterTable shows the clusters with most time. Where they were found by kinds, it shows the median and its core
// rather than the mean and its deviation, which one long burst can set to anything.
func clusterTable(r *Results) table {
	run, m, c := r.Run, r.Manifest, r.Clusters
	byKinds := slices.ContainsFunc(run.Clusters, func(x trace.Cluster) bool { return x.Known() })
	t := table{
		head: []string{"cluster", "bursts", "share", "mean", "spread", "score", "between the MPI calls"},
		left: []bool{false, false, false, false, false, false, true},
	}
	if byKinds {
		t.head = []string{"cluster", "bursts", "share", "median", "spread", "kind", "score", "between the MPI calls"}
		t.left = []bool{false, false, false, false, false, false, false, true}
	}
	add := func(r clusterRow) {
		row := []string{r.name, units.Integer(r.bursts), percent(r.share), r.length, r.spread}
		if byKinds {
			row = append(row, r.kind)
		}
		t.rows = append(t.rows, append(row, r.score, r.between))
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
		add(clusterRow{
			name: fmt.Sprintf("%d more", len(folded[kind])), bursts: bursts, share: share, kind: fmt.Sprint(kind),
			between: fmt.Sprintf("variants of %d, medians %s to %s", kind, Duration(shortest), Duration(longest)),
		})
	}
	names := sites(run, run.Clusters[:shown])
	order := inKinds(run.Clusters, shown)
	apart := whatDistinguishes(r, shown)
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
		if text := kinship(run, i); text != "" && (x.VariantOf == 0 || int(x.VariantOf) <= shown && between == callsRound(run, &run.Clusters[x.VariantOf-1], names)) {
			between = text
		} else if text != "" {
			between += " (" + text + ")"
		}
		if text := apart[x.ID]; text != "" {
			between += "; " + text
		}
		if text := whole(x); text != "" {
			between += " (" + text + ")"
		}
		between += inTime(x)
		if x.Rare {
			between += " (rare)"
		}
		row := clusterRow{name: fmt.Sprint(x.ID), bursts: x.Bursts, share: x.Share, between: between}
		if byKinds {
			row.length, row.spread, row.kind, row.score = Duration(x.MedianNS), core(x), fmt.Sprint(x.Kind()), ownScore(x)
		} else {
			row.length, row.spread, row.score = Duration(x.MeanNS), "± "+percent(x.StdNS/max(x.MeanNS, 1)), score(x.Score)
		}
		add(row)
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
		add(clusterRow{name: fmt.Sprintf("%d more", len(rest)), bursts: bursts, share: share, between: "in " + rundir.ClustersFile})
	}
	differ(t.rows)
	total := &c.Total
	if total.NoiseBursts > 0 {
		noise := ""
		if !byKinds {
			noise = score(float64(c.NoiseScore))
		}
		add(clusterRow{name: "noise", bursts: total.NoiseBursts, share: float64(total.Noise), score: noise, between: "in no dense region"})
	}
	if total.FilteredBursts > 0 {
		add(clusterRow{
			name: "filtered", bursts: total.FilteredBursts, share: float64(total.Filtered), between: "up to " + Duration(float64(m.Filtered.LongestNS)),
		})
	}
	if total.MissingBursts > 0 {
		add(clusterRow{name: "missing", bursts: total.MissingBursts, share: float64(total.Missing), between: "no value in some dimension"})
	}
	return t
}

// whatDistinguishes says of those of the first so many clusters that stand for kinds, between the same calls as others,
// which caller or phase of the program they belong to; nothing where that does not distinguish them.
func whatDistinguishes(r *Results, shown int) map[int32]string {
	var rows []timeRow
	for i := range r.Run.Clusters[:shown] {
		if x := &r.Run.Clusters[i]; x.VariantOf == 0 {
			rows = append(rows, timeRow{cluster: x})
		}
	}
	distinguish(r, rows)
	texts := make(map[int32]string)
	for i := range rows {
		if text := rows[i].apart; strings.HasPrefix(text, "from ") || strings.HasPrefix(text, "in ") {
			texts[rows[i].cluster.ID] = text
		}
	}
	return texts
}

// differ adds to rows whose last cells read alike what else distinguishes them: the length of their bursts, and where
// that reads alike too, how many there are.
func differ(rows [][]string) {
	for _, more := range []func(row []string) string{
		func(row []string) string { return "; bursts of " + row[columnLength] },
		func(row []string) string { return ": " + row[columnBursts] },
	} {
		alike := make(map[string][]int)
		for i, row := range rows {
			alike[row[len(row)-1]] = append(alike[row[len(row)-1]], i)
		}
		for text, group := range alike {
			if text == "" || len(group) < 2 {
				continue
			}
			for _, i := range group {
				rows[i][len(rows[i])-1] = text + more(rows[i])
			}
		}
	}
}

// The columns of the number of bursts and of their mean or median in a row of the table.
const columnBursts, columnLength = 1, 3

// core is the spread of a cluster; "" of fewer bursts than have quartiles.
func core(x *trace.Cluster) string {
	if x.Bursts < 4 {
		return ""
	}
	return "±" + percent(x.Core)
}

// tableOf says how many clusters the table is about, and by kind which of these it sums up: variants, where there are
// many, as there are on a machine that is shared.
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

// inKinds puts so many clusters in an order in which those of a kind are together, the one that stands for it first,
// and the kind with most time before others.
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

// kinship says of a cluster whose variant it is, or that it occurs between the calls of one above, how long its bursts
// are against that one's, and what distinguishes the two; "" where neither is.
func kinship(run *trace.Run, i int) string {
	x := &run.Clusters[i]
	if !x.Known() {
		return ""
	}
	if x.VariantOf != 0 {
		return fmt.Sprintf("variant of %d", x.VariantOf) + against(run, x, x.VariantOf)
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
	text := fmt.Sprintf("same calls as %d", run.Clusters[first].ID) + against(run, x, run.Clusters[first].ID)
	switch {
	case x.DistinctBy == byDensity:
		text += "; distinguished by density"
	case x.DistinctBy == byTurns:
		text += fmt.Sprintf("; alternates with %d", x.DistinctFrom)
	case x.Predicted >= 0:
		text += fmt.Sprintf("; distinguished by order (%s of 1)", ratio(x.Predicted))
	}
	return text
}

// against says how long the bursts of a cluster are, against those of another; "" where that is not known.
func against(run *trace.Run, x *trace.Cluster, other int32) string {
	i := slices.IndexFunc(run.Clusters, func(y trace.Cluster) bool { return y.ID == other })
	if i < 0 || !(x.MedianNS > 0) || !(run.Clusters[i].MedianNS > 0) {
		return ""
	}
	return fmt.Sprintf(", %s times as long", figure(x.MedianNS/run.Clusters[i].MedianNS))
}

// whole says what share a kind has in all, where that is not that of the cluster that stands for it.
func whole(x *trace.Cluster) string {
	if x.KindNS == 0 || x.TimeNS == 0 {
		return ""
	}
	share := percent(x.Share * float64(x.KindNS) / float64(x.TimeNS))
	if share == percent(x.Share) {
		return ""
	}
	return fmt.Sprintf("kind %d: %s in all", x.ID, share)
}

// ownScore is that of a kind, in the row of the cluster that stands for it.
func ownScore(x *trace.Cluster) string {
	if x.VariantOf != 0 {
		return ""
	}
	return score(x.Score)
}

// inTime says when a cluster occurs that does not occur all over the run.
func inTime(x *trace.Cluster) string {
	if x.InTime == (trace.Stretch{}) {
		return ""
	}
	return fmt.Sprintf("; mostly at %s to %s of the run", Duration(float64(x.InTime.BeginNS)), Duration(float64(x.InTime.EndNS)))
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

// kinds says how many kinds of computation there are, how many of them share their calls with another, what separates
// these, and how many of their bursts are disturbed; "" where clusters were not found by kinds. Where all bursts were
// clustered together, it is about what separates all kinds.
func kinds(run *trace.Run, c *rundir.Clusters) string {
	var all []int32
	for i := range run.Clusters {
		if x := &run.Clusters[i]; x.Known() && x.VariantOf == 0 {
			all = append(all, x.ID)
		}
	}
	whole := c.By == "none"
	sharing, places := sharingCalls(run, whole)
	text := fmt.Sprintf("%s of computation", units.Counted(len(all), "kind"))
	switch {
	case len(all) == 0:
		return ""
	case len(all) == 1:
	case len(sharing) == 0:
		text += ", each between its own pair of MPI calls"
	case whole:
		text += ", distinguished by " + separation(run, sharing)
	default:
		at := "one pair of MPI calls"
		if places > 1 {
			at = units.Integer(places) + " pairs of MPI calls"
		}
		if len(sharing) < len(all) {
			text += fmt.Sprintf("; %s of them share %s and are distinguished by ", units.Integer(len(sharing)), at)
		} else {
			text += fmt.Sprintf(", which share %s and are distinguished by ", at)
		}
		text += separation(run, sharing)
	}
	if len(sharing) == 0 {
		sharing = make(map[int32]bool)
		for _, kind := range all {
			sharing[kind] = true
		}
	}
	return text + disturbance(run, sharing)
}

// separation says what separates kinds: calls, instructions, order or density, with the number of each where there are
// several.
func separation(run *trace.Run, kinds map[int32]bool) string {
	var predicted, weight float64
	causes := make(map[string]int)
	for i := range run.Clusters {
		x := &run.Clusters[i]
		if !kinds[x.ID] {
			continue
		}
		cause := causeOf(x)
		if causes[cause]++; cause == byOrder && x.Predicted >= 0 {
			predicted += x.Predicted * float64(x.TimeNS)
			weight += float64(x.TimeNS)
		}
	}
	words := map[string]string{byCalls: "MPI calls", byInstructions: "instructions", byOrder: "the order of bursts", byDensity: "density"}
	var parts []string
	for _, cause := range []string{byCalls, byInstructions, byOrder, byDensity} {
		var facts []string
		if n := causes[cause]; n == 0 {
			continue
		} else if n < len(kinds) {
			facts = append(facts, units.Counted(n, "kind"))
		}
		if cause == byOrder && weight > 0 {
			facts = append(facts, "predicted with "+ratio(predicted/weight)+" of 1")
		}
		text := words[cause]
		if len(facts) > 0 {
			text += " (" + strings.Join(facts, ", ") + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// disturbance says how many bursts of some kinds are disturbed; "" where none is.
func disturbance(run *trace.Run, kinds map[int32]bool) string {
	var bursts, disturbed int
	for i := range run.Clusters {
		if x := &run.Clusters[i]; kinds[x.ID] {
			bursts += x.KindBursts
			disturbed += x.DisturbedBursts
		}
	}
	if disturbed == 0 {
		return ""
	}
	return fmt.Sprintf("; %s of their bursts are disturbed: longer than usual, assigned by order", atLeast(float64(disturbed)/float64(bursts)))
}

// ratio is a number from 0 to 1, without the digit before the point.
func ratio(x float64) string {
	return strings.TrimPrefix(fmt.Sprintf("%.2f", x), "0")
}

// sharingCalls are the kinds that share a pair of calls with another one, and how many such pairs there are; with
// whole, all kinds are at one.
func sharingCalls(run *trace.Run, whole bool) (sharing map[int32]bool, places int) {
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
	sharing = make(map[int32]bool)
	for _, list := range at {
		if len(list) > 1 {
			places++
			for _, kind := range list {
				sharing[kind] = true
			}
		}
	}
	return sharing, places
}

// causeOf is what separates a kind, in fewer words: turns and surroundings are order too.
func causeOf(x *trace.Cluster) string {
	switch x.DistinctBy {
	case byCalls, byInstructions, byDensity:
		return x.DistinctBy
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

// noisy is from which share of the computing time on noise says that durations do not separate kinds well.
const noisy = .2

// advice says what would separate kinds better than this run could; "" where there is no such advice. A crowded machine
// has its own warning.
func advice(m *rundir.Manifest, c *rundir.Clusters) string {
	counted := slices.ContainsFunc(c.Dimensions, func(d rundir.Dimension) bool { return d.Name != "duration" })
	crowded := m.Scheduling != nil && m.Scheduling.Overcommitted
	if m.Trace != "" || counted || crowded || !(float64(c.Total.Noise) >= noisy) {
		return ""
	}
	return "hardware counters (--events) separate kinds better than durations"
}
