package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
)

// stackPrograms builds a program of three barriers, the same with wrappers of MPI_Init and MPI_Finalize of its own, and
// a tool that wraps all its calls and continues to PMPI.
func stackPrograms(t *testing.T, mpi mpitest.MPI) (plain, own, tool string) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(mpitest.Root(t), "cshim", "test", "stub.c")
	wrappers := filepath.Join(dir, "tool.c")
	if err := os.WriteFile(wrappers, []byte("#include <mpi.h>\nint MPI_Init(int *argc, char ***argv) { return PMPI_Init(argc, argv); }\n"+
		"int MPI_Barrier(MPI_Comm comm) { return PMPI_Barrier(comm); }\nint MPI_Finalize(void) { return PMPI_Finalize(); }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	plain, own, tool = filepath.Join(dir, "plain"), filepath.Join(dir, "own"), filepath.Join(dir, "libtool.so")
	for _, args := range [][]string{{"-o", plain, source}, {"-DOWN", "-o", own, source}, {"-shared", "-fPIC", "-o", tool, wrappers}} {
		if out, err := exec.Command(mpi.CC, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return plain, own, tool
}

// A tool that is called in the library's place is named in the results and in the hint; what it passes on is there.
func TestToolBefore(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		plain, own, tool := stackPrograms(t, mpi)
		library := filepath.Join(filepath.Dir(binary(t)), "libmoriens.so")
		run := func(program ...string) (outcome, string) {
			t.Helper()
			out := filepath.Join(t.TempDir(), "run")
			return execute(t, nil, append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--"}, mpi.Args(2, "", program...)...)...), out
		}

		o, out := run("env", "LD_PRELOAD="+tool+":"+library, plain)
		if o.status != 3 {
			t.Errorf("status %d, want 3\n%s%s", o.status, o.stdout, o.stderr)
		}
		reason := tool + " comes before libmoriens.so and handled all its MPI calls"
		contains(t, o.stderr, "no bursts: no rank could record: "+reason, "hint: put libmoriens.so first in LD_PRELOAD")
		checkUnrecorded(t, out, 2, reason)

		o, out = run("sh", "-c", `if test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1; then LD_PRELOAD=`+tool+":"+library+"; fi; exec "+plain)
		if o.status != 3 {
			t.Errorf("status %d, want 3\n%s%s", o.status, o.stdout, o.stderr)
		}
		contains(t, o.stderr, "1 of 2 ranks could not record", "hint: "+tool+" comes before libmoriens.so: put libmoriens.so first in LD_PRELOAD")
		m := readManifest(t, out)
		if u := m.Worlds[0].Unrecorded; m.Ranks != 2 || len(m.Worlds) != 1 || len(u) != 1 || !slices.Equal(u[0].List, []int{1}) || u[0].Reason != reason {
			t.Errorf("%d ranks, worlds %+v", m.Ranks, m.Worlds)
		}

		o, out = run(own)
		m = readManifest(t, out)
		if d := cmp.Diff(map[string]int{"MPI_Barrier": 6}, m.MPICalls); d != "" || o.status != 0 || len(m.Losses.RanksDied) != 0 {
			t.Errorf("status %d, died %v\n%s", o.status, m.Losses.RanksDied, d)
		}
		hidden := own + " comes before libmoriens.so and handles MPI_Init and 1 more of MPI's functions itself: these calls are not recorded, and their time counts as computation; link the program without these wrappers"
		if m.Complete == nil || *m.Complete || !slices.Equal(m.Losses.Hidden, []string{hidden}) || !strings.Contains(long(t, out), "incomplete: "+hidden) {
			t.Errorf("complete %v, hidden %q", m.Complete, m.Losses.Hidden)
		}
		note := own + " comes before libmoriens.so and handles 2 of the MPI functions itself, MPI_Init without passing it on"
		if !slices.ContainsFunc(m.Notes, func(text string) bool { return strings.HasPrefix(text, note) }) {
			t.Errorf("no %q in %q", note, m.Notes)
		}
		contains(t, long(t, out), note)

		// By plain preload no tool has been called before the first barrier, and none is at the end.
		out = filepath.Join(t.TempDir(), "run")
		o = execute(t, []string{"MORIENS_DIR=" + out}, mpi.Args(2, library, own)...)
		m = readManifest(t, out)
		if d := cmp.Diff(map[string]int{"MPI_Barrier": 6}, m.MPICalls); d != "" || o.status != 0 || len(m.Losses.RanksDied) != 0 {
			t.Errorf("status %d, died %v\n%s%s", o.status, m.Losses.RanksDied, d, o.stderr)
		}
	})
}

// A tool that answers some functions hides those that the program calls, and no other.
func TestToolHides(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		plain, _, _ := stackPrograms(t, mpi)
		library := filepath.Join(filepath.Dir(binary(t)), "libmoriens.so")
		for name, hides := range map[string]bool{"MPI_Barrier": true, "MPI_Ibarrier": false} {
			dir := t.TempDir()
			tool, source, out := filepath.Join(dir, "libtool.so"), filepath.Join(dir, "tool.c"), filepath.Join(dir, "run")
			text := "#include <mpi.h>\nint MPI_Barrier(MPI_Comm comm) { return PMPI_Barrier(comm); }\n"
			calls := map[string]int{"MPI_Init": 2, "MPI_Finalize": 2}
			if !hides {
				text = "#include <mpi.h>\nint MPI_Ibarrier(MPI_Comm comm, MPI_Request *r) { return PMPI_Ibarrier(comm, r); }\n"
				calls["MPI_Barrier"] = 6
			}
			if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(mpi.CC, "-shared", "-fPIC", "-o", tool, source).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			o := execute(t, nil, append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--"},
				mpi.Args(2, "", "env", "LD_PRELOAD="+tool+":"+library, plain)...)...)
			m := readManifest(t, out)
			var want []string
			if hides {
				want = []string{tool + " comes before libmoriens.so and handles MPI_Barrier itself: these calls are not recorded, and their time counts as computation; put libmoriens.so first in LD_PRELOAD"}
				contains(t, long(t, out), "incomplete: "+want[0], "MPI calls that another tool made without calling moriens")
			}
			if d := cmp.Diff(calls, m.MPICalls); d != "" || o.status != 0 || m.Complete == nil || *m.Complete == hides || !slices.Equal(m.Losses.Hidden, want) {
				t.Errorf("%s: status %d, hidden %q\n%s%s", name, o.status, m.Losses.Hidden, d, o.stderr)
			}
		}
	})
}

