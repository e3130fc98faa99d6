package cshim_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// expectSaid runs a job of one or two ranks, and compares the marks of each rank's first thread.
func expectSaid(t *testing.T, j job, want []string) (map[int]*process, outcome) {
	t.Helper()
	o := j.run(t)
	succeed(t, o)
	ranks := expectExact(t, o)
	if len(ranks) == 0 {
		t.Error("no rank was recorded")
	}
	for rank, p := range ranks {
		if diff := cmp.Diff(want, p.said(0)); diff != "" {
			t.Errorf("%v, rank %d (-want +got):\n%.3000s", j.program, rank, diff)
		}
	}
	return ranks, o
}

func begins(names ...string) []string {
	var list []string
	for _, name := range names {
		list = append(list, "begin "+name)
	}
	return list
}

// around puts what a program says between the calls that all of these make.
func around(said ...string) []string {
	return slices.Concat(lines("MPI_Init_thread\nMPI_Barrier"), said, lines("MPI_Finalize"))
}

func whole(name string) []string { return []string{"begin " + name, "end " + name} }

func saidByNVTX(registered string) []string {
	return around("begin outer", "MPI_Barrier", "begin "+wideName, "begin attributed", "begin wide €", "begin "+registered, "begin NVTX range", "MPI_Barrier",
		"end NVTX range", "end "+registered, "end wide €", "end attributed", "end "+wideName, "end outer")
}

const levelsOfNVTX = "push 0\npush 1\npush 2\ndomain push 0\ndomain push 1\npush 3\npop 3\ndomain pop 1\ndomain pop 0\npop 2\npop 1\npop 0\npop -2\n"

// Regions of the other families, each under its name.
func TestRegions(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "regions")
		run := func(t *testing.T, env []string, want []string, args ...string) (map[int]*process, string) {
			t.Helper()
			ranks, o := expectSaid(t, job{mpi: mpi, preload: library, ranks: 1, env: env, program: append([]string{app}, args...)}, want)
			return ranks, o.stdout
		}
		prints := func(t *testing.T, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("printed %q, want %q", got, want)
			}
		}
		t.Run("Caliper", func(t *testing.T) {
			var want []string
			for range 2 {
				want = append(want, lines("begin iteration\nbegin halo\nMPI_Barrier\nend halo\nend iteration")...)
			}
			run(t, []string{"MORIENS_REGIONS=nvtx,caliper"}, around(slices.Concat([]string{"begin solve"}, want, []string{"end solve"})...), "caliper")
		})
		t.Run("NVTX 2", func(t *testing.T) {
			_, stdout := run(t, []string{"MORIENS_REGIONS=nvtx"}, saidByNVTX("NVTX range"), "nvtx")
			prints(t, stdout, levelsOfNVTX)
		})
		t.Run("NVTX 3", func(t *testing.T) {
			_, stdout := run(t, []string{"MORIENS_REGIONS=nvtx", "NVTX_INJECTION64_PATH=" + library}, saidByNVTX("registered"), "nvtx3")
			prints(t, stdout, levelsOfNVTX)
		})
		t.Run("NVTX 3 not asked for", func(t *testing.T) {
			_, stdout := run(t, []string{"NVTX_INJECTION64_PATH=" + library}, around(), "nvtx3")
			prints(t, stdout, "no NVTX\n")
		})
		t.Run("Kokkos", func(t *testing.T) {
			_, stdout := run(t, []string{"MORIENS_REGIONS=kokkos"}, around(slices.Concat(begins("solve"), []string{"MPI_Barrier"}, begins("solve", "section"),
				lines("MPI_Barrier\nend section\nend solve\nbegin halo\nend halo\nend solve"))...), "kokkos", library)
			prints(t, stdout, "fences 0\n")
		})
		t.Run("TAU's names are not the library's", func(t *testing.T) {
			run(t, []string{"MORIENS_REGIONS=tau"}, around(), "tau")
		})
		t.Run("inside", func(t *testing.T) {
			ranks, _ := run(t, []string{"MORIENS_REGIONS=nvtx"}, around("begin outside", "MPI_Comm_dup", "MPI_Comm_free", "end outside"), "inside")
			if inside := ranks[0].inside; inside != 2 {
				t.Errorf("%d marks inside calls, set 2", inside)
			}
		})
		t.Run("early", func(t *testing.T) {
			_, stdout := run(t, []string{"MORIENS_REGIONS=nvtx"}, lines("MPI_Init_thread\nbegin early\nMPI_Barrier\nend early\nMPI_Finalize"), "early")
			prints(t, stdout, "push 0\npop 0\n")
		})
		t.Run("deep", func(t *testing.T) {
			var want []string
			for i := range 2000 {
				want = append(want, "begin "+[]string{"even", "odd"}[i%2])
			}
			for i := range 2000 {
				want = append(want, "end "+[]string{"odd", "even"}[i%2])
			}
			_, stdout := run(t, []string{"MORIENS_REGIONS=nvtx"}, around(want...), "deep", "2000")
			prints(t, stdout, "deepest 1999\noutermost 0\n")
		})
		t.Run("threads", func(t *testing.T) {
			ranks, _ := run(t, []string{"MORIENS_REGIONS=nvtx"}, around(), "threads", "300")
			p := ranks[0]
			if len(p.threads) != 3 {
				t.Fatalf("%d threads", len(p.threads))
			}
			want := slices.Repeat(lines("begin work\nbegin part\nend part\nend work"), 300)
			for thread := 1; thread < 3; thread++ {
				if diff := cmp.Diff(want, p.said(thread)); diff != "" {
					t.Errorf("thread %d\n%.2000s", thread, diff)
				}
			}
		})
	})
}

