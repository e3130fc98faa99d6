/*
 * Everything that makes and frees communicators of a world of two or more ranks; generalised requests and
 * MPI_Pcontrol besides.
 */
#include "checked.h"

static int size;

static void use(MPI_Comm *comm)
{
	MPI(Barrier, *comm);
	MPI(Comm_free, comm);
}

static void of_groups(void)
{
	MPI_Group group;
	MPI_Comm comm;
	MPI_Info info;
	MPI_Request request;

	MPI_Info_create(&info);
	MPI_Comm_group(MPI_COMM_WORLD, &group);
	MPI(Comm_create, MPI_COMM_WORLD, group, &comm);
	use(&comm);
	MPI(Comm_create_group, MPI_COMM_WORLD, group, 5, &comm);
	use(&comm);
	MPI(Comm_dup, MPI_COMM_WORLD, &comm);
	MPI(Comm_set_info, comm, info);
	use(&comm);
	MPI(Comm_dup_with_info, MPI_COMM_WORLD, info, &comm);
	MPI(Comm_disconnect, &comm);
	MPI(Comm_idup, MPI_COMM_WORLD, &comm, &request);
	MPI(Wait, &request, MPI_STATUS_IGNORE);
	use(&comm);
#if MPI_VERSION >= 4
	MPI(Comm_idup_with_info, MPI_COMM_WORLD, info, &comm, &request);
	MPI(Wait, &request, MPI_STATUS_IGNORE);
	use(&comm);
#endif
	MPI(Comm_split, MPI_COMM_WORLD, rank % 2, 0, &comm);
	use(&comm);
	MPI(Comm_split_type, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, info, &comm);
	use(&comm);
	MPI_Group_free(&group);
	MPI_Info_free(&info);
}

static void topologies(void)
{
	int periodic = 1, keep = 1, next = (rank + 1) % size, before = (rank + size - 1) % size, one = 1, weight = 1;
	MPI_Comm cart, line, graph;
	int *index = calloc((size_t)size, sizeof *index), *edges = calloc((size_t)size, sizeof *edges);

	MPI(Cart_create, MPI_COMM_WORLD, 1, &size, &periodic, 0, &cart);
	MPI(Cart_sub, cart, &keep, &line);
	use(&line);
	use(&cart);
	for (int i = 0; i < size; i++) {
		index[i] = i + 1;
		edges[i] = (i + 1) % size;
	}
	MPI(Graph_create, MPI_COMM_WORLD, size, index, edges, 0, &graph);
	use(&graph);
	MPI(Dist_graph_create, MPI_COMM_WORLD, 1, &rank, &one, &next, &weight, MPI_INFO_NULL, 0, &graph);
	use(&graph);
	MPI(Dist_graph_create_adjacent, MPI_COMM_WORLD, 1, &before, &weight, 1, &next, &weight, MPI_INFO_NULL, 0, &graph);
	use(&graph);
	free(index);
	free(edges);
}

/* Even ranks on one side, odd ones on the other. */
static void intercommunicators(void)
{
	MPI_Comm half, both, merged;
	int merged_size;

	MPI(Comm_split, MPI_COMM_WORLD, rank % 2, 0, &half);
	MPI(Intercomm_create, half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both);
	MPI(Intercomm_merge, both, rank % 2, &merged);
	MPI_Comm_size(merged, &merged_size);
	expect(merged_size == size, "Intercomm_merge");
	use(&merged);
	use(&both);
	use(&half);
}

static int query(void *state, MPI_Status *status)
{
	(void)state;
	MPI_Status_set_elements(status, MPI_INT, 0);
	MPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_UNDEFINED;
	status->MPI_TAG = MPI_UNDEFINED;
	return MPI_SUCCESS;
}

static int nothing(void *state)
{
	(void)state;
	return MPI_SUCCESS;
}

static int nothing_to_cancel(void *state, int complete)
{
	(void)complete;
	return nothing(state);
}

int main(int argc, char **argv)
{
	MPI_Request request;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	of_groups();
	topologies();
	intercommunicators();
	MPI(Grequest_start, query, nothing, nothing_to_cancel, NULL, &request);
	MPI(Grequest_complete, request);
	MPI(Wait, &request, MPI_STATUS_IGNORE);
	MPI(Pcontrol, 1);
	MPI(Pcontrol, 2, "words", 3, 4.5, 6L);
	MPI(Finalize);
	report(rank);
	return 0;
}
