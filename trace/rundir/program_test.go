package rundir

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moriens/internal/hint"
	"moriens/trace/tracetest"
)

func writeProgram(t *testing.T, s *Structured) (dir string, files []File, err error) {
	t.Helper()
	dir = t.TempDir()
	m, c := filled()
	levels := filledLevels()
	levels.Program = s
	files, err = Write(&Content{Run: tracetest.Small(), Manifest: m, Clusters: c, Levels: levels}, dir)
	return dir, files, err
}

// The program is written as it is given, its text so that it can be shown, and read again; the manifest lists both.
func TestProgram(t *testing.T) {
	json := []byte(`{"format": 1}` + "\n")
	dir, files, err := writeProgram(t, &Structured{JSON: json, Text: "FOR i\n\x1b[2J\n"})
	if err != nil {
		t.Fatal(err)
	}
	sizes := make(map[string]int64)
	for _, f := range files {
		sizes[f.Name] = f.Bytes
	}
	if back, err := ReadProgram(dir); err != nil || !bytes.Equal(back, json) || sizes[ProgramFile] != int64(len(json)) {
		t.Errorf("%q, %d bytes: %v", back, sizes[ProgramFile], err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, ProgramTextFile)); err != nil || string(text) != "FOR i\n\\x1b[2J\n" || sizes[ProgramTextFile] != int64(len(text)) {
		t.Errorf("%q, %d bytes: %v", text, sizes[ProgramTextFile], err)
	}
	if _, err := ReadProgram(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a program: %v", err)
	}
	if err := os.Truncate(filepath.Join(dir, ProgramFile), ProgramBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadProgram(dir); err == nil || !strings.Contains(err.Error(), "program.json: ") || hint.Of(err) != AdviseDamage {
		t.Errorf("too large: %v", err)
	}
	if _, _, err := writeProgram(t, &Structured{JSON: make([]byte, ProgramBytes+1)}); err == nil || !strings.Contains(err.Error(), "program.json: 1048577 bytes, 1048576 at most") {
		t.Errorf("too large to be written: %v", err)
	}
}
