package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace"
)

// LAMMPS computes the same under measurement as without, and its clusters make sense.
func TestLAMMPS(t *testing.T) {
	testenv.Need(t, "lmp", mpitest.OpenMPI.Launcher)
	input, err := filepath.Abs("../../testdata/lammps/in.lj")
	if err != nil {
		t.Fatal(err)
	}
	job := mpitest.OpenMPI.Args(2, "", "lmp", "-in", input, "-log", "none", "-var", "steps", "200")
	plain := execute(t, nil, job...)
	out := filepath.Join(t.TempDir(), "run")
	measured := execute(t, nil, append([]string{binary(t), "run", "--moriens-timeout", "10m", "--keep-bursts", "all", "--out", out, "--"}, job...)...)
	if plain.status != 0 || measured.status != 0 {
		t.Fatalf("status %d without, %d with\n%s", plain.status, measured.status, measured.stderr)
	}
	want, got := thermo(plain.stdout), thermo(measured.stdout)
	if len(want) != 5 || !slices.Equal(want, got) {
		t.Errorf("thermodynamic output without:\n%s\nwith:\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}

	m := readManifest(t, out)
	if m.Ranks != 2 || m.Dropped != 0 || m.MPICalls["MPI_Init"] != 2 || m.MPICalls["MPI_Finalize"] != 2 {
		t.Errorf("manifest %+v", m)
	}
	// A step exchanges positions and forces with the other rank on either side: each exchange is an Irecv,
	// a Send and a Wait.
	if n := m.MPICalls["MPI_Wait"]; n != m.MPICalls["MPI_Irecv"] || n != m.MPICalls["MPI_Send"] || n < 2*200*4 {
		t.Errorf("MPI calls %v", m.MPICalls)
	}
	run := readBursts(t, out)
	checkTrace(t, out, run)
	recount(t, out)
	checkSummary(t, "lammps", out, measured.stdout)
	// The force computation occurs once a step on each rank, between the same two calls; nine steps of ten have the same.
	// Which of its bursts are one kind depends on the machine's load: analysis/grouping has runs of LAMMPS that were
	// recorded.
	checkForces(t, run, 2*200*8/10)
	checkSteps(t, out)
}

// checkSteps checks that the time steps are a loop with conditions on its trips, in the order of the source, and that
// the computation in it has clusters.
func checkSteps(t *testing.T, out string) {
	t.Helper()
	o := execute(t, nil, binary(t), "structure", "--function", "Verlet::run", "--metric", "calls,cluster", out)
	const other = `(?: +compute [^\n]*\n)?` // what of the rest is long enough to be a line depends on the machine's load
	steps := regexp.MustCompile(`(?s) LAMMPS_NS::Verlet::run\(\).*\n +FOR j = 1\.\.200  # likely, trips with calls\n` +
		` +IF j % 20 != 19\n.* LAMMPS_NS::CommBrick::forward_comm\(\)\n.*MPI_Send\(to \(rank\+1\) mod size\) +760\n.*` +
		` ELSE\n` + other + ` +LAMMPS_NS::CommBrick::exchange\(\)\n.* LAMMPS_NS::CommBrick::borders\(\)\n.*` +
		` compute +400 +\d[^\n]*\n +LAMMPS_NS::CommBrick::reverse_comm\(\)\n.* IF j % 50 == 49\n` + other + ` +LAMMPS_NS::Output::write\(\)\n`)
	if !steps.MatchString(o.stdout) {
		t.Errorf("status %d: %s%s", o.status, o.stdout, o.stderr)
	}
	contains(t, execute(t, nil, binary(t), "structure", "--verify", out).stdout, "equal: ")
}

// checkForces checks that the two calls between which a run computes most have so many bursts between them, and .4 of
// the time, and that some of these are of a kind.
func checkForces(t *testing.T, run *trace.Run, least int) {
	t.Helper()
	type calls struct{ before, after uint32 }
	bursts, timeNS, total := make(map[calls]int), make(map[calls]int64), int64(0)
	withKind := make(map[calls]int)
	var most calls
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		for k, ns := range b.DurationNS {
			x := calls{b.Before[k], b.After[k]}
			bursts[x]++
			timeNS[x] += ns
			total += ns
			if b.Kinds()[k] > 0 {
				withKind[x]++
			}
			if timeNS[x] > timeNS[most] {
				most = x
			}
		}
	}
	if bursts[most] < least || float64(timeNS[most]) < .4*float64(total) || withKind[most] == 0 {
		t.Errorf("between %v is most time, with %d bursts, %d of them of a kind, and %d of %d ns: %+v", most, bursts[most], withKind[most], timeNS[most], total, run.Clusters)
	}
}

var thermoLine = regexp.MustCompile(`^\s+\d+(\s+-?[0-9.]+){5}\s*$`)

// thermo returns the lines of LAMMPS's output that state the physics.
func thermo(output string) []string {
	var lines []string
	for line := range strings.Lines(output) {
		if thermoLine.MatchString(line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// The HPC Challenge passes the same checks under measurement as without.
func TestHPCC(t *testing.T) {
	testenv.Need(t, "hpcc", mpitest.OpenMPI.Launcher)
	input, err := os.ReadFile("../../testdata/hpcc/hpccinf.txt")
	if err != nil {
		t.Fatal(err)
	}
	var said string
	checks := func(prefix ...string) []string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "hpccinf.txt"), input, 0o644); err != nil {
			t.Fatal(err)
		}
		o := execute(t, nil, append([]string{"env", "-C", dir}, append(prefix, mpitest.OpenMPI.Args(2, "", "hpcc")...)...)...)
		if o.status != 0 {
			t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
		said = o.stdout
		text, err := os.ReadFile(filepath.Join(dir, "hpccoutf.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return hpccChecks(string(text))
	}
	want := checks()
	out := filepath.Join(t.TempDir(), "run")
	got := checks(binary(t), "run", "--moriens-timeout", "10m", "--keep-bursts", "all", "--out", out, "--")
	if len(want) < 10 || !slices.Equal(want, got) {
		t.Errorf("checks without:\n%s\nwith:\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
	m := readManifest(t, out)
	// It polls faster than any reader reads: runs of polls are one record each.
	if m.Ranks != 2 || m.Dropped != 0 || m.MPICalls["MPI_Init"] != 2 || m.MPICalls["MPI_Finalize"] != 2 || m.Bursts < 10_000 {
		t.Errorf("manifest %+v", m)
	}
	checkTrace(t, out, readBursts(t, out))
	recount(t, out)
	checkSummary(t, "hpcc", out, said)
}

var hpccCheck = regexp.MustCompile(`PASSED|FAILED|passed|failed|^Found \d+ errors|^Success=|_residual=|_errors=`)

// hpccChecks returns what the benchmark says of its own correctness, without its timings.
func hpccChecks(output string) []string {
	timing := regexp.MustCompile(`\s+[0-9.]+\s+[0-9.]+\s*$|\s+[0-9.]+ PASSED.*$`)
	var lines []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		// A line of CPU times appears only where the clock has moved.
		if hpccCheck.MatchString(line) && !strings.HasPrefix(line, "CPU ") {
			verdict := hpccCheck.FindString(line)
			lines = append(lines, timing.ReplaceAllString(line, "")+" "+verdict)
		}
	}
	return lines
}

// Quantum ESPRESSO, Fortran with ScaLAPACK, computes the same to the last digit under measurement as without: the
// energies of every iteration, forces and stress of a hydrogen molecule. Its pseudopotential is made by its own program
// for atoms.
func TestQuantumESPRESSO(t *testing.T) {
	testenv.Need(t, "pw.x", "ld1.x", mpitest.OpenMPI.Launcher)
	input, err := filepath.Abs("../../testdata/espresso")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	atom, err := os.Open(filepath.Join(input, "h.ld1"))
	if err != nil {
		t.Fatal(err)
	}
	defer atom.Close()
	ld1 := exec.Command("ld1.x")
	ld1.Dir, ld1.Stdin = dir, atom
	if out, err := ld1.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const ranks = 4 // two by two for ScaLAPACK
	env := []string{"OMP_NUM_THREADS=1", "OMPI_MCA_mpi_yield_when_idle=1"}
	job := mpitest.OpenMPI.Args(ranks, "", "pw.x", "-ndiag", "4", "-in", filepath.Join(input, "h2.in"))
	var said string
	execute := func(prefix ...string) []string {
		o := execute(t, env, append([]string{"env", "-C", dir}, append(prefix, job...)...)...)
		if o.status != 0 {
			t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
		said = o.stdout
		return espressoResults(o.stdout)
	}
	want := execute()
	text := strings.Join(want, "\n")
	contains(t, text, "scalapack distributed-memory algorithm (size of sub-group:  2*  2 procs)", "\n!    total energy", "Total force =", "total   stress", "convergence has been achieved in")
	var manifests []manifest
	for _, name := range []string{"first", "second"} {
		out := filepath.Join(dir, name)
		if got := execute(binary(t), "run", "--moriens-timeout", "10m", "--keep-bursts", "all", "--out", out, "--"); !slices.Equal(want, got) {
			t.Errorf("results without:\n%s\nwith:\n%s", text, strings.Join(got, "\n"))
		}
		m := readManifest(t, out)
		manifests = append(manifests, m)
		checkTrace(t, out, readBursts(t, out))
		recount(t, out)
		checkSummary(t, "espresso", out, said)
		n := m.MPICalls
		if m.Ranks != ranks || m.Dropped != 0 || n["MPI_Init"] != ranks || n["MPI_Finalize"] != ranks {
			t.Errorf("manifest %+v", m)
		}
		// Every message is received, and collective calls on all ranks, which mpif.h makes, are a multiple of them.
		if sent := n["MPI_Send"] + n["MPI_Isend"] + n["MPI_Rsend"]; sent == 0 || sent != n["MPI_Recv"]+n["MPI_Irecv"] {
			t.Errorf("%d messages sent: %v", sent, n)
		}
		for _, all := range []string{"MPI_Alltoall", "MPI_Comm_split", "MPI_Barrier"} {
			if n[all] == 0 || n[all]%ranks != 0 {
				t.Errorf("%s: %d calls on %d ranks", all, n[all], ranks)
			}
		}
	}
	delete(manifests[0].MPICalls, "MPI_Testall") // how often it asks is chance
	delete(manifests[1].MPICalls, "MPI_Testall")
	if d := cmp.Diff(manifests[0].MPICalls, manifests[1].MPICalls); d != "" {
		t.Errorf("the same job made other calls:\n%s", d)
	}
}

var espressoTime = regexp.MustCompile(`CPU|WALL|starts on|terminated on|total cpu time|per-process dynamical memory`)

// espressoResults returns what pw.x prints, up to its table of times, without the times.
func espressoResults(output string) []string {
	output, _, _ = strings.Cut(output, "\n     init_run ")
	var lines []string
	for line := range strings.Lines(output) {
		if !espressoTime.MatchString(line) {
			lines = append(lines, strings.TrimRight(line, " \n"))
		}
	}
	return lines
}
