#include "groups.h"
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

static void translate(word group, struct moriens_ranks *ranks)
{
	uint32_t n = ranks->count;
	int *own = ranks->world + n;
	word world;

	for (uint32_t i = 0; i < n; i++) {
		own[i] = (int)i;
		ranks->world[i] = -1;
	}
	if (moriens_mpi.group_translate_ranks == NULL || !moriens_mpi_world_group(NULL, &world))
		return;
	if (moriens_mpi.group_translate_ranks(group, (int)n, own, world, ranks->world) == 0)
		for (uint32_t i = 0; i < n; i++)
			if (ranks->world[i] < 0)
				ranks->world[i] = -1;
	moriens_mpi.group_free(&world);
}

struct moriens_ranks moriens_ranks_of(enum moriens_comm_kind kind, word handle, bool remote)
{
	struct moriens_ranks ranks = {NULL, 0, 0};
	word group;
	int size = 0;

	if (moriens_mpi.group_size == NULL || moriens_mpi.group_free == NULL || !group_of(kind, handle, remote, &group))
		return ranks;
	if (moriens_mpi.group_size(group, &size) == 0 && size > 0) {
		ranks.count = (uint32_t)size;
		ranks.bytes = 2 * (size_t)size * sizeof *ranks.world;
		ranks.world = moriens_os_memory(ranks.bytes);
		if (ranks.world != NULL)
			translate(group, &ranks);
	}
	moriens_mpi.group_free(&group);
	return ranks;
}

void moriens_ranks_free(struct moriens_ranks *ranks)
{
	if (ranks->world != NULL)
		moriens_os_unmap(ranks->world, ranks->bytes);
}

static uint64_t group_hash(enum moriens_comm_kind kind, word handle, bool remote, bool *foreign)
{
	struct moriens_ranks ranks = moriens_ranks_of(kind, handle, remote);
	uint64_t hash = moriens_mix(0, ranks.count);

	for (uint32_t i = 0; ranks.world != NULL && i < ranks.count; i++) {
		hash = moriens_mix(hash, (uint32_t)ranks.world[i]);
		*foreign = *foreign || ranks.world[i] < 0;
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
