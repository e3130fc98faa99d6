package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/program"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace/rundir"
)

// modules is where the programs and libraries are to which something happens.
var modules = filepath.Join("..", "..", "testdata", "programs", "modules")

// measured is a run of a program in a job of Open MPI: its directory, what it calls MPI, and what moriens has said.
type measured struct {
	dir     string
	out     outcome
	program *program.Program
	calls   int64
}

// measure runs moriens with a program, and checks what holds whatever happened to its modules: status 0, nothing lost,
// all files that other runs have, and a program that is what was recorded.
func measure(t *testing.T, ranks int, options []string, command ...string) *measured {
	t.Helper()
	return measureIn(t, nil, ranks, options, command...)
}

// measureIn is measure where another command starts moriens.
func measureIn(t *testing.T, starter []string, ranks int, options []string, command ...string) *measured {
	t.Helper()
	testenv.Need(t, mpitest.OpenMPI.Launcher)
	m := &measured{dir: filepath.Join(t.TempDir(), "run")}
	args := slices.Concat(starter, []string{binary(t), "run", "--moriens-timeout", "10m", "--out", m.dir}, options)
	m.out = execute(t, nil, append(append(args, "--"), mpitest.OpenMPI.Args(ranks, "", command...)...)...)
	if m.out.status != 0 {
		t.Fatalf("status %d\n%s%s", m.out.status, m.out.stdout, m.out.stderr)
	}
	for _, name := range []string{"clusters.json", "structure.json", "callpaths.json", "profile.parquet", "program.json", "program.txt", "report.html"} {
		if _, err := os.Stat(filepath.Join(m.dir, name)); err != nil {
			t.Error(err)
		}
	}
	for _, n := range readManifest(t, m.dir).MPICalls {
		m.calls += int64(n)
	}
	m.program = readProgram(t, m.dir)
	verified(t, m.dir)
	return m
}

// says checks that the program, its text and its page have a note that matches, and that the summary has one.
func (m *measured) says(t *testing.T, note, summary string) {
	t.Helper()
	find := func(where, text, what string) {
		t.Helper()
		if !regexp.MustCompile(`(?m)` + what).MatchString(text) {
			t.Errorf("%s does not match %s:\n%s", where, what, text)
		}
	}
	find("program.json", strings.Join(m.program.Why, "\n"), `^`+note+`$`)
	find("moriens structure", execute(t, nil, binary(t), "structure", m.dir).stdout, `^note: `+note+`$`)
	find("the summary", execute(t, nil, binary(t), "status", "--long", m.dir).stdout, `^note: `+summary)
}

// byOf counts the loops and conditions by their evidence; of a function, or of all.
func (m *measured) byOf(function string) map[string]int {
	count := make(map[string]int)
	program.Walk(m.program.Body, func(n *program.Node, in []*program.Node) {
		if n.By == "" {
			return
		}
		holder := ""
		for _, x := range in {
			if x.Kind == program.KindCall && !x.Inlined {
				holder = x.Function
			}
		}
		if function == "" || holder == function {
			count[n.By]++
		}
	})
	return count
}

