package main

import (
	"testing"

	"moriens/app/profiling"
)

// What is planted can be read: all questions have an answer with all ranks. The figures are not checked.
func TestPlant(t *testing.T) {
	dir := t.TempDir()
	rows, err := plant(dir, 50)
	if err != nil || rows != 50*(phases*(calls+bursts+1)+2) {
		t.Fatalf("%d rows, %v", rows, err)
	}
	a, err := profiling.Ask(profiling.Question{Dir: dir, By: profiling.ByCallPath, Nested: true, Found: -1, Top: -1})
	if err != nil || a.Table.Ranks != 50 || len(a.Table.Rows) < bursts {
		t.Fatalf("%+v, %v", a, err)
	}
}
