// Command app measures how much slower real programs are under `moriens run`, and prints a table in Markdown:
//
//	make bench-app
//
// Plain and measured runs of LAMMPS and of a halo exchange alternate, on two ranks, with the agent and the collector on
// the ranks' own cores. Each pair gives two ratios: of the time that the program itself reports for its steps, and of
// the whole command, which includes the program's start, the analysis and the run directory.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"moriens/bench/timing"
)

// A program is what is measured.
type program struct {
	name    string
	mpi     string
	command []string // behind the launcher
	before  string   // stands before the seconds in what it prints
}

func main() {
	pairs := flag.Int("pairs", 11, "pairs of a plain and a measured run")
	steps := flag.Int("steps", 2000, "steps of LAMMPS; the halo exchange makes five times as many iterations")
	bin := flag.String("bin", "bin", "directory with moriens and libmoriens.so")
	flag.Parse()
	if err := run(os.Stdout, ".", *bin, *pairs, *steps); err != nil {
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, root, bin string, pairs, steps int) error {
	work, err := os.MkdirTemp("", "moriens-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	moriens, err := filepath.Abs(filepath.Join(bin, "moriens"))
	if err != nil {
		return err
	}
	programs, err := build(root, work, steps)
	if err != nil {
		return err
	}
	os.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	os.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	fmt.Fprintln(out, "| program | MPI | pairs | steps, s | slower, % | interval | whole command, s | slower, % | interval |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|")
	for _, p := range programs {
		if err := p.compare(out, moriens, work, pairs); err != nil {
			return err
		}
	}
	return nil
}

// build compiles the halo exchange for both MPIs.
func build(root, work string, steps int) ([]program, error) {
	lammps := append(strings.Fields("mpirun.openmpi --oversubscribe -n 2 lmp -log none -var steps"), strconv.Itoa(steps), "-in", filepath.Join(root, "testdata/lammps/in.lj"))
	programs := []program{{"LAMMPS", "Open MPI", lammps, "Loop time of "}}
	for _, m := range []struct{ name, cc, launcher string }{
		{"Open MPI", "mpicc.openmpi", "mpirun.openmpi --oversubscribe -n 2"},
		{"MPICH", "mpicc.mpich", "mpiexec.mpich -n 2"},
	} {
		halo := filepath.Join(work, "halo."+m.cc)
		if _, err := timing.Output(nil, m.cc, "-O2", "-o", halo, filepath.Join(root, "testdata/miniapp/halo.c")); err != nil {
			return nil, err
		}
		programs = append(programs, program{"halo exchange", m.name, append(strings.Fields(m.launcher), halo, "-i", strconv.Itoa(5*steps)), "seconds "})
	}
	return programs, nil
}

// A once is what one run took.
type once struct{ steps, whole float64 } // seconds

// compare alternates plain and measured runs and prints a row.
func (p program) compare(out io.Writer, moriens, work string, pairs int) error {
	var steps, whole, stepRatio, wholeRatio []float64
	for i := range pairs {
		dir := filepath.Join(work, "run")
		measured := append([]string{moriens, "run", "--out", dir, "--"}, p.command...)
		var plain, with once
		var err error
		// The second program may find the machine warmer: they take turns.
		if i%2 == 0 {
			plain, err = p.time(p.command)
		}
		if err == nil {
			with, err = p.time(measured)
		}
		if err == nil && i%2 == 1 {
			plain, err = p.time(p.command)
		}
		if err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		steps, whole = append(steps, plain.steps), append(whole, plain.whole)
		stepRatio = append(stepRatio, 100*(with.steps/plain.steps-1))
		wholeRatio = append(wholeRatio, 100*(with.whole/plain.whole-1))
	}
	_, plainSteps, _ := timing.Quartiles(steps)
	_, plainWhole, _ := timing.Quartiles(whole)
	low, mid, high := timing.Interval(stepRatio)
	wholeLow, wholeMid, wholeHigh := timing.Interval(wholeRatio)
	_, err := fmt.Fprintf(out, "| %s | %s | %d | %.2f | %+.2f | %+.2f … %+.2f | %.2f | %+.2f | %+.2f … %+.2f |\n",
		p.name, p.mpi, pairs, plainSteps, mid, low, high, plainWhole, wholeMid, wholeLow, wholeHigh)
	return err
}

// time runs a command once.
func (p program) time(command []string) (once, error) {
	cmd := exec.Command(command[0], command[1:]...)
	var text, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &stderr
	start := time.Now()
	err := cmd.Run()
	whole := time.Since(start).Seconds()
	if err != nil {
		return once{}, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, stderr.String())
	}
	steps, err := p.seconds(text.String())
	return once{steps, whole}, err
}

// seconds finds what the program says that its steps took.
func (p program) seconds(text string) (float64, error) {
	for line := range strings.Lines(text) {
		if _, rest, found := strings.Cut(line, p.before); found {
			number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			return strconv.ParseFloat(number, 64)
		}
	}
	return 0, fmt.Errorf("%s did not say how long it took:\n%s", p.name, text)
}
