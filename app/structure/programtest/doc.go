// Package programtest checks the structure that was inferred of a program against an outline of what is planted in it.
// Only tests import it; testdata/programs/README.md has the form of outlines.
//
// The check is of what is said, not of how: conditions are compared by the ranks and trips that they hold for, peers
// by the ranks that they name, so that "rank != 0" is "rank == 1" where there are two ranks. All loops, calls of
// functions, MPI calls and conditions of an outline must be there with these figures, in this nesting and this order,
// and no others. Computation may be anywhere. Functions that were inlined and are not in the outline are no level of
// it.
package programtest
