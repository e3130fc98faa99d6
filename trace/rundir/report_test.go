package rundir

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moriens/trace/tracetest"
)

func writeWith(t *testing.T, dir string, report func(io.Writer, []byte) error) ([]File, *Manifest) {
	t.Helper()
	m, c := filled()
	files, err := Write(&Content{Run: tracetest.Small(), Manifest: m, Clusters: c, Report: report}, dir)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	return files, read
}

func entry(files []File, name string) *File {
	for i := range files {
		if files[i].Name == name {
			return &files[i]
		}
	}
	return nil
}

// The page gets the manifest as it is in its file, and adds nothing to the directory's size.
func TestReport(t *testing.T) {
	dir, without := t.TempDir(), t.TempDir()
	var given []byte
	files, m := writeWith(t, dir, func(w io.Writer, manifest []byte) error {
		given = bytes.Clone(manifest)
		_, err := io.WriteString(w, strings.Repeat("page ", 1000))
		return err
	})
	_, bare := writeWith(t, without, nil)
	if f := entry(files, ReportFile); f == nil || f.Bytes != 5000 {
		t.Errorf("reported as %v", f)
	}
	if f := entry(m.Files, ReportFile); f == nil || f.Bytes != 0 {
		t.Errorf("in the manifest as %v", f)
	}
	if text, err := os.ReadFile(filepath.Join(dir, ManifestFile)); err != nil || !bytes.Equal(text, given) {
		t.Errorf("the page has another manifest than the directory: %v", err)
	}
	if more := m.Reduction.Bytes - bare.Reduction.Bytes; more <= 0 || more > 200 {
		t.Errorf("the directory counts %d bytes more with a page of 5,000: its line in the manifest is no more than 200", more)
	}
	if _, err := WriteReport(dir, func(w io.Writer) error { _, err := io.WriteString(w, "page"); return err }); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := Read(dir); err != nil {
		t.Errorf("with a page that was written again: %v", err)
	}
	written, err := m.Written(dir)
	if f := entry(written, ReportFile); err != nil || f == nil || f.Bytes != 4 {
		t.Errorf("then listed as %v, %v", f, err)
	}
}

// A page that cannot be written costs no results.
func TestReportFails(t *testing.T) {
	for name, report := range map[string]func(io.Writer, []byte) error{
		"error": func(io.Writer, []byte) error { return errors.New("no page today") },
		"panic": func(io.Writer, []byte) error { panic("no page today") },
	} {
		dir := t.TempDir()
		files, m := writeWith(t, dir, report)
		if entry(files, ReportFile) != nil || entry(m.Files, ReportFile) != nil || entry(files, ManifestFile) == nil {
			t.Errorf("%s: files %v", name, files)
		}
		if last := m.Notes[len(m.Notes)-1]; !strings.Contains(last, "moriens report") || !strings.Contains(last, "no page today") {
			t.Errorf("%s: note %q", name, last)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ReportFile+"*")); len(left) > 0 {
			t.Errorf("%s: %v is there", name, left)
		}
		if _, _, _, err := Read(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
