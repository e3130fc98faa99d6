// Command gen writes everything that follows from the table of MPI calls, calls.txt: the wrappers and call ids of
// libmoriens.so and the ids, names and Paraver facts of package mpicall; and with functions.txt, the list of the
// standard's functions, the page docs/coverage.md. Its argument is the root of the repository.
package main

//go:generate go run . ../..

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed calls.txt
var table string

//go:embed functions.txt
var standard string

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen ROOT")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	files, err := render()
	if err != nil {
		return err
	}
	for path, content := range files {
		if err := os.WriteFile(filepath.Join(root, path), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// render gives the content of every generated file by its path in the repository.
func render() (map[string][]byte, error) {
	calls, err := parse(table)
	if err != nil {
		return nil, err
	}
	functions, err := parseFunctions(standard, calls)
	if err != nil {
		return nil, err
	}
	goFile, err := renderGo(calls)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"cshim/include/mpi_calls_gen.h": renderIDs(calls),
		"internal/mpicall/calls_gen.go": goFile,
		"docs/coverage.md":              renderPage(calls, functions),
	}
	for _, class := range classes {
		own := class.of(calls)
		files["cshim/src/c_"+class.fileName()+"_gen.c"] = renderWrappers(own)
		files["cshim/src/fortran_"+class.fileName()+"_gen.c"] = renderFortran(own)
	}
	return files, nil
}