// noted lists a rank's notes about regions.
func (p *process) noted() []string {
	var list []string
	for _, note := range p.notes {
		if strings.Contains(note, "regions") || strings.Contains(note, "REGIONS") || strings.Contains(note, "PCONTROL") || strings.Contains(note, "Pcontrol") {
			list = append(list, note)
		}
	}
	return list
}

// Families that nobody has named are not recorded, and a note says which the program has.
func TestRegionsNotAskedFor(t *testing.T) {
	library := mpitest.Library(t)
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher)
	app := mpi.App(t, "regions")
	barriers := func(n int) []string { return slices.Repeat([]string{"MPI_Barrier"}, n) }
	left := func(family string) []string {
		return []string{"the program marks regions that were not recorded: --regions " + family + " (MORIENS_REGIONS) records them"}
	}
	for _, tt := range []struct {
		program []string
		env     []string
		want    []string
		notes   []string
	}{
		{[]string{app, "caliper"}, nil, around(barriers(2)...), left("caliper")},
		{[]string{app, "nvtx"}, []string{"MORIENS_REGIONS=kokkos"}, around(barriers(2)...), left("nvtx")},
		{[]string{app, "kokkos", library}, []string{"MORIENS_REGIONS="}, around(barriers(2)...), left("kokkos")},
		{[]string{tau(t, mpi, "taumarks"), "solver", "1"}, []string{"MORIENS_REGIONS=tao, nvtx NVTX"}, lines("MPI_Init\nMPI_Barrier\nMPI_Barrier\nMPI_Barrier\nMPI_Barrier\nMPI_Finalize"),
			append([]string{"MORIENS_REGIONS: ignored, not tau, kokkos, nvtx or caliper: tao NVTX"}, left("tau")...)},
		{[]string{app, "threads", "3"}, nil, around(), left("nvtx")},
		{[]string{tau(t, mpi, "taumarks"), "solver", "2"}, nil, lines("MPI_Init\nMPI_Barrier\nMPI_Barrier\nMPI_Barrier\nMPI_Barrier\nMPI_Barrier\nMPI_Barrier\nMPI_Finalize"), left("tau")},
		{[]string{tau(t, mpi, "taumarkscxx"), "1"}, nil, lines("MPI_Init\nMPI_Barrier\nMPI_Barrier\nMPI_Finalize"), left("tau")},
		{[]string{tauFortran(t, mpi, "F08")}, nil, lines("MPI_Init\nMPI_Barrier\nMPI_Barrier\nMPI_Barrier\nMPI_Barrier\nMPI_Finalize"), left("tau")},
	} {
		ranks, _ := expectSaid(t, job{mpi: mpi, preload: library, ranks: 1, env: tt.env, program: tt.program}, tt.want)
		for _, p := range ranks {
			if diff := cmp.Diff(tt.notes, p.noted()); diff != "" {
				t.Errorf("%v: notes\n%s", tt.program, diff)
			}
			for _, marks := range p.marks {
				if len(marks) != 0 {
					t.Errorf("%v: %d marks", tt.program, len(marks))
				}
			}
		}
	}
}