// moriens run puts its library before what is preloaded already, and the job's results are whole.
func TestToolBehind(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		plain, _, tool := stackPrograms(t, mpi)
		for stack, note := range map[string]string{
			"1": tool + " comes after libmoriens.so: 3 MPI functions go through it, and its time counts as theirs",
			"0": tool + " comes after libmoriens.so and is bypassed because MORIENS_STACK is 0: it receives no calls from C of 3 MPI functions",
		} {
			out := filepath.Join(t.TempDir(), "run")
			o := execute(t, []string{"LD_PRELOAD=" + tool, "MORIENS_STACK=" + stack},
				append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--"}, mpi.Args(2, "", plain)...)...)
			m := readManifest(t, out)
			if d := cmp.Diff(map[string]int{"MPI_Init": 2, "MPI_Barrier": 6, "MPI_Finalize": 2}, m.MPICalls); d != "" || o.status != 0 || m.Complete == nil || !*m.Complete {
				t.Errorf("status %d, complete %v\n%s%s", o.status, m.Complete, d, o.stderr)
			}
			if !slices.Contains(m.Notes, note) {
				t.Errorf("no %q in %q", note, m.Notes)
			}
		}
	})
}

// setUpPrograms builds a program that sets MPI up by MPI_Init_thread, the same that calls PMPI itself, the first with
// wrappers linked into it, and a tool of these wrappers.
func setUpPrograms(t *testing.T, mpi mpitest.MPI) (plain, direct, own, tool string) {
	t.Helper()
	dir := t.TempDir()
	wrappers, source := filepath.Join(dir, "tool.c"), filepath.Join(dir, "program.c")
	for path, text := range map[string]string{
		wrappers: "#include <mpi.h>\nint MPI_Init_thread(int *c, char ***v, int r, int *p) { return PMPI_Init_thread(c, v, r, p); }\n" +
			"int MPI_Barrier(MPI_Comm comm) { return PMPI_Barrier(comm); }\nint MPI_Finalize(void) { return PMPI_Finalize(); }\n",
		source: "#include <mpi.h>\n#ifdef DIRECT\n#define DO(f) P##f\n#else\n#define DO(f) f\n#endif\n" +
			"int main(int c, char **v)\n{\n\tint got;\n\tDO(MPI_Init_thread)(&c, &v, MPI_THREAD_SINGLE, &got);\n\tDO(MPI_Barrier)(MPI_COMM_WORLD);\n\treturn DO(MPI_Finalize)();\n}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plain, direct, own, tool = filepath.Join(dir, "plain"), filepath.Join(dir, "direct"), filepath.Join(dir, "own"), filepath.Join(dir, "libtool.so")
	for _, args := range [][]string{
		{"-o", plain, source}, {"-DDIRECT", "-o", direct, source}, {"-o", own, source, wrappers}, {"-shared", "-fPIC", "-o", tool, wrappers},
	} {
		if out, err := exec.Command(mpi.CC, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return plain, direct, own, tool
}

// The reason why no call arrived is reported once, and correctly: a tool or the program's own wrappers that define
// MPI_Init_thread alone, or a program that calls PMPI itself, also beside a tool on either side that it passes by. None
// of them has found MPI by dlopen.
func TestSetUpPast(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		plain, direct, own, tool := setUpPrograms(t, mpi)
		library := filepath.Join(filepath.Dir(binary(t)), "libmoriens.so")
		barrier := barrierTool(t, mpi)
		const notCalled, answers = "moriens: MPI was initialized without libmoriens.so; its calls were not recorded: ", " comes before libmoriens.so and handles all MPI calls itself"
		for _, tt := range []struct{ preload, program, want string }{
			{tool + ":" + library, plain, "moriens: not recorded: " + tool + answers},
			{library, own, "moriens: not recorded: " + own + answers},
			{library, direct, notCalled + direct + " calls PMPI_Init_thread itself"},
			{library + ":" + tool, direct, notCalled + direct + " calls PMPI_Init_thread itself"},
			{barrier + ":" + library, direct, notCalled + direct + " calls PMPI_Init_thread itself"},
		} {
			o := execute(t, []string{"MORIENS_DIR=" + filepath.Join(t.TempDir(), "run")}, mpi.Args(2, "", "env", "LD_PRELOAD="+tt.preload, tt.program)...)
			var said []string
			for line := range strings.Lines(o.stderr) {
				if strings.HasPrefix(line, "moriens: ") {
					said = append(said, strings.TrimSpace(line))
				}
			}
			if o.status != 0 || len(said) != 1 || said[0] != tt.want {
				t.Errorf("%s before %s: status %d, said %q, want %q", tt.preload, tt.program, o.status, said, tt.want)
			}
		}

		out := filepath.Join(t.TempDir(), "run")
		o := execute(t, nil, append([]string{binary(t), "run", "--out", out, "--"}, mpi.Args(2, "", direct)...)...)
		reason := "MPI was initialized without libmoriens.so; its calls were not recorded: " + direct + " calls PMPI_Init_thread itself"
		contains(t, o.stderr, "no bursts: no rank could record: "+reason, "hint: let the program call MPI_Init instead of PMPI_Init")
		if o.status != 3 || strings.Contains(o.stdout+o.stderr, "dlopen") || strings.Contains(o.stderr, "sent nothing") {
			t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
		checkUnrecorded(t, out, 2, reason)

		// One rank of two.
		out = filepath.Join(t.TempDir(), "run")
		o = execute(t, nil, append([]string{binary(t), "run", "--out", out, "--"},
			mpi.Args(2, "", "sh", "-c", `if test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1; then exec `+direct+"; fi; exec "+plain)...)...)
		contains(t, o.stderr, "1 of 2 ranks could not record", "hint: "+reason)
		if u := readManifest(t, out).Worlds[0].Unrecorded; o.status != 3 || strings.Contains(o.stderr, "sent nothing") || len(u) != 1 || !slices.Equal(u[0].List, []int{1}) || u[0].Reason != reason {
			t.Errorf("status %d, unrecorded %+v\n%s", o.status, u, o.stderr)
		}
	})
}

// barrierTool builds a tool that answers MPI_Barrier alone.
func barrierTool(t *testing.T, mpi mpitest.MPI) string {
	t.Helper()
	dir := t.TempDir()
	tool, source := filepath.Join(dir, "libbarrier.so"), filepath.Join(dir, "barrier.c")
	if err := os.WriteFile(source, []byte("#include <mpi.h>\nint MPI_Barrier(MPI_Comm comm) { return PMPI_Barrier(comm); }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(mpi.CC, "-shared", "-fPIC", "-o", tool, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return tool
}
