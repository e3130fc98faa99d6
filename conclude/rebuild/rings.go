package rebuild

import (
	"cmp"
	"slices"

	"moriens/collector/store"
)

// A ticked is a time by the clock of a node.
type ticked struct{ first, last uint64 }

// spans are when the threads of a process ran, as far as is known. Where its calls were kept on the node it ran, at
// most, for as long as its clock was read.
func spans(p *store.Process) (list []ticked) {
	for _, r := range p.Rings {
		if r.Calls > 0 {
			first, last := r.Span()
			list = append(list, ticked{first, last})
		}
	}
	if samples := p.Agent.Samples[p.Info.Clock]; len(list) == 0 && p.CallsOnNode() && len(samples) > 0 {
		list = append(list, ticked{samples[0].Ticks, samples[len(samples)-1].Ticks})
	}
	return list
}

// RingsOf are the rings of a process that have recorded anything, or whose calls were kept on the node, by thread.
func RingsOf(p *store.Process) []*store.Ring {
	list := slices.DeleteFunc(slices.Clone(p.Rings), func(r *store.Ring) bool { return r.Silent() && !p.CallsOnNode() })
	slices.SortFunc(list, func(a, b *store.Ring) int { return cmp.Compare(a.Info.Thread, b.Info.Thread) })
	return list
}
