package console

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// writeEfficiency says how well the run used its processors, in up to four lines.
func writeEfficiency(b *strings.Builder, r *Results) {
	if r.Efficiency == nil || len(r.Efficiency.Runs) != 1 || !(r.Efficiency.Runs[0].Parallel > 0) {
		return
	}
	e := &r.Efficiency.Runs[0]
	worlds := len(r.Manifest.Worlds) > 1
	bounds := ""
	if e.Bound {
		bounds = " (bounds)"
	}
	fmt.Fprintf(b, "parallel efficiency %s = load balance %s × communication efficiency %s%s\n", ratioText(float64(e.Parallel)),
		ratioText(float64(e.Balance)), ratioText(float64(e.Communication)), bounds)
	fmt.Fprintf(b, "time in MPI %s%s\n", percent(float64(e.Budget.MPI/e.Budget.Total)), extremes(e, worlds))
	if e.Locations > 1 && e.Most != nil {
		fmt.Fprintf(b, "most computing: %s\n", cut(slowest(e, worlds), lineWidth-len("most computing: ")))
		text := fmt.Sprintf("lost per %s: %s by imbalance, %s in communication, of %s", location(e), nonnegative(e.MostComputing-e.MeanComputing),
			nonnegative(e.Seconds-e.MostComputing), elapsed(e.Seconds))
		if whole := text + stretch(r.Efficiency.Within); utf8.RuneCountInString(whole) <= lineWidth {
			text = whole
		}
		fmt.Fprintf(b, "%s\n", text)
	}
}

// stretch says of what the factors are.
func stretch(within string) string {
	switch within {
	case "main":
		return ", MPI_Init to MPI_Finalize"
	case "run":
		return ", the whole run"
	}
	return " within " + within
}

// location is what a factor is the mean over.
func location(e *rundir.EfficiencyRun) string {
	if e.Locations > e.Ranks {
		return "thread"
	}
	return "rank"
}

// located names a location: a rank, or where several threads of a rank called MPI always with its thread.
func located(e *rundir.EfficiencyRun, n *rundir.ThreadName, worlds bool) string {
	text := n.Short(worlds)
	if n.Thread == 0 && e.Locations > e.Ranks {
		text += " thread 0"
	}
	return text
}

func nonnegative(seconds rundir.Number) string { return elapsed(max(seconds, 0)) }

// extremes are the ranks that are longest in MPI, and shortest.
func extremes(e *rundir.EfficiencyRun, worlds bool) string {
	if len(e.Threads) < 2 || !(e.Seconds > 0) {
		return ""
	}
	byMPI := func(a, b rundir.EfficiencyLocation) int { return cmp.Compare(a.MPI, b.MPI) }
	most, least := slices.MaxFunc(e.Threads, byMPI), slices.MinFunc(e.Threads, byMPI)
	return fmt.Sprintf(": most on %s, %s; least on %s, %s", located(e, &most.ThreadName, worlds), percent(float64(most.MPI/e.Seconds)), located(e, &least.ThreadName, worlds), percent(float64(least.MPI/e.Seconds)))
}

// slowest says which rank computes most, and where.
func slowest(e *rundir.EfficiencyRun, worlds bool) string {
	text := fmt.Sprintf("%s, %.2f times the mean", located(e, e.Most, worlds), float64(e.MostComputing/e.MeanComputing))
	// A cluster that other ranks do not have counts as 0 there.
	var in *rundir.EfficiencyCluster
	kinds, above := kindsOf(e), (e.MostComputing-e.MeanComputing)/2
	for i := range kinds {
		c := &kinds[i]
		if c.Most == nil || *c.Most != *e.Most || c.Ranks == 0 {
			continue
		}
		longest := c.Seconds / rundir.Number(c.Ranks) / c.Balance
		if x := longest - c.Seconds/rundir.Number(e.Locations); x > above {
			in, above = c, x
		}
	}
	switch {
	case in == nil:
		return text
	case in.Ranks == 1: // what is above the mean may be more than in all clusters together
		return fmt.Sprintf("%s; most of it in cluster %d, which no other %s has", text, in.ID, location(e))
	}
	return fmt.Sprintf("%s; most of it in cluster %d, %s above the mean", text, in.ID, elapsed(above))
}

// kindsOf are the kinds of computation, or the clusters where they were not found by kinds.
func kindsOf(e *rundir.EfficiencyRun) []rundir.EfficiencyCluster {
	if len(e.Kinds) > 0 {
		return e.Kinds
	}
	return e.Clusters
}

