package levels

import (
	"fmt"

	"moriens/trace"
)

// Where neither a symbol nor the machine code says in which function a call is, call paths do: what is called from one
// place is one function. Through a pointer it may be several; those are one then. So are those of a module that are on
// call paths by themselves, of which nothing says that they are several.

// A frameID is a return address in a module.
type frameID struct {
	module, buildID string
	offset          uint64
}

// unnamed puts return addresses of functions without a name together.
type unnamed struct{ of map[frameID]frameID }

// idOf returns what identifies a frame, and whether its function has to be found like this.
func (c *Codes) idOf(x *trace.Frame) (id frameID, unnamed bool) {
	id = frameID{x.Module, x.BuildID, x.Offset}
	if x.Module == "" || x.Function != "" || len(x.Inlined) > 0 {
		return id, false
	}
	holder, _ := c.At(x)
	return id, holder == nil || holder.Entry == 0
}

func unnamedOf(paths []trace.CallPath, codes *Codes) *unnamed {
	u := &unnamed{make(map[frameID]frameID)}
	first := make(map[[2]frameID]frameID) // by the caller and the module of what it calls
	for i := range paths {
		frames := paths[i].Frames
		for k := range frames {
			id, is := codes.idOf(&frames[k])
			if !is {
				continue
			}
			u.root(id)
			called := [2]frameID{{}, {module: id.module, buildID: id.buildID}}
			if k+1 < len(frames) {
				caller := &frames[k+1]
				called[0] = frameID{caller.Module, caller.BuildID, caller.Offset}
				if !caller.Located() {
					continue
				}
			} else if k > 0 {
				continue
			}
			if other, ok := first[called]; ok {
				u.join(other, id)
			} else {
				first[called] = id
			}
		}
	}
	return u
}

// root is the least return address of those that are together.
func (u *unnamed) root(id frameID) frameID {
	up, ok := u.of[id]
	if !ok || up == id {
		u.of[id] = id
		return id
	}
	up = u.root(up)
	u.of[id] = up
	return up
}

func (u *unnamed) join(a, b frameID) {
	a, b = u.root(a), u.root(b)
	if a.offset > b.offset {
		a, b = b, a
	}
	u.of[b] = a
}

// name is what a function without one is called: by its first return address.
func (f frameID) name() string { return fmt.Sprintf("%s+%#x", f.module, f.offset) }
