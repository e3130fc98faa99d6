// Planted: one indirect call in one loop that reaches three functions in turn, one of each class.
#include "planted.h"

static double value, sum;

struct Part {
	virtual ~Part() {}
	virtual void step() = 0;
};

struct Ring : Part {
	__attribute__((noinline)) void step() override
	{
		int next = (rank + 1) % size, before = (rank + size - 1) % size;
		work(6000);
		MPI(MPI_Sendrecv_replace(&value, 1, MPI_DOUBLE, next, 1, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); // @ring
	}
};

struct Sum : Part {
	__attribute__((noinline)) void step() override
	{
		work(12000);
		MPI(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); // @sum
	}
};

struct Meet : Part {
	__attribute__((noinline)) void step() override
	{
		work(18000);
		MPI(MPI_Barrier(MPI_COMM_WORLD)); // @meet
	}
};

// The compiler does not know which it makes.
__attribute__((noinline)) static Part *make(int kind)
{
	switch (kind * one) {
	case 0: return new Ring;
	case 1: return new Sum;
	default: return new Meet;
	}
}

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	Part *parts[3];
	for (int k = 0; k < 3; k++) parts[k] = make(k);
	for (int i = 0; i < 20 * one; i++) {
		for (int k = 0; k < 3 * one; k++) parts[k]->step();
		MPI(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
	}
	for (Part *p : parts) delete p;
	MPI(MPI_Finalize());
	return 0;
}
