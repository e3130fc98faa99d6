//go:build !quick

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"moriens/internal/mpitest"
)

// TestOffers asks the libraries themselves for what functions.txt says that they offer.
func TestOffers(t *testing.T) {
	calls, err := parse(table)
	if err != nil {
		t.Fatal(err)
	}
	functions, err := parseFunctions(standard, calls)
	if err != nil {
		t.Fatal(err)
	}
	if len(functions) != 591 {
		t.Errorf("%d functions, MPI-5.0 has 591", len(functions))
	}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		has := symbols(t, mpi)
		for _, f := range functions {
			said := f.openMPI
			if mpi.Name == mpitest.MPICH.Name {
				said = f.mpich
			}
			if got := offered(f.name, has); got != said {
				t.Errorf("%s: the library offers %q, functions.txt says %q", f.name, got, said)
			}
		}
	})
}

// The libraries of which functions.txt speaks, by the names of their files.
var asked = []string{"libmpi.so.40.30.4", "libmpich.so.12.2.2"}

// symbols lists what the libraries export, and skips the test if they are of other versions.
func symbols(t *testing.T, mpi mpitest.MPI) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	known := false
	for _, path := range mpi.Libraries(t) {
		file, err := filepath.EvalSymlinks(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range asked {
			known = known || filepath.Base(file) == name
		}
		for name := range mpitest.Functions(t, path) {
			all[name] = true
		}
	}
	if !known {
		t.Skip("another version of the library")
	}
	return all
}

// offered gives the letters that functions.txt has for a function.
func offered(name string, has map[string]bool) string {
	lower := strings.ToLower(name)
	base, large := strings.CutSuffix(lower, "_c")
	var letters string
	if has[name] {
		letters += "c"
	}
	if !large && has[lower+"_"] {
		letters += "f"
	}
	if !large && (has[lower+"_f08_"] || has[lower+"_f08ts_"]) || large && (has[base+"_f08_large_"] || has[base+"_f08ts_large_"]) {
		letters += "8"
	}
	if letters == "" {
		return "-"
	}
	return letters
}

func TestFortranParams(t *testing.T) {
	for _, c := range []struct {
		call call
		want string
	}{
		{call{name: "MPI_Init", params: []string{"argc", "argv"}}, "ierror"},
		{call{name: "MPI_Init_thread", params: []string{"argc", "argv", "required", "provided"}}, "required provided ierror"},
		{call{name: "MPI_File_delete", params: []string{"filename", "info"}}, "filename info ierror filename_length"},
		{call{name: "MPI_Comm_spawn", params: []string{"command", "arguments", "maxprocs"}},
			"command arguments maxprocs ierror command_length arguments_length"},
	} {
		if got := strings.Join(fortranParams(c.call), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.call.name, got, c.want)
		}
	}
}
