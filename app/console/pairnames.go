package console

import (
	"fmt"
	"math"
	"strings"

	"moriens/app/pairing"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// pairWords has the sentences about pairs.
type pairWords struct {
	*pairing.Result
	nodes int
}

func pairWordsOf(r *pairing.Result) pairWords {
	w := pairWords{Result: r}
	names := make(map[string]bool)
	for _, x := range r.Ranks {
		names[x.Node] = true
	}
	w.nodes = len(names)
	return w
}

func (w pairWords) node(i int) string {
	if i < 0 || i >= len(w.Ranks) {
		return "?"
	}
	return w.Ranks[i].Node
}

// list names ranks, ascending: 0-3,8.
func (w pairWords) list(ranks []int) string {
	var spans []string
	for i := 0; i < len(ranks); {
		last := i
		for last+1 < len(ranks) && w.follows(ranks[last], ranks[last+1]) {
			last++
		}
		text := w.Name(ranks[i])
		if last > i {
			text += fmt.Sprintf("-%d", w.Ranks[ranks[last]].Rank)
		}
		spans = append(spans, text)
		i = last + 1
	}
	if len(spans) > mostNamedOfThem+1 {
		return fmt.Sprintf("%s,… (%s)", strings.Join(spans[:mostNamedOfThem], ","), units.Counted(len(ranks), "rank"))
	}
	return strings.Join(spans, ",")
}

// follows reports whether a rank is the next one of the same world.
func (w pairWords) follows(i, next int) bool {
	if min(i, next) < 0 || max(i, next) >= len(w.Ranks) {
		return false
	}
	a, b := w.Ranks[i], w.Ranks[next]
	return a.World == b.World && b.Rank == a.Rank+1
}

// late is a time for which a side was late: as it is, or with its standard error; a dash where it is not known.
func (w pairWords) late(seconds, standardError rundir.Number) string {
	text := spent(seconds)
	if !w.Exact && !math.IsNaN(float64(seconds)) {
		text += " ± " + spent(standardError)
	}
	return text
}

// lateOf is the part of a time for which a side was late.
func (w pairWords) lateOf(seconds, standardError rundir.Number, of string) string {
	if math.IsNaN(float64(seconds)) {
		return "not known"
	}
	return w.late(seconds, standardError) + of
}

// blameUnknown reports that nothing says which rank is late.
func (w pairWords) blameUnknown() bool { return math.IsNaN(float64(w.Totals.LateSender)) }

// keepAll is how to know every message.
const keepAll = "moriens run --keep-bursts all"

// basis says what late times are.
func (w pairWords) basis() string {
	switch {
	case w.blameUnknown():
		return "not known"
	case w.Exact:
		return "exact"
	}
	return "estimated"
}

// ofRanks is a time as a share of the ranks' time.
func (w pairWords) ofRanks(seconds rundir.Number) string {
	return ratioText(float64(seconds / (w.Seconds * rundir.Number(len(w.Ranks)))))
}

// ofBlocked is a time as a share of all blocked time. Pairs have three digits, the sum of all has more.
func (w pairWords) ofBlocked(seconds rundir.Number) string {
	return ratioText(min(1, float64(seconds/w.Totals.Blocked)))
}

// what is what distances are made of.
func (w pairWords) what() string {
	switch w.By {
	case pairing.Late:
		return "late time"
	case pairing.Bytes:
		return "bytes"
	case pairing.Messages:
		return "messages"
	case pairing.Span:
		return "span"
	}
	return "blocked time"
}

// amount is a T.
func (w pairWords) amount(t float64) string {
	switch w.By {
	case pairing.Bytes:
		return units.Bytes(int64(t)).String()
	case pairing.Messages:
		return units.Integer(int(t))
	}
	return Duration(t * 1e9)
}
