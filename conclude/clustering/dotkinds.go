package clustering

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"moriens/analysis/grouping"
	"moriens/analysis/refine"
	"moriens/trace/rundir"
)

// kindsOf are, by cluster, its kind and why; nil where clusters were not found by kinds.
func kindsOf(result *grouping.Result) (list []ClusterKind) {
	if !byKinds(result) {
		return nil
	}
	for i := range result.Clusters {
		list = append(list, ClusterKind{result.Clusters[i].Kind, result.Clusters[i].Why})
	}
	return list
}

func (t *Tree) kindOf(cluster int32) int32 {
	if cluster > 0 && int(cluster) <= len(t.Kinds) {
		return t.Kinds[cluster-1].Kind
	}
	return cluster
}

// why is why a node of the last level is a kind, in lines.
func (t *Tree) why(level int, node int32) string {
	id := t.Clusters[node]
	if t.Kinds == nil || node == refine.Noise || id < 1 || level != len(t.Levels)-1 {
		return ""
	}
	return "\n" + lines(t.Kinds[id-1].Why, lineRunes)
}

const lineRunes = 28

// lines breaks a text at spaces, but for those before a sign.
func lines(text string, most int) string {
	var b strings.Builder
	length := 0
	for i, word := range strings.Split(strings.ReplaceAll(text, " %", "\u00a0%"), " ") {
		switch n := len([]rune(word)); {
		case i == 0:
			length = n
		case length+1+n > most:
			b.WriteByte('\n')
			length = n
		default:
			b.WriteByte(' ')
			length += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}

// basins writes the basins above the clusters that they have become.
func (t *Tree) basins(out *bufio.Writer) {
	if len(t.Basins) == 0 {
		return
	}
	fmt.Fprintf(out, "\tsubgraph {\n\t\trank=same;\n\t\tbasins [shape=plaintext, style=\"\", label=%s];\n", quoted("density basins\nof groups with several"))
	for i, b := range t.Basins {
		text := fmt.Sprintf("group %d", b.Group+1)
		if b.Stratum > 1 || slices.ContainsFunc(t.Basins, func(x rundir.Basin) bool { return x.Group == b.Group && x.Stratum > 1 }) {
			text += fmt.Sprintf(", stratum %d", b.Stratum)
		}
		if b.Eps > 0 {
			text += fmt.Sprintf("\nseparate at Eps %.2g", float64(b.Eps))
		}
		if !math.IsNaN(float64(b.Valley)) {
			text += fmt.Sprintf("\nvalley %.2f of peak", float64(b.Valley))
		}
		fmt.Fprintf(out, "\t\tb%d [shape=ellipse, label=%s];\n", i, quoted(fmt.Sprintf("%s\n%d bursts", text, b.Bursts)))
	}
	fmt.Fprintf(out, "\t}\n\tbasins -> step1 [style=invis];\n")
	nodes := t.nodes()
	for i, b := range t.Basins {
		for _, id := range b.Clusters {
			fmt.Fprintf(out, "\tb%d -> s1n%d;\n", i, nodes[id])
		}
	}
}

// joins writes what the evaluation joined.
func (t *Tree) joins(out *bufio.Writer) {
	nodes := t.nodes()
	for _, j := range t.Joins {
		if j.From > 0 && j.To > 0 {
			text := fmt.Sprintf(" round %d: predicted to %.0f %% ", j.Round, 100*j.Foretold)
			fmt.Fprintf(out, "\ts1n%d -> s1n%d [style=dashed, color=\"#a00000\", constraint=false, label=%s, tooltip=%s];\n", nodes[j.From], nodes[j.To], quoted(text), quoted(j.Why))
		}
	}
}

// nodes are the nodes of the first level by the number of their cluster.
func (t *Tree) nodes() map[int32]int32 {
	of := make(map[int32]int32)
	for _, node := range slices.SortedFunc(maps.Keys(t.Clusters), func(a, b int32) int { return cmp.Compare(b, a) }) {
		of[t.Clusters[node]] = node
	}
	return of
}