// Without the machine code of a program no loop and no condition is said to be by machine code; all else is there, and
// what was called how often is the same.
func TestStructureWithoutFile(t *testing.T) {
	source := filepath.Join("..", "..", "testdata", "programs", "nest.c")
	header, err := filepath.Abs(filepath.Join(modules, "taken.h"))
	if err != nil {
		t.Fatal(err)
	}
	with := measure(t, 4, nil, mpitest.OpenMPI.Planted(t, source, "-O2", "-g"))
	if by := with.byOf(""); by[program.ByOrder] > 0 || by[program.ByCode] == 0 || with.program.Basis != program.ByCode {
		t.Errorf("with its file: %v by %s", by, with.program.Basis)
	}
	if len(with.program.Uncoded) > 0 || strings.Contains(strings.Join(with.program.Why, "\n"), "machine code") {
		t.Errorf("with its file: %q", with.program.Why)
	}
	// Each rank has a file of its own, which it removes when it begins.
	app := mpitest.OpenMPI.Planted(t, source, "-O2", "-g", "-include", header)
	script := fmt.Sprintf(`d=%s/$OMPI_COMM_WORLD_RANK && mkdir $d && cp %s $d/nest && exec $d/nest`, t.TempDir(), app)
	without := measure(t, 4, nil, "sh", "-c", script)
	if by := without.byOf(""); by[program.ByCode] > 0 || by[program.ByOrder]+by[program.BySequence] == 0 || without.program.Basis != program.ByOrder {
		t.Errorf("without its file: %v by %s", by, without.program.Basis)
	}
	without.says(t, `The machine code of .* is not known \(nest: the file is not there\): loops there are by the order of lines\. On call paths of 100 % of the MPI calls\.`,
		`program\.txt: nest: the file is not there: loops by order of lines, 100 % of the calls`)
	if with.calls != without.calls {
		t.Errorf("%d calls with its file, %d without", with.calls, without.calls)
	}
}

