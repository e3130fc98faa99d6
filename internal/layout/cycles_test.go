package layout

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	includes = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*"([^"]+)"`)
	imports  = regexp.MustCompile(`(?m)(?:\bfrom|\bimport)[ \t]*\(?[ \t]*'(\.[^']+)'`)
)

// sources reads the files below a folder of the tree whose names have one of the endings, by their names from there.
func sources(t *testing.T, folder string, endings ...string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	eachFile(t, folder, ends(endings...), func(name string, source []byte) {
		files[filepath.ToSlash(strings.TrimPrefix(name, filepath.FromSlash(folder)+string(filepath.Separator)))] = string(source)
	})
	return files
}

// named lists the files that a file names by a pattern's first group, as they are first found by find.
func named(text string, pattern *regexp.Regexp, find func(string) string) (list []string) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		if file := find(m[1]); file != "" {
			list = append(list, file)
		}
	}
	return list
}

// headers says what a header of the library needs: the headers that it includes, and those that the source file of the
// same name includes. A source file may use whatever it likes, but for a header that itself needs the file's own one:
// two files then know each other, and neither can be read, changed or tested alone.
func headers(files map[string]string) (include, use map[string][]string) {
	find := func(name string) string {
		for _, folder := range []string{"src/", "include/"} {
			if _, ok := files[folder+name]; ok {
				return folder + name
			}
		}
		return ""
	}
	include, use = make(map[string][]string), make(map[string][]string)
	for file, text := range files {
		base, source := strings.CutSuffix(file, ".c")
		switch _, own := files[base+".h"]; {
		case !source:
			include[file] = named(text, includes, find)
		case own:
			use[base+".h"] = slices.DeleteFunc(named(text, includes, find), func(h string) bool { return h == base+".h" })
		}
	}
	return include, use
}

// modules says which files of the page import which.
func modules(files map[string]string) map[string][]string {
	arrows := make(map[string][]string)
	for file, text := range files {
		arrows[file] = named(text, imports, func(name string) string {
			name = path.Join(path.Dir(file), name)
			for _, ending := range []string{"", ".ts", ".tsx", "/index.ts"} {
				if _, ok := files[name+ending]; ok {
					return name + ending
				}
			}
			return ""
		})
	}
	return arrows
}

// circle returns a way along the arrows from a file back to itself, nil = there is none.
func circle(arrows map[string][]string, from string) []string {
	seen := make(map[string]bool)
	var way func(at string) []string
	way = func(at string) []string {
		for _, next := range arrows[at] {
			if next == from {
				return []string{at, next}
			}
			if seen[next] {
				continue
			}
			seen[next] = true
			if rest := way(next); rest != nil {
				return append([]string{at}, rest...)
			}
		}
		return nil
	}
	return way(from)
}

// circlesOf lists the ways by which a file leads back to itself, each from where it is first.
func circlesOf(arrows map[string][]string) (list []string) {
	for from := range arrows {
		if way := circle(arrows, from); way != nil && from == slices.Min(way) {
			list = append(list, strings.Join(way, " → "))
		}
	}
	slices.Sort(list)
	return list
}

// headerCircles lists the circles of headers: those of includes, and those with one step through a source file.
func headerCircles(files map[string]string) []string {
	include, use := headers(files)
	list := circlesOf(include)
	for own, used := range use {
		for _, h := range used {
			// Only the own header's arrow is another one: the rest of the way is by headers.
			arrows := map[string][]string{own: {h}}
			for file, to := range include {
				if file != own {
					arrows[file] = to
				}
			}
			if way := circle(arrows, own); way != nil {
				list = append(list, strings.TrimSuffix(own, ".h")+".c → "+strings.Join(way[1:], " → "))
			}
		}
	}
	slices.Sort(list)
	return list
}

func TestNoCircles(t *testing.T) {
	library, page := sources(t, "cshim", ".c", ".h"), sources(t, "viewer/src", ".ts", ".tsx")
	if include, _ := headers(library); len(include) < 30 || len(include["src/record.h"]) < 5 {
		t.Errorf("%d headers are read", len(include))
	}
	if arrows := modules(page); len(arrows) < 100 || len(arrows["views/index.ts"]) < 5 {
		t.Errorf("%d files of the page are read", len(arrows))
	}
	for _, c := range headerCircles(library) {
		t.Errorf("cshim: %s: give what both need a header", c)
	}
	for _, c := range circlesOf(modules(page)) {
		t.Errorf("viewer/src: %s: give what both need a file", c)
	}
}

// The test of the test: it finds circles of each kind, and nothing where there is none.
func TestCirclesAreFound(t *testing.T) {
	library := map[string]string{
		"src/base.h":          "#include <stdint.h>\n",
		"src/a.h":             "#include \"b.h\"\n",
		"src/b.h":             "#include \"base.h\"\n# include \"c.h\"\n",
		"src/c.h":             "  #include \"a.h\"\n",
		"src/comms.h":         "#include \"base.h\"\n#include \"shim_abi.h\"\n",
		"src/comms.c":         "#include \"comms.h\"\n#include \"groups.h\"\n",
		"src/groups.h":        "#include \"comms.h\"\n",
		"src/groups.c":        "#include \"groups.h\"\n#include \"base.h\"\n",
		"src/thread.c":        "#include \"groups.h\"\n",
		"include/shim_abi.h":  "// #include \"comms.h\"\n",
		"ringwriter/module.c": "#include \"../src/comms.c\"\n",
	}
	if got, want := headerCircles(library), []string{
		"src/a.h → src/b.h → src/c.h → src/a.h",
		"src/comms.c → src/groups.h → src/comms.h",
	}; !slices.Equal(got, want) {
		t.Errorf("headers: %q, want %q", got, want)
	}
	page := map[string]string{
		"views/index.ts":              "import { Overview } from './Overview';\n",
		"views/Overview.tsx":          "import {\n  Findings,\n} from './overview/Findings';\nimport { f } from '../format';\n",
		"views/overview/F.tsx":        "export const F = lazy(() => import('../../format'));\n",
		"views/overview/Findings.tsx": "import '../x.css';\nimport type { View } from '..';\nimport { F } from './F';\n",
		"format.ts":                   "import { format } from 'd3-format';\n",
	}
	if got, want := circlesOf(modules(page)), []string{
		"views/Overview.tsx → views/overview/Findings.tsx → views/index.ts → views/Overview.tsx",
	}; !slices.Equal(got, want) {
		t.Errorf("page: %q, want %q", got, want)
	}
}
