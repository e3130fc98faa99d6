#include "process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void name_of(char *name, size_t bytes, uint64_t process)
{
	snprintf(name, bytes, "%016" PRIx64 ".process", process);
}

/* to must be zeroed. Its last byte is not written. */
static void copy_text(char *to, const char *from, size_t bytes)
{
	memcpy(to, from, strnlen(from, bytes - 1));
}

int moriens_process_create(struct moriens_process_file *p, int directory, size_t log_bytes, const struct moriens_identity *identity)
{
	char name[64];
	int error;

	*p = (struct moriens_process_file){.file = {.fd = -1}};
	name_of(name, sizeof name, identity->process);
	error = moriens_os_create(directory, name, MORIENS_HEADER_BYTES + log_bytes, MORIENS_HEADER_BYTES + log_bytes, &p->file);
	if (error != 0)
		return error;
	error = moriens_os_lock(&p->file);
	if (error != 0) {
		moriens_os_discard(directory, &p->file);
		return error;
	}
	struct moriens_process *h = p->file.memory;
	h->magic = MORIENS_PROCESS_MAGIC;
	h->abi = MORIENS_ABI_VERSION;
	h->header_bytes = MORIENS_HEADER_BYTES;
	h->process = identity->process;
	h->log_bytes = log_bytes;
	h->rank = identity->rank;
	h->size = identity->size;
	h->pid = identity->pid;
	h->clock = identity->clock;
	copy_text(h->world, identity->world, sizeof h->world);
	copy_text(h->parent, identity->parent, sizeof h->parent);
	copy_text(h->host, identity->host, sizeof h->host);
	copy_text(h->executable, identity->executable, sizeof h->executable);
	copy_text(h->mpi_library, identity->mpi_library, sizeof h->mpi_library);
	copy_text(h->events, identity->events, sizeof h->events);
	copy_text(h->unavailable, identity->unavailable, sizeof h->unavailable);
	p->header = h;
	p->log = (char *)p->file.memory + MORIENS_HEADER_BYTES;
	return 0;
}

static void name_fault(char *name, size_t bytes, int32_t rank, int32_t size, uint32_t pid, int error)
{
	snprintf(name, bytes, "fault-%" PRId32 "-%d-%" PRId32 "-%" PRIu32, rank, error, size, pid);
}

int moriens_process_fault(int directory, int32_t rank, int32_t size, uint32_t pid, int error)
{
	char name[64];

	/* All is in the name: where memory is full there is no room for more. */
	name_fault(name, sizeof name, rank, size, pid, error);
	return moriens_os_touch(directory, name);
}

int moriens_process_outrun(int directory, int32_t rank, int32_t size, uint32_t pid, const char *path)
{
	char name[64];

	name_fault(name, sizeof name, rank, size, pid, 0);
	return moriens_os_leave(directory, name, path);
}

int moriens_process_publish(struct moriens_process_file *p, int directory)
{
	char name[64];

	name_of(name, sizeof name, p->header->process);
	return moriens_os_publish(directory, name, &p->file);
}

void moriens_process_set_state(struct moriens_process_file *p, enum moriens_process_state state)
{
	__atomic_store_n(&p->header->state, (uint32_t)state, __ATOMIC_RELEASE);
}

void moriens_process_over(struct moriens_process_file *p)
{
	__atomic_store_n(&p->header->over, 1, __ATOMIC_RELEASE);
}

bool moriens_process_log(struct moriens_process_file *p, const void *fixed, size_t fixed_bytes, const void *rest, size_t rest_bytes)
{
	uint64_t head = __atomic_load_n(&p->header->log_head, __ATOMIC_RELAXED);
	size_t room = p->file.bytes - MORIENS_HEADER_BYTES;
	size_t bytes = (fixed_bytes + rest_bytes + 7) & ~(size_t)7;

	if (head > room || bytes > room - head)
		return false;
	memcpy(p->log + head, fixed, fixed_bytes);
	memcpy(p->log + head + fixed_bytes, rest, rest_bytes);
	__atomic_store_n(&p->header->log_head, head + bytes, __ATOMIC_RELEASE);
	return true;
}

static void log_line(struct moriens_process_file *p, enum moriens_log_kind kind, const char *text)
{
	size_t length = strlen(text);
	struct moriens_log_entry line = {
		.bytes = (uint32_t)((sizeof line + length + 7) & ~(size_t)7),
		.kind = (uint16_t)kind,
		.length = (uint16_t)length,
	};

	moriens_process_log(p, &line, sizeof line, text, length);
}

void moriens_process_note(struct moriens_process_file *p, const char *text)
{
	log_line(p, MORIENS_LOG_NOTE, text);
}

void moriens_process_unseen(struct moriens_process_file *p, const char *text)
{
	log_line(p, MORIENS_LOG_UNSEEN, text);
}
