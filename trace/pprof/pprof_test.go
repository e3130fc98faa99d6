package pprof

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"

	"moriens/trace/calltree"
	"moriens/trace/calltree/calltreetest"
)

func write(t *testing.T, tree *calltree.Tree, o Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, tree, o); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := Write(&again, tree, o); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Error("the same tree makes two different files")
	}
	path := filepath.Join(t.TempDir(), "run.pb.gz")
	if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// Texts that are not UTF-8 are made so, and two of them are not made one.
func TestNotUTF8(t *testing.T) {
	tree := calltreetest.Small().Tree
	tree.Nodes[4].Name, tree.Nodes[5].Name, tree.Nodes[5].File, tree.Title = "a\xff", "a\xfe", "\xc3", "\x80"
	path := write(t, tree, Options{})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range p.Function {
		found[f.Name] = true
	}
	if !found["a\uFFFD"] || !found["a\uFFFD (2)"] {
		t.Errorf("%v", found)
	}
}
