package layout

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Tests are of three kinds. A pure one needs no clock and no process: written rings, virtual time; `make quick` runs
// these. A real one starts programs, needs root or waits for real time; `make test` runs these too. They lie in the
// packages that the Makefile names in REAL, and elsewhere in files named *_real_test.go that the build tag quick leaves
// out. What takes hours is a real one that runs with a flag, by `make soak`.

// parsed is a test file.
type parsed struct {
	name   string
	source string
	file   *ast.File
}

// starters are packages of which a test that imports them starts programs.
var starters = []string{"os/exec", module + "/internal/mpitest", module + "/internal/slurmtest"}

// waits are functions of time that wait for a clock, unless it is the virtual one of testing/synctest.
var waits = []string{"Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// whyReal says what makes a test file a real one; empty = it is pure.
func whyReal(file *ast.File) (why string) {
	virtual := false
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if slices.Contains(starters, path) {
			why = "imports " + path
		}
		virtual = virtual || path == "testing/synctest"
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		switch {
		case !ok:
		case x.Name == "testenv" && strings.HasPrefix(s.Sel.Name, "Need"):
			why = "calls testenv." + s.Sel.Name
		case x.Name == "time" && !virtual && slices.Contains(waits, s.Sel.Name):
			why = "uses time." + s.Sel.Name
		}
		return true
	})
	return why
}

// outOfQuick reports whether a file's build constraint leaves it out where the tag quick is set.
func outOfQuick(source string) bool {
	for line := range strings.Lines(source) {
		if x, err := constraint.Parse(strings.TrimSpace(line)); err == nil {
			return !x.Eval(func(string) bool { return true }) && x.Eval(func(tag string) bool { return tag != "quick" })
		}
		if strings.HasPrefix(line, "package ") {
			break
		}
	}
	return false
}

// testFiles reads the tree's test files, by folder.
func testFiles(t *testing.T) map[string][]parsed {
	t.Helper()
	files := make(map[string][]parsed)
	eachFile(t, ".", isTest, func(name string, source []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Dir(name)] = append(files[filepath.Dir(name)], parsed{name, string(source), file})
	}, "testdata")
	return files
}

// realHelpers lists the functions of a folder's real test files.
func realHelpers(files []parsed) (names []string) {
	for _, f := range files {
		if strings.HasSuffix(f.name, "_real_test.go") {
			names = append(names, declared(f.file, regexp.MustCompile("^[a-z]"))...)
		}
	}
	return names
}

// uses returns which of these functions a file calls, empty = none.
func uses(file *ast.File, functions []string) (name string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if f, ok := call.Fun.(*ast.Ident); ok && slices.Contains(functions, f.Name) {
				name = f.Name
			}
		}
		return true
	})
	return name
}

func TestKindsOfTests(t *testing.T) {
	wholly := makeList(t, "REAL")
	for folder, files := range testFiles(t) {
		if folder == "internal/layout" { // it asks the go command and make for their lists
			continue
		}
		some, helpers := false, realHelpers(files)
		for _, f := range files {
			why, named := whyReal(f.file), strings.HasSuffix(f.name, "_real_test.go")
			some = some || why != ""
			switch {
			case slices.Contains(wholly, folder):
			case named != outOfQuick(f.source):
				t.Errorf("%s: files named *_real_test.go, and no others, have //go:build !quick", f.name)
			case why != "" && !named:
				t.Errorf("%s %s: name it *_real_test.go, with //go:build !quick", f.name, why)
			case why == "" && named && uses(f.file, helpers) == "":
				t.Errorf("%s is a pure test: it starts nothing and waits for no clock", f.name)
			}
		}
		if slices.Contains(wholly, folder) && !some {
			t.Errorf("the Makefile's REAL names %s, which has no real test", folder)
		}
	}
}

// The test of the test.
func TestRealIsSeen(t *testing.T) {
	for source, want := range map[string]string{
		"package a\nimport \"os/exec\"\nvar _ = exec.Command":                                   "imports os/exec",
		"package a\nimport \"time\"\nfunc f() { time.Sleep(1) }":                                "uses time.Sleep",
		"package a\nimport (\n\"testing/synctest\"\n\"time\"\n)\nfunc f() { time.Sleep(1) }":    "",
		"package a\nimport \"moriens/internal/testenv\"\nfunc f() { testenv.NeedRoot(nil) }":    "calls testenv.NeedRoot",
		"package a\nimport \"moriens/internal/testenv\"\nfunc f() { testenv.RealTrace(nil) }":   "",
		"package a\nimport \"time\"\nvar x = time.Now()":                                        "",
		"package a\nimport \"moriens/internal/mpitest\"\nfunc f() { mpitest.Halo(nil, \"x\") }": "imports moriens/internal/mpitest",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a_test.go", source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := whyReal(file); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
	if !outOfQuick("//go:build !quick\n\npackage a\n") || outOfQuick("package a\n") || outOfQuick("//go:build linux\n\npackage a\n") {
		t.Error("the build constraint is misread")
	}
}
