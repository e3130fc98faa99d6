package layout

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// eachFile reads the wanted files below a folder, links to files included. Names are paths from the project's root. It
// skips hidden folders, node_modules, bin and build at the root, and the folders that skip has by name or path. The
// folder itself may be hidden, or be a file.
func eachFile(t *testing.T, folder string, want func(name string) bool, do func(name string, source []byte), skip ...string) {
	t.Helper()
	root := filepath.Join("..", "..")
	top := filepath.Join(root, folder)
	skip = append(slices.Clip(skip), "node_modules")
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case path == top && d.IsDir():
			return nil
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || name == "bin" || name == "build" ||
			slices.Contains(skip, d.Name()) || slices.Contains(skip, name)):
			return filepath.SkipDir
		case d.IsDir() || !want(name):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		do(name, source)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ends returns whether a file's name has one of these endings, as eachFile asks.
func ends(endings ...string) func(name string) bool {
	return func(name string) bool { return slices.Contains(endings, filepath.Ext(name)) }
}

// isSource reports whether a file is Go, and no test.
func isSource(name string) bool {
	return strings.HasSuffix(name, ".go") && !isTest(name)
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }
