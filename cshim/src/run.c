#include "run.h"
#include "clock.h"
#include "drain.h"
#include "launch.h"
#include "mpi_facts.h"
#include "mpi_family.h"
#include "names.h"
#include "options.h"
#include "polls.h"
#include "stack.h"
#include "unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define LOG_PATHS 8192u /* for so many call paths of one frame, */
#define LOG_DEEP_PATHS 4096u /* or of as many as are asked for, there is room, */
#define LOG_NAMES_BYTES (128u << 10) /* and this for names of phases and events, */
#define LOG_COMMS 2048u /* and for so many communicators with ranks that are a few runs */
#define LOG_COMM_BYTES (sizeof(struct moriens_log_comm) + 2 * sizeof(struct moriens_log_ranks))
#define MIN_LOG_BYTES (16u << 10)
#define LATER_THREADS 4 /* their rings are so much smaller than the first thread's */

struct moriens_run moriens_run;

static pthread_mutex_t begin_lock = PTHREAD_MUTEX_INITIALIZER;

static char directory_path[4096];
static char bell_path[sizeof directory_path + 32]; /* the process's file */
static uint64_t ring_bytes, ring_most;

enum moriens_run_state moriens_run_state(void)
{
	return __atomic_load_n(&moriens_run.state, __ATOMIC_ACQUIRE);
}

const char *moriens_run_directory(void)
{
	return directory_path;
}

void moriens_run_wake(void)
{
	moriens_os_ring(bell_path);
}

static void set_state(enum moriens_run_state state)
{
	__atomic_store_n(&moriens_run.state, state, __ATOMIC_RELEASE);
}

void moriens_run_end(void)
{
	set_state(MORIENS_RUN_OFF);
}

/* How many bytes a file may have that should have so many. */
static uint64_t affordable(int directory, uint64_t bytes, uint64_t least)
{
	uint64_t share = moriens_os_share(directory);

	while (bytes > share && bytes > least)
		bytes /= 2;
	return bytes;
}

static int create_ring(int directory, uint32_t thread, struct moriens_writer *ring, struct moriens_file *file, char *name, size_t name_bytes)
{
	struct moriens_ring_identity identity = {
		.ring = moriens_os_random(),
		.process = moriens_run.process.header->process,
		.thread = thread,
		.tid = moriens_os_tid(),
		.bell = bell_path,
		.directory = directory_path,
	};
	/* Most threads but the first call MPI seldom, and some programs start one after the other. */
	uint64_t wanted = thread == 0 ? ring_bytes : ring_bytes / LATER_THREADS;
	uint64_t bytes = affordable(directory, wanted < MORIENS_MIN_RING_BYTES ? MORIENS_MIN_RING_BYTES : wanted, MORIENS_MIN_RING_BYTES);
	struct moriens_ring_plan plan;
	uint32_t slots;
	int error;

	moriens_ring_name(name, name_bytes, identity.process, thread);
	for (;; bytes /= 2) {
		slots = (uint32_t)(bytes / MORIENS_SLOT_BYTES);
		plan = moriens_ring_plan(slots, ring_most);
		error = moriens_os_create(directory, name, moriens_ring_first_bytes(slots), moriens_ring_bytes(plan), file);
		if (error == EFBIG) { /* for this user */
			plan = moriens_ring_plan(slots, 0);
			error = moriens_os_create(directory, name, moriens_ring_first_bytes(slots), moriens_ring_bytes(plan), file);
		}
		if (error != ENOSPC || bytes == MORIENS_MIN_RING_BYTES)
			break;
	}
	if (error != 0)
		return error;
	moriens_ring_format(ring, file->memory, plan, &identity);
	moriens_os_close(file->fd);
	file->fd = -1;
	return 0;
}

/* Creates the process file and the first ring; both get their names, or neither is left. */
static int create_files(int directory, const struct moriens_identity *identity, uint32_t depth, struct moriens_writer *ring)
{
	struct moriens_process_file *process = &moriens_run.process;
	struct moriens_file ring_file;
	char ring_name[64];
	int error;

	uint64_t log_bytes = (moriens_paths_bytes(depth == 1 ? LOG_PATHS : LOG_DEEP_PATHS, depth) + LOG_NAMES_BYTES + LOG_COMMS * LOG_COMM_BYTES + 4095) & ~(uint64_t)4095;

	for (uint64_t bytes = affordable(directory, log_bytes, MIN_LOG_BYTES);; bytes /= 2) {
		error = moriens_process_create(process, directory, bytes, identity);
		if (error != ENOSPC || bytes <= MIN_LOG_BYTES)
			break;
	}
	if (error != 0)
		return error;
	error = create_ring(directory, 0, ring, &ring_file, ring_name, sizeof ring_name);
	if (error != 0) {
		moriens_os_discard(directory, &process->file);
		return error;
	}
	error = moriens_paths_init(&moriens_run.paths, process, depth);
	if (error == 0) {
		process->header->threads = 1;
		moriens_process_set_state(process, MORIENS_PROCESS_RUNNING);
		error = moriens_process_publish(process, directory);
	}
	if (error == 0)
		error = moriens_os_publish(directory, ring_name, &ring_file);
	if (error != 0) {
		moriens_os_discard(directory, &ring_file);
		moriens_os_discard(directory, &process->file);
	}
	return error;
}

/* Says why this rank records nothing: to the agent, or, if not even that works, to the user. */
static void leave_word(int directory, int32_t rank, int32_t size, int error)
{
	char text[512];

	/* Where nobody has a terminal but the ranks, they have to say it themselves too. */
	if (directory >= 0 && moriens_process_fault(directory, rank, size, moriens_os_pid(), error) == 0 && moriens_options_run() != NULL)
		return;
	if (rank == 0) {
		snprintf(text, sizeof text, "not recording: %.300s: %s", directory_path, strerror(error));
		moriens_os_warn(text, "set MORIENS_SHM to a writable directory in memory");
	}
}

static void identify(const void *site, struct moriens_identity *identity)
{
	identity->process = moriens_os_random();
	identity->pid = moriens_os_pid();
	identity->clock = moriens_clock;
	moriens_mpi_world(identity->world, sizeof identity->world);
	moriens_os_parent(identity->parent, sizeof identity->parent);
	moriens_os_host(identity->host, sizeof identity->host);
	moriens_os_executable(identity->executable, sizeof identity->executable);
	moriens_mpi_library(site, identity->mpi_library, sizeof identity->mpi_library);
}

