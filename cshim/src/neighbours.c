#include "comms.h"

/* A grid's neighbours are, of each dimension in turn, the one below and the one above; both send and both receive. */
static void of_grid(struct moriens_comm *c, word comm)
{
	int dimensions = 0;

	if (moriens_mpi.cartdim_get == NULL || moriens_mpi.cart_shift == NULL || moriens_mpi.cartdim_get(comm, &dimensions) != 0)
		return;
	c->sources = c->targets = 2 * (uint32_t)dimensions;
	for (int d = 0; d < dimensions && d < 32; d++) {
		int below = 0, above = 0;
		if (moriens_mpi.cart_shift(comm, d, 1, &below, &above) != 0)
			return;
		c->no_source |= (uint64_t)(below == moriens_mpi.proc_null) << 2 * d | (uint64_t)(above == moriens_mpi.proc_null) << (2 * d + 1);
	}
	c->no_target = c->no_source;
}

void moriens_comm_neighbours(struct moriens_comm *c)
{
	word comm = c->key.handle;
	int topology = -1, sources = 0, targets = 0, weighted;

	c->neighbours_known = true;
	if (moriens_mpi.topo_test == NULL || moriens_mpi.topo_test(comm, &topology) != 0)
		return;
	if (topology == moriens_mpi.cart) {
		of_grid(c, comm);
	} else if (topology == moriens_mpi.graph && moriens_mpi.graph_neighbors_count != NULL) {
		if (moriens_mpi.graph_neighbors_count(comm, c->rank, &sources) == 0)
			c->sources = c->targets = (uint32_t)sources;
	} else if (topology == moriens_mpi.dist_graph && moriens_mpi.dist_graph_neighbors_count != NULL) {
		if (moriens_mpi.dist_graph_neighbors_count(comm, &sources, &targets, &weighted) == 0) {
			c->sources = (uint32_t)sources;
			c->targets = (uint32_t)targets;
		}
	}
}
