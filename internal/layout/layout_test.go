package layout

import (
	"encoding/json"
	"errors"
	"io"
	"os"
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
	others []string // beyond the standard library; nil = anything but what one package alone may import
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
	{"internal/plain", []string{}, []string{}},
	{"internal/files", []string{}, []string{"golang.org/x/sys"}},
	{"internal/measure/load", []string{"collector/store", "internal/bench", "internal/mpicall", "internal/rendezvous", "proto"}, []string{"google.golang.org/grpc", "google.golang.org/protobuf"}},
	{"internal/measure/agentbench", []string{"agent/ring", "cshim/ringwriter", "internal"}, []string{}},
	{"internal/measure/endbench", []string{"analysis", "collector", "internal", "proto", "trace"}, []string{}},
	{"internal/measure/simulate", []string{"agent/cells", "analysis", "collector/cells", "internal", "proto"}, []string{"google.golang.org/grpc", "google.golang.org/protobuf"}},
	{"internal/measure/bench", []string{"internal/bench"}, []string{}},
	{"internal/supervise", []string{}, []string{}},
	{"internal/faults", []string{"agent", "collector", "cshim", "trace", "internal"}, nil}, // it has tests alone
	{"internal/segment", []string{"internal/files"}, []string{"github.com/klauspost/compress"}},
	{"internal/wire", []string{}, []string{"github.com/klauspost/compress", "google.golang.org/grpc"}},
	{"internal/units", []string{}, []string{}},
	{"internal/mix", []string{}, []string{}},
	{"internal/mpix/bench", []string{"analysis/dbscan", "analysis/team", "internal/bench", "internal/mpix"}, []string{}},
	{"internal/mpix/mpixtest", []string{"analysis/team", "internal/mpix"}, []string{}},
	{"internal/mpix", []string{"analysis/team", "internal/hint"}, []string{"github.com/emer/empi/mpi"}},
	{"internal/anchor", []string{"proto", "internal/mix"}, []string{}},
	{"internal/stage", []string{"analysis/team"}, []string{}},
	{"internal/points", []string{"internal/files", "internal/hint"}, []string{}},
	{"internal/job", []string{"internal/files", "internal/hint"}, nil},
	{"internal/ticks", []string{"internal/shmabi"}, nil},
	{"internal/console", []string{"trace", "collector/health", "internal/plain", "internal/units"}, nil},
	{"internal/control", []string{"collector/health", "internal", "proto"}, nil},
	{"internal/doctor", []string{"agent/ring", "internal/files", "internal/plain", "internal/shmabi", "internal/units"}, nil},
	{"internal/export", []string{"trace", "internal/console", "internal/hint", "internal/units"}, []string{"golang.org/x/sys"}},
	{"internal/clustering", []string{"analysis", "trace", "internal/units"}, nil},
	{"internal/retention", []string{"analysis", "trace", "internal"}, []string{}},
	{"internal/levels", []string{"analysis", "trace"}, nil},
	{"internal/report", []string{"internal/hint", "internal/webguard", "trace", "viewer"}, []string{}},
	{"internal/webguard", []string{}, []string{}},
	{"internal/measure", []string{"agent", "collector", "analysis", "trace", "internal"}, nil},
	{"internal/layout", []string{}, []string{}},
	{"proto", []string{}, nil},
	{"cshim/gen", []string{}, []string{}},
	{"cshim/bench", []string{"internal/bench"}, []string{}},
	{"cshim", []string{"internal"}, nil},
	{"agent/symbol", []string{"internal/files"}, []string{"github.com/ianlancetaylor/demangle"}},
	{"internal/relay", []string{"analysis/team", "proto"}, []string{}},
	{"agent/cells", []string{"analysis", "internal/anchor", "internal/mix", "internal/relay", "proto"}, []string{"golang.org/x/sys", "google.golang.org/protobuf"}},
	{"agent/window", []string{"proto", "internal/anchor", "internal/segment"}, []string{"google.golang.org/protobuf"}},
	{"agent", []string{"agent", "proto", "trace", "analysis/cell", "analysis/sequence", "internal"}, nil},
	{"collector/health", []string{}, []string{}},
	{"collector", []string{"collector", "proto", "trace", "analysis", "internal", "viewer"}, nil},
	{"analysis/dbscan/bench", []string{"analysis/dbscan"}, []string{}},
	{"analysis", []string{"analysis", "internal/mix", "internal/units"}, []string{"gonum.org"}},
	{"trace", []string{"trace", "internal", "analysis/team"}, nil},
	{"viewer", []string{}, []string{}},
}

// only says which package has something of others to itself.
var only = map[string]string{"github.com/emer/empi": "internal/mpix"}

type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

// packages lists the module's packages with what they import, tests left out, where they are built with tags.
func packages(t *testing.T, tags string) []listed {
	t.Helper()
	list := exec.Command("go", "list", "-tags", tags, "-json=ImportPath,Standard,Imports", module+"/...")
	list.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func within(pkg, folder string) bool {
	return folder == "" || pkg == folder || strings.HasPrefix(pkg, folder+"/")
}

func TestImports(t *testing.T) {
	for _, tags := range []string{"", "mpi,otf2"} {
		t.Run("tags="+tags, func(t *testing.T) { testImports(t, packages(t, tags)) })
	}
}

func testImports(t *testing.T, list []listed) {
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
			for other, owner := range only {
				if within(imported, other) && pkg != owner {
					t.Errorf("%s imports %s, as %s alone may", pkg, imported, owner)
				}
			}
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