// What is removed, replaced, or not to be distinguished, costs what it holds its machine code, which is reported with
// its share of the calls. The main program's remains.
func TestStructureOfModules(t *testing.T) {
	app := mpitest.OpenMPI.Planted(t, filepath.Join(modules, "modules.c"), "-O2", "-g")
	library := func(t *testing.T, name string, options ...string) string {
		t.Helper()
		from := mpitest.OpenMPI.Planted(t, filepath.Join(modules, "step.c"), append([]string{"-O2", "-g", "-shared", "-fPIC"}, options...)...)
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const other = "-DSECOND=MPI_Bcast(&x,1,MPI_DOUBLE,0,comm)"
	const ranks, steps = 2, 5 * (8 + 4) // calls of each library by each rank
	for _, x := range []struct {
		name string
		args func(t *testing.T) []string
		// What is not known, why, and of how many calls; "" = all is known.
		functions, why string
		calls          int64
	}{
		{"two of one name", func(t *testing.T) []string {
			return []string{"open", library(t, "libx.so"), "open", library(t, "libx.so", other), "call"}
		}, "", "", 0},
		{"two of one name without a build id", func(t *testing.T) []string {
			return []string{"open", library(t, "libx.so", "-Wl,--build-id=none"), "open", library(t, "libx.so", "-Wl,--build-id=none", other), "call"}
		}, `libx\.so\+0x[0-9a-f]+( and libx\.so\+0x[0-9a-f]+)?`, "libx.so: several files have this name and no build id", ranks * 2 * steps},
		{"replaced", func(t *testing.T) []string {
			path := library(t, "libx.so")
			return []string{"open", path, "replace", path, library(t, "libx.so", other), "call"}
		}, `libx\.so\+0x[0-9a-f]+`, "libx.so: the file has another build id than in the process", ranks * steps},
		{"removed", func(t *testing.T) []string {
			path := library(t, "libx.so")
			return []string{"open", path, "take", path, "call"}
		}, `libx\.so\+0x[0-9a-f]+`, "libx.so: the file is not there", ranks * steps},
		{"removed when it was called", func(t *testing.T) []string {
			path := library(t, "libx.so")
			return []string{"open", path, "call", "take", path}
		}, "", "", 0},
		{"in no file", func(*testing.T) []string { return []string{"jit"} }, `\[no file\]`, "it is in no file", ranks * 6},
	} {
		t.Run(x.name, func(t *testing.T) {
			m := measure(t, ranks, nil, append([]string{app}, x.args(t)...)...)
			if m.program.Basis != program.ByCode {
				t.Errorf("loops by %s", m.program.Basis)
			}
			by := m.byOf("")
			if x.why == "" {
				// The agent may come too late to open it: then it says so.
				if said := strings.Contains(strings.Join(m.program.Why, "\n"), "(libx.so: the file is not there)"); said != (by[program.ByOrder] > 0) {
					t.Errorf("%v, %q", by, m.program.Why)
				}
				return
			}
			if by[program.ByOrder] == 0 {
				t.Errorf("%v", by)
			}
			share := fmt.Sprintf("%.1f %%", 100*float64(x.calls)/float64(m.calls))
			m.says(t, fmt.Sprintf(`The machine code of %s is not known \(%s\): loops there are by the order of lines\. On call paths of %s of the MPI calls\.`, x.functions, regexp.QuoteMeta(x.why), share),
				fmt.Sprintf(`program\.txt: %s: loops by order of lines, %s of the calls`, regexp.QuoteMeta(x.why), share))
		})
	}
}

// A stripped program has its machine code all the same.
func TestStructureOfStripped(t *testing.T) {
	m := measure(t, 2, nil, mpitest.OpenMPI.Planted(t, filepath.Join("..", "..", "testdata", "programs", "nest.c"), "-O2", "-s", "-pie", "-fPIE"))
	if by := m.byOf(""); m.program.Basis != program.ByCode || by[program.ByCode] == 0 || by[program.ByOrder] > 0 {
		t.Errorf("%v by %s: %q", by, m.program.Basis, m.program.Why)
	}
}

// Where a rank's table of call paths is full, all files are there, no call is missing, and it is said of how many calls
// the place is not known: those that have a path and those that have none are all calls.
func TestStructureOfFullTable(t *testing.T) {
	testenv.Need(t, "unshare", "getconf")
	testenv.NeedRoot(t)
	shm := t.TempDir()
	app := mpitest.OpenMPI.Planted(t, filepath.Join(modules, "sites.c"), "-O1", "-g")
	// The less memory there is for rings, the less a table has: of 1 MiB a core it has room for some 400 paths of 64
	// frames, 300 less than the program has, and a ring for all of its calls.
	const mount = `mount -t tmpfs -o size=$(getconf _NPROCESSORS_ONLN)m none "$0" && exec "$@"`
	m := measureIn(t, []string{"unshare", "--mount", "sh", "-c", mount, shm}, 2, []string{"--callpath", "64", "--shm", shm}, app)
	const calls = 2 * (2*(600+1) + 2) // of two ranks: two trips, MPI_Init and MPI_Finalize
	placed, pathless := int64(0), int64(0)
	program.Walk(m.program.Body, func(n *program.Node, _ []*program.Node) {
		switch {
		case n.Kind != program.KindMPI:
		case n.File == "":
			pathless += n.Count
		default:
			placed += n.Count
		}
	})
	lost := readManifest(t, m.dir).Losses.CallPathsLost
	if m.calls != calls || placed+pathless != calls || pathless < 300 || placed < 300 || lost == 0 {
		t.Errorf("%d calls of %d: %d with a call path, %d without; %d look-ups without room", m.calls, calls, placed, pathless, lost)
	}
	note := fmt.Sprintf(`%s of the MPI calls \(%d\) have no call path: where they are is not known`, regexp.QuoteMeta(fmt.Sprintf("%.1f %%", 100*float64(pathless)/calls)), pathless)
	m.says(t, note+`\.`, `program\.txt: `+note)
	contains(t, m.out.stdout, fmt.Sprintf("\nincomplete: %d call paths without a name: the table was full\n", lost))
	// Of the places that it has, it has the machine code.
	if by := m.byOf(""); m.program.Basis != program.ByCode {
		t.Errorf("%v by %s", by, m.program.Basis)
	}
}

// A directory that an earlier version has written has no structure of the program, and perhaps no numbers of call
// paths: what would need them says so and what to do, and all other commands answer.
func TestStructureOfOldDirectory(t *testing.T) {
	m := measure(t, 2, nil, mpitest.OpenMPI.Planted(t, filepath.Join("..", "..", "testdata", "programs", "nest.c"), "-O2", "-g"))
	for _, x := range []struct {
		before  string
		without []string
		says    string
	}{
		{"the structure of the program", []string{"program.json", "program.txt"}, "it has no program.json, and it cannot be made: structure.json has places, not call paths: "},
		{"numbers of call paths", []string{"program.json", "program.txt", "callpaths.json"}, "it has no program.json: a version of moriens wrote it that did not compute the structure of the program\n"},
	} {
		t.Run("before "+x.before, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil {
				t.Fatal(err)
			}
			aged(t, dir, x.without)
			for _, args := range [][]string{{"structure"}, {"structure", "--json"}, {"structure", "--shell"}, {"structure", "--verify"}, {"profile", "--by", "loop"}} {
				o := execute(t, nil, append(append([]string{binary(t)}, args...), dir)...)
				if o.status != 1 || o.stdout != "" {
					t.Errorf("%v: status %d\n%s", args, o.status, o.stdout)
				}
				contains(t, o.stderr, x.says)
				contains(t, o.stderr, "hint: measure, or analyze, again with this version")
			}
			for _, args := range [][]string{{"status"}, {"status", "--long"}, {"profile"}, {"profile", "--by", "callpath", "--tree"}, {"pairs"}, {"waits"}, {"efficiency"}, {"report"}} {
				o := execute(t, nil, append(append([]string{binary(t)}, args...), dir)...)
				if o.status != 0 || o.stdout == "" {
					t.Errorf("%v: status %d\n%s%s", args, o.status, o.stdout, o.stderr)
				}
			}
		})
	}
}

