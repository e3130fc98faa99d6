/*
 * Sends of planted sizes. Each rank sends to the next one and receives from the one before, ITERATIONS times:
 *
 *	parcels [ITERATIONS]
 *
 * SMALL messages of 128 bytes back to back, one of 3,456 and an empty one. Receives of the small ones block, those of
 * the others are completed together.
 */
#include "checked.h"

#include <string.h>

enum { SMALL = 200, SMALL_BYTES = 128, LARGE_BYTES = 3456 };

int main(int argc, char **argv)
{
	static char small[SMALL_BYTES], large[LARGE_BYTES], got[LARGE_BYTES];
	int size, iterations = argc > 1 ? atoi(argv[1]) : 10;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int next = (rank + 1) % size, before = (rank + size - 1) % size;

	for (int i = 0; i < iterations; i++) {
		MPI_Request requests[2];
		MPI_Status status[2];
		int bytes;

		for (int k = 0; k < SMALL; k++) {
			MPI_Send(small, SMALL_BYTES, MPI_BYTE, next, 1, MPI_COMM_WORLD); /* a small one */
			MPI_Recv(got, SMALL_BYTES, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
		MPI_Irecv(got, LARGE_BYTES, MPI_BYTE, before, 2, MPI_COMM_WORLD, &requests[0]);
		MPI_Irecv(NULL, 0, MPI_BYTE, before, 3, MPI_COMM_WORLD, &requests[1]);
		MPI_Send(large, LARGE_BYTES, MPI_BYTE, next, 2, MPI_COMM_WORLD);
		MPI_Send(NULL, 0, MPI_BYTE, next, 3, MPI_COMM_WORLD);
		MPI_Waitall(2, requests, status); /* a large and an empty one */
		MPI_Get_count(&status[0], MPI_BYTE, &bytes);
		expect(bytes == LARGE_BYTES, "the large one");
	}
	MPI_Finalize();
	return 0;
}
