// Package layout holds the tests of the tree itself: who may import whom, what the Makefile's lists must name, who may
// open files by name, and how much of the end of a run flows backwards.
//
//	cmd, bench → app → conclude → collector | agent → analysis | trace → internal → proto
package layout
