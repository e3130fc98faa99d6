/* The kinds of calls, once by each name that MPI gives a function: NAME makes a function's name here, CALL a call of
 * MPI's. */

static __attribute__((noinline)) void NAME(iprobe)(void)
{
	CALL(Iprobe, MPI_ANY_SOURCE, 9, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

/* From 16 stacks that differ in their return addresses only. */
#define LEVEL(name, below, bit) \
	static __attribute__((noinline)) void NAME(name)(void) \
	{ \
		if (turn & (bit)) \
			NAME(below)(); \
		else \
			NAME(below)(); \
		__asm__ volatile(""); \
	}

LEVEL(level_1, iprobe, 1u)
LEVEL(level_2, level_1, 2u)
LEVEL(level_3, level_2, 4u)
LEVEL(level_4, level_3, 8u)

#undef LEVEL

static void NAME(iprobe_varied)(void)
{
	turn++;
	NAME(level_4)();
}

static void NAME(test_null)(void)
{
	MPI_Request request = MPI_REQUEST_NULL;

	CALL(Test, &request, &flag, MPI_STATUS_IGNORE);
}

/* Of a message that has not arrived. */
static void NAME(test_pending)(void)
{
	CALL(Test, &pending, &flag, MPI_STATUS_IGNORE);
}

static void NAME(nobody)(void)
{
	CALL(Send, &value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
	CALL(Recv, &received, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void NAME(self_message)(void)
{
	MPI_Request request;

	CALL(Isend, &value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
	CALL(Recv, &received, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	CALL(Wait, &request, MPI_STATUS_IGNORE);
}

static void NAME(allreduce_self)(void)
{
	int sum;

	CALL(Allreduce, &value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}

static void NAME(ping_pong)(void)
{
	if (rank == 0) {
		CALL(Send, &value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
		CALL(Recv, &received, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (rank == 1) {
		CALL(Recv, &received, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CALL(Send, &value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
	}
}

#undef NAME
#undef CALL
