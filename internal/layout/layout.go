// Package layout holds the tests of the tree itself: import rules, the Makefile's lists, who may open files by name,
// the width of comments, and how much of the end of a run flows backwards.
//
//	cmd, bench → app → conclude → collector | agent → analysis | trace → internal → proto
package layout
