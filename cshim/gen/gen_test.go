package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommittedFilesAreCurrent(t *testing.T) {
	files, err := render()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the table gives; run make generate", path)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const good = "1 MPI_Send point-to-point 50000001 1 4 buf count\n"
	if _, err := parse(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, line, want string }{
		{"id twice", "1 MPI_Recv point-to-point 50000001 2 3 buf", "has the id of MPI_Send"},
		{"value twice", "2 MPI_Recv point-to-point 50000001 1 3 buf", "has the Paraver value of MPI_Send"},
		{"id zero", "0 MPI_Recv point-to-point 50000001 2 3 buf", "bad id"},
		{"id too large", "65536 MPI_Recv point-to-point 50000001 2 3 buf", "bad id"},
		{"name", "2 Recv point-to-point 50000001 2 3 buf", "bad name"},
		{"class", "2 MPI_Recv p2p 50000001 2 3 buf", "bad class"},
		{"own value by hand", "2 MPI_Recv point-to-point 50000001 1002 3 buf", "bad event value"},
		{"parameter twice", "2 MPI_Recv point-to-point 50000001 2 3 buf buf", "two parameters"},
		{"role", "2 MPI_Recv point-to-point 50000001 2 3 buffer", "bad parameter"},
		{"short", "2 MPI_Recv point-to-point", "3 fields"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(good + c.line)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "calls.txt:2") {
				t.Errorf("got %v, want calls.txt:2 and %q", err, c.want)
			}
		})
	}
}
