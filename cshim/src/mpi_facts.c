#include "mpi_facts.h"
#include "mpi_family.h"
#include "resolve.h"

#include <dlfcn.h>

struct moriens_mpi_facts moriens_mpi;

/* MPI-5.0, appendix A.1, as the standard ABI's mpi.h has it. */
static const struct moriens_mpi_facts standard = {
	.handle_mask = ~(word)0,
	.handle_bytes = sizeof(word),
	.any_source = -1, .any_tag = -31, .proc_null = -2, .root = -3,
	.err_in_status = 19, .err_pending = 18,
	.cart = 203, .graph = 201, .dist_graph = 202,
	.isendrecv_unreported = true, /* it may be MPICH */
	.comm_world = 0x101, .comm_self = 0x102,
	.comm_null = 0x100, .win_null = 0x110, .file_null = 0x118, .request_null = 0x180, .type_null = 0x200,
	.no_op = 0x3d, .byte = 0x247,
	.in_place = 1,
	.status = {.bytes = 32, .source = 0, .tag = 4, .error = 8, .opaque = true},
};

static const struct moriens_mpi_facts mpich = {
	.handle_mask = 0xffffffff,
	.handle_bytes = 4,
	.any_source = -2, .any_tag = -1, .proc_null = -1, .root = -3,
	.err_in_status = 17, .err_pending = 18,
	.cart = 2, .graph = 1, .dist_graph = 3,
	.isendrecv_unreported = true,
	.comm_world = 0x44000000, .comm_self = 0x44000001,
	.comm_null = 0x04000000, .win_null = 0x20000000, .file_null = 0, .request_null = 0x2c000000, .type_null = 0x0c000000,
	.no_op = 0x5800000e,
	.in_place = (word)-1, .status_ignore = 1, .statuses_ignore = 1,
	.status = {.bytes = 20, .source = 8, .tag = 12, .error = 16, .cancelled = 4, .cancelled_mask = 1, .count = 0, .count_low_high = true},
};

static const struct moriens_mpi_facts open_mpi = {
	.handle_mask = ~(word)0,
	.handle_bytes = sizeof(word),
	.any_source = -1, .any_tag = -1, .proc_null = -2, .root = -4,
	.err_in_status = 18, .err_pending = 19,
	.cart = 1, .graph = 2, .dist_graph = 3,
	.in_place = 1,
	.status = {.bytes = 24, .source = 0, .tag = 4, .error = 8, .cancelled = 12, .cancelled_mask = -1, .count = 16},
};

/* Data of the library: an executable may hold a copy, which is then the one that counts. */
static word object(const char *name, const void *site)
{
	void *front = dlsym(RTLD_DEFAULT, name);

	return (word)(front != NULL ? front : moriens_find_symbol(name, site));
}

/* Open MPI: the addresses of variables. */
static word open_mpi_in_place, open_mpi_ignore[2];

static void learn_open_mpi(const void *site)
{
	moriens_mpi = open_mpi;
	moriens_mpi.comm_world = object("ompi_mpi_comm_world", site);
	moriens_mpi.comm_self = object("ompi_mpi_comm_self", site);
	moriens_mpi.comm_null = object("ompi_mpi_comm_null", site);
	moriens_mpi.win_null = object("ompi_mpi_win_null", site);
	moriens_mpi.file_null = object("ompi_mpi_file_null", site);
	moriens_mpi.request_null = object("ompi_request_null", site);
	moriens_mpi.type_null = object("ompi_mpi_datatype_null", site);
	moriens_mpi.no_op = object("ompi_mpi_op_no_op", site);
	open_mpi_in_place = object("mpi_fortran_in_place_", site);
	open_mpi_ignore[0] = object("mpi_fortran_status_ignore_", site);
	open_mpi_ignore[1] = object("mpi_fortran_statuses_ignore_", site);
	moriens_mpi.fortran_in_place[0] = &open_mpi_in_place;
	moriens_mpi.fortran_ignore[0] = &open_mpi_ignore[0];
	moriens_mpi.fortran_ignore[1] = &open_mpi_ignore[1];
}

