package layout

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "moriens"

type rule struct {
	folder string
	ours   []string // folders
	others []string // beyond the standard library; nil = anything
}

// rules say what the packages under a folder may import of ours, and of others where that is limited.
// The first rule that fits a package counts.
var rules = []rule{
	{"cmd", []string{""}, nil},
	{"deploy", []string{}, []string{}},
	{"internal/shmabi", []string{}, []string{}},
	{"internal/mpicall", []string{}, []string{}},
	{"internal/hint", []string{}, []string{}},
	{"internal/testenv", []string{}, []string{}},
	{"internal/golden", []string{}, nil},
	{"internal/mpitest", []string{"internal/testenv"}, nil},
	{"internal/slurmtest", []string{"internal/testenv"}, []string{}},
	{"internal/rendezvous", []string{}, nil},
	{"internal/bench", []string{}, []string{}},
	{"internal/files", []string{}, []string{}},
	{"internal/measure/load", []string{"collector/store", "internal/bench", "internal/mpicall", "internal/rendezvous", "proto"}, []string{"google.golang.org/grpc", "google.golang.org/protobuf"}},
	{"internal/measure/bench", []string{"internal/bench"}, []string{}},
	{"internal/supervise", []string{}, []string{}},
	{"internal/faults", []string{"agent", "collector", "cshim", "trace", "internal"}, nil}, // it has tests alone
	{"internal/segment", []string{}, []string{"github.com/klauspost/compress"}},
	{"internal/wire", []string{}, []string{"github.com/klauspost/compress", "google.golang.org/grpc"}},
	{"internal/units", []string{}, []string{}},
	{"internal/anchor", []string{}, []string{}},
	{"internal/points", []string{"internal/hint"}, []string{}},
	{"internal/job", []string{"internal/files", "internal/hint"}, nil},
	{"internal/ticks", []string{"internal/shmabi"}, nil},
	{"internal/console", []string{"trace", "collector/health"}, nil},
	{"internal/control", []string{"collector/health", "internal", "proto"}, nil},
	{"internal/doctor", []string{"agent/ring", "internal/files", "internal/shmabi"}, nil},
	{"internal/clustering", []string{"analysis", "trace"}, nil},
	{"internal/measure", []string{"agent", "collector", "analysis", "trace", "internal"}, nil},
	{"internal/layout", []string{}, []string{}},
	{"proto", []string{}, nil},
	{"cshim/gen", []string{}, []string{}},
	{"cshim/bench", []string{"internal/bench"}, []string{}},
	{"cshim", []string{"internal"}, nil},
	{"agent/symbol", []string{}, []string{"github.com/ianlancetaylor/demangle"}},
	{"agent/window", []string{"proto", "internal/anchor", "internal/segment"}, []string{"google.golang.org/protobuf"}},
	{"agent", []string{"agent", "proto", "trace", "analysis/cell", "analysis/sequence", "internal"}, nil},
	{"collector/health", []string{}, []string{}},
	{"collector", []string{"collector", "proto", "trace", "analysis", "internal"}, nil},
	{"analysis/dbscan/bench", []string{"analysis/dbscan"}, []string{}},
	{"analysis", []string{"analysis", "internal/units"}, []string{"gonum.org"}},
	{"trace", []string{"trace", "internal"}, nil},
}

type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

// packages lists the module's packages with what they import, tests left out.
func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Standard,Imports", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func within(pkg, folder string) bool {
	return folder == "" || pkg == folder || strings.HasPrefix(pkg, folder+"/")
}

func TestImports(t *testing.T) {
	list := packages(t)
	if len(list) < 20 {
		t.Fatalf("go list knows %d packages only", len(list))
	}
	for _, p := range list {
		pkg := strings.TrimPrefix(p.ImportPath, module+"/")
		i := slices.IndexFunc(rules, func(r rule) bool { return within(pkg, r.folder) })
		if i < 0 {
			t.Errorf("%s: no rule says what it may import; is this its place?", pkg)
			continue
		}
		for _, imported := range p.Imports {
			name, ours := strings.CutPrefix(imported, module+"/")
			first, _, _ := strings.Cut(imported, "/")
			switch {
			case ours:
				if !slices.ContainsFunc(rules[i].ours, func(f string) bool { return within(name, f) }) {
					t.Errorf("%s imports %s", pkg, name)
				}
			case strings.Contains(path.Base(first), ".") && rules[i].others != nil:
				if !slices.ContainsFunc(rules[i].others, func(f string) bool { return within(imported, f) }) {
					t.Errorf("%s imports %s", pkg, imported)
				}
			}
		}
	}
}
