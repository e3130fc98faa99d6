package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// openers open whatever has a name: a FIFO, and wait for its writer; a device; a file without an end.
var openers = map[string][]string{
	"os":        {"Open", "OpenFile", "ReadFile", "DirFS", "OpenRoot", "OpenInRoot"},
	"io/ioutil": {"ReadFile"},
	"debug/elf": {"Open"},
}

// excused are folders and files that may use them, and why. All others open files by internal/files.
var excused = map[string]string{
	"internal/files":      "it is the opener",
	"bench/timing":        "reads /proc",
	"app/doctor":          "reads /proc and /sys, and makes a file to try memory",
	"internal/ticks":      "reads /proc and /sys",
	"agent/sched":         "reads /proc",
	"agent/ring":          "opens rings: no link, no wait, of this user, regular",
	"agent/spool":         "opens directories that are its own, as directories",
	"agent/symbol":        "debug/elf opens a library that was seen to be regular",
	"collector/journal":   "the lock in its own directory: no link, made if it is not there",
	"internal/segment":    "goes on writing its own files",
	"internal/rendezvous": "no link, no wait, of this user, regular",
	"app/job":             "the terminal",
	"app/export":          "makes new files",
	"trace/rundir":        "makes new files",

	"app/measure/meeting.go": "no link, no wait, of this user, regular; a directory",
	"app/measure/preload.go": "the log that it writes",
	"app/measure/figures.go": "reads /proc",
	"app/pairing/write.go":   "makes a new file",

	"bench":              "measuring programs",
	"internal/golden":    "of tests",
	"internal/mpitest":   "of tests",
	"internal/slurmtest": "of tests",
}

// reading are those of the excused that read files of run directories too, and may only make new ones beside the
// opener: os.Open and os.ReadFile are for none of their files.
var reading = []string{"app/export", "trace/rundir", "internal/segment", "agent/spool", "agent/symbol"}

func excuse(file string) (string, bool) {
	for name := file; name != "."; name = filepath.Dir(name) {
		if _, ok := excused[name]; ok {
			return name, true
		}
	}
	return "", false
}

// Files that other users may have made are opened by internal/files.
func TestOneOpener(t *testing.T) {
	used := make(map[string]bool)
	for _, folder := range []string{"agent", "analysis", "app", "bench", "cmd", "collector", "conclude", "cshim", "internal", "trace", "viewer"} {
		eachFile(t, folder, isSource, func(file string, source []byte) {
			for _, call := range openings(t, file, source) {
				name, ok := excuse(file)
				used[name] = ok
				if plain := call == "os.Open" || call == "os.ReadFile"; !ok || plain && slices.Contains(reading, name) {
					t.Errorf("%s uses %s: open it by internal/files, which takes regular files alone and never waits", file, call)
				}
			}
		}, "testdata")
	}
	for name := range excused {
		if !used[name] {
			t.Errorf("%s is excused, and needs it no more", name)
		}
	}
}

// openings lists the openers that a file uses.
func openings(t *testing.T, name string, source []byte) (list []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	packages := make(map[string]string)
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		local := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			local = i.Name.Name
		}
		packages[local] = path
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(openers[packages[x.Name]], s.Sel.Name) {
				list = append(list, x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return list
}

// The test of the test: it finds what it is to find.
func TestOpeningsAreFound(t *testing.T) {
	got := openings(t, "a.go", []byte("package a\nimport (\n\"os\"\ne \"debug/elf\"\n)\nvar _, _ = os.Open(\"x\")\nvar f = os.ReadFile\nvar _, _ = e.Open(\"x\")\nvar _ = os.Stat"))
	if want := []string{"os.Open", "os.ReadFile", "e.Open"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
