package structure

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"moriens/analysis/program"
	"moriens/app/question"
	"moriens/internal/files"
	"moriens/internal/plain"
)

// mostSource is how many bytes a file of source has at most that is shown.
const mostSource = 64 << 20

// A source finds lines of files below a directory.
type source struct {
	dir     string
	files   []string            // that compilers were given
	byName  map[string][]string // paths below dir, by the last part of them
	lines   map[string][]string // of the files that compilers were given; nil = not there
	missing map[string]string   // of these, why
}

func newSource(dir string, p *program.Program) (*source, error) {
	s := &source{dir: dir, byName: make(map[string][]string), lines: make(map[string][]string), missing: make(map[string]string)}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil: // a folder that others may not read
			return nil
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0:
			s.byName[d.Name()] = append(s.byName[d.Name()], path)
		}
		return nil
	})
	program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
		if n.File != "" && !slices.Contains(s.files, n.File) {
			s.files = append(s.files, n.File)
		}
	})
	if err != nil {
		return nil, question.Misuse("name the directory that has the source with --source", "%w", err)
	}
	return s, nil
}

// line is a line of a file that a compiler was given, without the room before it; empty where it is not there.
func (s *source) line(file string, line int) string {
	lines := s.file(file)
	if line < 1 || line > len(lines) {
		return ""
	}
	return plain.Line(strings.TrimSpace(strings.ReplaceAll(lines[line-1], "\t", " ")))
}

// file are the lines of the file below the directory whose path ends most like the one that a compiler was given.
func (s *source) file(file string) []string {
	if lines, known := s.lines[file]; known {
		return lines
	}
	s.lines[file] = nil
	best, length := "", 0
	several := false
	for _, path := range s.byName[filepath.Base(file)] {
		n := commonTail(path, file)
		switch {
		case slices.ContainsFunc(s.files, func(other string) bool { return commonTail(path, other) > n }): // it is that one
		case n > length:
			best, length, several = path, n, false
		case n == length:
			several = true
		}
	}
	switch {
	case best == "":
		s.missing[file] = "not found"
	case several:
		s.missing[file] = "several fit"
	default:
		text, err := files.ReadFile(best, mostSource)
		if err != nil {
			s.missing[file] = err.Error()
			return nil
		}
		s.lines[file] = strings.Split(string(text), "\n")
	}
	return s.lines[file]
}

// commonTail is how many parts of two paths are the same, from their ends.
func commonTail(a, b string) (n int) {
	x, y := strings.Split(filepath.ToSlash(filepath.Clean(a)), "/"), strings.Split(filepath.ToSlash(filepath.Clean(b)), "/")
	for n < len(x) && n < len(y) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}

// writeMissing says which files are not there.
func (s *source) writeMissing(to io.Writer) error {
	var names []string
	for file := range s.missing {
		names = append(names, file)
	}
	slices.Sort(names)
	for _, file := range names {
		if _, err := fmt.Fprintf(to, "note: no source of %s below %s: %s\n", plain.Line(file), plain.Line(s.dir), plain.Line(s.missing[file])); err != nil {
			return err
		}
	}
	return nil
}
