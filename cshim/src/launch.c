#include "launch.h"
#include "job.h"
#include "lock.h"
#include "module.h"
#include "options.h"
#include "os.h"
#include "process.h"
#include "spawn.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_BYTES 4096u
#define FIRST_PAUSE_US 1000u
#define LONGEST_PAUSE_US 20000u
#define MAX_ARGUMENTS 24
#define MAX_TRIES 100
#define LONGEST_START_US 60000000u

extern char **environ;

/* Under the lock. */
static struct {
	struct moriens_launch_options options;
	struct moriens_job job;
	bool tried;     /* to launch the run that is named */
	bool started;   /* this process has started the agent */
	bool said;      /* what the agent has left */
	uint32_t pid;   /* of this process; children that it forks have another */
	int error;      /* why there is no agent */
	const char *failed; /* what the error is of */
	char run[17];
	char directory[PATH_MAX];
	char lock_path[PATH_MAX + 16];
	char program[PATH_MAX];
	struct moriens_file start;
	char start_name[64];
} launch;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int agent_lock = -1; /* between launch_ends and launch_wait */

/* The program beside this library, or in ../bin. */
static bool find_program(void)
{
	char library[PATH_MAX - 32];
	char *slash;

	if (launch.options.program != NULL) {
		snprintf(launch.program, sizeof launch.program, "%s", launch.options.program);
		return moriens_os_executable_file(launch.program);
	}
	moriens_module_self(library, sizeof library);
	slash = strrchr(library, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	snprintf(launch.program, sizeof launch.program, "%s/moriens", library);
	if (moriens_os_executable_file(launch.program))
		return true;
	snprintf(launch.program, sizeof launch.program, "%s/../bin/moriens", library);
	if (moriens_os_executable_file(launch.program))
		return true;
	snprintf(launch.program, sizeof launch.program, "%s/moriens", library);
	return false;
}

/* What the launcher passes to its ranks is not for the agent, and neither is what is preloaded into them. */
static bool is_ranks_own(const char *entry)
{
	static const char *const prefixes[] = {
		"LD_PRELOAD=", "OMPI_", "ORTE_", "PRTE_", "OPAL_", "PMIX_", "PMI_", "PMI2_", "MPI_", "MPICH_", "MPIR_", "HYDRA_",
		"HYDI_", "I_MPI_", "MV2_", "PALS_", "ALPS_",
	};

	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
		if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static size_t environment_entries(void)
{
	size_t count = 0;

	while (environ[count] != NULL)
		count++;
	return count;
}

static int start_agent(void)
{
	char making[PATH_MAX + sizeof launch.start_name + 2], working[PATH_MAX], timeout[24], starter[16];
	char *arguments[MAX_ARGUMENTS] = {"moriens", "preloaded", "--run", launch.run, "--shm", (char *)launch.options.shm,
		"--timeout", timeout, "--near", working, "--starter", starter, "--rings", strrchr(launch.directory, '/') + 1};
	size_t count = 14, kept = 0, entries = environment_entries();
	size_t bytes = (entries + 1) * sizeof(char *);
	char **environment = moriens_os_memory(bytes);

	if (environment == NULL)
		return ENOMEM;
	for (size_t i = 0; i < entries; i++)
		if (!is_ranks_own(environ[i]))
			environment[kept++] = environ[i];
	snprintf(timeout, sizeof timeout, "%" PRIu64 "s", launch.options.timeout_s);
	snprintf(starter, sizeof starter, "%" PRIu32, moriens_os_pid());
	moriens_os_working_directory(working, sizeof working);
	if (launch.options.directory != NULL) {
		arguments[count++] = "--dir";
		arguments[count++] = (char *)launch.options.directory;
	}
	if (launch.job.name[0] != '\0') {
		arguments[count++] = "--job";
		arguments[count++] = launch.job.name;
	}
	if (launch.job.alone)
		arguments[count++] = "--alone";
	snprintf(making, sizeof making, "%s/.%s", launch.directory, launch.start_name);

	struct moriens_spawn spawn = {
		.program = launch.program, .arguments = arguments, .environment = environment,
		.lock = launch.lock_path, .making = making,
	};
	int error = moriens_spawn(&spawn);
	moriens_os_unmap(environment, bytes);
	return error;
}

static bool failed(const char *what, int error)
{
	launch.failed = what;
	launch.error = error;
	return false;
}

/* The agent does not take the run for over while a rank holds its start file. */
static int create_start(int directory)
{
	int error;

	snprintf(launch.start_name, sizeof launch.start_name, "%016" PRIx64 ".start", moriens_os_random());
	error = moriens_os_create(directory, launch.start_name, START_BYTES, START_BYTES, &launch.start);
	if (error == 0) {
		error = moriens_os_lock(&launch.start);
		if (error == 0)
			error = moriens_os_publish(directory, launch.start_name, &launch.start);
		if (error != 0)
			moriens_os_discard(directory, &launch.start);
	}
	return error;
}

static void end_start(void)
{
	char path[PATH_MAX + sizeof launch.start_name + 1];

	if (launch.start.memory == NULL)
		return;
	snprintf(path, sizeof path, "%s/%s", launch.directory, launch.start_name);
	moriens_os_remove(path);
	moriens_os_unmap(launch.start.memory, launch.start.bytes);
	launch.start.memory = NULL;
	moriens_os_remove_empty(launch.directory); /* where no rank has an agent */
}

/* Takes part in the run that is named, and starts the agent if no other rank has. */
static bool take_part(void)
{
	int directory, error, tries = 0;
	bool opened;

	launch.lock_path[0] = '\0';
	snprintf(launch.directory, sizeof launch.directory, "%s/moriens-%" PRIu32 "-%s", launch.options.shm, moriens_os_uid(), launch.run);
	if (!find_program())
		return failed(launch.program, ENOENT);
	do {
		error = moriens_os_open_beside(launch.directory, sizeof launch.directory, &directory);
		opened = error == 0;
		if (opened) {
			error = create_start(directory);
			moriens_os_close(directory);
		}
	} while (error == ENOENT && ++tries < MAX_TRIES); /* an agent before ours, or a rank without one, has just removed it */
	if (!opened)
		return failed(launch.directory, error); /* it may be another user's */
	snprintf(launch.lock_path, sizeof launch.lock_path, "%s/agent", launch.directory);
	if (error != 0) {
		moriens_lock_remove(launch.lock_path, launch.directory);
		return failed(launch.directory, error);
	}
	error = start_agent();
	launch.started = error == 0;
	launch.pid = moriens_os_pid();
	if (error == 0 || error == EALREADY || error == ECANCELED) /* an agent that failed has left word */
		return true;
	end_start();
	moriens_lock_remove(launch.lock_path, launch.directory);
	return failed(launch.program, error);
}

/* Of an agent that died: one that comes to its end removes its file, or leaves word in it. */
static void say_died(const char *hint)
{
	char text[PATH_MAX + 64];

	snprintf(text, sizeof text, "the agent ended without a message: %.900s", launch.program);
	moriens_os_warn(text, hint);
}

/* What there is of the run's agent, when that is known, or at a deadline; fd is its file, -1: there is none. */
static enum moriens_lock_state look(int *fd, uint64_t deadline_us)
{
	enum moriens_lock_state state = MORIENS_LOCK_REMOVED;

	*fd = moriens_lock_open(launch.lock_path);
	while (*fd >= 0 && (state = moriens_lock_look(*fd)) == MORIENS_LOCK_STARTING && moriens_os_monotonic_us() < deadline_us)
		moriens_os_sleep_us(FIRST_PAUSE_US);
	if (*fd >= 0 && state == MORIENS_LOCK_REMOVED) {
		moriens_os_close(*fd);
		*fd = -1;
	}
	return state;
}

/* Whether the agent of the run is still there. Where it failed it has said why; where it is through with other ranks of
 * the job that have been here, its file is gone, and there can be another. */
static bool agent_remains(int32_t rank, uint64_t deadline_us)
{
	enum moriens_lock_state state;
	int fd;

	/* Between two turns an agent has come to its end, or a rank has failed to start one and tries no more. */
	while ((state = look(&fd, deadline_us)) == MORIENS_LOCK_REMOVED && moriens_os_monotonic_us() < deadline_us) {
		end_start();
		if (!take_part())
			return false;
		if (!launch.started)
			moriens_os_sleep_us(FIRST_PAUSE_US);
	}
	if (state == MORIENS_LOCK_ENDED && launch.started) {
		moriens_os_say_file(fd);
		launch.said = true;
	}
	if (state == MORIENS_LOCK_ENDED && (rank == 0 || launch.job.local_rank == 0) && moriens_lock_is_empty(fd))
		say_died("nothing is recorded; is this the moriens program? Set MORIENS_BIN to another one");
	if (fd >= 0)
		moriens_os_close(fd);
	if (state == MORIENS_LOCK_STARTING || state == MORIENS_LOCK_REMOVED)
		return failed(launch.program, ETIMEDOUT);
	return state == MORIENS_LOCK_RUNNING;
}

/* Whether the job has a name now. */
static bool learn(void)
{
	moriens_options_launch(&launch.options);
	moriens_job_learn(&launch.job, launch.options.job);
	if (launch.job.id[0] != '\0')
		moriens_job_run(launch.job.id, launch.run);
	return launch.job.id[0] != '\0';
}

static void take_part_once(void)
{
	if (launch.tried)
		return;
	launch.tried = true;
	take_part();
}

void moriens_launch_early(void)
{
	sigset_t signals;

	if (moriens_options_off() || moriens_options_run() != NULL)
		return;
	moriens_os_block_signals(&signals);
	pthread_mutex_lock(&lock);
	if (!launch.tried && learn())
		take_part_once();
	pthread_mutex_unlock(&lock);
	moriens_os_restore_signals(&signals);
}

static void say_why(int32_t rank)
{
	char text[PATH_MAX + 128];

	if (rank != 0 && launch.job.local_rank != 0)
		return;
	if (launch.failed == NULL) {
		if (rank == 0)
			moriens_os_warn("not recording: cannot determine the job of this rank",
				"set MORIENS_JOB to a text shared by all ranks of this job and by no other job, or start it with moriens run");
		return;
	}
	snprintf(text, sizeof text, "not recording: %s: %s", launch.failed,
		launch.error == ETIMEDOUT ? "the agent has not started within a minute" : strerror(launch.error));
	moriens_os_warn(text, launch.failed == launch.program ? "set MORIENS_BIN to the moriens program, or switch the library off with MORIENS=off" :
		"set MORIENS_SHM to a writable directory in memory; MORIENS=off switches the library off");
}

/* Reports the reason to the agent too, if another rank has started one: the results then know of this rank. Without an
 * agent nothing would remove the file. */
static void leave_word(int32_t rank, int32_t size, uint64_t deadline_us)
{
	int directory, fd;

	if (launch.failed == NULL)
		return;
	if (look(&fd, deadline_us) == MORIENS_LOCK_RUNNING && moriens_os_open_directory(launch.directory, &directory) == 0) {
		moriens_process_fault(directory, rank, size, moriens_os_pid(), launch.error);
		moriens_os_close(directory);
	}
	if (fd >= 0)
		moriens_os_close(fd);
}

const char *moriens_launch(int32_t rank, int32_t size)
{
	uint64_t deadline_us = moriens_os_monotonic_us() + LONGEST_START_US;
	char own[32];

	pthread_mutex_lock(&lock);
	if (!launch.tried && !learn() && size == 1) {
		/* There is no other rank in this job. */
		snprintf(own, sizeof own, "single/%016" PRIx64, moriens_os_random());
		moriens_job_run(own, launch.run);
		launch.job.alone = true;
	}
	if (launch.run[0] != '\0')
		take_part_once();
	bool well = launch.run[0] != '\0' && launch.failed == NULL && agent_remains(rank, deadline_us);
	if (launch.run[0] == '\0' || launch.failed != NULL) {
		say_why(rank);
		leave_word(rank, size, deadline_us);
	}
	pthread_mutex_unlock(&lock);
	return well ? launch.run : NULL;
}

const char *moriens_launch_directory(void)
{
	return launch.directory;
}

void moriens_launch_begun(void)
{
	pthread_mutex_lock(&lock);
	end_start();
	pthread_mutex_unlock(&lock);
}

void moriens_launch_ends(void)
{
	pthread_mutex_lock(&lock);
	if (launch.started && launch.options.timeout_s != 0 && agent_lock < 0)
		agent_lock = moriens_lock_open(launch.lock_path);
	pthread_mutex_unlock(&lock);
}

void moriens_launch_wait(void)
{
	uint64_t start = moriens_os_monotonic_us();
	uint64_t pause = FIRST_PAUSE_US;
	bool late = false;
	int fd;

	pthread_mutex_lock(&lock);
	fd = agent_lock;
	agent_lock = -1;
	pthread_mutex_unlock(&lock);
	if (fd < 0)
		return;
	while (moriens_lock_is_running(fd) && !late) {
		moriens_os_sleep_us(pause);
		pause = 2 * pause < LONGEST_PAUSE_US ? 2 * pause : LONGEST_PAUSE_US;
		late = moriens_os_monotonic_us() - start >= launch.options.timeout_s * 1000000;
	}
	moriens_os_say_file(fd);
	launch.said = true;
	if (!late && moriens_lock_is_empty(fd))
		say_died("if it was killed, `moriens collect --out` with the run directory makes results of the data received");
	moriens_os_close(fd);
	if (late)
		moriens_os_warn("the agent was not done within MORIENS_TIMEOUT", "the results are written later, unless the batch system ends the agent");
	else
		moriens_lock_remove(launch.lock_path, launch.directory);
}

/* An agent that failed while MPI started has left a file. It is kept until now, so that the node's other ranks do not
 * start another agent. A rank that could not record, or that leaves without MPI_Finalize, has not printed it yet. */
__attribute__((destructor)) static void exiting(void)
{
	int fd;

	if (launch.pid != moriens_os_pid())
		return;
	end_start(); /* of a rank that leaves while MPI starts */
	if (!launch.started)
		return;
	fd = launch.said ? -1 : moriens_lock_open(launch.lock_path);
	if (fd >= 0) {
		if (!moriens_lock_is_running(fd))
			moriens_os_say_file(fd);
		moriens_os_close(fd);
	}
	moriens_lock_remove(launch.lock_path, launch.directory);
}
