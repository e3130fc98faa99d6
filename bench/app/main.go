// Command app measures how much slower real programs are under `moriens run`, and prints a table in Markdown:
//
//	make bench-app
//
// Plain and measured runs of LAMMPS and of a halo exchange alternate, on two ranks, with the agent and the collector on
// the ranks' own cores; where EZTrace is installed, so do runs under that, which writes a trace of every call. Each
// round gives two ratios for each tool: of the time that the program itself reports for its steps, and of the whole
// command, which includes the program's start, and under moriens the analysis and the run directory.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"moriens/bench/timing"
)

// A program is what is measured.
type program struct {
	name     string
	mpi      string
	launcher []string
	command  []string // behind the launcher
	before   string   // stands before the seconds in what it prints
	module   string   // of EZTrace
}

// A tool is what a program runs under; the zero tool is none.
type tool struct {
	name    string
	command func(p program, dir string) []string
}

func main() {
	rounds := flag.Int("rounds", 11, "runs under each tool")
	steps := flag.Int("steps", 2000, "steps of LAMMPS; the halo exchange makes five times as many iterations")
	bin := flag.String("bin", "bin", "directory with moriens and libmoriens.so")
	only := flag.String("only", "", "a part of the names of the programs that are run, such as halo; all by default")
	flag.Parse()
	if err := run(os.Stdout, ".", *bin, *only, *rounds, *steps); err != nil {
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, root, bin, only string, rounds, steps int) error {
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
	tools := []tool{
		{"none", func(p program, _ string) []string { return slices.Concat(p.launcher, p.command) }},
		{"moriens", func(p program, dir string) []string {
			return slices.Concat([]string{moriens, "run", "--out", dir, "--"}, p.launcher, p.command)
		}},
	}
	if _, err := exec.LookPath("eztrace"); err == nil {
		tools = append(tools, tool{"EZTrace", func(p program, dir string) []string {
			return slices.Concat(p.launcher, []string{"eztrace", "-t", p.module, "-o", dir}, p.command)
		}})
	}
	fmt.Fprintln(out, "| program | MPI | under | rounds | steps, s | slower, % | interval | whole command, s | slower, % | interval |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|")
	for _, p := range programs {
		if !strings.Contains(p.name, only) {
			continue
		}
		if err := p.compare(out, tools, work, rounds); err != nil {
			return err
		}
	}
	return nil
}

// build compiles the halo exchange for both MPIs.
func build(root, work string, steps int) ([]program, error) {
	mpirun := strings.Fields("mpirun.openmpi --oversubscribe -n 2")
	lammps := []string{"lmp", "-log", "none", "-var", "steps", strconv.Itoa(steps), "-in", filepath.Join(root, "testdata/lammps/in.lj")}
	programs := []program{{"LAMMPS", "Open MPI", mpirun, lammps, "Loop time of ", "openmpi"}}
	for _, m := range []struct {
		name, cc, module string
		launcher         []string
	}{
		{"Open MPI", "mpicc.openmpi", "openmpi", mpirun},
		{"MPICH", "mpicc.mpich", "mpich", strings.Fields("mpiexec.mpich -n 2")},
	} {
		halo := filepath.Join(work, "halo."+m.cc)
		if _, err := timing.Output(nil, m.cc, "-O2", "-o", halo, filepath.Join(root, "testdata/miniapp/halo.c")); err != nil {
			return nil, err
		}
		programs = append(programs, program{"halo exchange", m.name, m.launcher, []string{halo, "-i", strconv.Itoa(5 * steps)}, "seconds ", m.module})
	}
	return programs, nil
}

// A once is what one run took.
type once struct{ steps, whole float64 } // seconds

// compare runs the program under each tool in turn and prints a row for each.
func (p program) compare(out io.Writer, tools []tool, work string, rounds int) error {
	took := make([][]once, len(tools))
	dir := filepath.Join(work, "run")
	for round := range rounds {
		for i := range tools {
			i := (i + round) % len(tools) // a later one may find the machine warmer: they take turns
			x, err := p.time(tools[i].command(p, dir))
			if err != nil {
				return err
			}
			took[i] = append(took[i], x)
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	for i := range tools {
		if _, err := fmt.Fprintln(out, p.row(tools[i].name, took[0], took[i])); err != nil {
			return err
		}
	}
	return nil
}

// row compares runs with plain ones.
func (p program) row(under string, plain, with []once) string {
	text := fmt.Sprintf("| %s | %s | %s | %d |", p.name, p.mpi, under, len(with))
	for _, figure := range []func(once) float64{func(x once) float64 { return x.steps }, func(x once) float64 { return x.whole }} {
		var seconds, ratios []float64
		for i := range with {
			seconds = append(seconds, figure(with[i]))
			ratios = append(ratios, 100*(figure(with[i])/figure(plain[i])-1))
		}
		_, median, _ := timing.Quartiles(seconds)
		low, mid, high := timing.Interval(ratios)
		text += fmt.Sprintf(" %.2f | %+.2f | %+.2f … %+.2f |", median, mid, low, high)
	}
	return text
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
