package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"moriens/internal/team"
	"moriens/internal/units"
	"moriens/trace"
)

type pair struct{ before, after uint32 }

// pairs gives each pair of call paths a row: the one with the most time on top, beyond the first twelve one for the
// rest.
type pairs struct {
	row    map[pair]int // 0 is the lowest
	places []uint32     // by call path
	names  []string     // from the lowest up
}

// pairTimes adds up the computing time between each pair of places of calls. A call follows mostly the one that it
// followed before, so that few bursts have their pair looked up.
func pairTimes(run *trace.Run) map[pair]int64 {
	type latest struct {
		before uint32
		number int // of the pair, plus 1
	}
	places := run.Places()
	last := make([]latest, len(run.CallPaths))
	numbers := make(map[pair]int)
	var timeNS []int64
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		for k, d := range b.DurationNS {
			p := pair{places[b.Before[k]], places[b.After[k]]}
			l := &last[p.after]
			if l.number == 0 || l.before != p.before {
				if numbers[p] == 0 {
					timeNS = append(timeNS, 0)
					numbers[p] = len(timeNS)
				}
				*l = latest{p.before, numbers[p]}
			}
			timeNS[l.number-1] += d
		}
	}
	sums := make(map[pair]int64, len(numbers))
	for p, number := range numbers {
		sums[p] = timeNS[number-1]
	}
	return sums
}

// sharedPairTimes is pairTimes of all members.
func sharedPairTimes(run *trace.Run, owners team.Threads) (map[pair]int64, error) {
	own := pairTimes(run)
	if owners.Size() == 1 {
		return own, nil
	}
	var list []int64
	for p, ns := range own {
		list = append(list, int64(p.before), int64(p.after), ns)
	}
	all, err := team.Gather(owners, list)
	if err != nil {
		return nil, err
	}
	sums := make(map[pair]int64)
	for _, list := range all {
		for ; len(list) >= 3; list = list[3:] {
			sums[pair{uint32(list[0]), uint32(list[1])}] += list[2]
		}
	}
	return sums, nil
}

func newPairs(run *trace.Run, owners team.Threads) (*pairs, error) {
	timeNS, err := sharedPairTimes(run, owners)
	if err != nil {
		return nil, err
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
	p := &pairs{row: make(map[pair]int), places: run.Places()}
	if rest > 0 {
		p.names = append(p.names, units.Count(rest, "other pair"))
	}
	shown := pairNames(run, list)
	for i := len(list) - 1; i >= 0; i-- {
		p.row[list[i]] = len(p.names)
		p.names = append(p.names, shown[i])
	}
	return p, nil
}

// pairNames writes "Send → Wait", with the place in the program where the functions alone do not distinguish the pairs.
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
		if f := p.Frames[0]; f.Function == "" && f.Line == 0 && f.Located() {
			return s + " " + offset(f)
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

// offset is a place of which no more is known: its module, cut at its end, and the offset.
func offset(f trace.Frame) string {
	text := fmt.Sprintf("+%x", f.Offset)
	r, room := []rune(f.Module), maxPlace-len(text)
	if len(r) > room {
		return string(r[:room-1]) + "…" + text
	}
	return f.Module + text
}

// of spreads the points of a row by a fixed hash, so that density shows.
func (p *pairs) of(t *trace.Thread, thread, burst int) float64 {
	row := p.row[pair{p.places[t.Bursts.Before[burst]], p.places[t.Bursts.After[burst]]}]
	spread := float64(lot(burst, thread+1)>>11) / (1 << 53)
	return float64(row) + jitter*(2*spread-1)
}

func (p *pairs) has(*trace.Thread, int) bool { return true }

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
