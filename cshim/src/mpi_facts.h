/*
 * What differs from one MPI library to the next: constants, layouts, handles, and the functions by which the shim
 * asks it. All of these only ask what the process knows already.
 */
#ifndef MORIENS_MPI_FACTS_H
#define MORIENS_MPI_FACTS_H

#include "base.h"

#include <stdint.h>

/* What a program may mean by a word that names an MPI object: a C handle, or a Fortran one, with this bit. No address
 * has it, nor the bits of moriens_comm_kind. */
#define MORIENS_FORTRAN_HANDLE ((word)1 << 63)

enum moriens_binding {
	MORIENS_C,
	MORIENS_F,
};

/* MPI_Status, which has the same bytes in C and in all Fortran bindings. */
struct moriens_status_layout {
	uint32_t bytes;
	uint32_t source, tag, error; /* offsets */
	uint32_t cancelled;          /* offset of an int that says it by 1, */
	int32_t cancelled_mask;      /* and the bits of that that do so */
	uint32_t count;              /* offset of what the library counts bytes in; */
	bool count_low_high;         /* 32 bits, and above the bit of cancelled 31 more; else 64 bits */
	bool opaque;                 /* must be asked for by the library's functions */
};

struct moriens_mpi_facts {
	word handle_mask;      /* the bits of a handle that travels as a word */
	uint32_t handle_bytes; /* of one in memory, but for files, which are addresses */
	int32_t any_source, any_tag, proc_null, root;
	int32_t err_in_status, err_pending; /* error classes */
	int32_t cart, graph, dist_graph;    /* answers of MPI_Topo_test */
	bool isendrecv_unreported;          /* the status of what MPI_Isendrecv made says nothing */
	word comm_world, comm_self;
	word comm_null, win_null, file_null, request_null, type_null;
	word no_op, byte;
	word in_place, status_ignore, statuses_ignore;
	/* Where Fortran's addresses for these stand; NULL = there are no more. */
	const word *fortran_in_place[3], *fortran_ignore[5];
	struct moriens_status_layout status;

	int (*comm_rank)(word, int *);
	int (*comm_size)(word, int *);
	int (*comm_test_inter)(word, int *);
	int (*comm_remote_size)(word, int *);
	int (*comm_group)(word, word *);
	int (*comm_remote_group)(word, word *);
	int (*comm_get_parent)(word *);
	int (*win_get_group)(word, word *);
	int (*file_get_group)(word, word *);
	int (*group_size)(word, int *);
	int (*group_rank)(word, int *);
	int (*group_translate_ranks)(word, int, const int *, word, int *);
	int (*group_free)(word *);
	int (*group_from_session_pset)(word, const char *, word *);
	int (*topo_test)(word, int *);
	int (*cartdim_get)(word, int *);
	int (*cart_shift)(word, int, int, int *, int *);
	int (*graph_neighbors_count)(word, int, int *);
	int (*dist_graph_neighbors_count)(word, int *, int *, int *);
	int (*type_size)(word, int *);
	int (*type_size_x)(word, long long *);
	int (*error_class)(int, int *);
	int (*get_count)(const void *, word, long long *);
	int (*test_cancelled)(const void *, int *);
	word (*comm_f2c)(int);
	word (*type_f2c)(int);
	word (*request_f2c)(int);
	word (*message_f2c)(int);
	word (*win_f2c)(int);
	word (*file_f2c)(int);
	word (*op_f2c)(int);
};

extern MORIENS_HIDDEN struct moriens_mpi_facts moriens_mpi;

/* Before the process records anything. */
void moriens_mpi_learn(const void *site);

/* The class of an error that a call has returned. */
int moriens_error_class(int error);

/* Whether MPI has refused a call for its arguments, before it did anything: MPI_ERR_BUFFER, COUNT, TYPE, TAG, COMM,
 * RANK, ROOT, GROUP or OP, or what else is among the first ten classes, which are of that kind in every library. */
bool moriens_was_refused(int error);

/* A C handle as an argument, and in memory; 0, which is none, where a program gives no address, for MPI to refuse. */
static inline word moriens_handle(word argument)
{
	return argument & moriens_mpi.handle_mask;
}

MORIENS_HOT word moriens_handle_at(word address)
{
	if (unlikely(address == 0))
		return 0;
	return moriens_mpi.handle_bytes == 4 ? *(const uint32_t *)address : *(const word *)address;
}

/* A Fortran handle, which is always in memory. */
static inline word moriens_fortran_handle(word address)
{
	return MORIENS_FORTRAN_HANDLE | *(const uint32_t *)address;
}

/* The C handle that either is. */
static inline word moriens_c_handle(word handle, word (*f2c)(int))
{
	if (likely((handle & MORIENS_FORTRAN_HANDLE) == 0))
		return handle;
	return f2c != NULL ? f2c((int)(uint32_t)handle) : (uint32_t)handle;
}

/* A rank or tag as the ring has it. */
MORIENS_HOT int32_t moriens_peer(int32_t rank)
{
	if (likely(rank >= 0))
		return rank;
	return rank == moriens_mpi.proc_null ? -2 : rank == moriens_mpi.root ? -3 : -1;
}

MORIENS_HOT int32_t moriens_tag(int32_t tag)
{
	return tag >= 0 ? tag : -1;
}

static inline bool moriens_is_any(word value, const word *const *known)
{
	for (; *known != NULL; known++)
		if (**known == value)
			return true;
	return false;
}

/* Whether a buffer is MPI_IN_PLACE, in any binding. */
static inline bool moriens_in_place(word buf)
{
	return buf == moriens_mpi.in_place || moriens_is_any(buf, moriens_mpi.fortran_in_place);
}

#endif
