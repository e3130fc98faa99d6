/*
 * Phases of C++ scopes, by moriens.h:
 *
 *	annotatecxx N    N iterations, every third of which an exception leaves
 */
#include "moriens.h"
#include "planted.h"

#include <stdexcept>
#include <string>

namespace {

template <class T> void halo(T steps)
{
	MORIENS_PHASE("halo");
	for (T i = 0; i < steps; i++)
		MPI(Barrier, MPI_COMM_WORLD);
}

void iterate(long i)
{
	MORIENS_PHASE("iteration");
	moriens::phase parity(std::string(i % 2 == 0 ? "even" : "odd"));
	halo(2);
	halo(1L);
	if (i % 3 == 0)
		throw std::runtime_error("left by an exception");
	MORIENS_EVENT("kept", i);
}

} // namespace

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10;
	int rank;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	{
		const char *name = "solve";
		moriens::phase solve(name);
		for (long i = 0; i < n; i++) {
			try {
				iterate(i);
			} catch (const std::exception &) {
				moriens_event("thrown", i);
			}
		}
	}
	MPI(Finalize);
	report(rank);
	return 0;
}
