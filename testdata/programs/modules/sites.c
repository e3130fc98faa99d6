/* More call paths than a small table has room for: a loop whose functions call MPI from 600 places. */
#include <mpi.h>

#define TRIPS 2
#define SIX(x) x x x x x x
#define TEN(x) x x x x x x x x x x
#define EACH(x) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10)
#define FUNCTION(n) \
	static __attribute__((noinline)) void f##n(void) { SIX(TEN(MPI_Barrier(MPI_COMM_SELF);)) }
EACH(FUNCTION)

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
#define CALL(n) f##n();
	for (int i = 0; i < TRIPS; i++) {
		EACH(CALL)
		MPI_Allreduce(MPI_IN_PLACE, &i, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
