package calltree

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Different keys never get one name, equal ones always do, whatever rendering loses.
func TestDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Key {
			return Key{rapid.SampledFrom([]Type{MPI, Function}).Draw(t, "type"), rapid.SampledFrom([]string{"a", "A", "a (2)", "A (2)", "a (2) (2)", ""}).Draw(t, "name")}
		})).Draw(t, "keys")
		of := make(map[Key]string)
		key := make(map[string]Key)
		for i, name := range Distinct(keys, func(k Key) string { return strings.ToLower(k.Name) }) {
			k := keys[i]
			if other, ok := of[k]; ok && other != name {
				t.Errorf("%v is %q and %q", k, other, name)
			}
			if other, ok := key[name]; ok && other != k {
				t.Errorf("%q is of %v and %v", name, other, k)
			}
			of[k], key[name] = name, k
		}
	})
}

func TestPhasePath(t *testing.T) {
	tree := &Tree{Nodes: []Node{{Type: Program, Parent: -1}, {Type: Phase, Name: "a/b", Parent: 0}, {Type: Function, Name: "f", Parent: 1}, {Type: Phase, Name: `c\`, Parent: 2}, {Type: MPI, Name: "MPI_Send", Parent: 3}}}
	for i, want := range []string{"", `a\/b`, `a\/b`, `a\/b/c\\`, `a\/b/c\\`} {
		if got := tree.PhasePath(int32(i)); got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}

func TestSum(t *testing.T) {
	for _, tt := range [][3]int64{{1, 2, 3}, {math.MaxInt64, 0, math.MaxInt64}, {math.MaxInt64 - 1, 5, math.MaxInt64}, {5, -7, -2}, {math.MaxInt64, -1, math.MaxInt64 - 1}} {
		if got := Sum(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%d + %d = %d, want %d", tt[0], tt[1], got, tt[2])
		}
	}
}
