package console

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/app/pairing"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

func (w pairWords) writePairs(b *strings.Builder, form PairsForm) {
	if form.Top == 0 || len(w.Pairs) == 0 {
		return
	}
	order := make([]int, len(w.Pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int {
		return cmp.Compare(zeroIfUnknown(w.Pairs[k].Distance), zeroIfUnknown(w.Pairs[i].Distance))
	})
	shown := order[:min(form.Top, len(order))]
	t := table{head: []string{"pair", "nodes", "messages", "bytes", "blocked", "of all", "late sender", "late receiver", "sizes"}, left: []bool{true, true, false, false, false, false, false, false, true}}
	if w.By == pairing.Span {
		t.head, t.left = slices.Insert(t.head, 4, "span"), slices.Insert(t.left, 4, false)
	}
	paths := w.pathsOf()
	for _, i := range shown {
		p := &w.Pairs[i]
		nodes := w.node(p.A)
		if !p.SameNode {
			nodes += "–" + w.node(p.B)
		}
		row := []string{
			w.Name(p.A) + "–" + w.Name(p.B), nodes, count(p.Messages), units.Bytes(p.Bytes).String(), spent(p.Blocked), w.ofBlocked(p.Blocked),
			w.late(p.LateSender, p.LateSenderError), w.late(p.LateReceiver, p.LateReceiverErr), sizesText(p.Sizes),
		}
		if w.By == pairing.Span {
			row = slices.Insert(row, 4, spent(p.Distance))
		}
		if text := paths[[2]int{p.A, p.B}]; text != "" {
			row[len(row)-1] += "  " + text
		}
		t.rows = append(t.rows, row)
	}
	fmt.Fprintf(b, "\npairs with most %s; late times are %s\n", w.what(), w.basis())
	writeTable(b, t)
	if rest := len(order) - len(shown); rest > 0 {
		fmt.Fprintf(b, "%s: --top %d, or --json\n", units.Counted(rest, "more pair"), len(order))
	}
}

func zeroIfUnknown(x rundir.Number) rundir.Number {
	if math.IsNaN(float64(x)) {
		return 0
	}
	return x
}

// pathsOf are call paths of pairs: those of findings.
func (w pairWords) pathsOf() map[[2]int]string {
	paths := make(map[[2]int]string)
	for i := range w.Findings {
		f := &w.Findings[i]
		for _, p := range f.Pairs {
			if paths[p] == "" {
				paths[p] = f.CallPath
			}
		}
	}
	return paths
}

// sizesText is the sizes of most messages, and how many others there are.
func sizesText(sizes []rundir.PairsSize) string {
	if len(sizes) == 0 {
		return ""
	}
	most, all := 0, int64(0)
	for i := range sizes {
		all += sizes[i].Messages
		if sizes[i].Messages > sizes[most].Messages {
			most = i
		}
	}
	text := sizeText(sizes[most].FromBytes, sizes[most].ToBytes)
	if len(sizes) > 1 {
		text = fmt.Sprintf("%s (%s), %d more", text, percent(float64(sizes[most].Messages)/float64(all)), len(sizes)-1)
	}
	return text
}

// sizeText is the sizes of a bin: up to its last byte.
func sizeText(from, to int64) string {
	if from >= to {
		return units.Bytes(from).String()
	}
	if to < math.MaxInt64 && to-from > 1 {
		to++ // 1 KiB to 2 KiB, not to 1.99
	}
	return fmt.Sprintf("%v–%v", units.Bytes(from), units.Bytes(to))
}

func (w pairWords) writeLines(b *strings.Builder) {
	if len(w.Lines) == 0 && len(w.CallPaths) == 0 {
		return
	}
	b.WriteByte('\n')
	for i := range w.Lines {
		l := &w.Lines[i]
		where := "between nodes"
		if l.SameNode {
			where = "within a node"
		}
		fmt.Fprintf(b, "transfer %s: %s\n", where, lineText(l))
	}
	for _, p := range w.CallPaths[:min(mostPairPaths, len(w.CallPaths))] {
		fmt.Fprintf(b, "blocked in %s: %s (%s), %s\n", cmp.Or(p.CallPath, "calls of no known place"), spent(p.Blocked), w.ofBlocked(p.Blocked), units.Counted(int(p.Messages), "message"))
	}
	writeMore(b, len(w.CallPaths)-mostPairPaths, "more call")
}

// lineText is a line, or what the sizes take where there is none.
func lineText(l *rundir.PairsLine) string {
	seen := units.Counted(int(l.Messages), "transfer")
	var odd []string
	for _, s := range l.Sizes {
		if s.Odd {
			odd = append(odd, fmt.Sprintf("%s takes %s", sizeText(s.FromBytes, s.ToBytes), spent(s.Median)))
		}
	}
	rest := ""
	if n := len(odd) - mostOddSizes; n > 0 {
		odd, rest = odd[:mostOddSizes], fmt.Sprintf(" and %d more", n)
	}
	switch {
	case l.Messages == 0:
		return "none was seen whose receiver was waiting"
	case math.IsNaN(float64(l.Latency)):
		var medians []string
		for _, s := range l.Sizes {
			medians = append(medians, fmt.Sprintf("%s takes %s", sizeText(s.FromBytes, s.ToBytes), spent(s.Median)))
		}
		return fmt.Sprintf("too few sizes or transfers for a line; median: %s (%s)", strings.Join(medians, ", "), seen)
	}
	text := spent(l.Latency)
	if l.AtMost {
		text = "at most " + text
	}
	if l.Bandwidth > 0 {
		text += fmt.Sprintf(" + size / (%v/s)", units.Bytes(l.Bandwidth))
	} else {
		text += " at any size"
	}
	text += fmt.Sprintf(" (%s; spread %s)", seen, ratioText(float64(l.Spread)))
	if l.Unfollowed {
		text += "; time does not follow size"
	}
	if len(odd) > 0 {
		text += "; off the line: " + strings.Join(odd, ", ") + rest
	}
	return text
}
