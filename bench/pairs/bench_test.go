package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A torus has an edge for each rank and dimension, a stencil half of 26 neighbours for each rank.
func TestGraphs(t *testing.T) {
	if n := len(torus(64, 4)); n != 3*64 {
		t.Errorf("a torus of 4^3 has %d edges", n)
	}
	if n := len(stencil(125)); n != 13*125 {
		t.Errorf("a stencil of 5^3 has %d edges", n)
	}
}

// Both forms of parts are read.
func TestReadParts(t *testing.T) {
	for text, want := range map[string][]int32{"2\n0\n1\n": {2, 0, 1}, "3\n0\t2\n2\t1\n1\t0\n": {2, 0, 1}} {
		name := filepath.Join(t.TempDir(), "parts")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if of, err := readParts(name, 3); err != nil || !slices.Equal(of, want) {
			t.Errorf("%q: %v, %v", text, of, err)
		}
	}
}
