package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"moriens/trace"
)

type pair struct{ before, after uint32 }

// pairs gives each pair of call paths a row: the one with the most time on top, beyond the first twelve one for the rest.
type pairs struct {
	row   map[pair]int // 0 is the lowest
	names []string     // from the lowest up
}

func newPairs(run *trace.Run) *pairs {
	timeNS := make(map[pair]int64)
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		for k, d := range b.DurationNS {
			timeNS[pair{b.Before[k], b.After[k]}] += d
		}
	}
	list := make([]pair, 0, len(timeNS))
	for p := range timeNS {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b pair) int {
		return cmp.Or(cmp.Compare(timeNS[b], timeNS[a]), cmp.Compare(a.before, b.before), cmp.Compare(a.after, b.after))
	})
	rest := 0
	if len(list) > maxPairs {
		rest = len(list) - maxPairs
		list = list[:maxPairs]
	}
	p := &pairs{row: make(map[pair]int)}
	if rest > 0 {
		p.names = append(p.names, fmt.Sprintf("%d other pairs", rest))
	}
	shown := pairNames(run, list)
	for i := len(list) - 1; i >= 0; i-- {
		p.row[list[i]] = len(p.names)
		p.names = append(p.names, shown[i])
	}
	return p
}

// pairNames writes "Send → Wait", with the place in the program where the functions alone do not tell the pairs apart.
func pairNames(run *trace.Run, list []pair) []string {
	name := func(path uint32, place bool) string {
		p := run.CallPaths[path]
		s := strings.TrimPrefix(p.Function, "MPI_")
		if s == "" {
			s = "?"
		}
		if !place || len(p.Frames) == 0 {
			return s
		}
		if f := p.Frames[0]; f.Function == "" && f.Line == 0 {
			return s + fmt.Sprintf(" +%x", f.Offset)
		}
		return s + " " + short(p.Frames[0].Brief())
	}
	names := make([]string, len(list))
	count := make(map[string]int)
	for i, p := range list {
		names[i] = name(p.before, false) + " → " + name(p.after, false)
		count[names[i]]++
	}
	for i, p := range list {
		if count[names[i]] > 1 {
			names[i] = name(p.before, true) + " → " + name(p.after, true)
		}
	}
	clear(count)
	for _, n := range names {
		count[n]++
	}
	for i, p := range list { // several calls in one function
		if count[names[i]] > 1 {
			names[i] += fmt.Sprintf(" (%d, %d)", p.before, p.after)
		}
	}
	return names
}

// maxPlace is how much of a place a label has room for.
const maxPlace = 28

func short(place string) string {
	r := []rune(place)
	if len(r) <= maxPlace {
		return place
	}
	return "…" + string(r[len(r)-maxPlace+1:])
}

// of spreads the points of a row by a fixed hash, so that density shows.
func (p *pairs) of(t *trace.Thread, thread, burst int) (float64, bool) {
	row := p.row[pair{t.Bursts.Before[burst], t.Bursts.After[burst]}]
	spread := float64(mix(burst, thread+1)>>11) / (1 << 53)
	return float64(row) + jitter*(2*spread-1), true
}

func labelRows(p *plot.Plot, names []string) {
	ticks := make(fixedTicks, len(names))
	for i, name := range names {
		ticks[i] = plot.Tick{Value: float64(i), Label: name}
	}
	p.Y.Min, p.Y.Max = -.6, float64(max(len(names), 1))-.4
	p.Y.Tick.Marker = ticks
	p.Y.Tick.Length = 0
	p.Y.Label.Text = "MPI calls before → after the burst"
}
