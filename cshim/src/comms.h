/*
 * Communicators, and what else has collective calls of its own: windows and files.
 *
 * Each has an id that is the same on all of its ranks, found without talking: MPI makes communicators by collective
 * calls, and the k-th collective call on a communicator is the same event on all of its ranks. So a new one's id is a
 * hash of its parent's id, the ordinal of the call that made it, and its ranks in MPI_COMM_WORLD. Where not all ranks
 * of a parent call, as for MPI_Comm_create_group, what they all know takes the ordinal's place: the tag, and how often
 * the same ranks have done it.
 *
 * Ordinals count while recording is paused, or a record is dropped, too: the other ranks do not know of that.
 *
 * The process's log defines a communicator when the first record names it.
 */
#ifndef MORIENS_COMMS_H
#define MORIENS_COMMS_H

#include "handles.h"
#include "identity.h"
#include "mpi_facts.h"
#include "shim_abi.h"

struct moriens_comm {
	struct moriens_handle key; /* of its C reference */
	uint64_t serial;  /* no other has it, not even one that is given this one's memory */
	uint64_t id;
	uint32_t number;  /* atomic: in the process's log, 0 = not defined */
	uint32_t ordinal; /* atomic: of the next collective call */
	uint32_t flags;   /* moriens_comm_flag */
	int32_t rank;
	uint32_t size;
	uint32_t peers;
	bool lost; /* the log had no room; under the lock */
	bool met;  /* ranks of another world take part, and it is known how they were connected */
	bool neighbours_known;
	uint32_t sources, targets; /* neighbours, in a communicator with a topology */
	uint64_t no_source, no_target; /* bits of those that are MPI_PROC_NULL, as only a grid's of up to 32 dimensions can be */
};

/* One thread's. */
struct moriens_comm_cache {
	uint64_t frees; /* moriens_comm_frees when it was last emptied */
	word reference; /* that was looked up last, as most calls have the communicator of the call before; 0 = none */
	struct moriens_comm *comm; /* it */
};

/* Atomic: how often one was freed in this process. */
extern MORIENS_HIDDEN uint64_t moriens_comm_frees;

/* Not that of the last call. */
struct moriens_comm *moriens_comm_other(struct moriens_comm_cache *cache, word reference);

/* Defines it in the log, if it is not; origin and its text, or NULL. */
uint32_t moriens_comm_define(struct moriens_comm *c, const struct moriens_log_origin *origin, const char *text);

/* NULL: it is none, or there is no memory. */
MORIENS_HOT struct moriens_comm *moriens_comm_of(struct moriens_comm_cache *cache, word reference)
{
	/* Acquire: as in moriens_type_bytes. */
	if (likely(cache->frees == __atomic_load_n(&moriens_comm_frees, __ATOMIC_ACQUIRE)) && likely(cache->reference == reference))
		return cache->comm;
	return moriens_comm_other(cache, reference);
}

/* Its number in the log, 0 where that is full. */
MORIENS_HOT uint32_t moriens_comm_number(struct moriens_comm *c)
{
	if (unlikely(c == NULL))
		return 0;
	uint32_t number = __atomic_load_n(&c->number, __ATOMIC_RELAXED);
	return likely(number != 0) ? number : moriens_comm_define(c, NULL, NULL);
}

/* The ordinal of a collective call that begins. A program brings its collective calls on one communicator into an
 * order (MPI-5.0, section 6.1), so no two threads come at once. */
MORIENS_HOT uint32_t moriens_comm_next(struct moriens_comm *c)
{
	uint32_t ordinal = __atomic_load_n(&c->ordinal, __ATOMIC_RELAXED);

	__atomic_store_n(&c->ordinal, ordinal + 1, __ATOMIC_RELAXED);
	return ordinal;
}

/* How an object was made. */
struct moriens_birth {
	struct moriens_comm *parent; /* NULL: it has none */
	uint32_t ordinal;            /* of the parent's collective call that made it, or */
	bool keyed;                  /* not all of the parent have called, and */
	uint64_t key;                /* all that have called know this */
	word like;                   /* C handle of a communicator with its ranks, where it may not be asked itself; or 0 */
	enum moriens_origin how;     /* by a call that brings worlds together; or 0 */
	uint64_t began;              /* entry of that call */
	const char *text;            /* of moriens_log_origin, */
	uint32_t length;             /* and its bytes */
};

/* An object was made, and has this reference. */
void moriens_comm_made(word reference, const struct moriens_birth *birth);

/* The one with that serial number was freed, which lay there. It may have been taken away already: MPI gives a freed
 * handle to the next communicator at once, which another thread may have made before this is called, and one more that
 * then lies there. */
void moriens_comm_freed(struct moriens_comm *c, uint64_t serial);

/* Fills in its neighbours. */
void moriens_comm_neighbours(struct moriens_comm *c);

/* References, in C and Fortran. */
static inline word moriens_comm_ref(word comm)
{
	return moriens_handle(comm);
}

static inline word moriens_win_ref(word win)
{
	return moriens_handle(win) | (word)MORIENS_KIND_WIN << MORIENS_KIND_SHIFT;
}

static inline word moriens_file_ref(word file)
{
	return file | (word)MORIENS_KIND_FILE << MORIENS_KIND_SHIFT;
}

static inline word moriens_comm_ref_at(word address)
{
	return moriens_handle_at(address);
}

static inline word moriens_win_ref_at(word address)
{
	return moriens_handle_at(address) | (word)MORIENS_KIND_WIN << MORIENS_KIND_SHIFT;
}

static inline word moriens_file_ref_at(word address)
{
	return moriens_file_ref(address != 0 ? *(const word *)address : 0);
}

static inline word moriens_fortran_comm_ref(word address)
{
	return moriens_fortran_handle(address);
}

static inline word moriens_fortran_win_ref(word address)
{
	return moriens_fortran_handle(address) | (word)MORIENS_KIND_WIN << MORIENS_KIND_SHIFT;
}

static inline word moriens_fortran_file_ref(word address)
{
	return moriens_fortran_handle(address) | (word)MORIENS_KIND_FILE << MORIENS_KIND_SHIFT;
}

#endif
