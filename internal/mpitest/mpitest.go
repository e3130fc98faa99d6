// Package mpitest builds and starts what tests under real MPI need: libmoriens.so, the mini-apps of
// testdata/miniapp, and jobs of both MPI libraries. Only tests import it.
package mpitest

import (
	"bufio"
	"debug/elf"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/internal/testenv"
)

// MPI is an MPI library with its tools.
type MPI struct {
	Name        string
	CC, CXX, FC string
	Launcher    string
}

// Both MPI libraries that every test must pass under.
var (
	OpenMPI = MPI{Name: "openmpi", CC: "mpicc.openmpi", CXX: "mpicxx.openmpi", FC: "mpif90.openmpi", Launcher: "mpirun.openmpi"}
	MPICH   = MPI{Name: "mpich", CC: "mpicc.mpich", CXX: "mpicxx.mpich", FC: "mpif90.mpich", Launcher: "mpiexec.mpich"}
)

// Each runs a test under both MPI libraries.
func Each(t *testing.T, test func(t *testing.T, mpi MPI)) {
	t.Helper()
	for _, mpi := range []MPI{OpenMPI, MPICH} {
		t.Run(mpi.Name, func(t *testing.T) {
			testenv.Need(t, mpi.CC, mpi.CXX, mpi.Launcher)
			test(t, mpi)
		})
	}
}

// Root is the root of the repository.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(dir, "go.mod")) {
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Library builds libmoriens.so and gives its path.
func Library(t testing.TB) string {
	t.Helper()
	_, bin := makeShim(t, "all")
	return filepath.Join(bin, "libmoriens.so")
}

// Program builds the moriens command, and libmoriens.so beside it, and gives its path.
func Program(t testing.TB) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(Library(t)), "moriens")
	build := exec.Command("go", "build", "-o", path, "./cmd/moriens")
	build.Dir, build.Env = Root(t), append(os.Environ(), "CGO_ENABLED=0")
	run(t, build)
	return path
}

// Program builds the moriens command with the tag mpi, as make build-mpi does, and gives its path.
func (m MPI) Program(t testing.TB) string {
	t.Helper()
	path := filepath.Join(Root(t), "build", "test", "moriens-mpi-"+m.Name)
	m.Go(t, Root(t), "build", "-tags", "mpi", "-o", path, "./cmd/moriens")
	return path
}

// Go runs a command of Go in a directory, to build what is linked to the MPI library: go test -c -tags mpi.
func (m MPI) Go(t testing.TB, dir string, args ...string) {
	t.Helper()
	testenv.Need(t, "pkg-config", m.CC)
	module := "ompi"
	path := os.Getenv("PKG_CONFIG_PATH")
	if m.Name == MPICH.Name {
		module = "mpich"
		path = filepath.Join(Root(t), "internal", "mpix", "mpich") + ":" + path
	}
	flags, err := exec.Command("pkg-config", "--cflags", module).Output()
	if err != nil {
		testenv.Lacking(t, "no "+module+" that pkg-config knows")
	}
	// The flags keep what Go has built for one MPI library from being taken for the other: it does not know of those of
	// pkg-config.
	build := exec.Command("go", args...)
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=1", "PKG_CONFIG_PATH="+path, "CGO_CFLAGS=-g -O2 "+strings.TrimSpace(string(flags)))
	run(t, build)
}

// SanitizedLibrary builds libmoriens.so with AddressSanitizer and UndefinedBehaviorSanitizer and gives
// what LD_PRELOAD must then hold.
func SanitizedLibrary(t testing.TB) string {
	t.Helper()
	build, _ := makeShim(t, "asan")
	runtime := strings.TrimSpace(run(t, exec.Command("gcc", "-print-file-name=libasan.so")))
	return runtime + ":" + filepath.Join(build, "libmoriens-asan.so")
}

// RacePrograms builds the programs that have the shim in them under ThreadSanitizer, and gives their directory.
func RacePrograms(t testing.TB) string {
	t.Helper()
	build, _ := makeShim(t, "tsan")
	return build
}