// timeRows is how many kinds of computation have a row.
const timeRows = 6

// A timeRow is a kind of computation.
type timeRow struct {
	cluster *trace.Cluster
	share   float64
	calls   string // between which
	apart   string // what distinguishes it from others between the same calls; empty: nothing needs to
}

// timeTable shows the kinds with most time, and what all others have.
func timeTable(r *Results) table {
	t := table{
		head: []string{"cluster", "share", "bursts", "median", "imbalance", "computing time between the MPI calls"},
		left: []bool{false, false, false, false, false, true},
	}
	rows, others := timeKinds(r.Run.Clusters)
	distinguish(r, rows)
	lost := make(map[int32]rundir.Number)
	if e := r.Efficiency; e != nil && len(e.Runs) == 1 {
		for _, c := range kindsOf(&e.Runs[0]) {
			lost[c.ID] = c.Lost
		}
	}
	left := 1.0
	bursts := r.Clusters.Total.NoiseBursts + r.Clusters.Total.FilteredBursts + r.Clusters.Total.MissingBursts
	for i := range r.Run.Clusters {
		bursts += r.Run.Clusters[i].Bursts
	}
	for i := range rows {
		x := rows[i].cluster
		n := max(x.Bursts, x.KindBursts)
		left, bursts = left-rows[i].share, bursts-n
		length := x.MedianNS
		if !x.Known() {
			length = x.MeanNS
		}
		seconds, known := lost[x.ID]
		text := "-"
		if known {
			text = orDash(float64(seconds), func(s float64) string { return Duration(s * 1e9) })
		}
		t.rows = append(t.rows, []string{fmt.Sprint(x.ID), percent(rows[i].share), units.Integer(n), Duration(length), text, ""})
	}
	if len(rows) > 0 && !rows[0].cluster.Known() {
		t.head[3] = "mean"
	}
	if others > 0 || bursts > 0 {
		text := units.Counted(others, "other kind") + ", bursts in no cluster"
		if others == 0 {
			text = "bursts in no cluster"
		}
		t.rows = append(t.rows, []string{"rest", percent(max(left, 0)), units.Integer(max(bursts, 0)), "", "", text})
	}
	last := len(t.head) - 1
	room := lineWidth
	for k := range last {
		width := utf8.RuneCountInString(t.head[k])
		for _, row := range t.rows {
			width = max(width, utf8.RuneCountInString(row[k]))
		}
		room -= width + 2
	}
	leaveOutClasses(rows, room)
	alike := make(map[string][]int)
	for i := range rows {
		text := rows[i].text(room)
		alike[text] = append(alike[text], i)
	}
	for _, group := range alike { // what distinguished them was cut
		if len(group) > 1 {
			mark(rows, group, lengths(rows, group))
		}
	}
	for i := range rows {
		t.rows[i][last] = rows[i].text(room)
	}
	return t
}

// qualified is the name of a C++ function with the classes and namespaces it is in.
var qualified = regexp.MustCompile(`[\w<>…~]+(?:::[\w<>…~]+)*::`)

// further is how many other calls there are.
var further = regexp.MustCompile(` and (\d+) more`)

const arrow = " → "

// leaveOutClasses makes rows that are too wide narrower: where there is one, the second call of each is named without
// its class where that is the first one's too, then those that are still too wide without any, and then with the number
// of other calls in short, unless two would read alike.
func leaveOutClasses(rows []timeRow, width int) {
	wide := func(r *timeRow) bool { return utf8.RuneCountInString(r.label()+r.calls) > width }
	narrower := func(of func(r *timeRow)) {
		other, before, after := slices.Clone(rows), make(map[string]bool), make(map[string]bool)
		for i := range rows {
			of(&other[i])
			before[rows[i].label()+rows[i].calls], after[other[i].label()+other[i].calls] = true, true
		}
		if len(before) == len(after) {
			copy(rows, other)
		}
	}
	if !slices.ContainsFunc(rows, func(r timeRow) bool { return wide(&r) }) {
		return
	}
	narrower(func(r *timeRow) {
		first, second, _ := strings.Cut(r.calls, arrow)
		if class := qualified.FindString(first); class != "" && class == qualified.FindString(second) {
			r.calls = first + arrow + strings.Replace(second, class, "", 1)
		}
	})
	narrower(func(r *timeRow) {
		if wide(r) {
			r.apart, r.calls = qualified.ReplaceAllString(r.apart, ""), qualified.ReplaceAllString(r.calls, "")
		}
	})
	narrower(func(r *timeRow) {
		if wide(r) {
			r.calls = further.ReplaceAllString(r.calls, " +$1")
		}
	})
}

