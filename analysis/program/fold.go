package program

import (
	"slices"
	"sort"
	"strconv"
)

// Fold is a program whose file has at most so many bytes: what takes less of the time than a threshold is summed up,
// neighbours together, by the least threshold that fits. Branches of one condition are folded together, or not at all.
// What remains keeps its number. What was folded keeps the numbers of its call paths, unless there is no room for them.
// Its readings are folded likewise.
func Fold(p *Program, bytes int) (*Program, error) {
	var c counter
	if err := p.Write(&c); err != nil || int(c) <= bytes || len(p.Body) == 0 && p.Readings == nil {
		return p, err
	}
	if p.Readings != nil {
		return foldReadings(p, bytes)
	}
	f := newFolder(p)
	f.paths = make(map[*Node]int)
	for _, n := range p.Body {
		f.listed(n)
	}
	sizes := make(map[*Node]int)
	head := int(c) - sizesOf(p.Body, 1, sizes)
	var weights []int64
	for _, w := range f.weights {
		weights = append(weights, w+1) // at this threshold it is folded
	}
	slices.Sort(weights)
	weights = slices.Compact(weights)
	fits := func(i int) bool { return head+f.size(p.Body, 1, weights[i], sizes) <= bytes }
	least := sort.Search(len(weights)-1, fits)
	if !fits(least) {
		f.paths = nil
		least = sort.Search(len(weights)-1, fits)
	}
	return f.below(p, weights[least]), nil
}

// listed finds how many bytes the numbers of a line's call paths take at most, with those in it.
func (f folder) listed(n *Node) (bytes int) {
	for _, k := range n.Paths {
		bytes += len(strconv.Itoa(k)) + 1
	}
	for _, k := range n.After {
		bytes += len(strconv.Itoa(k)) + 1
	}
	for _, pair := range n.Around {
		bytes += len(strconv.Itoa(pair[1])) + 1
	}
	for _, x := range n.Body {
		bytes += f.listed(x)
	}
	f.paths[n] = bytes
	return bytes
}

// sizesOf finds how many bytes the lines of nodes take in the file, each without those in it, and in total.
func sizesOf(list []*Node, depth int, sizes map[*Node]int) (all int) {
	for _, n := range list {
		var w writer
		alone := *n
		alone.Body = nil
		w.node(&alone, depth)
		sizes[n] = w.b.Len() + aroundLine + depth
		all += sizes[n] + sizesOf(n.Body, depth+1, sizes)
	}
	return all
}

// aroundLine is what a line has beside its node and the indent: its end, and a comma. otherBytes is what a node takes
// at most that others were folded into, listsBytes what the names of its lists take.
const aroundLine, otherBytes, listsBytes = 2, 256, 32

// size is how many bytes a body takes at most that is folded below a threshold.
func (f folder) size(list []*Node, depth int, threshold int64, sizes map[*Node]int) (all int) {
	small := false
	for branches := range chains(list) {
		if f.heaviest(branches) < threshold {
			if !small {
				all += otherBytes + aroundLine + depth
				if f.paths != nil {
					all += listsBytes
				}
			}
			small = true
			for _, n := range branches {
				all += f.paths[n]
			}
			continue
		}
		small = false
		for _, n := range branches {
			all += sizes[n] + f.size(n.Body, depth+1, threshold, sizes)
		}
	}
	return all
}

// Above is a program in which lines that take less than a share of all computing and MPI time are summed up.
func (p *Program) Above(share float64) *Program {
	return newFolder(p).below(p, int64(share*float64(p.NS())))
}

type counter int

func (c *counter) Write(text []byte) (int, error) {
	*c += counter(len(text))
	return len(text), nil
}

// A folder has what the lines of a program take with what lies in them, in ns of all ranks.
type folder struct {
	weights map[*Node]int64
	paths   map[*Node]int // bytes of the numbers of call paths; nil: what is folded does not keep them
}

func newFolder(p *Program) folder {
	f := folder{weights: make(map[*Node]int64)}
	for _, n := range p.Body {
		f.weigh(n)
	}
	return f
}

func (f folder) weigh(n *Node) int64 {
	w := n.ComputeNS + n.MPINS
	for _, x := range n.Body {
		w += f.weigh(x)
	}
	f.weights[n] = w
	return w
}

func (f folder) heaviest(list []*Node) (most int64) {
	for _, n := range list {
		most = max(most, f.weights[n])
	}
	return most
}

// below folds what takes less than a threshold.
func (f folder) below(p *Program, threshold int64) *Program {
	folded := *p
	folded.Body = f.body(p.Body, threshold)
	return &folded
}

func (f folder) body(list []*Node, threshold int64) []*Node {
	var out []*Node
	var small *Node // that is being summed up
	for branches := range chains(list) {
		if f.heaviest(branches) < threshold {
			if small == nil {
				small = &Node{ID: branches[0].ID, Kind: KindOther}
				out = append(out, small)
			}
			for _, n := range branches {
				small.take(n)
				if f.paths != nil {
					small.takePaths(n)
				}
			}
			continue
		}
		small = nil
		for _, n := range branches {
			kept := *n
			kept.Body = f.body(n.Body, threshold)
			out = append(out, &kept)
		}
	}
	for _, n := range out {
		if n.Kind == KindOther {
			n.Paths, n.After = distinct(n.Paths), distinct(n.After)
		}
	}
	return out
}

func distinct(list []int) []int {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// takePaths adds the call paths of a line, with what lies in it, to those of what was folded.
func (o *Node) takePaths(n *Node) {
	o.Paths, o.After = append(o.Paths, n.Paths...), append(o.After, n.After...)
	for _, pair := range n.Around {
		o.After = append(o.After, pair[1])
	}
	for _, x := range n.Body {
		o.takePaths(x)
	}
}

// take adds a line, with what lies in it, to what was folded.
func (o *Node) take(n *Node) {
	o.Lines += max(1, n.Lines)
	if n.Kind == KindMPI || n.Kind == KindOther {
		o.Count += n.Count
	}
	o.Share += n.Share
	o.ComputeNS += n.ComputeNS
	o.MPINS += n.MPINS
	o.LateNS += n.LateNS
	for _, x := range n.Body {
		o.take(x)
	}
}

// chains are the lines of a body, an if together with what stands behind it as else.
func chains(list []*Node) func(yield func([]*Node) bool) {
	return func(yield func([]*Node) bool) {
		for i := 0; i < len(list); {
			end := i + 1
			for end < len(list) && list[end].Else {
				end++
			}
			if !yield(list[i:end]) {
				return
			}
			i = end
		}
	}
}
