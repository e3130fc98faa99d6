package store

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"

	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// A codeKey is what identifies a function.
type codeKey struct {
	module, buildID string
	entry           uint64
}

// codes are what machine code says of functions.
type codes map[codeKey]trace.CodeFunction

func (s *Store) addCode(m *moriensv1.Code) error {
	list, err := codeOf(m)
	if err != nil {
		return fmt.Errorf("machine code of %q: %w", m.Module, err)
	}
	for i := range list {
		s.codes.add(list[i])
	}
	return nil
}

// codeOf validates what an agent has read.
func codeOf(m *moriensv1.Code) (list []trace.CodeFunction, err error) {
	at := frameOf(&moriensv1.Frame{Module: m.Module, BuildId: m.BuildId})
	if at.Module == "" {
		return nil, fmt.Errorf("%d functions of no module", len(m.Functions))
	}
	for _, x := range m.Functions {
		f := trace.CodeFunction{Module: at.Module, BuildID: at.BuildID, Entry: x.Entry, Refused: x.Refused, Follows: x.Follows}
		if err := fillCode(&f, x); err != nil {
			return nil, fmt.Errorf("function at %#x: %w", x.Entry, err)
		}
		list = append(list, f)
	}
	return list, nil
}

func fillCode(f *trace.CodeFunction, x *moriensv1.CodeFunction) error {
	for i, l := range x.Loops {
		if int(l.Parent) > i || l.Line > math.MaxInt32 {
			return fmt.Errorf("loop %d lies in loop %d, at line %d", i+1, l.Parent, l.Line)
		}
		loop := trace.CodeLoop{Parent: int(l.Parent) - 1, File: l.File, Line: int(l.Line)}
		for _, s := range l.Scopes {
			if s.Line > math.MaxInt32 {
				return fmt.Errorf("a scope of loop %d at line %d", i+1, s.Line)
			}
			loop.Scopes = append(loop.Scopes, trace.CodeScope{Function: s.Function, CallFile: s.File, CallLine: int(s.Line)})
		}
		f.Loops = append(f.Loops, loop)
	}
	for i, s := range x.Sites {
		switch {
		case i > 0 && s.Offset <= x.Sites[i-1].Offset:
			return fmt.Errorf("a call at %#x after one at %#x", s.Offset, x.Sites[i-1].Offset)
		case int(s.Loop) > len(x.Loops) || s.Column > math.MaxInt32:
			return fmt.Errorf("a call in loop %d of %d, in column %d", s.Loop, len(x.Loops), s.Column)
		case !s.Tail && s.Place != nil:
			return fmt.Errorf("the call at %#x has a place as a tail call has", s.Offset)
		}
		site := trace.CodeSite{Offset: s.Offset, Loop: int(s.Loop) - 1, Column: int(s.Column), Target: s.Target, Name: s.Name, Tail: s.Tail}
		if s.Tail {
			site.Place = &trace.Frame{Module: f.Module, BuildID: f.BuildID, Offset: s.Offset}
			if p := s.Place; p != nil {
				site.Place.Function, site.Place.File, site.Place.Line = p.Function, p.File, int(p.Line)
				site.Place.FirstFile, site.Place.FirstLine, site.Place.Inlined = p.FirstFile, int(p.FirstLine), scopesOf(p.Inlined)
			}
		}
		f.Sites = append(f.Sites, site)
	}
	if x.Refused != "" {
		if len(x.Loops) > 0 || len(x.Follows) > 0 || len(x.Next) > 0 {
			return fmt.Errorf("it has %d loops and %d matrices though nothing is known of it", len(x.Loops), len(x.Follows))
		}
		return nil
	}
	within := f.Within()
	if len(x.Follows) != len(within) || len(x.Sites) == 0 {
		return fmt.Errorf("%d matrices of %d loops and %d calls", len(x.Follows), len(x.Loops), len(x.Sites))
	}
	for i, n := range within {
		if n > math.MaxInt32 || len(x.Follows[i]) != (n*n+7)/8 {
			return fmt.Errorf("matrix %d has %d bytes for %d calls", i, len(x.Follows[i]), n)
		}
	}
	return fillNext(f, x)
}

func fillNext(f *trace.CodeFunction, x *moriensv1.CodeFunction) error {
	end := len(f.Sites) + len(f.Loops)
	if len(x.Next) != 0 && len(x.Next) != end+1 {
		return fmt.Errorf("what comes next after %d of %d calls and loops", len(x.Next), end)
	}
	for i, n := range x.Next {
		var lists [2][]int32
		for way, next := range [][]uint32{n.To, n.Skip} {
			for k, to := range next {
				if int64(to) > int64(end) || k > 0 && to <= next[k-1] {
					return fmt.Errorf("%d comes next after %d of %d calls and loops", to, i, end)
				}
				lists[way] = append(lists[way], int32(to))
			}
		}
		f.Next, f.Skip = append(f.Next, lists[0]), append(f.Skip, lists[1])
	}
	return nil
}

// add keeps of two reports on a function the one that says more, and of equal ones what each knows of lines. Nodes may
// differ: not all have the debugging information, and of a function of very many calls each reports those on its own
// call paths only.
func (c codes) add(f trace.CodeFunction) {
	key := codeKey{f.Module, f.BuildID, f.Entry}
	was, known := c[key]
	if !known {
		c[key] = f
		return
	}
	switch d := compareCode(&f, &was); {
	case was.Refused == trace.AmbiguousModule:
	case f.Refused == trace.AmbiguousModule:
		c[key] = f
	case d < 0:
		c[key] = f
	case d == 0:
		c[key] = joinCode(was, f)
	}
}

