package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostBack is the share of arrows between the files of conclude/, in percent, from which on too many run back.
const mostBack = 15

// arrows are, by file, the files of which it uses something.
type arrows map[string]map[string]bool

func (a arrows) add(from, to string) {
	if a[from] == nil {
		a[from] = make(map[string]bool)
	}
	a[from][to] = true
}

// back counts the arrows, and lists those that run back: from A to B where B leads to A again, by whatever way. Files
// without such arrows have an order in which each stands above what it uses. Where files use each other in a circle one
// order has fewer arrows that go up than another; all arrows of the circle count, so that the share does not depend on
// a chosen order, and no order has more.
func (a arrows) back() (back []string, all int) {
	for from, list := range a {
		for to := range list {
			all++
			if a.leads(to, from) {
				back = append(back, from+" → "+to)
			}
		}
	}
	slices.Sort(back)
	return back, all
}

// leads says whether one file uses another, or one that leads to it.
func (a arrows) leads(from, to string) bool {
	seen := map[string]bool{from: true}
	for open := []string{from}; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		if a[at][to] {
			return true
		}
		for next := range a[at] {
			if !seen[next] {
				seen[next] = true
				open = append(open, next)
			}
		}
	}
	return false
}

// arrowsBelow type-checks the packages of ours below a folder and finds the arrows between their files: one from A to B
// if A names a type, function, variable or constant of package level, a field or a method that B declares. Tests are
// left out.
func arrowsBelow(t *testing.T, folder string) arrows {
	t.Helper()
	type entry struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	list := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles", module+"/"+folder+"/...")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	export := make(map[string]string)
	c := &checker{fset: token.NewFileSet(), done: make(map[string]*types.Package)}
	c.others = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(export[path]) })
	found := make(arrows)
	for d := json.NewDecoder(strings.NewReader(string(out))); ; { // imported packages come before their importers
		var e entry
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		export[e.ImportPath] = e.Export
		name := strings.TrimPrefix(e.ImportPath, module+"/")
		if !within(name, folder) {
			continue
		}
		sources := make(map[string]any)
		for _, file := range e.GoFiles {
			source, err := os.ReadFile(filepath.Join(e.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			sources[name+"/"+file] = source
		}
		if err := c.check(e.ImportPath, sources, found); err != nil {
			t.Fatal(err)
		}
	}
}

// A checker type-checks packages from their sources, in the order of their imports.
type checker struct {
	fset   *token.FileSet
	done   map[string]*types.Package
	others types.Importer // of packages that are not checked
}

// Import implements types.Importer.
func (c *checker) Import(path string) (*types.Package, error) {
	if p := c.done[path]; p != nil {
		return p, nil
	}
	return c.others.Import(path)
}

// check adds the arrows of a package, whose sources are given by their names.
func (c *checker) check(path string, sources map[string]any, to arrows) error {
	var files []*ast.File
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		f, err := parser.ParseFile(c.fset, name, sources[name], 0)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	p, err := (&types.Config{Importer: c}).Check(path, c.fset, files, info)
	if err != nil {
		return err
	}
	c.done[path] = p
	for name, object := range info.Uses {
		if object.Pkg() == nil || c.done[object.Pkg().Path()] == nil || !global(object) {
			continue
		}
		from, of := c.fset.Position(name.Pos()).Filename, c.fset.Position(object.Pos()).Filename
		if from != of {
			to.add(from, of)
		}
	}
	return nil
}

// global says whether an object is of package level, a field or a method.
func global(o types.Object) bool {
	switch x := o.(type) {
	case *types.PkgName:
		return false
	case *types.Var:
		if x.IsField() {
			return true
		}
	case *types.Func:
		return true
	}
	return o.Parent() == o.Pkg().Scope()
}

// The end of a run is a corridor: callers stand above what they call, and few files use something of one that uses
// them.
func TestConcludeIsACorridor(t *testing.T) {
	found := arrowsBelow(t, "conclude")
	back, all := found.back()
	if all < 50 {
		t.Fatalf("there are only %d arrows", all)
	}
	share := 100 * float64(len(back)) / float64(all)
	t.Logf("conclude: %d of %d arrows between files run back (%.1f %%)", len(back), all, share)
	if share >= mostBack {
		t.Errorf("fewer than %d %% may run back; these do:\n%s", mostBack, strings.Join(back, "\n"))
	}
}

// The test of the test: two packages of which every arrow is known.
func TestArrowsOfAnExample(t *testing.T) {
	c := &checker{fset: token.NewFileSet(), done: make(map[string]*types.Package)}
	found := make(arrows)
	for _, p := range []struct {
		path    string
		sources map[string]any
	}{
		{"low", map[string]any{
			"low/a.go": "package low\n type A struct { B; n int }\n func (a A) Twice() int { return a.m * limit }", // b.go: type, field; c.go: constant
			"low/b.go": "package low\n type B struct { m int }\n func use(a *A) { local := a.n; _ = local }",       // a.go: type, field
			"low/c.go": "package low\n const limit = 2\n func own() int { return limit }",
		}},
		{"high", map[string]any{
			"high/d.go": "package high\n import \"low\"\n func D(a low.A) int { return a.Twice() }", // low/a.go: type, method
			"high/e.go": "package high\n func E() { _ = D }",                                        // d.go: function
		}},
	} {
		if err := c.check(p.path, p.sources, found); err != nil {
			t.Fatal(err)
		}
	}
	var list []string
	for from, to := range found {
		for _, x := range slices.Sorted(maps.Keys(to)) {
			list = append(list, from+" → "+x)
		}
	}
	slices.Sort(list)
	want := []string{
		"high/d.go → low/a.go", "high/e.go → high/d.go", "low/a.go → low/b.go", "low/a.go → low/c.go", "low/b.go → low/a.go",
	}
	if !slices.Equal(list, want) {
		t.Errorf("got %v, want %v", list, want)
	}
	back, all := found.back()
	if fmt.Sprint(back) != "[low/a.go → low/b.go low/b.go → low/a.go]" || all != len(want) {
		t.Errorf("%d arrows, of which run back: %v", all, back)
	}
}
