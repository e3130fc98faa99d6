#include "groups.h"
#include "meaning.h"
#include "mpi_family.h"
#include "run.h"

#include <string.h>

#define MAX_PORT 1024u /* bytes of a port's name; MPI_MAX_PORT_NAME is 256 in MPICH and 1024 in Open MPI */

/* The birth by the collective call that the thread is in. */
static struct moriens_birth by_call(void)
{
	const struct moriens_thread *t = &moriens_thread;

	return (struct moriens_birth){.parent = t->comm, .ordinal = t->ordinal};
}

void moriens_made(word made)
{
	struct moriens_birth birth = by_call();

	moriens_comm_made(made, &birth);
}

void moriens_made_like(word made, word like)
{
	struct moriens_birth birth = by_call();

	birth.like = moriens_c_handle(like, moriens_mpi.comm_f2c);
	moriens_comm_made(made, &birth);
}

void moriens_made_by_group(word made, word comm, int tag)
{
	struct moriens_thread *t = &moriens_thread;
	struct moriens_birth birth = {.parent = moriens_comm_of(&t->comms, comm), .keyed = true, .key = (uint32_t)tag};

	moriens_comm_made(made, &birth);
}

void moriens_made_between(word made, int tag)
{
	/* The parents of the two groups are two communicators. */
	struct moriens_birth birth = {.keyed = true, .key = (uint32_t)tag};

	moriens_comm_made(made, &birth);
}

void moriens_made_by_text(word made, const char *text, size_t length)
{
	struct moriens_birth birth = {.keyed = true, .key = 1};

	for (size_t i = 0; i < length; i++)
		birth.key = moriens_mix(birth.key, (unsigned char)text[i]);
	moriens_comm_made(made, &birth);
}

static void meet(const struct moriens_span *span, word made, struct moriens_birth birth, enum moriens_origin how)
{
	birth.how = how;
	birth.began = span->enter;
	moriens_comm_made(made, &birth);
}

void moriens_spawned(const struct moriens_span *span, word made, int root)
{
	struct moriens_birth birth = by_call();
	char text[320];

	text[0] = '\0';
	if (birth.parent != NULL) {
		struct moriens_ranks ranks = moriens_ranks_of(MORIENS_KIND_COMM, birth.parent->key.handle, false);
		if (ranks.rank != NULL && root >= 0 && (uint32_t)root < ranks.count)
			moriens_mpi_process(moriens_run.process.header->world, ranks.rank[root], text, sizeof text);
		moriens_ranks_free(&ranks);
	}
	birth.text = text;
	birth.length = (uint32_t)strlen(text);
	meet(span, made, birth, MORIENS_ORIGIN_SPAWNED);
}

void moriens_met_parent(const struct moriens_span *span)
{
	struct moriens_birth birth = {.parent = NULL};
	word parent = 0;
	char text[320];

	if (moriens_mpi.comm_get_parent == NULL || moriens_mpi.comm_get_parent(&parent) != 0)
		return;
	moriens_mpi_spawner(text, sizeof text);
	birth.text = text;
	birth.length = (uint32_t)strlen(text);
	meet(span, moriens_comm_ref(parent), birth, MORIENS_ORIGIN_PARENT);
}

void moriens_joined(const struct moriens_span *span, word made)
{
	meet(span, made, (struct moriens_birth){.keyed = true}, MORIENS_ORIGIN_JOINED);
}

/* The port counts at the root only: elsewhere the argument may be anything. */
static void connect(const struct moriens_span *span, word made, int root, const char *port, size_t length, enum moriens_origin how)
{
	const struct moriens_thread *t = &moriens_thread;
	struct moriens_birth birth = {.keyed = true};

	if (t->comm != NULL && t->comm->rank == root) {
		birth.text = port;
		birth.length = (uint32_t)(length < MAX_PORT ? length : strnlen(port, MAX_PORT));
	}
	meet(span, made, birth, how);
}

void moriens_accepted(const struct moriens_span *span, word made, int root, const char *port, size_t length)
{
	connect(span, made, root, port, length, MORIENS_ORIGIN_ACCEPTED);
}

void moriens_connected(const struct moriens_span *span, word made, int root, const char *port, size_t length)
{
	connect(span, made, root, port, length, MORIENS_ORIGIN_CONNECTED);
}

void moriens_freed(void)
{
	struct moriens_thread *t = &moriens_thread;

	if (t->comm != NULL)
		moriens_comm_freed(t->comm, t->serial);
}
