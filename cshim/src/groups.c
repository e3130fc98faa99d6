#include "groups.h"
#include "mpi_facts.h"
#include "mpi_family.h"
#include "os.h"

static bool group_of(enum moriens_comm_kind kind, word handle, bool remote, word *group)
{
	int (*const functions[])(word, word *) = {
		[MORIENS_KIND_COMM] = remote ? moriens_mpi.comm_remote_group : moriens_mpi.comm_group,
		[MORIENS_KIND_WIN] = moriens_mpi.win_get_group,
		[MORIENS_KIND_FILE] = moriens_mpi.file_get_group,
	};

	*group = 0;
	return functions[kind] != NULL && functions[kind](handle, group) == 0;
}

/* Which ranks of another group those of a group are; -1: none. */
static void translate(word group, word into, struct moriens_ranks *ranks)
{
	uint32_t n = ranks->count;
	int *own = ranks->rank + n;

	for (uint32_t i = 0; i < n; i++) {
		own[i] = (int)i;
		ranks->rank[i] = -1;
	}
	if (moriens_mpi.group_translate_ranks == NULL || into == 0)
		return;
	if (moriens_mpi.group_translate_ranks(group, (int)n, own, into, ranks->rank) == 0)
		for (uint32_t i = 0; i < n; i++)
			if (ranks->rank[i] < 0)
				ranks->rank[i] = -1;
}

/* Of an object's group, as ranks of another one, 0: of none. */
static struct moriens_ranks ranks_in(enum moriens_comm_kind kind, word handle, bool remote, word into)
{
	struct moriens_ranks ranks = {NULL, 0, 0};
	word group;
	int size = 0;

	if (moriens_mpi.group_size == NULL || moriens_mpi.group_free == NULL || !group_of(kind, handle, remote, &group))
		return ranks;
	if (moriens_mpi.group_size(group, &size) == 0 && size > 0) {
		ranks.count = (uint32_t)size;
		ranks.bytes = 2 * (size_t)size * sizeof *ranks.rank;
		ranks.rank = moriens_os_memory(ranks.bytes);
		if (ranks.rank != NULL)
			translate(group, into, &ranks);
	}
	moriens_mpi.group_free(&group);
	return ranks;
}

struct moriens_ranks moriens_ranks_of(enum moriens_comm_kind kind, word handle, bool remote)
{
	word world;
	bool known = moriens_mpi_world_group(NULL, &world);
	struct moriens_ranks ranks = ranks_in(kind, handle, remote, known ? world : 0);

	if (known && moriens_mpi.group_free != NULL)
		moriens_mpi.group_free(&world);
	return ranks;
}

void moriens_ranks_free(struct moriens_ranks *ranks)
{
	if (ranks->rank != NULL)
		moriens_os_unmap(ranks->rank, ranks->bytes);
}

static uint64_t group_hash(enum moriens_comm_kind kind, word handle, bool remote, bool *foreign)
{
	struct moriens_ranks ranks = moriens_ranks_of(kind, handle, remote);
	uint64_t hash = moriens_mix(0, ranks.count);

	for (uint32_t i = 0; ranks.rank != NULL && i < ranks.count; i++) {
		hash = moriens_mix(hash, (uint32_t)ranks.rank[i]);
		*foreign = *foreign || ranks.rank[i] < 0;
	}
	moriens_ranks_free(&ranks);
	return hash;
}

uint64_t moriens_members_hash(enum moriens_comm_kind kind, word handle, bool inter, bool *foreign)
{
	uint64_t hash = group_hash(kind, handle, false, foreign);

	/* A sum: which group is one's own is another question on each side. */
	return inter ? hash + group_hash(kind, handle, true, foreign) : hash;
}

static uint64_t places_hash(word handle, bool remote, word parent, bool parent_inter)
{
	uint64_t hash = moriens_mix(0, 0);

	if (moriens_mpi.group_free == NULL)
		return hash;
	/* In an intercommunicator what is one's own group is the other side's remote one: the rank says enough. */
	for (int other = 0; other <= (parent_inter ? 1 : 0); other++) {
		word group;
		if (!group_of(MORIENS_KIND_COMM, parent, other != 0, &group))
			continue;
		struct moriens_ranks ranks = ranks_in(MORIENS_KIND_COMM, handle, remote, group);
		for (uint32_t i = 0; ranks.rank != NULL && i < ranks.count; i++)
			if (ranks.rank[i] >= 0)
				hash += moriens_mix(i + 1, (uint64_t)ranks.rank[i]);
		moriens_ranks_free(&ranks);
		moriens_mpi.group_free(&group);
	}
	return hash;
}

uint64_t moriens_places_hash(word handle, bool inter, word parent, bool parent_inter)
{
	uint64_t hash = places_hash(handle, false, parent, parent_inter);

	return inter ? hash + places_hash(handle, true, parent, parent_inter) : hash;
}
