package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// fortranSteps are what Fortran wrappers do besides, as extraSteps are for C ones.
var fortranSteps = map[string]extraStep{
	"MPI_Finalize":         {after: "moriens_finalized(&span)"},
	"MPI_Abort":            {before: "moriens_aborting(&span)"},
	"MPI_Pcontrol":         {after: "moriens_controlled(&span, *(const int *)level)"},
	"MPI_Session_init":     {returned: "moriens_session_opened_fortran(&span, session, ierror)"},
	"MPI_Session_finalize": {before: "moriens_session_ending_fortran(&span, session)", after: "moriens_session_closed(&span, moriens_fortran_error(ierror))"},
}

// twoPointers are the calls whose base address mpif.h and the mpi module offer as an integer and, under
// another symbol, as a C pointer (MPI-5.0, section 12.2).
var twoPointers = []string{"MPI_Win_allocate", "MPI_Win_allocate_shared"}

// fortranParams gives the arguments of a Fortran caller: the C binding's less argc and argv, the error
// code, and the length of every text. Other lengths that a compiler may add, for a buffer of characters,
// no library looks at.
func fortranParams(c call) []string {
	var params, lengths []string
	for _, p := range c.params {
		switch {
		case p == "argc" || p == "argv":
			continue
		case slices.Contains(texts, p):
			lengths = append(lengths, p+"_length")
		}
		params = append(params, p)
	}
	return append(append(params, "ierror"), lengths...)
}

// renderFortran writes the Fortran wrappers of the calls. A library has each function under one or more of
// these symbols: mpi_x_ and its other manglings, all of one meaning, for mpif.h and the mpi module;
// mpi_x_f08_ and mpi_x_f08ts_ for mpi_f08; MPICH's mpi_x_f08_large_ and mpi_x_f08ts_large_, the standard's
// mpi_x_c_f08_ and mpi_x_c_f08ts_ (MPI-5.0, section 19.1.5), for the large counts of mpi_f08.
func renderFortran(calls []call) []byte {
	var b bytes.Buffer
	b.WriteString(cHeader)
	if seldom(calls) {
		b.WriteString(smallWrappers)
	}
	b.WriteString("#include \"fortran.h\"\n")
	if has(calls, "MPI_Session_init") {
		b.WriteString("#include \"session.h\"\n")
	}
	for _, c := range calls {
		b.WriteByte('\n')
		lower := strings.ToLower(c.name)
		if base, large := strings.CutSuffix(lower, "_c"); large {
			for _, symbol := range []string{base + "_c_f08_", base + "_c_f08ts_", base + "_f08_large_", base + "_f08ts_large_"} {
				writeFortran(&b, c, symbol)
			}
			continue
		}
		writeFortran(&b, c, lower+"_")
		writeManglings(&b, c.name)
		if slices.Contains(twoPointers, c.name) {
			writeFortran(&b, c, lower+"_cptr_")
			writeManglings(&b, c.name+"_cptr")
		}
		writeFortran(&b, c, lower+"_f08_")
		writeFortran(&b, c, lower+"_f08ts_")
	}
	return b.Bytes()
}

func writeFortran(b *bytes.Buffer, c call, symbol string) {
	params := fortranParams(c)
	step, special := fortranSteps[c.name]
	m := meaningOf(c, reader{fortran: true, described: strings.Contains(symbol, "f08ts")})
	head := fmt.Sprintf("%s, %s,\n\t(%s),\n\t(%s)", c.name, symbol, parameterList(params), strings.Join(params, ", "))
	given, results := argument(m.atEntry()), argument(m.atExit())
	switch found := c.found(); {
	case found != "":
		fmt.Fprintf(b, "MORIENS_FORTRAN_POLL(%s,\n\t%s,\n\t%s,\n\t%s)\n", head, found, given, results)
	case special:
		fmt.Fprintf(b, "MORIENS_FORTRAN_STEPS(%s,\n\t%s, %s, %s)\n", head, stepOrNone(step.before), stepOrNone(step.returned), stepOrNone(step.after))
	case given == none && results == none:
		fmt.Fprintf(b, "MORIENS_FORTRAN_PLAIN(%s)\n", head)
	default:
		fmt.Fprintf(b, "MORIENS_FORTRAN(%s,\n\t%s,\n\t%s)\n", head, given, results)
	}
}

func stepOrNone(statement string) string {
	if statement == "" {
		return none
	}
	return statement
}

// writeManglings gives the wrapper mpi_x_ the other names that libraries have for the same function, but
// for mpi_x: no compiler for Linux calls it, and C leaves that name to programs, whose own mpi_init and the
// like we would take from them.
func writeManglings(b *bytes.Buffer, name string) {
	lower := strings.ToLower(name)
	fmt.Fprintf(b, "MORIENS_FORTRAN_NAMES(%s_, %s__, %s, %s_f, %s_f08)\n", lower, lower, strings.ToUpper(name), name, name)
}
