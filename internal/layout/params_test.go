package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// mostParameters are as many as a call can pass and still be read: what needs more takes a struct with named fields.
const mostParameters = 6

func TestFewParameters(t *testing.T) {
	read := 0
	eachFile(t, ".", isSource, func(file string, source []byte) {
		read++
		for _, function := range overloaded(t, file, source) {
			t.Errorf("%s: %s has more than %d parameters: pass a struct", file, function, mostParameters)
		}
	}, "testdata")
	if read < 500 {
		t.Errorf("%d files are read", read)
	}
}

// overloaded lists the functions of a file, "func" for those without a name, that have more than mostParameters.
func overloaded(t *testing.T, name string, source []byte) (list []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		function, name := (*ast.FuncType)(nil), "func"
		switch n := n.(type) {
		case *ast.FuncDecl:
			function, name = n.Type, n.Name.Name
		case *ast.FuncLit:
			function = n.Type
		default:
			return true
		}
		if function.Params.NumFields() > mostParameters {
			list = append(list, name)
		}
		return true
	})
	return list
}

// The test of the test: it counts parameters, not fields, results or the receiver.
func TestParametersAreCounted(t *testing.T) {
	got := overloaded(t, "a.go", []byte(`package a
func f(a, b, c, d, e, f, g int) {}
func (r T) few(a, b, c int, d, e, f string) (g, h int) { return }
var literal = func(a, b, c, d int, e, f, g string) {}
func unnamed(int, int, int, string, string, string, ...any) {}
`))
	if want := "f func unnamed"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
