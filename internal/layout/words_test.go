package layout

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// unwanted is a row of the table in CONTRIBUTING.md: a word or phrase, and what to write in its place.
type unwanted struct {
	not, write string
	first      string         // its first word in lower case: a fast check before the expression
	find       *regexp.Regexp // whole words, in any case, also over the end of a line
}

// termsOfTheirOwn are phrases in which a listed word is a term, by why it is one.
var termsOfTheirOwn = map[string]string{
	"user account": "of the operating system",
	"--account":    "an option of sbatch",
}

// readWords reads the table of the section "Words".
func readWords(text string) (list []unwanted, err error) {
	_, section, found := strings.Cut(text, "\n## Words\n")
	if !found {
		return nil, fmt.Errorf("no section Words")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 4 || strings.HasPrefix(cells[1], "-") {
			continue
		}
		not, write := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		if not == "not" {
			continue
		}
		if not == "" || write == "" {
			return nil, fmt.Errorf("a row without a word: %q", line)
		}
		pattern := strings.Join(strings.Fields(regexp.QuoteMeta(not)), `\s+`)
		first := strings.ToLower(strings.Fields(not)[0])
		list = append(list, unwanted{not, write, first, regexp.MustCompile(`(?i)\b` + pattern + `\b`)})
	}
	return list, nil
}

// A passage is a text that users read or a comment, with the line it begins in.
type passage struct {
	file, text string
	line       int
}

// faultsOf lists where a passage has a listed word.
func faultsOf(p passage, words []unwanted) (faults []string) {
	text := p.text
	for phrase := range termsOfTheirOwn {
		text = strings.ReplaceAll(text, phrase, strings.Repeat(" ", len(phrase)))
	}
	lower := strings.ToLower(text)
	for _, w := range words {
		if !strings.Contains(lower, w.first) {
			continue
		}
		for _, at := range w.find.FindAllStringIndex(text, -1) {
			faults = append(faults, fmt.Sprintf("%s:%d: %q: write %s", p.file, p.line+strings.Count(text[:at[0]], "\n"), text[at[0]:at[1]], w.write))
		}
	}
	return faults
}

// goTexts are the string literals of a Go file but for those that name packages.
func goTexts(file string, source []byte) ([]passage, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var list []passage
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(x.Value); err == nil && x.Kind == token.STRING && strings.Contains(text, " ") {
				list = append(list, passage{file, text, set.Position(x.Pos()).Line})
			}
		}
		return true
	})
	return list, nil
}

var (
	cString    = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)
	pageString = regexp.MustCompile("\"(?:[^\"\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\n]|\\\\.)*'|`[^`]*`|>[^<>{}]*<")
	inserted   = regexp.MustCompile(`\$\{[^{}]*\}`)
	cComment   = regexp.MustCompile(`(?s:/\*.*?\*/)|(?m:(?:^|\s)//.*$)`)
)

// literals are what pattern finds in a source without its comments.
func literals(file string, source []byte, pattern *regexp.Regexp) (list []passage) {
	blank := cComment.ReplaceAllFunc(source, func(comment []byte) []byte {
		return []byte(strings.Repeat("\n", strings.Count(string(comment), "\n")))
	})
	for _, at := range pattern.FindAllIndex(blank, -1) {
		text := inserted.ReplaceAllString(string(blank[at[0]:at[1]]), "…") // code in a template
		if strings.Contains(text, " ") {
			list = append(list, passage{file, text, 1 + strings.Count(string(blank[:at[0]]), "\n")})
		}
	}
	return list
}

var (
	commentGroup = regexp.MustCompile(`(?s:/\*.*?\*/)|(?m:(?:^|\s)//.*$(?:\n[ \t]*//.*$)*)`)
	hashGroup    = regexp.MustCompile(`(?m)(?:^|\s)#+(?:[ \t].*)?$(?:\n[ \t]*#.*$)*`)
	commentMark  = regexp.MustCompile(`(?m)^\s*(?://|/?\*+|#+)|\*/`)
)

// goCommentTexts are the comments of a Go file, lines that follow each other as one passage.
func goCommentTexts(file string, source []byte) ([]passage, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var list []passage
	for _, group := range parsed.Comments {
		begin, end := set.PositionFor(group.Pos(), false), set.PositionFor(group.End(), false)
		list = append(list, comment(file, begin.Line, source[begin.Offset:end.Offset]))
	}
	return list, nil
}

// commentTexts are the comments of a file in another language, as group finds them.
func commentTexts(file string, source []byte, group *regexp.Regexp) (list []passage) {
	line, from := 1, 0
	for _, at := range group.FindAllIndex(source, -1) {
		line += bytes.Count(source[from:at[0]], []byte("\n"))
		from = at[0]
		list = append(list, comment(file, line, source[at[0]:at[1]]))
	}
	return list
}

func comment(file string, line int, text []byte) passage {
	unmarked := commentMark.ReplaceAllFunc(text, func(mark []byte) []byte {
		return bytes.Repeat([]byte("\n"), bytes.Count(mark, []byte("\n")))
	})
	return passage{file, string(unmarked), line}
}

// scripts have comments that begin with #, besides each Makefile.
var scripts = []string{".ci/run", "deploy/debian/need"}

