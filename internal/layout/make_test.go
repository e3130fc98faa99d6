package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The Makefile names packages and functions in lists. A package that is moved or rewritten must not leave them
// silently.

// makeList returns the words of a variable of the Makefile.
func makeList(t *testing.T, name string) []string {
	t.Helper()
	m := exec.Command("make", "--no-print-directory", "-s", "print-"+name)
	m.Dir = filepath.Join("..", "..")
	m.Env = append(os.Environ(), "MAKEFLAGS=", "MFLAGS=")
	out, err := m.CombinedOutput()
	if err != nil {
		t.Fatalf("make print-%s: %v\n%s", name, err, out)
	}
	list := strings.Fields(string(out))
	if len(list) == 0 {
		t.Fatalf("the Makefile's %s is empty", name)
	}
	return list
}

// testFolders are the folders that hold tests, with the names of their functions that match a pattern.
func testFolders(t *testing.T, pattern string) map[string][]string {
	t.Helper()
	name := regexp.MustCompile(pattern)
	folders := make(map[string][]string)
	for folder, files := range testFiles(t) {
		for _, f := range files {
			folders[folder] = append(folders[folder], declared(f.file, name)...)
		}
	}
	return folders
}

// declared lists a file's functions of which the name matches.
func declared(file *ast.File, name *regexp.Regexp) (list []string) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && name.MatchString(f.Name.Name) {
			list = append(list, f.Name.Name)
		}
	}
	return list
}

// The fuzz targets are all those of the tree.
func TestFuzzTargets(t *testing.T) {
	var want, got []string
	for folder, names := range testFolders(t, "^Fuzz") {
		for _, name := range names {
			want = append(want, folder+"."+name)
		}
	}
	calls := regexp.MustCompile(`^[1-9][0-9]*x$`)
	for _, target := range makeList(t, "FUZZ_TARGETS") {
		i := strings.LastIndexByte(target, '/')
		if i < 0 || !calls.MatchString(target[i+1:]) {
			t.Errorf("FUZZ_TARGETS: %s is not package.Function/callsx", target)
			continue
		}
		got = append(got, target[:i])
	}
	compare(t, "FUZZ_TARGETS", got, want)
}

// Every package with tests runs under the race detector, or is excepted by name.
func TestRaceList(t *testing.T) {
	tested := testFolders(t, "^(Test|Fuzz|Example)")
	var want []string
	for folder := range tested {
		want = append(want, folder)
	}
	except := makeList(t, "RACE_NOT")
	for _, folder := range except {
		if _, ok := tested[folder]; !ok {
			t.Errorf("RACE_NOT: %s has no tests, or is not there", folder)
		}
	}
	compare(t, "RACE and RACE_NOT", append(makeList(t, "RACE"), except...), want)
	for _, folder := range makeList(t, "RACE_NOT_NEEDED") {
		for _, why := range sharing(t, folder) {
			t.Errorf("RACE_NOT_NEEDED: %s", why)
		}
	}
	all := make(map[string]bool)
	for _, names := range tested {
		for _, name := range names {
			all[name] = true
		}
	}
	for _, name := range makeList(t, "RACE_SKIP") {
		if !all[name] {
			t.Errorf("RACE_SKIP: there is no %s", name)
		}
	}
}

// shares are packages of what is made to be shared, or that start goroutines with what they are given.
var shares = []string{"sync", "sync/atomic", "unsafe", "C", "golang.org/x/sync/errgroup", "net/http", "moriens/analysis/workers", "moriens/internal/team"}

// sharing says what in a folder could race: goroutines, what is made to be shared, unsafe.
func sharing(t *testing.T, folder string) (why []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			if p := strings.Trim(i.Path.Value, `"`); slices.Contains(shares, p) {
				why = append(why, path+" imports "+p)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				why = append(why, path+" starts a goroutine")
			}
			return true
		})
	}
	return why
}

// Tests run once: alone, or beside others.
func TestTestLists(t *testing.T) {
	tested := testFolders(t, "^(Test|Fuzz|Example)")
	real := makeList(t, "REAL")
	for _, list := range []string{"REAL", "STARTS_JOBS", "WAITING"} {
		for _, folder := range makeList(t, list) {
			if _, ok := tested[folder]; !ok {
				t.Errorf("%s: %s has no tests, or is not there", list, folder)
			}
			if !slices.Contains(real, folder) {
				t.Errorf("%s: %s is not in REAL", list, folder)
			}
		}
	}
}

// What gofmt and the generators go through is the whole tree.
func TestFormatted(t *testing.T) {
	var want []string
	eachFile(t, ".", ends(".go"), func(name string, _ []byte) {
		if folder, _, _ := strings.Cut(filepath.ToSlash(name), "/"); !slices.Contains(want, folder) {
			want = append(want, folder)
		}
	}, "testdata")
	compare(t, "GO_FOLDERS", makeList(t, "GO_FOLDERS"), want)
}

// compare reports what is in one list only, or twice.
func compare(t *testing.T, list string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	for i, name := range got {
		if i > 0 && got[i-1] == name {
			t.Errorf("%s: %s stands there twice", list, name)
		}
		if !slices.Contains(want, name) {
			t.Errorf("%s: %s is not in the tree", list, name)
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s: %s is missing", list, name)
		}
	}
}
