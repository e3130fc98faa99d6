package trace

import (
	"cmp"
	"slices"
)

// A CodeFunction is what the machine code of a function says of its loops and of the order of its calls. Module,
// BuildID and Entry identify it; its sites are the Offsets of Frames.
type CodeFunction struct {
	Module  string // file name, as that of a Frame
	BuildID string
	Entry   uint64 // offset in the module; 0 = no function is known at some return addresses, or at all

	Refused string // why nothing is known of its code; empty = the rest says it. Otherwise it has sites alone, if any.
	Loops   []CodeLoop
	Sites   []CodeSite // by return address
	// Bit matrices: [0] of the function, [1+l] of loop l. Rows and columns are the sites that lie in it, in the order
	// of Sites, row behind row, the least bit of a byte first. Bit (a, b): after the call at a the one at b can come,
	// next or later, in one activation; of a loop within it, without passing its header.
	Follows [][]byte
	// Next are, of each site, then of the header of each loop, then of the entry: which of these come next, without
	// another one between, by their places here; the end of the function has that of the entry. Skip are those
	// besides, where a loop that holds calls makes no trip. nil = not known.
	Next, Skip [][]int32
}

// AmbiguousModule is why nothing is known of the functions of a module (that of entry 0 has it) whose name several
// files have without a build id, so that they cannot be distinguished.
const AmbiguousModule = "several files have this name and no build id"

// A CodeLoop is a loop of a function. Outer ones stand before inner ones.
type CodeLoop struct {
	Parent int // index into Loops; -1 = the function's body
	File   string
	Line   int         // of its header; 0 = unknown
	Scopes []CodeScope // that are inlined round its header, outermost first
}

// A CodeScope is a function that is inlined where it is called.
type CodeScope struct {
	Function string
	CallFile string
	CallLine int // 0 = unknown
}

// A CodeSite is a call, or a tail call: a jump out of the function, which calls another one in its place. That one
// returns to where the function was called, so that a tail call is on no call path.
type CodeSite struct {
	Offset uint64 // of the return address, in the module; of a tail call of what is behind the jump
	Loop   int    // index of the innermost one round it; -1 = none
	Column int    // in its line; 0 = unknown
	Target uint64 // entry of the function that is called, in the module; 0 = unknown, or in another one
	Name   string // symbol that the dynamic linker looks up for it; of calls that of MPI functions only; empty = unknown
	Tail   bool
	Place  *Frame // of a tail call: what the frame would be if it were a call; nil = it is none
}

// Within counts the sites that lie in the function and in each loop: [0] and [1+l].
func (c *CodeFunction) Within() []int {
	count := make([]int, 1+len(c.Loops))
	for _, s := range c.Sites {
		count[1+s.Loop]++
	}
	for l := len(c.Loops) - 1; l >= 0; l-- {
		count[1+c.Loops[l].Parent] += count[1+l]
	}
	return count
}

// Only returns the function with the sites that are wanted, and with the loops round these.
func (c *CodeFunction) Only(wanted func(offset uint64) bool) CodeFunction {
	f := *c
	f.Loops, f.Sites, f.Follows = nil, nil, nil
	keep := make([]bool, len(c.Sites))
	number := make([]int, 1+len(c.Loops)) // by 1+loop: its number then, 0 = not kept
	for i, s := range c.Sites {
		if keep[i] = wanted(s.Offset); !keep[i] {
			continue
		}
		for l := s.Loop; l >= 0 && number[1+l] == 0; l = c.Loops[l].Parent {
			number[1+l] = 1
		}
	}
	for l := range c.Loops {
		if number[1+l] == 0 {
			continue
		}
		x := c.Loops[l]
		x.Parent = number[1+x.Parent] - 1
		f.Loops = append(f.Loops, x)
		number[1+l] = len(f.Loops)
	}
	in := make([][]int, 1+len(c.Loops)) // by 1+loop: which of the sites in it are kept
	size := make([]int, 1+len(c.Loops))
	for i, s := range c.Sites {
		for l := s.Loop; ; l = c.Loops[l].Parent {
			if keep[i] {
				in[1+l] = append(in[1+l], size[1+l])
			}
			size[1+l]++
			if l < 0 {
				break
			}
		}
		if keep[i] {
			s.Loop = number[1+s.Loop] - 1
			f.Sites = append(f.Sites, s)
		}
	}
	for l, matrix := range c.Follows {
		if l == 0 || number[l] > 0 {
			f.Follows = append(f.Follows, selected(matrix, size[l], in[l]))
		}
	}
	for l := range c.Loops {
		keep = append(keep, number[1+l] > 0)
	}
	if c.Next == nil {
		return f
	}
	keep = append(keep, true)
	all := make([][]int32, len(c.Next))
	for i := range all {
		all[i] = slices.Concat(c.Next[i], c.Skip[i])
	}
	f.Next, f.Skip = nextOf(c.Next, keep), nextOf(all, keep)
	for i, list := range f.Skip {
		f.Skip[i] = slices.DeleteFunc(list, func(to int32) bool { _, is := slices.BinarySearch(f.Next[i], to); return is })
	}
	return f
}

