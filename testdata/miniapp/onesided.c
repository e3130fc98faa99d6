/* One-sided communication: every kind of window, transfer and synchronisation, on two or more ranks. */
#include "checked.h"

enum { CELLS = 8 };

#ifdef LARGE
typedef MPI_Aint unit_t;
#else
typedef int unit_t;
#endif

static int size, next, before;
static const unit_t unit = sizeof(int);

static void wait(MPI_Request *request)
{
	MPI(Wait, request, MPI_STATUS_IGNORE);
}

/* Every transfer, between fences. cells is the window's memory here. */
static void fences(MPI_Win win, int *cells)
{
	int value = 100 + rank, got = -1, sum = -1, old = -1;

	memset(cells, 0, CELLS * sizeof *cells);
	MPI(Win_fence, 0, win);
	L(Put, &value, 1, MPI_INT, next, 0, 1, MPI_INT, win);
	L(Accumulate, &value, 1, MPI_INT, next, 1, 1, MPI_INT, MPI_SUM, win);
	MPI(Win_fence, 0, win);
	expect(cells[0] == 100 + before && cells[1] == 100 + before, "Put or Accumulate");
	L(Get, &got, 1, MPI_INT, next, 0, 1, MPI_INT, win);
	L(Get_accumulate, &value, 1, MPI_INT, &sum, 1, MPI_INT, next, 2, 1, MPI_INT, MPI_SUM, win);
	MPI(Fetch_and_op, &value, &old, MPI_INT, next, 3, MPI_SUM, win);
	MPI(Win_fence, 0, win);
	expect(got == value && sum == 0 && old == 0 && cells[2] == 100 + before && cells[3] == 100 + before, "what fetches");
}

/* Locks, and the transfers that have requests. */
static void locks(MPI_Win win)
{
	int value = 7, nothing = 0, old = -1, got[2] = {-1, -1};
	MPI_Request request;

	MPI(Barrier, MPI_COMM_WORLD);
	MPI(Win_lock, MPI_LOCK_EXCLUSIVE, next, 0, win);
	MPI(Compare_and_swap, &value, &nothing, &old, MPI_INT, next, 4, win);
	MPI(Win_flush, next, win);
	expect(old == 0, "Compare_and_swap");
	MPI(Win_flush_local, next, win);
	MPI(Win_unlock, next, win);
	MPI(Win_lock_all, 0, win);
	L(Rput, &value, 1, MPI_INT, next, 5, 1, MPI_INT, win, &request);
	wait(&request);
	L(Raccumulate, &value, 1, MPI_INT, next, 6, 1, MPI_INT, MPI_SUM, win, &request);
	wait(&request);
	MPI(Win_flush_all, win);
	L(Rget, &got[0], 1, MPI_INT, next, 5, 1, MPI_INT, win, &request);
	wait(&request);
	L(Rget_accumulate, &value, 1, MPI_INT, &got[1], 1, MPI_INT, next, 6, 1, MPI_INT, MPI_NO_OP, win, &request);
	wait(&request);
	MPI(Win_flush_local_all, win);
	MPI(Win_sync, win);
	MPI(Win_unlock_all, win);
	expect(got[0] == 7 && got[1] == 7, "what fetches by request");
}

/* Each rank exposes its memory to the one before it. */
static void exposures(MPI_Win win, int *cells)
{
	int value = 200 + rank, flag = 0;
	MPI_Group world, to, from;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &next, &to);
	MPI_Group_incl(world, 1, &before, &from);
	MPI(Win_post, from, 0, win);
	MPI(Win_start, to, 0, win);
	L(Put, &value, 1, MPI_INT, next, 0, 1, MPI_INT, win);
	MPI(Win_complete, win);
	MPI(Win_wait, win);
	expect(cells[0] == 200 + before, "an exposure");
	MPI(Win_post, from, 0, win);
	MPI(Win_start, to, 0, win);
	MPI(Win_complete, win);
	while (!flag) {
		usleep(1000); /* a ring holds 131,072 calls */
		MPI(Win_test, win, &flag);
	}
	MPI_Group_free(&to);
	MPI_Group_free(&from);
	MPI_Group_free(&world);
}

int main(int argc, char **argv)
{
	int cells[CELLS], *own;
	MPI_Info info;
	MPI_Comm node;
	MPI_Win win;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	next = (rank + 1) % size;
	before = (rank + size - 1) % size;

	MPI_Info_create(&info);
	L(Win_create, cells, sizeof cells, unit, info, MPI_COMM_WORLD, &win);
	MPI(Win_set_info, win, info);
	fences(win, cells);
	exposures(win, cells);
	MPI(Win_free, &win);
	MPI_Info_free(&info);

	L(Win_allocate, sizeof cells, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
	fences(win, own);
	locks(win);
	MPI(Win_free, &win);

	MPI(Comm_split_type, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	L(Win_allocate_shared, sizeof cells, unit, MPI_INFO_NULL, node, &own, &win);
	MPI(Win_fence, 0, win);
	own[0] = rank;
	MPI(Win_fence, 0, win);
	MPI(Win_free, &win);
	MPI(Comm_free, &node);

	MPI(Win_create_dynamic, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI(Win_attach, win, cells, sizeof cells);
	MPI(Win_detach, win, cells);
	MPI(Win_free, &win);
	MPI(Finalize);
	report(rank);
	return 0;
}
