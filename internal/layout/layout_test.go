package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "moriens"

// A rule says what the packages below a folder may import: of ours, and of others where that is limited.
type rule struct {
	folder string
	ours   []string // folders; those of internal/ by their name in leaves
	leaves []string // packages below internal/; nil = all of them
	others []string // beyond the standard library; nil = anything that no package has to itself
}

// Every floor imports lower floors only. The first rule that fits a package counts, so that the narrow ones stand
// above.
var rules = []rule{
	{"cmd", []string{"agent", "analysis", "app", "collector", "conclude", "trace"}, nil, nil},
	{"bench", []string{"agent", "analysis", "app", "bench/timing", "collector", "conclude", "cshim", "proto", "trace"}, nil, nil},
	{"app", []string{"agent", "analysis", "app", "collector", "conclude", "proto", "trace", "viewer"},
		[]string{"files", "hint", "plain", "rendezvous", "segment", "shmabi", "slack", "stage", "team", "units", "webguard"}, nil},
	{"conclude/match", []string{}, []string{"team"}, []string{}},
	{"conclude/carry", []string{"trace"}, []string{"team"}, []string{}},
	{"conclude/clustering", []string{"analysis", "trace"}, []string{"team", "units"}, []string{}},
	{"conclude/levels", []string{"analysis", "trace"}, []string{"team"}, []string{}},
	{"conclude/factors", []string{"analysis", "trace"}, []string{"team"}, []string{}},
	{"conclude/blame", []string{"analysis", "trace"}, []string{"team"}, []string{}},
	{"conclude/pairing", []string{"analysis", "conclude/blame", "trace"}, []string{"team", "units"}, []string{}},
	{"conclude/retention", []string{"analysis", "conclude/blame", "conclude/carry", "conclude/clustering", "conclude/factors", "conclude/levels", "conclude/pairing", "trace"},
		[]string{"mpicall", "stage", "team", "units"}, []string{}},
	{"conclude/rebuild", []string{"analysis", "collector/store", "conclude/match", "proto", "trace"},
		[]string{"anchor", "mpicall", "sums", "team", "units"}, []string{"google.golang.org/protobuf"}},
	{"conclude/fetch", []string{"collector/store", "collector/windows", "conclude/rebuild", "proto", "trace"}, []string{"anchor", "team", "units"}, []string{}},
	{"conclude/cells", []string{"analysis", "collector/cells", "collector/store", "collector/windows", "conclude/clustering", "conclude/fetch", "conclude/rebuild", "conclude/retention", "proto", "trace"},
		[]string{"mpicall", "relay", "stage", "units"}, []string{}},
	{"conclude/agenttest", []string{"collector/store", "proto"}, []string{"mpicall", "section", "sums"}, []string{}},
	{"conclude", []string{"analysis", "collector/cells", "collector/store", "conclude/cells", "conclude/clustering", "conclude/fetch", "conclude/rebuild", "conclude/retention", "proto", "trace"},
		[]string{"stage", "team", "units"}, []string{}},
	{"collector/health", []string{}, []string{}, []string{}},
	{"collector", []string{"analysis", "collector", "proto", "trace", "viewer"},
		[]string{"anchor", "files", "index", "mix", "mpicall", "relay", "rendezvous", "section", "segment", "stage", "sums", "team", "ticks", "units", "webguard", "wire"}, nil},
	{"agent", []string{"agent", "analysis", "proto", "trace"},
		[]string{"anchor", "files", "index", "mix", "mpicall", "relay", "rendezvous", "section", "segment", "shmabi", "sums", "team", "ticks", "units", "wire"}, nil},
	{"analysis", []string{"analysis"}, []string{"index", "mix", "team", "units"}, []string{"gonum.org"}},
	{"trace", []string{"trace"}, []string{"files", "hint", "mix", "mpicall", "plain", "team", "units"}, nil},
	{"cshim", []string{}, []string{"mpicall", "shmabi"}, []string{}},
	{"internal", []string{"proto"}, nil, nil},
	{"proto", []string{}, []string{}, nil},
	{"viewer", []string{}, []string{}, []string{}},
	{"deploy", []string{}, []string{}, []string{}},
}

// leaves are the packages of internal/ that others of it may import; a leaf imports proto and none of ours else.
var leaves = []string{"files", "hint", "index", "mix", "mpicall", "shmabi", "team", "testenv", "mpix"}

// own lists the only package that may import a module.
var own = map[string]string{"github.com/emer/empi": "internal/mpix"}

type listed struct {
	ImportPath string
	Imports    []string
}

// packages lists the module's packages with what they import, tests left out, as they are built with tags.
func packages(t *testing.T, tags string) []listed {
	t.Helper()
	list := exec.Command("go", "list", "-tags", tags, "-json=ImportPath,Imports", module+"/...")
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

func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

func withinAny(pkg string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(pkg, f) })
}

// ruleOf returns the rule for a package, nil = none.
func ruleOf(pkg string) *rule {
	if i := slices.IndexFunc(rules, func(r rule) bool { return within(pkg, r.folder) }); i >= 0 {
		return &rules[i]
	}
	return nil
}

