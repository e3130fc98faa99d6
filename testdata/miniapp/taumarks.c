/*
 * A program with TAU's macros, as its guide has them:
 *
 *	taumarks solver N     dynamic phases ITERATE, static phases x_solve and y_solve, timers and events
 *	taumarks names N      N dynamic phases, and as many dynamic timers, each of another number
 *	taumarks forms        every form of a name with a number, and every way to mark
 *	taumarks early        phases before MPI_Init
 */
#include <TAU.h>

#include "planted.h"

TAU_GLOBAL_PHASE(output, "output phase", "", TAU_IO)
TAU_GLOBAL_TIMER(checkpoint, "checkpoint", "", TAU_IO)

static void barrier(void)
{
	MPI(Barrier, MPI_COMM_WORLD);
}

static void x_solve(void)
{
	TAU_PHASE_CREATE_STATIC(x, "x_solve phase", "", TAU_USER);
	TAU_PHASE_START(x);
	barrier();
	TAU_PHASE_STOP(x);
}

static void y_solve(void)
{
	TAU_PROFILE_TIMER(timer, "y_solve phase", "void (void)", TAU_USER)
	TAU_PROFILE_START(timer)
	barrier();
	TAU_PROFILE_STOP(timer)
}

static void solver(long n)
{
	char name[32];

	TAU_REGISTER_EVENT(residual, "residual")
	for (long i = 1; i <= n; i++) {
		snprintf(name, sizeof name, "ITERATE  %ld", i);
		TAU_PHASE_CREATE_DYNAMIC(iterate, name, "", TAU_USER);
		snprintf(name, sizeof name, "overwritten");
		TAU_PHASE_START(iterate);
		x_solve();
		y_solve();
		TAU_EVENT(residual, 10.6 * (double)i);
		TAU_PHASE_STOP(iterate);
	}
	TAU_GLOBAL_PHASE_START(output);
	TAU_GLOBAL_TIMER_START(checkpoint);
	barrier();
	TAU_GLOBAL_TIMER_STOP();
	TAU_GLOBAL_PHASE_STOP(output);
}

static void names(long n)
{
	char name[64];

	for (long i = 0; i < n; i++) {
		snprintf(name, sizeof name, "ITERATE %5ld", i);
		TAU_PHASE_CREATE_DYNAMIC(iterate, name, "", TAU_USER);
		TAU_PHASE_START(iterate);
		snprintf(name, sizeof name, "step[%ld]", i);
		TAU_PROFILE_TIMER_DYNAMIC(step, name, "", TAU_USER);
		TAU_PROFILE_START(step);
		TAU_PROFILE_STOP(step);
		TAU_PHASE_STOP(iterate);
	}
}

static void dynamic(const char *name)
{
	TAU_PHASE_CREATE_DYNAMIC(phase, name, "", TAU_USER);
	TAU_PHASE_START(phase);
	TAU_PHASE_STOP(phase);
}

static void scoped(long n)
{
	TAU_PROFILE("scoped", "void (long)", TAU_USER)
	if (n > 1)
		return;
	TAU_TRIGGER_EVENT("reached", n);
}

static void handled(void)
{
	void *timer[2], *none = NULL;

	TAU_PROFILER_CREATE(timer[0], "handled", "", TAU_USER)
	TAU_PROFILER_CREATE(timer[1], "handled 2", "", TAU_USER);
	TAU_PROFILER_START(none);
	for (int i = 0; i < 4; i++) {
		TAU_PROFILER_START(timer[i % 2]);
		TAU_PROFILER_STOP(timer[i % 2]);
	}
	TAU_PROFILER_STOP(none);
}

static void forms(void)
{
	static const char *const name[] = {
		"ITERATE  51", "ITERATE 51  ", "iter51", "iter_51", "iter-51", "iter #51", "iter[51]", "iter [ 51 ]", "iter (51)", "t=0.51", "v1.2.3",
		"51", "[51]", "  51", "x2 part", "iter[a1]", "iter]", "a(51]", "", "2D halo 3", "rate 1.5e3",
	};

	for (size_t i = 0; i < sizeof name / sizeof name[0]; i++)
		dynamic(name[i]);
	TAU_START("step 7");
	TAU_STOP("step 7");
	TAU_STATIC_PHASE_START("static 8");
	TAU_STATIC_PHASE_STOP("static 8");
	for (int i = 0; i < 2; i++) {
		TAU_DYNAMIC_PHASE_START("counted 9")
		TAU_DYNAMIC_PHASE_STOP("counted 9")
		TAU_DYNAMIC_TIMER_START("timed")
		TAU_DYNAMIC_TIMER_STOP("timed")
		TAU_PHASE_CREATE_DYNAMIC_AUTO(automatic, "automatic", "", TAU_USER)
		TAU_PHASE_START(automatic);
		TAU_PHASE_STOP(automatic);
	}
	handled();
	scoped(1);
	scoped(2);
	TAU_TRIGGER_EVENT("huge", 1e300);
	TAU_TRIGGER_EVENT("tiny", -1e300);
	TAU_TRIGGER_EVENT("half", -2.5);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 10;
	int rank;

	TAU_PROFILE_TIMER(program, "main", "int (int, char **)", TAU_DEFAULT)
	TAU_PROFILE_INIT(argc, argv)
	if (strcmp(what, "early") == 0) {
		TAU_PROFILE_START(program)
		dynamic("over before it counts 1");
	}
	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	TAU_PROFILE_SET_NODE(rank)
	barrier();
	if (strcmp(what, "solver") == 0)
		solver(n);
	else if (strcmp(what, "names") == 0)
		names(n);
	else if (strcmp(what, "forms") == 0)
		forms();
	if (strcmp(what, "early") == 0) {
		TAU_PROFILE_STOP(program)
	}
	MPI(Finalize);
	TAU_PROFILE_EXIT("done")
	report(rank);
	return 0;
}
