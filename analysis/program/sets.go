package program

import (
	"math/bits"
	"slices"
)

// A set is executions of a body, by group: bits of their numbers.
type set [][]uint64

// universe is all executions of a body.
func (s *solver) universe(b int32) set {
	u := make(set, len(s.groups))
	for g := range s.groups {
		n := s.groups[g].Tree.Executions[b]
		u[g] = make([]uint64, (n+63)/64)
		for i := range u[g] {
			u[g][i] = ^uint64(0)
		}
		if n%64 != 0 {
			u[g][len(u[g])-1] = 1<<(n%64) - 1
		}
	}
	return u
}

// in is the executions of its body in which an item was executed.
func (s *solver) in(i int32) set {
	b := s.lay.items[i].body
	c := make(set, len(s.groups))
	for g := range s.groups {
		t := &s.groups[g].Tree
		c[g] = make([]uint64, (t.Executions[b]+63)/64)
		t.Came[i].all(func(n uint32) bool {
			c[g][n/64] |= 1 << (n % 64)
			return true
		})
	}
	return c
}

func (s set) equal(o set) bool {
	return slices.EqualFunc(s, o, func(a, b []uint64) bool { return slices.Equal(a, b) })
}

// within reports whether all of s is in o.
func (s set) within(o set) bool {
	for g := range s {
		for i, x := range s[g] {
			if x&^o[g][i] != 0 {
				return false
			}
		}
	}
	return true
}

func (s set) apart(o set) bool {
	for g := range s {
		for i, x := range s[g] {
			if x&o[g][i] != 0 {
				return false
			}
		}
	}
	return true
}

func (s set) and(o set) set { return s.each(o, func(a, b uint64) uint64 { return a & b }) }
func (s set) or(o set) set  { return s.each(o, func(a, b uint64) uint64 { return a | b }) }

func (s set) each(o set, op func(a, b uint64) uint64) set {
	r := make(set, len(s))
	for g := range s {
		r[g] = make([]uint64, len(s[g]))
		for i := range r[g] {
			r[g][i] = op(s[g][i], o[g][i])
		}
	}
	return r
}

func count(list []uint64) int64 {
	n := 0
	for _, x := range list {
		n += bits.OnesCount64(x)
	}
	return int64(n)
}

// all yields the numbers of a list.
func all(list []uint64) func(yield func(n uint32) bool) {
	return func(yield func(n uint32) bool) {
		for i, x := range list {
			for ; x != 0; x &= x - 1 {
				if !yield(uint32(i*64 + bits.TrailingZeros64(x))) {
					return
				}
			}
		}
	}
}

func has(list []uint64, n uint32) bool { return list[n/64]>>(n%64)&1 != 0 }
