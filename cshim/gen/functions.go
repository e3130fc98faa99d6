package main

import (
	"fmt"
	"slices"
	"strings"
)

// function is a function of the MPI standard, wrapped or not.
type function struct {
	name    string
	why     string // it is not wrapped; "wrapped" if it is
	openMPI string // offer of Open MPI 4.1.4: some of c, f, 8
	mpich   string // of MPICH 4.0.2
}

const wrapped = "wrapped"

// reasons are why a function is left alone.
var reasons = []struct{ name, what string }{
	{"query", "asks what the process knows already"},
	{"datatype", "builds or asks datatypes and statuses"},
	{"group", "sets of processes, computed locally"},
	{"info", "info objects"},
	{"attribute", "attributes and names of objects"},
	{"error", "error handlers, classes and texts"},
	{"memory", "allocates, or hands a buffer over"},
	{"computation", "computes in this process alone: packing, local reduction, operations"},
}

// parseFunctions reads functions.txt, which must name all of the table's calls, and no others, as wrapped.
func parseFunctions(text string, calls []call) ([]function, error) {
	var functions []function
	inTable := map[string]bool{}
	for _, c := range calls {
		inTable[c.name] = true
	}
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 4 {
			return nil, fmt.Errorf("functions.txt:%d: %d fields, want 4", i+1, len(fields))
		}
		f := function{fields[0], fields[1], fields[2], fields[3]}
		if f.why != wrapped && !slices.ContainsFunc(reasons, func(r struct{ name, what string }) bool { return r.name == f.why }) {
			return nil, fmt.Errorf("functions.txt:%d: %s: bad reason %q", i+1, f.name, f.why)
		}
		if inTable[f.name] != (f.why == wrapped) {
			return nil, fmt.Errorf("functions.txt:%d: %s is %q, the table of calls says otherwise", i+1, f.name, f.why)
		}
		delete(inTable, f.name)
		functions = append(functions, f)
	}
	for name := range inTable {
		return nil, fmt.Errorf("functions.txt: %s is missing", name)
	}
	return functions, nil
}
