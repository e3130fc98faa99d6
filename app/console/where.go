package console

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// timeRows is how many kinds of computation have a row, where there is room for them.
const timeRows = 6

// leastTimeRows is how many of them the main loop leaves the room for.
const leastTimeRows = 4

// A timeRow is a kind of computation.
type timeRow struct {
	cluster *trace.Cluster
	share   float64
	calls   string // between which
	apart   string // what distinguishes it from others between the same calls; empty: nothing needs to
}

// timeTable shows so many kinds with most time, and what all others have.
func timeTable(r *Results, most int) table {
	t := table{
		head: []string{"cluster", "share", "bursts", "mean", "imbalance", "computing time between the MPI calls"},
		left: []bool{false, false, false, false, false, true},
	}
	rows, others := timeKinds(r.Run.Clusters, most, namedCluster(r), waitedFor(r))
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
		left, bursts = left-rows[i].share, bursts-rows[i].bursts()
		seconds, known := lost[x.ID]
		text := "-"
		if known {
			text = orDash(float64(seconds), func(s float64) string { return Duration(s * 1e9) })
		}
		t.rows = append(t.rows, []string{fmt.Sprint(x.ID), percent(rows[i].share), units.Integer(rows[i].bursts()), Duration(rows[i].mean()), text, ""})
	}
	if len(others) > 0 || bursts > 0 {
		what := "other kind"
		if len(rows) > 0 && !rows[0].cluster.Known() {
			what = "other cluster"
		}
		text, outside := units.Counted(len(others), what), bursts
		for i := range others {
			outside -= others[i].bursts()
		}
		switch {
		case len(others) == 0:
			text = "bursts in no cluster"
		case outside > 0:
			text += ", bursts in no cluster"
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
	tooWide := make(map[string]bool) // so that two rows never name the same call in two ways
	for i := range rows {
		if wide(&rows[i]) {
			tooWide[rows[i].calls] = true
		}
	}
	narrower(func(r *timeRow) {
		if tooWide[r.calls] {
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

// bursts are those of a row's kind: with its variants and disturbed ones.
func (r *timeRow) bursts() int { return max(r.cluster.Bursts, r.cluster.KindBursts) }

// mean is how long these take on average, ns: the share is that of so many.
func (r *timeRow) mean() float64 {
	x := r.cluster
	switch {
	case r.bursts() == 0:
		return x.MeanNS
	case x.KindNS > 0:
		return float64(x.KindNS) / float64(r.bursts())
	}
	return float64(x.TimeNS) / float64(r.bursts())
}

// timeKinds are so many kinds with most time, and the others. A kind has its variants and disturbed bursts. Those that
// are named elsewhere in the summary are among the first, the last ones if they have less time.
func timeKinds(clusters []trace.Cluster, most int, named ...int32) (rows, others []timeRow) {
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
	n := min(len(rows), most)
	for n > 1 && rows[n-1].share < tableShare {
		n--
	}
	for _, id := range named {
		k := slices.IndexFunc(rows, func(r timeRow) bool { return r.cluster.ID == id })
		if k < n {
			continue
		}
		place := n
		if n < most {
			n++
		} else {
			for place--; place > 0 && slices.Contains(named, rows[place].cluster.ID); {
				place--
			}
		}
		rows[place], rows[k] = rows[k], rows[place]
	}
	return rows[:n], rows[n:]
}
