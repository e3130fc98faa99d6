#include "handles.h"
#include "os.h"

#include <string.h>

#define CHUNK_BYTES (64u << 10)

/* Handles are addresses, which differ in the middle, or numbers, which differ at the low end. */
static uint32_t bucket_of(word handle)
{
	return (uint32_t)(handle * 0x9e3779b97f4a7c15u >> 40) & (MORIENS_HANDLE_BUCKETS - 1);
}

void *moriens_handles_find(const struct moriens_handles *t, word handle)
{
	struct moriens_handle *e = __atomic_load_n(&t->bucket[bucket_of(handle)], __ATOMIC_ACQUIRE);

	while (e != NULL && __atomic_load_n(&e->handle, __ATOMIC_RELAXED) != handle)
		e = __atomic_load_n(&e->next, __ATOMIC_ACQUIRE);
	return e;
}

static void put(struct moriens_handle **list, struct moriens_handle *e)
{
	__atomic_store_n(&e->next, *list, __ATOMIC_RELEASE);
	__atomic_store_n(list, e, __ATOMIC_RELEASE);
}

void *moriens_handles_new(struct moriens_handles *t)
{
	if (t->free == NULL) {
		char *chunk = moriens_os_memory(CHUNK_BYTES);
		if (chunk == NULL)
			return NULL;
		for (size_t at = 0; at + t->entry_bytes <= CHUNK_BYTES; at += t->entry_bytes)
			put(&t->free, (struct moriens_handle *)(void *)(chunk + at));
	}
	struct moriens_handle *e = t->free;
	t->free = e->next;
	memset(e + 1, 0, t->entry_bytes - sizeof *e);
	return e;
}

void moriens_handles_add(struct moriens_handles *t, void *entry, word handle)
{
	struct moriens_handle *e = entry;

	__atomic_store_n(&e->handle, handle, __ATOMIC_RELAXED);
	put(&t->bucket[bucket_of(handle)], e);
}

void moriens_handles_remove(struct moriens_handles *t, void *entry)
{
	struct moriens_handle *e = entry;
	struct moriens_handle **from = &t->bucket[bucket_of(e->handle)];

	while (*from != NULL && *from != e)
		from = &(*from)->next;
	if (*from == NULL)
		return;
	__atomic_store_n(from, e->next, __ATOMIC_RELEASE);
	__atomic_store_n(&e->handle, 0, __ATOMIC_RELAXED);
	put(&t->free, e);
}
