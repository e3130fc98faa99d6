package cshim_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// Functions of a program that have the names of tools', and parameters and results of their own.
const ownNames = `
#include <stdio.h>
struct big { long v[6]; };
int tau_event_(const int *a, const int *b, const int *c, const int *d, const int *e, const int *f);
int tau_event_(const int *a, const int *b, const int *c, const int *d, const int *e, const int *f) { return *a + *b + *c + *d + *e + *f; }
long tau_start_(long a, long b, long c, long d, long e, long f, long g, long h);
long tau_start_(long a, long b, long c, long d, long e, long f, long g, long h) { return a + b + c + d + e + f + g + h; }
double cali_begin_region(const char *name, double a, double b, long c, long d, long e, long f, long g, long h, struct big s, float i);
double cali_begin_region(const char *name, double a, double b, long c, long d, long e, long f, long g, long h, struct big s, float i)
{
	return name[0] + a * b + (double)(c + d + e + f + g + h + s.v[0] + s.v[5]) + i;
}
struct big nvtxRangePushA(double a, double b, double c, double d, double e, double f, double g, double h, double i);
struct big nvtxRangePushA(double a, double b, double c, double d, double e, double f, double g, double h, double i)
{
	return (struct big){{(long)a, (long)(b + c), (long)d, (long)(e + f), (long)(g + h), (long)i}};
}
int nvtxRangePop(const char *format, ...);
#include <stdarg.h>
int nvtxRangePop(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	int n = vprintf(format, list);
	va_end(list);
	return n;
}
__float128 kokkosp_start_profile_section(__float128 a, int b);
__float128 kokkosp_start_profile_section(__float128 a, int b) { return a * b; }
`

// What its program prints with them.
const ownCalls = `
struct big { long v[6]; };
int tau_event_(const int *, const int *, const int *, const int *, const int *, const int *);
long tau_start_(long, long, long, long, long, long, long, long);
double cali_begin_region(const char *, double, double, long, long, long, long, long, long, struct big, float);
struct big nvtxRangePushA(double, double, double, double, double, double, double, double, double);
int nvtxRangePop(const char *format, ...);
__float128 kokkosp_start_profile_section(__float128, int);
static void call(void)
{
	int n[6] = {1, 2, 4, 8, 16, 32};
	for (int i = 0; i < 3; i++) {
		printf("%d ", tau_event_(n, n + 1, n + 2, n + 3, n + 4, n + 5));
		printf("%ld ", tau_start_(1L << 40, 2, 3, 4, 5, 6, 7, 1L << 50));
		struct big s = {{100, 0, 0, 0, 0, 1000}};
		printf("%g ", cali_begin_region("A", 1.5, 2, 1, 2, 3, 4, 5, 6, s, 0.25f));
		s = nvtxRangePushA(1, 2, 3, 4, 5, 6, 7, 8, 9);
		for (int k = 0; k < 6; k++)
			printf("%ld ", s.v[k]);
		int k = nvtxRangePop("%d %s %g %g %d %d %d ", 1, "two", 3.5, 4.5, 5, 6, 7);
		printf("%d %g\n", k, (double)kokkosp_start_profile_section((__float128)2.5, 3));
	}
}
`

const ownSaid = "63 1126999418470427 1189.25 1 5 4 11 15 9 1 two 3.5 4.5 5 6 7 20 7.5\n"