// makeShim has make bring a target of cshim up to date, one test process at a time: it takes longer to build than most
// tests take to run. Objects are those of make itself; the library for tests is not the one in bin, which may be in
// use.
func makeShim(t testing.TB, target string) (build, bin string) {
	t.Helper()
	testenv.Need(t, "make", "gcc")
	build, bin = filepath.Join(Root(t), "build", "cshim"), filepath.Join(Root(t), "build", "test")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(bin, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	run(t, exec.Command("make", "-s", "-j", strconv.Itoa(runtime.NumCPU()), "-C", filepath.Join(Root(t), "cshim"), "BIN="+bin, target))
	return build, bin
}

// App builds a mini-app, such as planted, or, if it is named x.so, a plugin from x.c, with more options
// for the compiler.
func (m MPI) App(t testing.TB, name string, options ...string) string {
	t.Helper()
	testenv.Need(t, m.CC, m.CXX)
	source := filepath.Join(Root(t), "testdata", "miniapp", strings.TrimSuffix(name, ".so"))
	// With MPICH's header gcc warns that a null status array is too small.
	args := []string{"-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow"}
	if strings.HasSuffix(name, ".so") {
		args = append(args, "-shared", "-fPIC")
	}
	compiler := m.CC
	if exists(source + ".cc") {
		compiler, args = m.CXX, append(args, "-Wno-cast-function-type", source+".cc")
	} else {
		args = append(args, source+".c", "-lpthread", "-ldl")
	}
	args = append(args, options...)
	return m.kept(t, name, args, func(dir string) {
		run(t, exec.Command(compiler, append(args, "-o", filepath.Join(dir, name))...))
	})
}

// Bindings are those of Fortran: the macros that make a mini-app use mpif.h, the module mpi or mpi_f08.
var Bindings = []string{"MPIF_H", "USE_MPI", "F08"}

// Fortran builds a mini-app of Fortran for one of the Bindings, or, if it is named x.so, a plugin from x.F90.
func (m MPI) Fortran(t testing.TB, name, binding string, options ...string) string {
	t.Helper()
	testenv.Need(t, m.CC, m.FC)
	source := filepath.Join(Root(t), "testdata", "miniapp")
	// mpif.h declares nothing: to the compiler, calls with other buffers contradict each other.
	args := append([]string{"-O2", "-g", "-ffree-line-length-none", "-fallow-argument-mismatch", "-D" + binding}, options...)
	if strings.HasSuffix(name, ".so") {
		args = append(args, "-shared", "-fPIC")
	}
	args = append(args, filepath.Join(source, strings.TrimSuffix(name, ".so")+".F90"))
	return m.kept(t, name, args, func(dir string) {
		planted := filepath.Join(dir, "planted.o")
		run(t, exec.Command(m.CC, "-O2", "-g", "-fPIC", "-c", "-o", planted, filepath.Join(source, "planted_fortran.c")))
		run(t, exec.Command(m.FC, append(args, "-J"+dir, "-o", filepath.Join(dir, name), planted)...))
	})
}

// Planted builds a program of testdata/programs, from its source, with options for the compiler of its language.
func (m MPI) Planted(t testing.TB, source string, options ...string) string {
	t.Helper()
	compiler, args := m.CC, append([]string{"-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", "-pthread"}, options...)
	module := func(string) []string { return nil }
	switch filepath.Ext(source) {
	case ".cc":
		compiler, args = m.CXX, append(args, "-Wno-cast-function-type")
	case ".F90":
		compiler, args = m.FC, append([]string{"-ffree-line-length-none", "-fallow-argument-mismatch"}, options...)
		module = func(dir string) []string { return []string{"-J" + dir} }
	}
	testenv.Need(t, compiler)
	name := strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))
	absolute, err := filepath.Abs(source)
	if err != nil {
		t.Fatal(err)
	}
	args = append(args, absolute)
	return m.kept(t, name, args, func(dir string) {
		run(t, exec.Command(compiler, append(append(args, "-o", filepath.Join(dir, name)), module(dir)...)...))
	})
}

// kept gives what such a compilation has left in build/test, where nothing it may be made of is newer; else it has it
// done, in a directory of its own. What is compiled with files from outside the repository is not kept.
func (m MPI) kept(t testing.TB, name string, args []string, compile func(dir string)) string {
	t.Helper()
	root := Root(t)
	if slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, "/") && !strings.Contains(arg, root) }) {
		dir := t.TempDir()
		compile(dir)
		return filepath.Join(dir, name)
	}
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%q", args)
	out := filepath.Join(root, "build", "test", "apps", m.Name, fmt.Sprintf("%016x", hash.Sum64()), name)
	if info, err := os.Stat(out); err == nil && !info.ModTime().Before(newest(t, sources(root)...)) {
		return out
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(out), "new-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	compile(dir)
	if err := os.Rename(filepath.Join(dir, name), out); err != nil { // another test may do the same
		t.Fatal(err)
	}
	return out
}