// comments are those of all hand-written sources in Go, C, TypeScript and protobuf, tests included, of Makefiles and
// of scripts.
func comments(t *testing.T) (list []passage) {
	t.Helper()
	inC := ends(".c", ".h", ".ts", ".tsx", ".proto")
	want := func(name string) bool {
		return inC(name) || filepath.Ext(name) == ".go" || filepath.Base(name) == "Makefile"
	}
	eachFile(t, ".", want, func(name string, source []byte) {
		switch {
		case generated(source):
		case inC(name):
			list = append(list, commentTexts(name, source, commentGroup)...)
		case filepath.Ext(name) == ".go":
			texts, err := goCommentTexts(name, source)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, texts...)
		default:
			list = append(list, commentTexts(name, source, hashGroup)...)
		}
	}, "dist")
	for _, script := range scripts {
		read := false
		eachFile(t, script, func(string) bool { return true }, func(name string, source []byte) {
			read = true
			list = append(list, commentTexts(name, source, hashGroup)...)
		})
		if !read {
			t.Errorf("%s is no file", script)
		}
	}
	return list
}

// shownTexts are the texts of the program, the page and the documentation.
func shownTexts(t *testing.T) (list []passage) {
	t.Helper()
	folders := []string{"agent", "analysis", "app", "bench", "cmd", "collector", "conclude", "cshim/src", "deploy", "docs", "internal", "trace", "viewer/src", "README.md"}
	forTests := []string{"internal/golden", "internal/layout", "internal/mpitest", "internal/slurmtest", "internal/testenv", "testdata"}
	for _, folder := range folders {
		eachFile(t, folder, func(name string) bool { return !isTest(name) }, func(name string, source []byte) {
			switch filepath.Ext(name) {
			case ".go":
				texts, err := goTexts(name, source)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, texts...)
			case ".c", ".h":
				list = append(list, literals(name, source, cString)...)
			case ".ts", ".tsx":
				list = append(list, literals(name, source, pageString)...)
			default:
				if filepath.Ext(name) == ".md" || strings.HasPrefix(name, "deploy") {
					list = append(list, passage{name, string(source), 1})
				}
			}
		}, forTests...)
	}
	return list
}

// Neither texts that users read nor comments have a word that CONTRIBUTING.md lists.
func TestWords(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	words, err := readWords(string(text))
	if err != nil || len(words) < 20 {
		t.Fatalf("%d words: %v", len(words), err)
	}
	texts := shownTexts(t)
	if len(texts) < 1000 {
		t.Fatalf("only %d texts", len(texts))
	}
	remarks := comments(t)
	if len(remarks) < 10000 {
		t.Fatalf("only %d comments", len(remarks))
	}
	for _, p := range slices.Concat(texts, remarks) {
		for _, fault := range faultsOf(p, words) {
			t.Error(fault)
		}
	}
}

// The test of the test: planted words are found, in each kind of file and of comment, with their lines; what is no text
// is not.
func TestWordsAreFound(t *testing.T) {
	words, err := readWords("# x\n\n## Words\n\n| not | write |\n|---|---|\n| told | reported |\n| what came of | the result of |\n| account | list |\n\n## Next\n\n| lost | a |\n")
	if err != nil || len(words) != 3 {
		t.Fatalf("%v: %v", words, err)
	}
	inGo, err := goTexts("a.go", []byte("package told\n\nimport \"told/x y\"\n\n// told\nvar a = \"nobody Told us\" + \"untold n\" + \"told\"\nvar b = `one\nis told`\n"))
	if err != nil {
		t.Fatal(err)
	}
	inC := literals("a.c", []byte("/* \"is told\"\n */\nx(\"no news\"); // \"is told\"\ny(\"what came of it\");\n"), cString)
	inPage := literals("a.tsx", []byte("const told = 1;\nreturn <p>He is\n told</p>; const b = 'is told';\n"), pageString)
	inGoComments, err := goCommentTexts("b.go", []byte("package told\n\n// This is what\n// came of it.\nvar a = \"is told\" // is told\n\n/* is\n told */\n"))
	if err != nil {
		t.Fatal(err)
	}
	inCComments := commentTexts("b.c", []byte("int told = 1;\n\n/* This is what\n * came of it. */\nx(\"is told\"); // No news.\n// This is what\n// came of it.\n\n{/* told */}\n"), commentGroup)
	inHashComments := commentTexts("Makefile", []byte("#!/bin/told\n# This is what\n# came of it.\nX = told # told\ntold: told ## is told\n\t@echo '#told' $(told)#told\n"), hashGroup)
	inDocs := []passage{{"a.md", "A line.\nThis is what\ncame of it.\nNo user account, an account.\n", 1}}
	for _, tt := range []struct {
		texts []passage
		want  []string
	}{
		{inGo, []string{`a.go:6: "Told": write reported`, `a.go:8: "told": write reported`}},
		{inC, []string{`a.c:4: "what came of": write the result of`}},
		{inPage, []string{`a.tsx:3: "told": write reported`, `a.tsx:3: "told": write reported`}},
		{inGoComments, []string{"b.go:3: \"what\\n came of\": write the result of", `b.go:5: "told": write reported`, `b.go:8: "told": write reported`}},
		{inCComments, []string{"b.c:3: \"what\\n came of\": write the result of", "b.c:6: \"what\\n came of\": write the result of", `b.c:9: "told": write reported`}},
		{inHashComments, []string{"Makefile:2: \"what\\n came of\": write the result of", `Makefile:4: "told": write reported`, `Makefile:5: "told": write reported`}},
		{inDocs, []string{"a.md:2: \"what\\ncame of\": write the result of", `a.md:4: "account": write list`}},
	} {
		var got []string
		for _, p := range tt.texts {
			got = append(got, faultsOf(p, words)...)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("found %q, want %q", got, tt.want)
		}
	}
	for _, bad := range []string{"# x\n", "\n## Words\n\n| told | |\n"} {
		if list, err := readWords(bad); err == nil {
			t.Errorf("%q: %v", bad, list)
		}
	}
}