// A library of the program whose functions only have the names of a tool's keeps its parameters and results, under the
// program and under a plugin.
func TestOwnFunctionsWithNamesOfTools(t *testing.T) {
	library := mpitest.Library(t)
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher, "gcc")
	in := compiling{t, t.TempDir()}
	own := filepath.Join(in.dir, "libphys.so")
	in.build("gcc", "-O2", "-shared", "-fPIC", "-o", own, in.write("phys.c", ownNames))
	linked := []string{own, "-Wl,-rpath," + in.dir}
	program, plugin := filepath.Join(in.dir, "program"), filepath.Join(in.dir, "plugin.so")
	source := in.write("program.c", "#include \"planted.h\"\n"+ownCalls+`
int main(int argc, char **argv)
{
	int rank;
	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	call();
	MPI(Barrier, MPI_COMM_WORLD);
	call();
	MPI(Finalize);
	call();
	fflush(stdout);
	report(rank);
	return 0;
}`)
	in.build(append([]string{mpi.CC, "-O2", "-I" + filepath.Join(mpitest.Root(t), "testdata", "miniapp"), "-o", program, source}, linked...)...)
	source = in.write("plugin.c", "#include <stdio.h>\n"+ownCalls+"int plugin_main(int argc, char **argv); int plugin_main(int argc, char **argv) { (void)argc, (void)argv; call(); return 0; }")
	in.build(append([]string{"gcc", "-O2", "-shared", "-fPIC", "-o", plugin, source}, linked...)...)
	host := localHost(t)
	for _, preload := range []string{"", library} {
		for _, regions := range []string{"MORIENS_REGIONS=", "MORIENS_REGIONS=tau"} {
			o := job{mpi: mpi, preload: preload, ranks: 1, env: []string{regions}, program: []string{program}}.run(t)
			if want := strings.Repeat(ownSaid, 9); o.stdout != want {
				t.Errorf("preloaded %q, %s:\n got %s\nwant %s", preload, regions, o.stdout, want)
			}
			if succeed(t, o); preload != "" {
				expectExact(t, o)
			}
			cmd := exec.Command(host, plugin)
			cmd.Env = []string{"LD_PRELOAD=" + preload, regions}
			if got, err := cmd.Output(); err != nil || string(got) != strings.Repeat(ownSaid, 3) {
				t.Errorf("a plugin, preloaded %q, %s: %v\n%s", preload, regions, err, got)
			}
		}
	}
}

// More places than the first table has room for are looked up once each.
func TestManyPlaces(t *testing.T) {
	library := mpitest.Library(t)
	testenv.Need(t, "gcc")
	in := compiling{t, t.TempDir()}
	// Each search for a function that is not there asks for the caller's library.
	counter := filepath.Join(in.dir, "counter.so")
	in.build("gcc", "-O2", "-shared", "-fPIC", "-o", counter, in.write("counter.c", `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
int searches;
int dladdr1(const void *address, Dl_info *info, void **extra, int flags)
{
	static int (*next)(const void *, Dl_info *, void **, int);
	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "dladdr1");
	__atomic_fetch_add(&searches, 1, __ATOMIC_RELAXED);
	return next(address, info, extra, flags);
}`))
	program := filepath.Join(in.dir, "program")
	in.build("gcc", "-O1", "-o", program, in.write("program.c", `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#define DO(x) x x x x x x x x x x
static void (*region)(const char *);
static void *mark(void *unused)
{
	DO(DO(DO(region("a"); region("b"); region("c"); region("d"); region("e"); __asm__ volatile("");)))
	return unused;
}
int main(void)
{
	pthread_t thread[3];
	int *searches = dlsym(RTLD_DEFAULT, "searches"), before;
	*(void **)&region = dlsym(RTLD_DEFAULT, "cali_begin_region");
	before = *searches;
	mark(NULL);
	printf("%d", *searches - before);
	before = *searches;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, mark, NULL);
	mark(NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	printf(" %d\n", *searches - before);
	return 0;
}`), "-lpthread", "-ldl")
	for _, regions := range []string{"", "caliper"} {
		cmd := exec.Command(program)
		cmd.Env = []string{"LD_PRELOAD=" + counter + ":" + library, "MORIENS_REGIONS=" + regions}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if got, err := cmd.Output(); err != nil || string(got) != "5000 0\n" {
			t.Errorf("regions %q: %v, printed %q, %s", regions, err, got, stderr.String())
		}
	}
}