// nextOf is what comes next where only some are kept: what comes after another one comes in its place.
func nextOf(next [][]int32, keep []bool) (few [][]int32) {
	place := make([]int32, len(keep)) // -1 = not kept
	count := int32(0)
	for k := range place {
		place[k] = -1
		if keep[k] {
			place[k] = count
			count++
		}
	}
	seen := make([]int, len(next))
	for k := range next {
		if place[k] < 0 {
			continue
		}
		var list []int32
		for open := []int32{int32(k)}; len(open) > 0; {
			from := open[len(open)-1]
			open = open[:len(open)-1]
			for _, to := range next[from] {
				switch {
				case seen[to] == k+1:
					continue
				case place[to] >= 0:
					list = append(list, place[to])
				default:
					open = append(open, to)
				}
				seen[to] = k + 1
			}
		}
		slices.Sort(list)
		few = append(few, list)
	}
	return few
}

// selected is a matrix of size rows with some of its rows and columns.
func selected(matrix []byte, size int, rows []int) []byte {
	few := make([]byte, (len(rows)*len(rows)+7)/8)
	for i, a := range rows {
		for k, b := range rows {
			if from := a*size + b; matrix[from/8]>>(from%8)&1 != 0 {
				to := i*len(rows) + k
				few[to/8] |= 1 << (to % 8)
			}
		}
	}
	return few
}

// CodeOn returns of functions those that make calls on call paths, with these calls and with tail calls; those with
// tail calls that these reach; and where no function is known, those of the modules of frames.
func CodeOn(paths []CallPath, functions []CodeFunction) (on []CodeFunction) {
	if len(functions) == 0 {
		return nil
	}
	type module struct{ name, buildID string }
	offsets := make(map[module]map[uint64]bool)
	for _, p := range paths {
		for i := range p.Frames {
			f := &p.Frames[i]
			if f.Module == "" {
				continue
			}
			m := module{f.Module, f.BuildID}
			if offsets[m] == nil {
				offsets[m] = make(map[uint64]bool)
			}
			offsets[m][f.Offset] = true
		}
	}
	kept := withTails(functions, func(c *CodeFunction, offset uint64) bool { return offsets[module{c.Module, c.BuildID}][offset] })
	for i := range functions {
		c := &functions[i]
		here := offsets[module{c.Module, c.BuildID}]
		f := c.Only(func(offset uint64) bool { return here[offset] || kept[i] && c.tail(offset) })
		if len(f.Sites) > 0 || len(c.Sites) == 0 && c.Refused != "" && here != nil {
			on = append(on, f)
		}
	}
	return on
}

// tail reports whether a site is a tail call.
func (c *CodeFunction) tail(offset uint64) bool {
	i, ok := slices.BinarySearchFunc(c.Sites, offset, func(s CodeSite, at uint64) int { return cmp.Compare(s.Offset, at) })
	return ok && c.Sites[i].Tail
}

// withTails finds the functions whose tail calls a call path can lack: those that have sites on one, and what these and
// their tail calls call.
func withTails(functions []CodeFunction, onPath func(c *CodeFunction, offset uint64) bool) []bool {
	type key struct {
		module, buildID string
		entry           uint64
	}
	number := make(map[key]int, len(functions))
	for i := range functions {
		number[key{functions[i].Module, functions[i].BuildID, functions[i].Entry}] = i
	}
	kept := make([]bool, len(functions))
	var left []int
	keep := func(i int) {
		if !kept[i] {
			kept[i] = true
			left = append(left, i)
		}
	}
	for i := range functions {
		if c := &functions[i]; slices.ContainsFunc(c.Sites, func(s CodeSite) bool { return onPath(c, s.Offset) }) {
			keep(i)
		}
	}
	for len(left) > 0 {
		c := &functions[left[len(left)-1]]
		left = left[:len(left)-1]
		for _, s := range c.Sites {
			if s.Target == 0 || !s.Tail && !onPath(c, s.Offset) {
				continue
			}
			if i, ok := number[key{c.Module, c.BuildID, s.Target}]; ok {
				keep(i)
			}
		}
	}
	return kept
}
