package console

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"moriens/analysis/program"
	"moriens/analysis/program/text"
	"moriens/internal/units"
)

// mainLoopLines is how many lines of the main loop are shown, and mainLoopWidth how wide their pseudocode is.
const mainLoopLines, mainLoopWidth = 4, 56

// A heavy line is one of computation or of MPI calls.
type heavy struct {
	node *program.Node
	in   string // the function that holds it
}

func (h *heavy) ns() int64 { return h.node.ComputeNS + h.node.MPINS }

// writeMainLoop prints the loop that takes most of the time, and so many of the lines in it that take most of that.
func writeMainLoop(b *strings.Builder, p *program.Program, lines int) {
	if p == nil || lines < 1 {
		return
	}
	loop := mainLoop(p.Body, nil)
	if loop == nil {
		return
	}
	what := codeOf(p, loop)
	if loop.Trips.Likely {
		what += " (likely)"
	}
	if loop.Function != "" {
		what += " in " + loop.Function
	}
	end := fmt.Sprintf(": %s of the time", percent(loop.Explains))
	if loop.By == program.ByOrder {
		end = ", by the order of lines" + end
	}
	if loop.File != "" && loop.Line > 0 {
		end = fmt.Sprintf(" (%s:%d)", path.Base(loop.File), loop.Line) + end
	}
	const start = "main loop: "
	fmt.Fprintf(b, "%s%s%s\n", start, text.Middle(what, max(lineWidth-len(start)-len(end), mainLoopWidth/2)), end)
	rows, total := heaviest(loop, lines-1)
	t := table{left: []bool{true, false, false}}
	for _, h := range rows {
		n := h.node
		code, each := codeOf(p, n), n.MeanNS
		if n.Kind == program.KindMPI {
			each = float64(n.MPINS) / float64(max(n.Count, 1))
		}
		if h.in != "" {
			code += " in " + h.in
		}
		t.rows = append(t.rows, []string{"  " + text.Middle(code, mainLoopWidth), percent(float64(h.ns()) / float64(total)), fmt.Sprintf("%s × %s", units.Integer(int(n.Count)), Duration(each))})
	}
	writeTable(b, t)
}

// mainLoop is the loop that takes most of the time: in a loop that enters another one in a few of its trips alone, as
// one over the commands of an input, and spends most of its time there, that one.
func mainLoop(body []*program.Node, round *program.Node) (loop *program.Node) {
	program.Walk(body, func(n *program.Node, _ []*program.Node) {
		switch {
		case n.Kind != program.KindLoop || n.Trips.Most < 2 || n.Explains <= 0:
		case round != nil && (n.Explains < round.Explains/2 || 2*n.Trips.Entries > round.Trips.Total):
		case loop == nil || n.Explains > loop.Explains:
			loop = n
		}
	})
	if loop == nil {
		return round
	}
	return mainLoop(loop.Body, loop)
}

// codeOf is the pseudocode of a line, without what it says besides.
func codeOf(p *program.Program, n *program.Node) string {
	for _, l := range text.Lines(p) {
		if l.Node == n {
			code, _, _ := strings.Cut(l.Code, "  # ")
			return code
		}
	}
	return ""
}

// heaviest are the lines in a loop that take most of its time, in the order of the text, and that time.
func heaviest(loop *program.Node, most int) (list []heavy, total int64) {
	program.Walk(loop.Body, func(n *program.Node, in []*program.Node) {
		if n.Kind != program.KindCompute && n.Kind != program.KindMPI {
			total += n.ComputeNS + n.MPINS
			return
		}
		h := heavy{n, loop.Function}
		for _, x := range in {
			if x.Kind == program.KindCall {
				h.in = x.Function
			}
		}
		total += h.ns()
		if h.ns() > 0 {
			list = append(list, h)
		}
	})
	slices.SortStableFunc(list, func(a, b heavy) int { return cmp.Compare(b.ns(), a.ns()) })
	list = list[:min(len(list), most)]
	slices.SortFunc(list, func(a, b heavy) int { return cmp.Compare(a.node.ID, b.node.ID) })
	return list, total
}
