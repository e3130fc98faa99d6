// A C++ program that calls MPI, from a constructor and destructor of its own too, and through a function
// that an exception leaves.
#include "planted.h"

#include <stdexcept>
#include <vector>

class World {
public:
	World(int *argc, char ***argv)
	{
		MPI(Init, argc, argv);
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	}
	~World()
	{
		MPI(Finalize);
		report(rank);
	}
	int rank = -1;
};

static void fail(MPI_Comm *, int *, ...)
{
	throw std::runtime_error("MPI error");
}

// Each level takes room on the stack, so that its call's frame lies below the one that was left.
static void deeper(int levels)
{
	volatile char room[256];

	room[0] = room[255] = static_cast<char>(levels);
	MPI(Barrier, MPI_COMM_WORLD);
	if (levels > 0) {
		deeper(levels - 1);
	}
	room[1] = room[0];
}

int main(int argc, char **argv)
{
	World world(&argc, &argv);
	std::vector<double> values(100, world.rank);
	double sum = 0;

	for (double &v : values) {
		MPI(Allreduce, &v, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	if (argc > 1 && strcmp(argv[1], "throw") == 0) {
		// The call that throws has no exit and is not recorded; all later ones are.
		MPI_Errhandler handler;
		MPI_Comm_create_errhandler(fail, &handler);
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
		try {
			MPI_Send(values.data(), 1, MPI_DOUBLE, 12345, 0, MPI_COMM_WORLD);
		} catch (const std::runtime_error &) {
		}
		deeper(9);
	}
	return 0;
}
