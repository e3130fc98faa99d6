/*
 * The same in C++, where a timer's name may be a std::string and TAU_PROFILE ends with its scope:
 *
 *	taumarkscxx N
 */
#include <Profile/Profiler.h>

#include "planted.h"

#include <string>

TAU_GLOBAL_PHASE(output, "output phase", "", TAU_IO)

namespace {

template <class T> void solve(T, const char *type)
{
	TAU_PROFILE(std::string("solve<") + type + ">", CT(*this), TAU_USER);
	MPI(Barrier, MPI_COMM_WORLD);
}

void iterate(long i)
{
	TAU_PHASE_CREATE_DYNAMIC(phase, "ITERATE " + std::to_string(i), "", TAU_USER);
	TAU_PROFILE_TIMER(timer, "even", "", TAU_USER);
	TAU_REGISTER_EVENT(residual, std::string("residual"));
	TAU_PHASE_START(phase);
	if (i % 2 == 0)
		TAU_PROFILE_START(timer);
	solve(1, "int");
	solve(1L, "long");
	if (i % 2 == 0)
		TAU_PROFILE_STOP(timer);
	TAU_EVENT(residual, i);
	TAU_PHASE_STOP(phase);
}

} // namespace

void write_output();
void write_output()
{
	TAU_GLOBAL_PHASE_EXTERNAL(output);
	TAU_GLOBAL_PHASE_START(output)
	TAU_GLOBAL_PHASE_STOP(output)
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10;
	int rank;

	TAU_INIT(&argc, &argv);
	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	TAU_PROFILE_SET_NODE(rank);
	for (long i = 0; i < n; i++)
		iterate(i);
	write_output();
	MPI(Finalize);
	report(rank);
	return 0;
}
