// Package layout holds the tests of the tree itself: import rules, the Makefile's lists, who may open files by name,
// words and width of comments, how much of the end of a run flows backwards, that no headers or files of the page need
// each other in a circle, how many parameters a function may have, what kind of tests a file holds, that generated docs
// and formats are current, and the version.
//
//	cmd, bench → app → conclude → collector | agent → analysis | trace → internal → proto
package layout