// label is what distinguishes a row, before its calls.
func (r *timeRow) label() string {
	if r.apart == "" {
		return ""
	}
	return r.apart + ": "
}

// text names the calls, and what distinguishes them, in so many characters: the middle of each end is left out if there
// are too many.
func (r *timeRow) text(width int) string {
	calls, apart := r.calls, r.label()
	if utf8.RuneCountInString(apart) > width/2 {
		apart = middle(apart, width/2)
	}
	left := width - utf8.RuneCountInString(apart)
	before, after, two := strings.Cut(calls, arrow)
	if two && utf8.RuneCountInString(calls) > left {
		left -= utf8.RuneCountInString(arrow)
		half := max(left/2, left-utf8.RuneCountInString(after)) // a short end leaves its room to the other
		before = middle(before, half)
		calls = before + arrow + middle(after, left-utf8.RuneCountInString(before))
	}
	return cut(apart+calls, width)
}

// middle leaves out the middle of a text that is too long.
func middle(text string, width int) string {
	r := []rune(text)
	if len(r) <= width {
		return text
	}
	head := max(width/2, 1)
	return string(r[:head]) + "…" + string(r[len(r)-max(width-head-1, 0):])
}

// timeKinds are the kinds with most time, and the number of the others. A kind has its variants and disturbed bursts.
func timeKinds(clusters []trace.Cluster) (rows []timeRow, others int) {
	for i := range clusters {
		x := &clusters[i]
		if x.VariantOf != 0 {
			continue
		}
		share := x.Share
		if x.KindNS > 0 && x.TimeNS > 0 {
			share *= float64(x.KindNS) / float64(x.TimeNS)
		}
		rows = append(rows, timeRow{cluster: x, share: share})
	}
	slices.SortStableFunc(rows, func(a, b timeRow) int { return cmp.Compare(b.share, a.share) })
	n := min(len(rows), timeRows)
	for n > 1 && rows[n-1].share < tableShare {
		n--
	}
	return rows[:n], len(rows) - n
}

// distinguish names the calls round each kind, and where several have the same, what distinguishes them: a
// caller by name, a phase of the program, a caller by line or offset, else their lengths.
func distinguish(r *Results, rows []timeRow) {
	var shown []trace.Cluster
	for i := range rows {
		shown = append(shown, *rows[i].cluster)
	}
	names := sites(r.Run, shown)
	alike := make(map[string][]int)
	for i := range rows {
		rows[i].calls = strings.ReplaceAll(callsRound(r.Run, rows[i].cluster, names), "MPI_", "")
		alike[rows[i].calls] = append(alike[rows[i].calls], i)
	}
	for _, group := range alike {
		if len(group) < 2 {
			continue
		}
		for _, words := range []func() []string{
			func() []string { return callers(r.Run, rows, group, byName) },
			func() []string { return phases(r.Clusters, rows, group) },
			func() []string { return callers(r.Run, rows, group, byPlace) },
			func() []string { return lengths(rows, group) },
		} {
			if mark(rows, group, withLengths(rows, group, words())) {
				break
			}
		}
	}
}

// mark distinguishes the rows of a group by these words, where all are there and differ.
func mark(rows []timeRow, group []int, words []string) bool {
	seen := make(map[string]bool)
	for _, w := range words {
		if w == "" || seen[w] {
			return false
		}
		seen[w] = true
	}
	for k := range words {
		rows[group[k]].apart = words[k]
	}
	return len(words) == len(group)
}

// mostly is the share of a kind's bursts, 0 to 1, that a caller has who is named.
const mostly = .75

// callers are the callers by which the calls before or after a group differ, those by name or those by line. They are
// nil where a kind has no caller with most of its bursts, or where that does not distinguish all.
func callers(run *trace.Run, rows []timeRow, group []int, name func(f *trace.Frame) string) []string {
	for _, side := range []func(x *trace.Cluster) []trace.PathCount{
		func(x *trace.Cluster) []trace.PathCount { return x.WholeBefore }, func(x *trace.Cluster) []trace.PathCount { return x.WholeAfter },
	} {
		stacks := make([][]string, len(group))
		for k, i := range group {
			stacks[k] = stack(run, side(rows[i].cluster), name)
		}
		if words := departing(stacks); !slices.Contains(words, "") {
			return words
		}
	}
	return nil
}

