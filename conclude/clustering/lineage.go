package clustering

import (
	"fmt"

	"moriens/analysis/refine"
)

// lineages puts the ways that bursts took through the steps into the words of the trace model; nil where there are no
// steps.
func lineages(t *refine.Tree) []string {
	if t == nil {
		return nil
	}
	words := make([]string, len(t.Lineages))
	for i, l := range t.Lineages {
		switch {
		case i == 0:
		case l.From == 0:
			words[i] = fmt.Sprint(l.Node) // every group is clustered at the first step
		default: // its origin is before it
			words[i] = fmt.Sprintf("%s %d:%d", words[l.From], l.Level+1, l.Node)
		}
	}
	return words
}
