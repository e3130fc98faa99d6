/* Planted: whom messages go to, in each way that programs say it, relative to the rank. */
#include "planted.h"

static double out, in;

#define SENDRECV(to, from, tag, comm) \
	MPI(MPI_Sendrecv(&out, 1, MPI_DOUBLE, to, tag, &in, 1, MPI_DOUBLE, from, tag, comm, MPI_STATUS_IGNORE))

FUNCTION void ring(void)
{
	SENDRECV((rank + 1) % size, (rank + size - 1) % size, 1, MPI_COMM_WORLD); /* @ring */
}

FUNCTION void chain(void) /* the ends have one neighbour */
{
	int after = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, before = rank > 0 ? rank - 1 : MPI_PROC_NULL;
	SENDRECV(after, before, 1, MPI_COMM_WORLD); /* @chain */
}

FUNCTION void exclusive(void) /* a hypercube's first dimension */
{
	SENDRECV(rank ^ 1, rank ^ 1, 1, MPI_COMM_WORLD); /* @exclusive */
}

FUNCTION void mirror(void)
{
	SENDRECV(size - 1 - rank, size - 1 - rank, 1, MPI_COMM_WORLD); /* @mirror */
}

FUNCTION void gather(void) /* the root does not know who comes first */
{
	if (rank == 0) {
		for (int r = 1; r < size; r++)
			MPI(MPI_Recv(&in, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* @any */
	} else {
		MPI(MPI_Send(&out, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD));
	}
}

FUNCTION void scatter(void)
{
	if (rank == 0) {
		for (int r = 1; r < size; r++)
			MPI(MPI_Send(&out, 1, MPI_DOUBLE, r, 3, MPI_COMM_WORLD)); /* @each */
	} else {
		MPI(MPI_Recv(&in, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	}
}

FUNCTION void grid(MPI_Comm cart) /* columns do not go round, rows do */
{
	int up, down, left, right;
	MPI_Cart_shift(cart, 0, 1, &up, &down);
	MPI_Cart_shift(cart, 1, 1, &left, &right);
	SENDRECV(down, up, 4, cart);    /* @down */
	SENDRECV(up, down, 5, cart);    /* @up */
	SENDRECV(right, left, 6, cart); /* @right */
}

FUNCTION void transpose(void) /* of the largest square of ranks */
{
	int edge = 1;
	while ((edge + 1) * (edge + 1) <= size) edge++;
	if (rank >= edge * edge) return;
	int other = rank % edge * edge + rank / edge;
	SENDRECV(other, other, 7, MPI_COMM_WORLD); /* @transposed */
}

FUNCTION void moore(MPI_Comm torus, const int *dims) /* eight neighbours, one a trip */
{
	int row = rank / dims[1], column = rank % dims[1];
	for (int k = 0; k < 9 * one; k++) {
		int down = k / 3 - 1, right = k % 3 - 1;
		if (down == 0 && right == 0) continue;
		int to = (row + down + dims[0]) % dims[0] * dims[1] + (column + right + dims[1]) % dims[1];
		int from = (row - down + dims[0]) % dims[0] * dims[1] + (column - right + dims[1]) % dims[1];
		SENDRECV(to, from, 8, torus); /* @moore */
	}
}

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	int dims[2] = {0, 0}, borders[2] = {0, 1}, torus[2] = {1, 1};
	MPI_Comm cart, round;
	MPI_Dims_create(size, 2, dims);
	MPI(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, borders, 0, &cart));
	MPI(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, torus, 0, &round));
	for (int i = 0; i < 20 * one; i++) {
		work(8000);
		ring();
		work(8000);
		chain();
		work(8000);
		exclusive();
		work(8000);
		mirror();
		work(8000);
		gather();
		work(8000);
		scatter();
		work(8000);
		grid(cart);
		work(8000);
		transpose();
		work(8000);
		moore(round, dims);
	}
	MPI(MPI_Comm_free(&round));
	MPI(MPI_Comm_free(&cart));
	MPI(MPI_Finalize());
	return 0;
}
