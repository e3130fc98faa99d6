#include "meaning.h"

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

void moriens_freed(void)
{
	struct moriens_thread *t = &moriens_thread;

	if (t->comm != NULL)
		moriens_comm_freed(t->comm, t->serial);
}