// The same programs do their work without the library, and leave nothing.
func TestRegionsAlone(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, program := range [][]string{
			{tau(t, mpi, "taumarks"), "solver", "3"},
			{tau(t, mpi, "taumarks"), "forms"},
			{tau(t, mpi, "taumarkscxx"), "3"},
			{tauFortran(t, mpi, "F08")},
			{mpi.App(t, "regions"), "caliper"},
			{mpi.App(t, "regions"), "pcontrol"},
		} {
			o := job{mpi: mpi, program: program, ranks: 1, env: []string{"MORIENS_REGIONS=tau,caliper", "MORIENS_PCONTROL=phases"}}.run(t)
			succeed(t, o)
			if o.stdout != "" || len(o.counts) != 1 {
				t.Errorf("%v: said %q, counts of %d ranks", program, o.stdout, len(o.counts))
			}
			if _, err := os.Stat(o.dir); !os.IsNotExist(err) {
				t.Errorf("%v left %s: %v", program, o.dir, err)
			}
		}
	})
}

// A tool that the program brings gets its calls as without the library, recorded or not, and returns what it returns.
func TestRegionsOfATool(t *testing.T) {
	library := mpitest.Library(t)
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher, mpi.FC)
	tool := mpi.App(t, "regiontool.so")
	linked := []string{"-Wl,--no-as-needed", tool, "-Wl,-rpath," + filepath.Dir(tool)}
	app := mpi.App(t, "regions", linked...)
	plugin := mpi.App(t, "regionplugin.so", linked...)
	host := localHost(t)
	all := "MORIENS_REGIONS=tau,kokkos,nvtx,caliper"
	barriers := func(n int) []string { return slices.Repeat([]string{"MPI_Barrier"}, n) }
	caliper := slices.Repeat(lines("begin iteration\nbegin halo\nMPI_Barrier\nend halo\nend iteration"), 2)
	for _, tt := range []struct {
		name    string
		program []string
		preload string // behind the library
		off, on []string
	}{
		{"Caliper", []string{app, "caliper"}, "", around(barriers(2)...), around(slices.Concat([]string{"begin solve"}, caliper, []string{"end solve"})...)},
		{"NVTX", []string{app, "nvtx"}, "", around(barriers(2)...), saidByNVTX("NVTX range")},
		{"TAU alone has its calls", []string{app, "tau"}, "", around(), around()},
		{"Kokkos opens the tool", []string{app, "kokkos", tool}, "", around(barriers(2)...), around(barriers(2)...)},
		{"TAU of Fortran", []string{tauFortran(t, mpi, "F08")}, tool, lines("MPI_Init\nMPI_Barrier\nMPI_Barrier\nMPI_Barrier\nMPI_Barrier\nMPI_Finalize"), nil},
		{"a plugin's own", []string{host, plugin}, "", lines("MPI_Init\nMPI_Barrier\nMPI_Barrier\nMPI_Barrier\nMPI_Finalize"),
			append(append([]string{"MPI_Init"}, slices.Repeat(lines("begin solve\nbegin range\nMPI_Barrier\nend range\nend solve"), 3)...), "MPI_Finalize")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			alone := job{mpi: mpi, preload: tt.preload, ranks: 1, program: tt.program}.run(t)
			succeed(t, alone)
			if !strings.Contains(alone.stdout, "tool: ") {
				t.Fatalf("the tool has no calls: %q", alone.stdout)
			}
			preload := library
			if tt.preload != "" {
				preload += ":" + tt.preload
			}
			for _, run := range []struct {
				env  []string
				want []string
			}{{nil, tt.off}, {[]string{all}, tt.on}} {
				want := run.want
				if want == nil { // what only TAU does is between TAU and the program
					want = tt.off
				}
				_, o := expectSaid(t, job{mpi: mpi, preload: preload, ranks: 1, env: run.env, program: tt.program}, want)
				if diff := cmp.Diff(alone.stdout, o.stdout); diff != "" {
					t.Errorf("%v: the tool's calls without the library, with it:\n%s", run.env, diff)
				}
			}
		})
	}
	// A tool that is preloaded behind the library, where Kokkos opens the library: both have the calls.
	t.Run("Kokkos opens the library", func(t *testing.T) {
		plain := mpi.App(t, "regions")
		_, o := expectSaid(t, job{mpi: mpi, preload: library + ":" + tool, ranks: 1, env: []string{all}, program: []string{plain, "kokkos", library}},
			around(lines("begin solve\nMPI_Barrier\nbegin solve\nMPI_Barrier\nend solve\nbegin halo\nend halo\nend solve")...))
		want := strings.Join([]string{"tool: kokkosp_init_library 0 20211015 0 0", "tool: kokkosp_request_tool_settings 1 1", "fences 1",
			"tool: kokkosp_create_profile_section section", "tool: kokkosp_push_profile_region solve", "tool: kokkosp_push_profile_region solve",
			"tool: kokkosp_start_profile_section 555", "tool: kokkosp_stop_profile_section 555", "tool: kokkosp_pop_profile_region",
			"tool: kokkosp_push_profile_region halo", "tool: kokkosp_pop_profile_region", "tool: kokkosp_pop_profile_region", "tool: kokkosp_pop_profile_region",
			"tool: kokkosp_destroy_profile_section 555", "tool: kokkosp_finalize_library", ""}, "\n")
		if diff := cmp.Diff(want, o.stdout); diff != "" {
			t.Error(diff)
		}
	})
}

