package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"moriens/internal/files"
	"moriens/trace/tracetest"
)

// A document of millions of empty objects is refused, in whatever list they stand, at no cost beside its text; what
// moriens writes is far from that.
func TestEmptyObjects(t *testing.T) {
	const bytes = 10 << 20
	many := func(what string) string { return strings.Repeat(what+",", bytes/(len(what)+1)) + what }
	for name, text := range map[string]string{
		"worlds":            `{"format":%d,"worlds":[` + many("{}") + `]}`,
		"other case":        `{"format":%d,"WORLDS":[` + many("{}") + `]}`,
		"within each other": `{"format":%d,"kept":{"windows":[{"reason":"\"]}{","threads":[{}]},` + many("{}") + `]}}`,
		"again and again":   `{"format":%d,` + many(`"worlds":[`+strings.Repeat("{},", 99)+`{}]`) + `}`,
	} {
		dir := fstest.MapFS{ManifestFile: {Data: fmt.Appendf(nil, text, ManifestFormat)}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := readJSON(dir, ManifestFile, ManifestFormat, new(Manifest))
		runtime.ReadMemStats(&after)
		if !errors.Is(err, files.ErrTooLarge) || !strings.Contains(err.Error(), ManifestFile) {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 4*bytes {
			t.Errorf("%s: %d bytes taken", name, took)
		}
	}
	m, c := filled()
	for name, file := range directory(t, tracetest.Small(), m, c) {
		var v any = m
		switch name {
		case ClustersFile:
			v = c
		case ManifestFile:
		default:
			continue
		}
		b := bill{text: file.Data, left: 1 << 40, fields: make(map[reflect.Type]map[string]reflect.Type)}
		if !b.value(reflect.TypeOf(v)) || b.at == 0 || b.next() != 0 {
			t.Errorf("%s: stopped at byte %d of %d", name, b.at, len(file.Data))
		}
		if cost := 1<<40 - b.left; cost < 1000 || cost > 3*int64(len(file.Data)) {
			t.Errorf("%s: %d bytes for %d of text", name, cost, len(file.Data))
		}
	}
	// What the decoder passes over is free.
	if err := readJSON(fstest.MapFS{ManifestFile: {Data: fmt.Appendf(nil, `{"format":%d,"later":[%s]}`, ManifestFormat, many("{}"))}}, ManifestFile, ManifestFormat, new(Manifest)); err != nil {
		t.Error(err)
	}
}

// However a document is put, the bill ends where it does.
func FuzzAfford(f *testing.F) {
	f.Add([]byte(`{"format":1,"a\"b":[1,-2.5e3,true,null,"x\\"],"worlds":[{"rank":[[]]}],"hosts":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		b := bill{text: text, left: 1 << 40, fields: make(map[reflect.Type]map[string]reflect.Type)}
		if !b.value(reflect.TypeFor[*Manifest]()) || b.next() != 0 {
			t.Fatalf("stopped at byte %d of %d", b.at, len(text))
		}
	})
}

// What others have put where a file is being written is neither waited for nor written through.
func TestPartialOfOthers(t *testing.T) {
	dir := t.TempDir()
	m, c := filled()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(run, ManifestFile+".partial"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, filepath.Join(run, ClustersFile+".partial")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(run, TraceFile+".partial"), []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(&Content{Run: tracetest.Small(), Manifest: m, Clusters: c}, run); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
	if _, _, _, err := Read(run); err != nil {
		t.Error(err)
	}
}