// compareCode orders reports on one function by how much they say, and those that say as much in any fixed order.
func compareCode(a, b *trace.CodeFunction) int {
	refused := func(f *trace.CodeFunction) int { return min(len(f.Refused), 1) }
	return cmp.Or(cmp.Compare(refused(a), refused(b)), cmp.Compare(len(b.Sites), len(a.Sites)), cmp.Compare(len(b.Loops), len(a.Loops)),
		cmp.Compare(a.Refused, b.Refused),
		slices.CompareFunc(a.Sites, b.Sites, func(x, y trace.CodeSite) int {
			return cmp.Or(cmp.Compare(x.Offset, y.Offset), cmp.Compare(x.Loop, y.Loop), cmp.Compare(x.Target, y.Target), cmp.Compare(x.Name, y.Name),
				compareBool(x.Tail, y.Tail))
		}),
		slices.CompareFunc(a.Loops, b.Loops, func(x, y trace.CodeLoop) int { return cmp.Compare(x.Parent, y.Parent) }),
		slices.CompareFunc(a.Follows, b.Follows, slices.Compare[[]byte]), slices.CompareFunc(a.Next, b.Next, slices.Compare[[]int32]),
		slices.CompareFunc(a.Skip, b.Skip, slices.Compare[[]int32]))
}

// joinCode joins what two equal reports know of lines.
func joinCode(a, b trace.CodeFunction) trace.CodeFunction {
	a.Sites, a.Loops = slices.Clone(a.Sites), slices.Clone(a.Loops)
	for i := range a.Sites {
		a.Sites[i].Column = max(a.Sites[i].Column, b.Sites[i].Column)
		if x, y := a.Sites[i].Place, b.Sites[i].Place; x != nil && y != nil && comparePlaces(*y, *x) < 0 {
			a.Sites[i].Place = y
		}
	}
	for i := range a.Loops {
		x, y := &a.Loops[i], &b.Loops[i]
		lacks := func(l *trace.CodeLoop) int { return 1 - min(l.Line, 1) }
		if cmp.Or(cmp.Compare(lacks(y), lacks(x)), cmp.Compare(len(x.Scopes), len(y.Scopes)), cmp.Compare(y.File, x.File), cmp.Compare(y.Line, x.Line),
			slices.CompareFunc(y.Scopes, x.Scopes, compareCodeScopes)) < 0 {
			*x = *y
		}
	}
	return a
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func compareCodeScopes(a, b trace.CodeScope) int {
	return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.CallFile, b.CallFile), cmp.Compare(a.CallLine, b.CallLine))
}

// sorted lists the functions by what identifies them. Those of an ambiguous module are none.
func (c codes) sorted() []trace.CodeFunction {
	list := slices.SortedFunc(maps.Values(c), func(a, b trace.CodeFunction) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.BuildID, b.BuildID), cmp.Compare(a.Entry, b.Entry))
	})
	return slices.DeleteFunc(list, func(f trace.CodeFunction) bool {
		return f.Entry != 0 && c[codeKey{f.Module, f.BuildID, 0}].Refused == trace.AmbiguousModule
	})
}

// encode makes messages of them, one for each module.
func (c codes) encode() (list []*moriensv1.Code) {
	for _, f := range c.sorted() {
		id, _ := hex.DecodeString(f.BuildID) // it was made of bytes
		if n := len(list); n == 0 || list[n-1].Module != f.Module || string(list[n-1].BuildId) != string(id) {
			list = append(list, &moriensv1.Code{Module: f.Module, BuildId: id})
		}
		m := list[len(list)-1]
		m.Functions = append(m.Functions, encodeCode(&f))
	}
	return list
}

func encodeCode(f *trace.CodeFunction) *moriensv1.CodeFunction {
	x := &moriensv1.CodeFunction{Entry: f.Entry, Refused: f.Refused, Follows: f.Follows}
	for _, l := range f.Loops {
		loop := &moriensv1.CodeLoop{Parent: uint32(l.Parent + 1), File: l.File, Line: uint32(l.Line)}
		for _, s := range l.Scopes {
			loop.Scopes = append(loop.Scopes, &moriensv1.CodeScope{Function: s.Function, File: s.CallFile, Line: uint32(s.CallLine)})
		}
		x.Loops = append(x.Loops, loop)
	}
	for _, s := range f.Sites {
		site := &moriensv1.CodeSite{
			Offset: s.Offset, Loop: uint32(s.Loop + 1), Column: uint32(s.Column), Target: s.Target, Name: s.Name, Tail: s.Tail,
		}
		if p := s.Place; p != nil {
			site.Place = &moriensv1.Frame{
				Function: p.Function, File: p.File, Line: uint32(p.Line), FirstFile: p.FirstFile, FirstLine: uint32(p.FirstLine), Inlined: encodeScopes(p.Inlined),
			}
		}
		x.Sites = append(x.Sites, site)
	}
	for i := range f.Next {
		n := new(moriensv1.CodeNext)
		for _, to := range f.Next[i] {
			n.To = append(n.To, uint32(to))
		}
		for _, to := range f.Skip[i] {
			n.Skip = append(n.Skip, uint32(to))
		}
		x.Next = append(x.Next, n)
	}
	return x
}