// broken says what of a package's imports the rules forbid.
func broken(p listed) (faults []string) {
	pkg := strings.TrimPrefix(p.ImportPath, module+"/")
	r := ruleOf(pkg)
	if r == nil {
		return []string{pkg + ": no rule says what it may import; is this its place?"}
	}
	for _, imported := range p.Imports {
		name, ours := strings.CutPrefix(imported, module+"/")
		host, _, _ := strings.Cut(imported, "/")
		owner := ""
		for other, of := range own {
			if within(imported, other) {
				owner = of
			}
		}
		switch {
		case owner != "":
			if pkg != owner {
				faults = append(faults, fmt.Sprintf("%s imports %s, which only %s may", pkg, imported, owner))
			}
		case ours:
			if !r.allows(pkg, name) {
				faults = append(faults, fmt.Sprintf("%s imports %s", pkg, name))
			}
		case strings.Contains(host, ".") && r.others != nil:
			if !withinAny(imported, r.others) {
				faults = append(faults, fmt.Sprintf("%s imports %s", pkg, imported))
			}
		}
	}
	return faults
}

// allows reports whether pkg may import name, a package of ours.
func (r *rule) allows(pkg, name string) bool {
	leaf, ok := strings.CutPrefix(name, "internal/")
	switch {
	case !ok:
		return withinAny(name, r.ours)
	case r.folder == "internal":
		return slices.Contains(leaves, leaf) || within(pkg, "internal/"+leaf) || within(name, pkg)
	case r.leaves == nil:
		return true
	default:
		return withinAny(leaf, r.leaves)
	}
}

func TestImports(t *testing.T) {
	for _, tags := range []string{"", "mpi,otf2"} {
		t.Run("tags="+tags, func(t *testing.T) {
			list := packages(t, tags)
			if len(list) < 20 {
				t.Fatalf("go list knows only %d packages", len(list))
			}
			used := make(map[string]bool)
			for _, p := range list {
				for _, fault := range broken(p) {
					t.Error(fault)
				}
				if r := ruleOf(strings.TrimPrefix(p.ImportPath, module+"/")); r != nil {
					used[r.folder] = true
				}
			}
			for _, r := range rules {
				if !used[r.folder] {
					t.Errorf("the rule of %s is for no package", r.folder)
				}
			}
		})
	}
}

// The test of the test: each rule fails when it is broken, and so do the rules that hold for all.
func TestRulesFail(t *testing.T) {
	breaks := map[string][2]string{ // by folder: which imports which
		"cmd":                 {"cmd/moriens", "bench/timing"},
		"bench":               {"bench/agent", "cmd/moriens"},
		"app":                 {"app/measure", "cmd/moriens"},
		"conclude/match":      {"conclude/match", "trace"},
		"conclude/carry":      {"conclude/carry", "analysis/space"},
		"conclude/clustering": {"conclude/clustering", "collector/store"},
		"conclude/levels":     {"conclude/levels", "conclude/retention"},
		"conclude/factors":    {"conclude/factors", "conclude/retention"},
		"conclude/blame":      {"conclude/blame", "conclude/retention"},
		"conclude/pairing":    {"conclude/pairing", "conclude/retention"},
		"conclude/retention":  {"conclude/retention", "conclude/rebuild"},
		"conclude/rebuild":    {"conclude/rebuild", "conclude/retention"},
		"conclude/fetch":      {"conclude/fetch", "conclude/cells"},
		"conclude/cells":      {"conclude/cells", "conclude"},
		"conclude/agenttest":  {"conclude/agenttest", "conclude/rebuild"},
		"conclude":            {"conclude", "app/measure"},
		"collector/health":    {"collector/health", "trace"},
		"collector":           {"collector/store", "agent"},
		"agent":               {"agent", "collector/cells"},
		"analysis":            {"analysis/space", "trace"},
		"trace":               {"trace/prv", "analysis/space"},
		"cshim":               {"cshim/ringwriter", "internal/files"},
		"internal":            {"internal/units", "analysis/space"},
		"proto":               {"proto/moriens/v1", "internal/hint"},
		"viewer":              {"viewer", "trace"},
		"deploy":              {"deploy/slurm", "internal/hint"},
	}
	for _, r := range rules {
		b, ok := breaks[r.folder]
		if !ok {
			t.Errorf("nothing here breaks the rule of %s", r.folder)
			continue
		}
		if of := ruleOf(b[0]); of == nil || of.folder != r.folder {
			t.Errorf("%s is not under the rule of %s", b[0], r.folder)
		}
		if len(broken(listed{module + "/" + b[0], []string{module + "/" + b[1]}})) != 1 {
			t.Errorf("%s may import %s", b[0], b[1])
		}
		if r.leaves != nil && len(broken(listed{module + "/" + b[0], []string{module + "/internal/golden"}})) != 1 {
			t.Errorf("%s may import internal/golden, which only tests may", b[0])
		}
		if r.others != nil && len(broken(listed{module + "/" + b[0], []string{"example.com/x"}})) != 1 {
			t.Errorf("%s may import example.com/x", b[0])
		}
	}
	for _, p := range []listed{
		{module + "/else", nil},
		{module + "/conclude/match", []string{module + "/collector/store"}},
		{module + "/conclude/match", []string{module + "/proto/moriens/v1"}},
		{module + "/conclude/match", []string{module + "/analysis/clock"}},
		{module + "/internal/units", []string{module + "/internal/wire"}},
		{module + "/collector/store", []string{"github.com/emer/empi/mpi"}},
	} {
		if len(broken(p)) != 1 {
			t.Errorf("%v passes", p)
		}
	}
	if faults := broken(listed{module + "/internal/mpix", []string{"github.com/emer/empi/mpi", module + "/internal/team"}}); faults != nil {
		t.Error(faults)
	}
}
