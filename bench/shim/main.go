// Command shim measures what libmoriens.so adds to MPI calls, under both MPI libraries, and prints a table:
//
//	make bench-shim
//
// The overhead is measured inside one process, under `moriens run`: rounds of a recorded call (MPI_Send) and of the
// same call without the library (PMPI_Send) alternate, with time between them in which the ring is emptied. A figure is
// the median of the differences round by round, with the quartiles, and beside it the difference of the minima. The
// processor time of agent and collector is measured separately. The last table compares with the budgets.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"moriens/bench/timing"
)

// A variant is one way to measure.
type variant struct {
	name    string
	program string // of programs/
	env     []string
	options []string // for the compiler
	budget  float64  // ns that a call may take more; 0: there is none
	behind  bool     // another tool follows the library
}

var variants = []variant{
	{name: "return address", program: "calls", env: []string{"MORIENS_CALLPATH=1"}, budget: 25},
	{name: "no stacking", program: "calls", env: []string{"MORIENS_CALLPATH=1", "MORIENS_STACK=0"}},
	{name: "a second tool behind", program: "calls", env: []string{"MORIENS_CALLPATH=1"}, behind: true},
	{name: "five frames", program: "calls", env: []string{"MORIENS_CALLPATH=5"}, budget: 100},
	{name: "depth 1", program: "deep", env: []string{"MORIENS_CALLPATH=1"}},
	{name: "depth 5", program: "deep", env: []string{"MORIENS_CALLPATH=5"}},
	{name: "depth 12", program: "deep", env: []string{"MORIENS_CALLPATH=12"}},
	{name: "depth 16", program: "deep", env: []string{"MORIENS_CALLPATH=16"}},
	{name: "two SDE counters", program: "calls", env: []string{"MORIENS_CALLPATH=1", "MORIENS_EVENTS=sde:::bench::a,sde:::bench::b"}, options: []string{"-DSDE", "-lsde"}},
	{name: "one software counter", program: "calls", env: []string{"MORIENS_CALLPATH=1", "MORIENS_EVENTS=sw:page-faults"}},
	{name: "marks", program: "marks"},
	{name: "marks reading two SDE counters", program: "marks", env: []string{"MORIENS_PHASE_COUNTERS=1", "MORIENS_EVENTS=sde:::bench::a,sde:::bench::b"}, options: []string{"-DSDE", "-lsde"}},
	{name: "marks reading a software counter", program: "marks", env: []string{"MORIENS_PHASE_COUNTERS=1", "MORIENS_EVENTS=sw:page-faults"}},
}

// An mpi is a library with its tools.
type mpi struct{ name, cc, launcher string }

var libraries = []mpi{
	{"Open MPI", "mpicc.openmpi", "mpirun.openmpi --oversubscribe"},
	{"MPICH", "mpicc.mpich", "mpiexec.mpich"},
}

// alone is, in the place of variants, what the library takes of a call without an agent.
const alone = "the library alone"

// ranks is how many every job has.
const ranks = 2

// A benchmark is one run of this program.
type benchmark struct {
	root, bin, work     string
	runs, rounds, calls int
	steady              int // calls of a rank, for what reads them
	out                 io.Writer
	budgets             []budget
	only                string // variants to measure, and nothing else; empty: all, and the rest
}

// A budget is a promise with what was measured.
type budget struct {
	what, unit      string
	limit, measured float64 // the worst of all medians
}

func main() {
	b := benchmark{out: os.Stdout}
	flag.IntVar(&b.runs, "runs", 5, "runs of each job")
	flag.IntVar(&b.rounds, "rounds", 21, "pairs of a plain round and a recorded one of each kind of call in a run")
	flag.IntVar(&b.calls, "calls", 20_000, "MPI calls in a round")
	flag.IntVar(&b.steady, "steady", 2_000_000, "MPI calls of a rank, for what agent and collector take")
	flag.StringVar(&b.only, "only", "", "measure these ways of recording alone, separated by commas: return address,no stacking; or what the library itself takes: "+alone)
	flag.StringVar(&b.bin, "bin", "bin", "directory with moriens and libmoriens.so")
	flag.Parse()
	if err := b.run("."); err != nil {
		fmt.Fprintln(os.Stderr, "shim:", err)
		os.Exit(1)
	}
}

// chosen are the variants to measure, with their programs.
func (b *benchmark) chosen(m mpi) ([]*measured, error) {
	var list []*measured
	for i, v := range variants {
		if b.only != "" && !slices.Contains(strings.Split(b.only, ","), v.name) {
			continue
		}
		app, err := b.build(m, v.program, v.options...)
		if err != nil {
			return nil, err
		}
		x := &measured{variant: v, at: i, env: v.env, job: m.job(app, strconv.Itoa(b.rounds), strconv.Itoa(b.calls))}
		if v.behind {
			tool, err := b.build(m, "behind", "-shared", "-fPIC")
			if err != nil {
				return nil, err
			}
			x.env = append(x.env, "LD_PRELOAD="+tool)
		}
		list = append(list, x)
	}
	return list, nil
}

// run measures everything, from the root of the repository.
func (b *benchmark) run(root string) (err error) {
	if b.root, err = filepath.Abs(root); err != nil {
		return err
	}
	if b.bin, err = filepath.Abs(b.bin); err != nil {
		return err
	}
	if b.work, err = os.MkdirTemp("", "moriens-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.work)
	os.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	os.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")

	if b.only == alone {
		return b.aloneCost()
	}
	fmt.Fprintln(b.out, "| MPI | recorded | call | plain, ns | added, ns | quartiles | least, ns |")
	fmt.Fprintln(b.out, "|---|---|---|---|---|---|---|")
	worst := make([]float64, len(variants))
	for _, m := range libraries {
		list, err := b.chosen(m)
		if err != nil {
			return err
		}
		for range b.runs { // in turn, so that what disturbs the machine for a while disturbs all
			for _, x := range list {
				if err := b.measure(x); err != nil {
					return err
				}
			}
		}
		for _, x := range list {
			worst[x.at] = max(worst[x.at], b.compare(m, x))
		}
	}
	if b.only != "" {
		return nil
	}
	for i, v := range variants {
		if v.budget > 0 {
			b.budgets = append(b.budgets, budget{"an MPI call, " + v.name, "ns", v.budget, worst[i]})
		}
	}
	fmt.Fprintln(b.out)
	for _, measure := range []func() error{b.aloneCost, b.readerCost, b.ringCost, b.memoryCost, b.startCost} {
		if err := measure(); err != nil {
			return err
		}
		fmt.Fprintln(b.out)
	}
	fmt.Fprintln(b.out, "| budget, added | at most | worst median |")
	fmt.Fprintln(b.out, "|---|---|---|")
	for _, x := range b.budgets {
		fmt.Fprintf(b.out, "| %s | %g %s | %.2f %s |\n", x.what, x.limit, x.unit, x.measured, x.unit)
	}
	return nil
}

// build compiles a program of this folder for an MPI library.
func (b *benchmark) build(m mpi, program string, options ...string) (string, error) {
	app := filepath.Join(b.work, program+"."+m.cc+strings.Join(options, ""))
	args := []string{m.cc, "-O2", "-I", filepath.Join(b.root, "cshim/include"), "-o", app, filepath.Join(b.root, "bench/shim/programs", program+".c"), "-lpthread"}
	_, err := timing.Output(nil, append(args, options...)...)
	return app, err
}

// job is the command line that starts a program on all ranks.
func (m mpi) job(app ...string) []string {
	return append(append(strings.Fields(m.launcher), "-n", strconv.Itoa(ranks)), app...)
}
