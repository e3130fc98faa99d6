package page

import (
	"cmp"
	"maps"
	"slices"

	"moriens/trace"
	"moriens/trace/pack"
	"moriens/trace/rundir"
)

// threads are all threads that anything is known of, each with its node, -1 = not known.
func (s *Source) threads() map[rundir.ThreadName]int32 {
	nodes := make(map[rundir.ThreadName]int32)
	for _, run := range []*trace.Run{s.Rows, s.Detail} {
		if run == nil {
			continue
		}
		for i := range run.Threads {
			t := &run.Threads[i]
			node := int32(-1)
			if run == s.Detail && t.Node < len(run.Nodes) {
				node = int32(t.Node)
			}
			nodes[rundir.NameOf(t)] = node
		}
	}
	if s.Profile != nil && s.Detail == nil {
		for i := range s.Profile.Rows {
			if name, ok := threadOf(&s.Profile.Rows[i]); ok {
				if _, known := nodes[name]; !known {
					nodes[name] = -1
				}
			}
		}
	}
	return nodes
}

// listThreads gives every thread its number, in the order of world, rank and thread, and its columns.
func (b *builder) listThreads() {
	s := &b.source
	nodes := s.threads()
	names := slices.SortedFunc(maps.Keys(nodes), func(a, b rundir.ThreadName) int {
		return cmp.Or(cmp.Compare(a.World, b.World), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Thread, b.Thread))
	})
	b.doc.Threads = len(names)
	b.threads = make(map[rundir.ThreadName]int, len(names))
	columns := make([][]int32, 5)
	for i, n := range names {
		b.threads[n] = i
		for k, v := range []int32{int32(n.World), int32(n.Rank), int32(n.Thread), nodes[n], -1} {
			columns[k] = append(columns[k], v)
		}
	}
	if s.Detail != nil {
		for _, n := range s.Detail.Nodes {
			b.doc.Hosts = append(b.doc.Hosts, n.Name)
		}
	}
	if s.Manifest != nil {
		for class, c := range s.Manifest.Kept.Classes {
			for _, run := range c.Threads {
				for i := max(run[0], 0); i <= run[1] && i < len(names); i++ {
					columns[4][i] = int32(class)
				}
			}
		}
	}
	b.classes = columns[4]
	for k, name := range []string{"world", "rank", "thread", "host", "class"} {
		pack.Add(&b.columns, "thread."+name, columns[k])
	}
}

// numbersOf are the numbers of a run's threads.
func (b *builder) numbersOf(run *trace.Run) []int32 {
	numbers := make([]int32, len(run.Threads))
	for i := range run.Threads {
		numbers[i] = int32(b.threads[rundir.NameOf(&run.Threads[i])])
	}
	return numbers
}