static bool begin(const void *site, struct moriens_writer *ring)
{
	struct moriens_options options;
	struct moriens_identity identity = {.rank = -1, .size = 0};
	moriens_mpi_learn(site);
	bool ranked = moriens_mpi_rank(site, &identity.rank, &identity.size);
	uint32_t depth, unnamed;
	int directory = -1;
	int error;

	const char *run = moriens_options_run();

	if (moriens_options_off())
		return false;
	bool given = run != NULL;
	if (!given)
		run = moriens_launch(identity.rank, identity.size);
	if (run == NULL)
		return false;
	if (!moriens_options_read(&options, run)) {
		if (identity.rank == 0)
			moriens_os_warn("not recording: MORIENS_RUN is not a valid file name", "start the job with moriens run");
		return false;
	}
	ring_bytes = options.ring_bytes;
	ring_most = options.ring_most;
	depth = options.callpath == 1 || moriens_unwind_load() ? options.callpath : 1;
	if (given)
		snprintf(directory_path, sizeof directory_path, "%s/moriens-%" PRIu32 "-%s", options.shm, moriens_os_uid(), options.run);
	else
		snprintf(directory_path, sizeof directory_path, "%s", moriens_launch_directory());
	moriens_polls_limit(options.poll_gap_us);
	moriens_drain_limit(options.drain_ms);
	identify(site, &identity);
	snprintf(bell_path, sizeof bell_path, "%s/%016" PRIx64 ".process", directory_path, identity.process);
	moriens_counters_at_marks(options.phase_counters);
	unnamed = moriens_counters_choose(options.events, options.papi, identity.events, sizeof identity.events,
		identity.unavailable, sizeof identity.unavailable);
	error = moriens_os_open_directory(directory_path, &directory);
	if (error == 0 && !ranked)
		error = ENOSYS;
	if (error == 0)
		error = create_files(directory, &identity, depth, ring);
	if (error == 0 && options.not_numbers[0] != '\0') {
		char text[192];
		snprintf(text, sizeof text, "ignored, not an integer:%s", options.not_numbers);
		moriens_process_note(&moriens_run.process, text);
	}
	if (error == 0 && options.not_families[0] != '\0') {
		char text[256];
		snprintf(text, sizeof text, "MORIENS_REGIONS: ignored, not tau, kokkos, nvtx or caliper:%s", options.not_families);
		moriens_process_note(&moriens_run.process, text);
	}
	if (error == 0 && options.not_pcontrol != NULL) {
		char text[160];
		snprintf(text, sizeof text, "MORIENS_PCONTROL: ignored, not phases: %.64s", options.not_pcontrol);
		moriens_process_note(&moriens_run.process, text);
	}
	if (error == 0 && options.phase_counters && identity.events[0] == '\0')
		moriens_process_note(&moriens_run.process, "MORIENS_PHASE_COUNTERS: no effect, nothing is counted");
	if (error == 0 && unnamed != 0) {
		char text[160];
		snprintf(text, sizeof text, "%" PRIu32 " more events cannot be counted: no space for their names", unnamed);
		moriens_process_note(&moriens_run.process, text);
	}
	if (error == 0 && depth != options.callpath)
		moriens_process_note(&moriens_run.process, "call paths have one frame only: libunwind.so.8 cannot be loaded");
	if (error == 0)
		moriens_stack_report(&moriens_run.process, site);
	if (error == 0)
		moriens_names_attach(&moriens_run.process, &moriens_run.paths.lock);
	else
		leave_word(directory, identity.rank, identity.size, error);
	if (directory >= 0)
		moriens_os_close(directory);
	return error == 0;
}

void moriens_run_begin(const void *site, struct moriens_writer *ring)
{
	sigset_t signals;

	moriens_os_block_signals(&signals);
	pthread_mutex_lock(&begin_lock);
	/* Another thread may have been first; ours then gets its ring as any later one does. */
	if (moriens_run_state() == MORIENS_RUN_UNKNOWN)
		set_state(begin(site, ring) ? MORIENS_RUN_RECORDS : MORIENS_RUN_OFF);
	moriens_launch_begun();
	pthread_mutex_unlock(&begin_lock);
	moriens_os_restore_signals(&signals);
}

bool moriens_run_add_thread(struct moriens_writer *ring)
{
	struct moriens_process *header = moriens_run.process.header;
	uint32_t thread = __atomic_fetch_add(&header->threads, 1, __ATOMIC_RELAXED);
	struct moriens_file file;
	char name[64];
	sigset_t signals;
	int directory;
	int error;

	moriens_os_block_signals(&signals);
	error = moriens_os_open_directory(directory_path, &directory);
	if (error == 0) {
		error = create_ring(directory, thread, ring, &file, name, sizeof name);
		if (error == 0) {
			error = moriens_os_publish(directory, name, &file);
			if (error != 0)
				moriens_os_discard(directory, &file);
		}
		moriens_os_close(directory);
	}
	moriens_os_restore_signals(&signals);
	if (error != 0)
		moriens_run_thread_failed(error);
	return error == 0;
}

void moriens_run_thread_failed(int error)
{
	struct moriens_process *header = moriens_run.process.header;

	__atomic_store_n(&header->fault, (uint32_t)error, __ATOMIC_RELAXED);
	__atomic_fetch_add(&header->threads_failed, 1, __ATOMIC_RELEASE);
}
