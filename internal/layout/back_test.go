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
	"math"
	"math/bits"
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

// back counts the arrows, and lists those that run back in the order of the files in which the fewest do: each file stands above what it uses as far as one order can have
// that, and an arrow runs back if it goes up. Where files use each other in no circle none does. The order is computed, not chosen, so that nobody can
// improve the figure by writing down another.
func (a arrows) back() (back []string, all int) {
	for from := range a {
		all += len(a[from])
	}
	for _, circle := range a.circles() {
		place := make(map[string]int)
		for i, file := range a.order(circle) {
			place[file] = i
		}
		for _, from := range circle {
			for to := range a[from] {
				if at, within := place[to]; within && at < place[from] {
					back = append(back, from+" → "+to)
				}
			}
		}
	}
	slices.Sort(back)
	return back, all
}

// circles are the files that lead to each other, those of each set sorted.
func (a arrows) circles() (list [][]string) {
	reached := make(map[string]map[string]bool)
	for file := range a {
		reached[file] = make(map[string]bool)
		for open := []string{file}; len(open) > 0; {
			at := open[len(open)-1]
			open = open[:len(open)-1]
			for to := range a[at] {
				if !reached[file][to] {
					reached[file][to] = true
					open = append(open, to)
				}
			}
		}
	}
	done := make(map[string]bool)
	for _, file := range slices.Sorted(maps.Keys(a)) {
		if done[file] || !reached[file][file] {
			continue
		}
		var circle []string
		for other := range reached[file] {
			if reached[other][file] {
				circle = append(circle, other)
				done[other] = true
			}
		}
		slices.Sort(circle)
		list = append(list, circle)
	}
	return list
}

// mostExact is the largest circle whose best order is found exactly; of a larger one it is a good order, in which no fewer arrows run back.
const mostExact = 18

// order puts the files of a circle in the order in which the fewest arrows go up.
func (a arrows) order(circle []string) []string {
	n := len(circle)
	uses := make([]uint64, n) // bit j of i: i uses j
	for i, from := range circle {
		for j, to := range circle {
			if a[from][to] {
				uses[i] |= 1 << j
			}
		}
	}
	if n > mostExact {
		return greedy(circle, uses)
	}
	// fewest[s] arrows go up among the files of set s when these stand above all others, last[s] the lowest of them.
	fewest, last := make([]int32, 1<<n), make([]int8, 1<<n)
	for s := uint64(1); s < 1<<n; s++ {
		fewest[s] = math.MaxInt32
		for i := range n {
			if s>>i&1 == 0 {
				continue
			}
			above := s &^ (1 << i)
			if up := fewest[above] + int32(bits.OnesCount64(uses[i]&above)); up < fewest[s] {
				fewest[s], last[s] = up, int8(i)
			}
		}
	}
	list := make([]string, 0, n)
	for s := uint64(1)<<n - 1; s != 0; s &^= 1 << last[s] {
		list = append(list, circle[last[s]])
	}
	slices.Reverse(list)
	return list
}

// greedy puts at the top, again and again, the file that uses most more than use it of those that are left.
func greedy(circle []string, uses []uint64) []string {
	list := make([]string, 0, len(circle))
	for left := uint64(1)<<len(circle) - 1; left != 0; {
		best, most := -1, 0
		for i := range circle {
			if left>>i&1 == 0 {
				continue
			}
			more := bits.OnesCount64(uses[i] & left)
			for j := range circle {
				if left>>j&1 == 1 && uses[j]>>i&1 == 1 {
					more--
				}
			}
			if best < 0 || more > most {
				best, most = i, more
			}
		}
		list = append(list, circle[best])
		left &^= 1 << best
	}
	return list
}

// arrowsBelow type-checks the packages of ours below a folder and finds the arrows between their files: one from A to B if A names a type, function, variable or constant of
// package level, a field or a method that B declares. Tests are left out.
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
	for d := json.NewDecoder(strings.NewReader(string(out))); ; { // what is imported comes before who imports it
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

// The end of a run is a corridor: who calls stands above what is called, and few files use something of one that uses them.
func TestConcludeIsACorridor(t *testing.T) {
	found := arrowsBelow(t, "conclude")
	back, all := found.back()
	if all < 50 {
		t.Fatalf("there are only %d arrows", all)
	}
	share := 100 * float64(len(back)) / float64(all)
	t.Logf("conclude: %d of %d arrows between files run back (%.1f %%)", len(back), all, share)
	for _, circle := range found.circles() {
		t.Logf("use each other in a circle: %s", strings.Join(circle, ", "))
	}
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
	if fmt.Sprint(back) != "[low/b.go → low/a.go]" && fmt.Sprint(back) != "[low/a.go → low/b.go]" || all != len(want) {
		t.Errorf("%d arrows, of which run back: %v", all, back)
	}
}
