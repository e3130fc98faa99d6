// Command gen writes everything that follows from the table of MPI calls, calls.txt: the wrappers
// and call ids of libmoriens.so, the ids, names and Paraver facts of package mpicall, and the page
// docs/mpi-calls.md. It takes the root of the repository as its argument.
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
	calls, err := parse(table)
	if err != nil {
		return err
	}
	files, err := render(calls)
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
func render(calls []call) (map[string][]byte, error) {
	goFile, err := renderGo(calls)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"cshim/include/mpi_calls_gen.h": renderIDs(calls),
		"cshim/src/wrappers_gen.c":      renderWrappers(calls),
		"internal/mpicall/calls_gen.go": goFile,
		"docs/mpi-calls.md":             renderPage(calls),
	}, nil
}