func byName(f *trace.Frame) string {
	if f.Function == trace.Folded {
		return ""
	}
	return trace.Frame{Function: f.Function}.Brief()
}

func byPlace(f *trace.Frame) string { return f.Brief() }

// stack names the callers of most bursts, innermost first, as far out as most have the same.
func stack(run *trace.Run, paths []trace.PathCount, name func(f *trace.Frame) string) (names []string) {
	total := 0
	for _, p := range paths {
		total += p.Bursts
	}
	for depth := 1; ; depth++ {
		bursts := make(map[string]int)
		var same []trace.PathCount
		for _, p := range paths {
			if frames := run.CallPaths[p.Path].Frames; depth < len(frames) {
				bursts[name(&frames[depth])] += p.Bursts
			}
		}
		for _, most := range slices.Sorted(maps.Keys(bursts)) {
			if float64(bursts[most]) < mostly*float64(total) {
				continue
			}
			for _, p := range paths {
				if frames := run.CallPaths[p.Path].Frames; depth < len(frames) && name(&frames[depth]) == most {
					same = append(same, p)
				}
			}
			names = append(names, most)
		}
		if len(names) < depth {
			return names
		}
		paths = same
	}
}

// withLengths adds the length of their bursts to words that are alike: "from solve, long". It is nil where a word is
// missing, or all are alike.
func withLengths(rows []timeRow, group []int, words []string) []string {
	alike := make(map[string][]int)
	for k, w := range words {
		alike[w] = append(alike[w], k)
	}
	if len(alike) < 2 || alike[""] != nil {
		return nil
	}
	words = slices.Clone(words)
	for _, same := range alike {
		if len(same) == 1 {
			continue
		}
		var members []int
		for _, k := range same {
			members = append(members, group[k])
		}
		for i, length := range lengths(rows, members) {
			words[same[i]] += ", " + length
		}
	}
	return words
}

// departing says of each stack where it departs from others: "from solve", or "from smooth < coarse" where another
// departs only there. Stacks that do not depart from each other have the same words.
func departing(stacks [][]string) []string {
	words := make([]string, len(stacks))
	rest := make([]int, len(stacks)) // those alike so far
	for i := range rest {
		rest[i] = i
	}
	groups := [][]int{rest}
	for depth := 0; len(groups) > 0; depth++ {
		var next [][]int
		for _, group := range groups {
			parts := make(map[string][]int)
			known := true
			for _, i := range group {
				if known = known && depth < len(stacks[i]); known {
					parts[stacks[i][depth]] = append(parts[stacks[i][depth]], i)
				}
			}
			if !known || len(parts) > 1 && parts[""] != nil {
				continue
			}
			for name, part := range parts {
				for _, i := range part {
					switch {
					case len(parts) == 1:
					case words[i] == "":
						words[i] = "from " + name
					default:
						words[i] += " < " + name
					}
				}
				if len(part) > 1 {
					next = append(next, part)
				}
			}
		}
		groups = next
	}
	return words
}

// phases are the phases that the program named in which the kinds of a group lie.
func phases(c *rundir.Clusters, rows []timeRow, group []int) []string {
	var words []string
	for _, i := range group {
		text, most := "", rundir.Number(0)
		for k := range c.Phases {
			p := &c.Phases[k]
			for _, x := range p.Clusters {
				if x.ID == rows[i].cluster.ID && x.Seconds > most && !p.Outside {
					text, most = "in "+shorten(p.Name), x.Seconds
				}
			}
		}
		words = append(words, text)
	}
	return words
}

// ordinal is the number of a row, of which there are few.
func ordinal(n int) string {
	if n <= 3 {
		return [...]string{"", "1st", "2nd", "3rd"}[n]
	}
	return fmt.Sprintf("%dth", n)
}

// lengths order a group by how long its bursts are.
func lengths(rows []timeRow, group []int) []string {
	length := func(i int) float64 {
		x := rows[i].cluster
		return cmp.Or(x.MedianNS, x.MeanNS)
	}
	order := slices.Clone(group)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(length(b), length(a)) })
	var words []string
	for _, i := range group {
		switch k := slices.Index(order, i); {
		case k == 0 && len(group) == 2:
			words = append(words, "long")
		case k == 1 && len(group) == 2:
			words = append(words, "short")
		case k == 0:
			words = append(words, "longest")
		case k == len(group)-1:
			words = append(words, "shortest")
		default:
			words = append(words, ordinal(k+1)+" longest")
		}
	}
	return words
}
