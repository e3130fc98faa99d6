#include "requests.h"
#include "os.h"

#define LEAST 64u

word moriens_receive_of_nobody;
uint32_t moriens_asked_count;

static struct moriens_handles asked = MORIENS_HANDLES(struct moriens_asked);
static struct moriens_handles persistent = MORIENS_HANDLES(struct moriens_persistent);

/* Makes room for count. False: no memory. */
static bool grow(struct moriens_requests *r, uint32_t count)
{
	uint32_t room = r->room == 0 ? LEAST : r->room;

	while (room < count)
		room *= 2;
	size_t handles = room * sizeof *r->handle;
	size_t bytes = handles + room * (size_t)moriens_mpi.status.bytes;
	char *memory = moriens_os_memory(bytes);
	if (memory == NULL)
		return false;
	moriens_requests_free(r);
	r->handle = (word *)(void *)memory;
	r->status = memory + handles;
	r->room = room;
	r->bytes = bytes;
	return true;
}

void moriens_requests_free(struct moriens_requests *r)
{
	if (r->handle != NULL)
		moriens_os_unmap(r->handle, r->bytes);
	r->handle = NULL;
	r->room = 0;
}

void moriens_requests_copy(struct moriens_requests *r, enum moriens_binding binding, word array, int64_t count, uint32_t most)
{
	r->count = count > 0 && array != 0 ? (uint32_t)count : 0; /* an array that is not there MPI refuses */
	r->copied = count <= (int64_t)most && (r->count <= r->room || grow(r, r->count));
	for (uint32_t i = 0; r->copied && i < r->count; i++)
		r->handle[i] = moriens_request_at(binding, array, i);
}

void moriens_asked_made(word handle, int32_t source, int32_t tag)
{
	pthread_mutex_lock(&asked.lock);
	struct moriens_asked *a = moriens_handles_find(&asked, handle);
	if (a == NULL) {
		a = moriens_handles_new(&asked);
		if (a != NULL) {
			moriens_handles_add(&asked, a, handle);
			__atomic_fetch_add(&moriens_asked_count, 1, __ATOMIC_RELEASE);
		}
	}
	if (a != NULL) {
		a->source = source;
		a->tag = tag;
	}
	pthread_mutex_unlock(&asked.lock);
}

bool moriens_asked_take(word handle, struct moriens_asked *into)
{
	pthread_mutex_lock(&asked.lock);
	struct moriens_asked *a = moriens_handles_find(&asked, handle);
	if (a != NULL) {
		*into = *a;
		moriens_handles_remove(&asked, a);
		__atomic_fetch_sub(&moriens_asked_count, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&asked.lock);
	return a != NULL;
}

void moriens_persistent_made(word handle, bool nobody)
{
	pthread_mutex_lock(&persistent.lock);
	struct moriens_persistent *p = moriens_handles_find(&persistent, handle);
	if (p == NULL) {
		p = moriens_handles_new(&persistent);
		if (p != NULL)
			moriens_handles_add(&persistent, p, handle);
	}
	if (p != NULL) {
		p->active = false;
		p->nobody = nobody;
	}
	pthread_mutex_unlock(&persistent.lock);
}

void moriens_persistent_freed(word handle)
{
	if (moriens_persistent_find(handle) == NULL)
		return;
	pthread_mutex_lock(&persistent.lock);
	struct moriens_persistent *p = moriens_handles_find(&persistent, handle);
	if (p != NULL)
		moriens_handles_remove(&persistent, p);
	pthread_mutex_unlock(&persistent.lock);
}

struct moriens_persistent *moriens_persistent_find(word handle)
{
	struct moriens_persistent *p = moriens_handles_find(&persistent, handle);

	if (p == NULL) {
		/* Or it was hidden by a change of the table. */
		pthread_mutex_lock(&persistent.lock);
		p = moriens_handles_find(&persistent, handle);
		pthread_mutex_unlock(&persistent.lock);
	}
	return p;
}
