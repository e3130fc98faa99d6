package clustering

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"moriens/analysis/refine"
	"moriens/internal/units"
	"moriens/trace/palette"
)

// WriteDOT writes the tree as a graph for Graphviz, one row a step, from the least Eps down. A node is a cluster of
// that step: its bursts, its share of the time that was clustered, its score; a thick frame says that it is frozen, a
// dashed one that it is a variant. An edge shows where bursts went, with their number where they are a part of the node
// that they leave. The clusters that are the result are in the colours of their kinds and have two numbers: the node's,
// as at all steps, and the cluster's. Where clusters were found by kinds, the basins of density are above them, and
// dashed edges say which of them the evaluation joined, in which round, and why.
func (t *Tree) WriteDOT(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "digraph refinement {\n\trankdir=TB; ranksep=0.6; nodesep=0.15;\n")
	fmt.Fprintf(out, "\tlabel=%s; labelloc=t; fontname=\"sans-serif\";\n", quoted(t.Why))
	fmt.Fprintf(out, "\tnode [shape=box, style=filled, fillcolor=white, fontname=\"sans-serif\", fontsize=9, margin=\"0.05,0.03\"];\n")
	fmt.Fprintf(out, "\tedge [fontname=\"sans-serif\", fontsize=8, color=\"#808080\"];\n")
	t.basins(out)
	for i := range t.Levels {
		t.step(out, i)
	}
	for i := range t.Levels {
		if i > 0 {
			fmt.Fprintf(out, "\tstep%d -> step%d [style=invis];\n", i, i+1)
			t.edges(out, i)
		}
	}
	t.joins(out)
	fmt.Fprintf(out, "}\n")
	return out.Flush()
}

// step writes the nodes of a level and, at its left, the statement about all of them.
func (t *Tree) step(out *bufio.Writer, i int) {
	l := &t.Levels[i]
	var totalNS int64
	clusters := 0
	for _, n := range l.Nodes {
		totalNS += n.TimeNS
		if n.ID != refine.Noise {
			clusters++
		}
	}
	text := []string{fmt.Sprintf("step %d", i+1), "Eps " + span(l.Eps), fmt.Sprintf("%d clusters", clusters), "score " + score(l.Score)}
	if t.Kinds != nil {
		if text = []string{"clusters of density", units.Count(clusters, "cluster"), "Eps " + span(l.Eps)}; i > 0 {
			text = []string{"kinds", units.Count(clusters, "kind"), "score " + score(l.Score)}
		}
	}
	of := 0
	for _, level := range t.Chosen {
		if level == i {
			of++
		}
	}
	switch {
	case of == len(t.Chosen):
		text = append(text, "the result")
	case of > 0:
		text = append(text, fmt.Sprintf("the result of %d of %d groups", of, len(t.Chosen)))
	}
	fmt.Fprintf(out, "\tsubgraph {\n\t\trank=same;\n\t\tstep%d [shape=plaintext, style=\"\", label=%s];\n", i+1, quoted(strings.Join(text, "\n")))
	for _, n := range l.Nodes {
		name := fmt.Sprint(n.ID)
		colour := ""
		switch id, known := t.Clusters[n.ID]; {
		case n.ID == refine.Noise:
			name, colour = "noise", paint(palette.Noise)
		case known && i == t.Chosen[n.Group]:
			name, colour = fmt.Sprintf("%d = cluster %d", n.ID, id), paint(palette.Cluster(t.kindOf(id)))
		}
		if id := t.Clusters[n.ID]; t.Kinds != nil && i > 0 && id > 0 {
			name, colour = fmt.Sprintf("kind %d", id), paint(palette.Cluster(id))
		} else if t.kindOf(id) != id {
			colour += `, style="filled,dashed"`
		}
		share := 0.
		if totalNS > 0 {
			share = 100 * float64(n.TimeNS) / float64(totalNS)
		}
		label := fmt.Sprintf("%s\n%d bursts\n%.1f %% of time", name, n.Bursts, share)
		if t.Kinds == nil || !math.IsNaN(n.Score) {
			label += "\nscore " + score(n.Score)
		}
		label += t.why(i, n.ID)
		frame := ""
		if n.Frozen {
			frame = ", penwidth=3"
		}
		fmt.Fprintf(out, "\t\ts%dn%d [label=%s%s%s];\n", i+1, n.ID, quoted(label), colour, frame)
	}
	fmt.Fprintf(out, "\t}\n")
}

// edges writes where the nodes of a level have their bursts from.
func (t *Tree) edges(out *bufio.Writer, i int) {
	size := make(map[int32]int)
	for _, n := range t.Levels[i-1].Nodes {
		size[n.ID] = n.Bursts
	}
	for _, n := range t.Levels[i].Nodes {
		for _, p := range n.Parents {
			label := ""
			if p.Bursts != size[p.ID] {
				label = fmt.Sprintf(" [label=\" %d\"]", p.Bursts)
			}
			fmt.Fprintf(out, "\ts%dn%d -> s%dn%d%s;\n", i, p.ID, i+1, n.ID, label)
		}
	}
}

// span is the range of the Eps of groups that were clustered at all.
func span(eps []float64) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, e := range eps {
		if e > 0 {
			lo, hi = min(lo, e), max(hi, e)
		}
	}
	switch {
	case lo > hi:
		return "0"
	case lo == hi:
		return fmt.Sprintf("%.4g", lo)
	}
	return fmt.Sprintf("%.4g to %.4g", lo, hi)
}

func score(s float64) string {
	if math.IsNaN(s) {
		return "not defined"
	}
	return fmt.Sprintf("%.3f", s)
}

// paint fills a node, with letters that can be read on it.
func paint(c palette.Colour) string {
	font := "black"
	if luma := .299*float64(c.R) + .587*float64(c.G) + .114*float64(c.B); luma < 140 {
		font = "white"
	}
	return fmt.Sprintf(", fillcolor=\"%s\", fontcolor=%s", c.Hex(), font)
}