// sources are the directories of what programs are made of.
func sources(root string) (dirs []string) {
	for _, dir := range []string{"testdata/miniapp", "testdata/programs", "testdata/programs/kernels", "cshim/include"} {
		dirs = append(dirs, filepath.Join(root, filepath.FromSlash(dir)))
	}
	return dirs
}

// newest is when something in one of the directories was changed last.
func newest(t testing.TB, dirs ...string) (changed time.Time) {
	t.Helper()
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			if info.ModTime().After(changed) {
				changed = info.ModTime()
			}
		}
	}
	return changed
}

// Libraries lists the MPI libraries of a Fortran program, by path.
func (m MPI) Libraries(t testing.TB) []string {
	t.Helper()
	var libraries []string
	for line := range strings.Lines(run(t, exec.Command("ldd", m.Fortran(t, "fortran", "F08")))) {
		if fields := strings.Fields(line); len(fields) > 2 && strings.HasPrefix(fields[0], "libmpi") {
			libraries = append(libraries, fields[2])
		}
	}
	if len(libraries) == 0 {
		t.Fatalf("%s: a Fortran program without an MPI library", m.Name)
	}
	return libraries
}

// Functions lists the functions that a library exports.
func Functions(t testing.TB, path string) map[string]bool {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	functions := map[string]bool{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF {
			functions[s.Name] = true
		}
	}
	return functions
}

// SoftwarePMU builds what makes PAPI take the kernel's software events for the processor's own; to be preloaded.
func SoftwarePMU(t testing.TB) string {
	t.Helper()
	return sharedObject(t, "softpmu")
}

// PAPIOfComponents builds a PAPI library with many components: testdata/papicomponents.c.
func PAPIOfComponents(t testing.TB) string {
	t.Helper()
	return sharedObject(t, "papicomponents")
}

func sharedObject(t testing.TB, name string) string {
	t.Helper()
	testenv.Need(t, "gcc")
	out := filepath.Join(t.TempDir(), name+".so")
	run(t, exec.Command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", out,
		filepath.Join(Root(t), "testdata", name+".c"), "-ldl"))
	return out
}

func run(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd, err, out, stderr.String())
	}
	return string(out)
}

// Args is the command line that starts a program on that many ranks. preload, if any, is the ranks'
// LD_PRELOAD and not the launcher's.
func (m MPI) Args(ranks int, preload string, program ...string) []string {
	args := []string{m.Launcher}
	if m.Name == OpenMPI.Name {
		args = append(args, "--oversubscribe", "-n", fmt.Sprint(ranks))
		if preload != "" {
			args = append(args, "-x", "LD_PRELOAD="+preload)
		}
	} else {
		args = append(args, "-n", fmt.Sprint(ranks))
		if preload != "" {
			args = append(args, "-genv", "LD_PRELOAD", preload)
		}
	}
	return append(args, program...)
}

// Environ is the environment of a job: ours, what Open MPI asks of root, and more. Open MPI 4.1.4 is to make topologies
// without its component treematch, whose MPI_Dist_graph_create hangs on a starved machine, without moriens too: on .3
// of a core in 4 of 350 jobs of two ranks, with the component basic in none of 550.
func Environ(more ...string) []string {
	env := append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_topo=basic")
	return append(env, more...)
}

// Counts reads the MPI calls that the ranks of a mini-app have made, as they say themselves, from the
// directory that was their MINIAPP_OUT: by rank, by function.
func Counts(t testing.TB, dir string) map[int]map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "counts.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no counts in %s: %v", dir, err)
	}
	counts := map[int]map[string]int{}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			var rank, n int
			var name string
			if _, err := fmt.Sscan(lines.Text(), &rank, &name, &n); err != nil {
				t.Fatalf("%s: %q: %v", path, lines.Text(), err)
			}
			if counts[rank] == nil {
				counts[rank] = map[string]int{}
			}
			counts[rank][name] = n
		}
		f.Close()
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return counts
}