/* MPICH and the standard ABI have variables that hold the addresses, some of which are only set when Fortran is
 * first used. */
static void learn_variables(const char *const *names, const word **known, const void *site)
{
	for (; *names != NULL; names++) {
		word variable = object(*names, site);
		if (variable != 0)
			*known++ = (const word *)variable;
	}
}

static word mpich_in_place;

static void learn_mpich(const void *site)
{
	static const char *const ignored[] = {"MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE", "MPI_F08_STATUS_IGNORE", "MPI_F08_STATUSES_IGNORE", NULL};
	static const char *const in_place[] = {"MPIR_F_MPI_IN_PLACE", NULL};

	mpich_in_place = object("MPIR_F08_MPI_IN_PLACE", site);
	learn_variables(ignored, moriens_mpi.fortran_ignore, site);
	moriens_mpi.fortran_in_place[0] = &mpich_in_place;
	learn_variables(in_place, &moriens_mpi.fortran_in_place[1], site);
}

#define LEARN(member, name) \
	(moriens_mpi.member = (__typeof__(moriens_mpi.member))moriens_find_function("PMPI_" name, site))

static void learn_functions(const void *site)
{
	LEARN(comm_rank, "Comm_rank");
	LEARN(comm_size, "Comm_size");
	LEARN(comm_test_inter, "Comm_test_inter");
	LEARN(comm_remote_size, "Comm_remote_size");
	LEARN(comm_group, "Comm_group");
	LEARN(comm_remote_group, "Comm_remote_group");
	LEARN(comm_get_parent, "Comm_get_parent");
	LEARN(win_get_group, "Win_get_group");
	LEARN(file_get_group, "File_get_group");
	LEARN(group_size, "Group_size");
	LEARN(group_rank, "Group_rank");
	LEARN(group_translate_ranks, "Group_translate_ranks");
	LEARN(group_free, "Group_free");
	LEARN(group_from_session_pset, "Group_from_session_pset");
	LEARN(topo_test, "Topo_test");
	LEARN(cartdim_get, "Cartdim_get");
	LEARN(cart_shift, "Cart_shift");
	LEARN(graph_neighbors_count, "Graph_neighbors_count");
	LEARN(dist_graph_neighbors_count, "Dist_graph_neighbors_count");
	LEARN(type_size, "Type_size");
	LEARN(type_size_x, "Type_size_x");
	LEARN(error_class, "Error_class");
	LEARN(get_count, "Get_count_c");
	LEARN(test_cancelled, "Test_cancelled");
	/* MPICH has these as macros only, but for files, because its handles are the same. */
	LEARN(comm_f2c, "Comm_f2c");
	LEARN(type_f2c, "Type_f2c");
	LEARN(request_f2c, "Request_f2c");
	LEARN(message_f2c, "Message_f2c");
	LEARN(win_f2c, "Win_f2c");
	LEARN(file_f2c, "File_f2c");
	LEARN(op_f2c, "Op_f2c");
}

void moriens_mpi_learn(const void *site)
{
	switch (moriens_mpi_family(site)) {
	case MORIENS_FAMILY_OPEN_MPI:
		learn_open_mpi(site);
		break;
	case MORIENS_FAMILY_MPICH:
		moriens_mpi = mpich;
		learn_mpich(site);
		break;
	case MORIENS_FAMILY_STANDARD:
		moriens_mpi = standard;
		learn_mpich(site);
		break;
	}
	learn_functions(site);
}

int moriens_error_class(int error)
{
	int class = error;

	if (error != 0 && moriens_mpi.error_class != NULL)
		moriens_mpi.error_class(error, &class);
	return class;
}

bool moriens_was_refused(int error)
{
	int class = moriens_error_class(error);

	return class >= 1 && class <= 10;
}