// MPI_Pcontrol with a name, where MORIENS_PCONTROL says so: what is no name is refused and counted, and nothing dies.
func TestPcontrol(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		program := []string{mpi.App(t, "regions"), "pcontrol"}
		longest := strings.Repeat("n", 255)
		calls := func(n int) []string { return slices.Repeat([]string{"MPI_Pcontrol"}, n) }
		want := around(slices.Concat(lines("MPI_Pcontrol\nbegin solve\nMPI_Barrier\nMPI_Pcontrol\nbegin edge\nMPI_Pcontrol\nend edge"),
			calls(3), []string{"begin " + longest}, calls(1), []string{"end " + longest}, calls(9),
			lines("begin Lösung\nMPI_Pcontrol\nend Lösung\nMPI_Pcontrol\nMPI_Pcontrol\nMPI_Pcontrol\nend solve\nMPI_Pcontrol\nMPI_Pcontrol after a pause"),
			lines("begin after the pause\nMPI_Barrier\nMPI_Pcontrol\nend after the pause"))...)
		ranks, _ := expectSaid(t, job{mpi: mpi, preload: library, ranks: 1, env: []string{"MORIENS_PCONTROL=phases"}, program: program}, want)
		for _, p := range ranks {
			if diff := cmp.Diff([]string{"MPI_Pcontrol: calls that gave no readable name and marked no phase: 10"}, p.noted()); diff != "" || p.paused != 1 {
				t.Errorf("%d calls paused, notes\n%s", p.paused, diff)
			}
		}
		for _, env := range [][]string{nil, {"MORIENS_PCONTROL=off"}} {
			calls := around(slices.Concat(calls(1), []string{"MPI_Barrier"}, calls(20), lines("MPI_Pcontrol after a pause\nMPI_Barrier\nMPI_Pcontrol"))...)
			ranks, _ := expectSaid(t, job{mpi: mpi, preload: library, ranks: 1, env: env, program: program}, calls)
			var notes []string
			if env != nil {
				notes = []string{"MORIENS_PCONTROL: ignored, not phases: off"}
			}
			for _, p := range ranks {
				if diff := cmp.Diff(notes, p.noted()); diff != "" {
					t.Errorf("%v: notes\n%s", env, diff)
				}
			}
		}
	})
}

// Fortran gives MPI_Pcontrol no name: with MORIENS_PCONTROL=phases it does what it does without.
func TestPcontrolOfFortran(t *testing.T) {
	library := mpitest.Library(t)
	app := mpitest.OpenMPI.Fortran(t, "annotatef", "F08", filepath.Join(include(t), "moriens.F90"))
	o := job{mpi: mpitest.OpenMPI, preload: library, env: []string{"MORIENS_PCONTROL=phases"}, program: []string{app}}.run(t)
	succeed(t, o)
	for rank, p := range expectExact(t, o) {
		if notes := p.noted(); p.paused != 3 || len(notes) != 0 {
			t.Errorf("rank %d: %d calls left out, notes %q", rank, p.paused, notes)
		}
	}
}

// A library that nobody preloads can be opened by Kokkos: it has its functions, and does no harm.
func TestRegionsOpened(t *testing.T) {
	library := mpitest.Library(t)
	mpi := mpitest.OpenMPI
	o := job{mpi: mpi, ranks: 1, env: []string{"MORIENS_REGIONS=kokkos"}, program: []string{mpi.App(t, "regions"), "kokkos", library}}.run(t)
	succeed(t, o)
	if _, err := os.Stat(o.dir); !os.IsNotExist(err) || !strings.HasPrefix(o.stdout, "fences 0") && !strings.Contains(o.stdout, "static TLS") {
		t.Errorf("printed %q, left %v", o.stdout, err)
	}
}