// Where structure.json distinguishes call paths the program is made of it: with the same loops and calls, by the order
// of lines.
func TestStructureOfOldDirectoryWithCallPaths(t *testing.T) {
	m := measure(t, 2, nil, mpitest.OpenMPI.Planted(t, filepath.Join("..", "..", "testdata", "programs", "ranks.c"), "-O2", "-g"))
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil {
		t.Fatal(err)
	}
	aged(t, dir, []string{"program.json", "program.txt"})
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"structure"}, []string{"\nnote: A version of moriens that made no program wrote this run directory: ", "FOR i = 1..30", "IF rank != 0", "MPI_Scatter("}},
		{[]string{"structure", "--json"}, []string{`"basis":"order"`}},
		{[]string{"structure", "--verify"}, []string{"equal: "}},
		{[]string{"profile", "--by", "loop"}, []string{"FOR i = 1..30"}},
		{[]string{"status"}, []string{"main loop: FOR i = 1..30"}},
	} {
		o := execute(t, nil, append(append([]string{binary(t)}, c.args...), dir)...)
		if o.status != 0 {
			t.Errorf("%v: status %d\n%s", c.args, o.status, o.stderr)
		}
		for _, want := range c.want {
			contains(t, o.stdout, want)
		}
	}
}

// aged makes of a directory what a version has written that did not know some of its files.
func aged(t *testing.T, dir string, without []string) {
	t.Helper()
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Files = slices.DeleteFunc(m.Files, func(f rundir.File) bool { return slices.Contains(without, f.Name) })
	for _, name := range without {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Contains(without, rundir.CallPathsFile) {
		trace, err := os.ReadFile(filepath.Join(dir, rundir.TraceFile))
		if err != nil {
			t.Fatal(err)
		}
		trace = regexp.MustCompile(`:90000103:[0-9]+`).ReplaceAll(trace, nil)
		if err := os.WriteFile(filepath.Join(dir, rundir.TraceFile), trace, 0o666); err != nil {
			t.Fatal(err)
		}
		for i := range m.Files {
			if m.Files[i].Name == rundir.TraceFile {
				m.Files[i].Bytes = int64(len(trace))
			}
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, rundir.ManifestFile), text, 0o666); err != nil {
		t.Fatal(err)
	}
}
