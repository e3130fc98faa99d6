// Command bench measures what libmoriens.so adds to MPI calls, under both MPI libraries, and prints a table:
//
//	make bench-shim
//
// Plain and measured runs alternate; a figure is the median of the differences pair by pair, with the quartiles. A
// measured run is one of `moriens run`, agent and collector on the same cores.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A variant is one way to measure.
type variant struct {
	name string
	env  []string
}

var variants = []variant{
	{"return address", nil},
	{"five frames", []string{"MORIENS_CALLPATH=5"}},
}

var launchers = []struct{ name, cc, launcher string }{
	{"Open MPI", "mpicc.openmpi", "mpirun.openmpi --oversubscribe"},
	{"MPICH", "mpicc.mpich", "mpiexec.mpich"},
}

func main() {
	pairs := flag.Int("pairs", 11, "pairs of a plain and a measured run")
	rounds := flag.Int("rounds", 15, "rounds of each kind of call in a run")
	calls := flag.Int("calls", 30_000, "MPI calls in a round")
	flag.Parse()
	if err := run(*pairs, *rounds, *calls); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(pairs, rounds, calls int) error {
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "moriens-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	os.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	os.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")

	fmt.Println("| MPI | recorded | call | plain, ns | added, ns | quartiles |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, l := range launchers {
		app := filepath.Join(work, "calls."+l.name)
		if _, err := output(nil, l.cc, "-O2", "-o", app, filepath.Join(root, "cshim/bench/programs/calls.c")); err != nil {
			return err
		}
		program := func(app string) []string {
			return append(strings.Fields(l.launcher), "-n", "2", app, strconv.Itoa(rounds), strconv.Itoa(calls))
		}
		for _, v := range variants {
			if err := compare(l.name, v, program(app), root, work, pairs); err != nil {
				return err
			}
		}
		marks := filepath.Join(work, "marks."+l.name)
		if _, err := output(nil, l.cc, "-O2", "-I", filepath.Join(root, "cshim/include"), "-o", marks, filepath.Join(root, "cshim/bench/programs/marks.c")); err != nil {
			return err
		}
		if err := compare(l.name, variant{"marks", nil}, program(marks), root, work, pairs); err != nil {
			return err
		}
	}
	fmt.Println()
	if err := ringCost(root, work); err != nil {
		return err
	}
	return startCost(root, pairs*20)
}

// compare alternates plain and measured runs of a job and prints a row for each kind of call.
func compare(mpi string, v variant, job []string, root, work string, pairs int) error {
	plain, added := map[string][]float64{}, map[string][]float64{}
	var kinds []string
	for range pairs {
		without, err := medians(nil, job...)
		if err != nil {
			return err
		}
		out := filepath.Join(work, "run")
		with, err := medians(v.env, append([]string{filepath.Join(root, "bin/moriens"), "run", "--out", out, "--"}, job...)...)
		if err != nil {
			return err
		}
		if err := os.RemoveAll(out); err != nil {
			return err
		}
		kinds = without.kinds
		for _, k := range kinds {
			plain[k] = append(plain[k], without.ns[k])
			added[k] = append(added[k], with.ns[k]-without.ns[k])
		}
	}
	for _, k := range kinds {
		low, mid, high := quartiles(added[k])
		_, base, _ := quartiles(plain[k])
		fmt.Printf("| %s | %s | %s | %.1f | %.1f | %.1f … %.1f |\n", mpi, v.name, k, base, mid, low, high)
	}
	return nil
}

// figures are the medians over the rounds of a run, by kind of call.
type figures struct {
	kinds []string // in the order of their first line
	ns    map[string]float64
}

func medians(env []string, command ...string) (figures, error) {
	text, err := output(env, command...)
	if err != nil {
		return figures{}, err
	}
	f := figures{ns: map[string]float64{}}
	values := map[string][]float64{}
	for line := range strings.Lines(text) {
		kind, number, found := strings.Cut(strings.TrimSpace(line), "\t")
		ns, err := strconv.ParseFloat(number, 64)
		if !found || err != nil {
			continue // what moriens prints
		}
		if values[kind] == nil {
			f.kinds = append(f.kinds, kind)
		}
		values[kind] = append(values[kind], ns)
	}
	for kind, list := range values {
		_, f.ns[kind], _ = quartiles(list)
	}
	return f, nil
}

func quartiles(list []float64) (low, mid, high float64) {
	sorted := slices.Sorted(slices.Values(list))
	at := func(q int) float64 { return sorted[(len(sorted)-1)*q/4] }
	return at(1), at(2), at(3)
}

func ringCost(root, work string) error {
	app := filepath.Join(work, "ring")
	source := filepath.Join(root, "cshim")
	if _, err := output(nil, "gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-I", source+"/include", "-I", source+"/src",
		"-o", app, source+"/bench/programs/ring.c", source+"/src/ring.c"); err != nil {
		return err
	}
	f, err := medians(nil, app)
	if err != nil {
		return err
	}
	fmt.Println("| the ring alone | ns |")
	fmt.Println("|---|---|")
	for _, k := range f.kinds {
		fmt.Printf("| %s | %.1f |\n", k, f.ns[k])
	}
	fmt.Println()
	return nil
}

// startCost times /bin/true with and without the library.
func startCost(root string, pairs int) error {
	var plain, added []float64
	start := func(preload string) (float64, error) {
		cmd := exec.Command("/bin/true")
		cmd.Env = []string{"LD_PRELOAD=" + preload}
		begin := time.Now()
		err := cmd.Run()
		return float64(time.Since(begin).Microseconds()) / 1000, err
	}
	for range pairs {
		without, err := start("")
		if err != nil {
			return err
		}
		with, err := start(filepath.Join(root, "bin/libmoriens.so"))
		if err != nil {
			return err
		}
		plain = append(plain, without)
		added = append(added, with-without)
	}
	low, mid, high := quartiles(added)
	_, base, _ := quartiles(plain)
	fmt.Println("| start of /bin/true, ms | added, ms | quartiles |")
	fmt.Println("|---|---|---|")
	fmt.Printf("| %.2f | %.2f | %.2f … %.2f |\n", base, mid, low, high)
	return nil
}

func output(env []string, command ...string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, stderr.String())
	}
	return stdout.String(), nil
}
