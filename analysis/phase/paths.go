package phase

import "moriens/internal/team"

// Paths numbers phase paths. Path 0 is the program; the zero value has no other.
type Paths struct {
	nodes    []Node // of the paths from 1 on
	children map[Node]int32
}

// A Node is a phase path: a name in another path.
type Node struct {
	Parent int32
	Name   uint32
}

// Len is how many there are, with the program.
func (p *Paths) Len() int { return len(p.nodes) + 1 }

// Of is what a path is, from 1 on.
func (p *Paths) Of(path int32) Node { return p.nodes[path-1] }

// Names are those of a path, outermost first.
func (p *Paths) Names(path int32) (names []uint32) {
	for ; path > 0; path = p.Of(path).Parent {
		names = append(names, p.Of(path).Name)
	}
	for i, k := 0, len(names)-1; i < k; i, k = i+1, k-1 {
		names[i], names[k] = names[k], names[i]
	}
	return names
}

// child is a name in a path, which may be new: the path itself where that is its name.
func (p *Paths) child(parent int32, name uint32) int32 {
	if parent > 0 && p.Of(parent).Name == name {
		return parent
	}
	n := Node{parent, name}
	at, known := p.children[n]
	if !known {
		if p.children == nil {
			p.children = make(map[Node]int32)
		}
		p.nodes = append(p.nodes, n)
		at = int32(len(p.nodes))
		p.children[n] = at
	}
	return at
}

// Nodes are all paths from 1 on. They are not to be changed.
func (p *Paths) Nodes() []Node { return p.nodes }

// Unite numbers the paths of several threads, of which each list has those of one from 1 on, in the order in which they
// are first there. to has, for each list, its paths' numbers from 0 on. A parent that is not ahead of its child is the
// program.
func Unite(lists [][]Node) (all *Paths, to [][]int32) {
	all = new(Paths)
	to = make([][]int32, len(lists))
	for i, list := range lists {
		to[i] = make([]int32, 1, 1+len(list))
		for _, n := range list {
			parent := int32(0)
			if n.Parent >= 0 && int(n.Parent) < len(to[i]) {
				parent = to[i][n.Parent]
			}
			to[i] = append(to[i], all.child(parent, n.Name))
		}
	}
	return all, to
}

// Number numbers the paths of all threads of a run in the order in which they are first there, and gives each thread's
// own paths these numbers. It is collective. Names have one number at all members.
func Number(threads []Timeline, owners team.Threads) (*Paths, error) {
	flat := make([][]uint32, len(threads))
	for i := range threads {
		for _, n := range threads[i].own.nodes {
			flat[i] = append(flat[i], uint32(n.Parent), n.Name)
		}
	}
	if owners.Size() > 1 {
		var err error
		if flat, err = team.ByThread(owners, flat); err != nil {
			return nil, err
		}
	}
	lists := make([][]Node, len(threads))
	for i, list := range flat {
		for k := 0; k+1 < len(list); k += 2 {
			lists[i] = append(lists[i], Node{int32(list[k]), list[k+1]})
		}
	}
	all, to := Unite(lists)
	for i := range threads {
		if threads[i].own.Len() == len(to[i]) {
			threads[i].number(to[i])
		}
	}
	return all, nil
}
