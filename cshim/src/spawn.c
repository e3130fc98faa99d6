/*
 * No fork: that would copy the page tables of a program that may be large, write-protect memory that its network card
 * writes to, and run its pthread_atfork handlers. Both processes that are made here share our memory while this thread
 * stands still (CLONE_VM and CLONE_VFORK), each on a stack of its own, and call nothing but the kernel until execve or
 * exit.
 *
 *	this thread ── stage, which takes the lock, starts a session and ends
 *	                 └── program, which init or the batch system adopts
 */
#include "spawn.h"
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES (64u << 10)
#define LOCK_FD 3
#define STARTING_FD 4
#define NO_REPLACE 1u /* RENAME_NOREPLACE */
#define NICE 10
#define MAX_CPUS 8192

/* What the two processes share with us. */
struct stage {
	const struct moriens_spawn *spawn;
	char *stack; /* of the program's process, until it has its own */
	int error;   /* of all of it */
	int program_error;
};

struct directory_entry {
	uint64_t inode;
	int64_t offset;
	unsigned short length;
	unsigned char type;
	char name[];
};

/* For kernels before 5.9. A bound taken from the limit of open files would be a thousand million in some containers. */
static void close_listed_from(unsigned first)
{
	char buffer[4096] __attribute__((aligned(8)));
	int list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	long bytes;

	while (list >= 0 && (bytes = syscall(SYS_getdents64, list, buffer, sizeof buffer)) > 0) {
		bool closed = false;
		for (long at = 0; at < bytes;) {
			const struct directory_entry *entry = (const void *)(buffer + at);
			unsigned fd = 0;
			for (const char *c = entry->name; *c >= '0' && *c <= '9'; c++)
				fd = 10 * fd + (unsigned)(*c - '0');
			if (fd >= first && fd != (unsigned)list && close((int)fd) == 0)
				closed = true;
			at += entry->length;
		}
		/* What is closed is no longer listed, and the rest may have moved up. */
		if (closed)
			lseek(list, 0, SEEK_SET);
	}
	close(list);
}

/* The program inherits the lock, and not that it is being started. */
static bool only_locks_open(int lock, int starting)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0)
		return false;
	/* Out of the way of the numbers that are about to be taken. */
	lock = fcntl(lock, F_DUPFD_CLOEXEC, STARTING_FD + 1);
	starting = fcntl(starting, F_DUPFD_CLOEXEC, STARTING_FD + 1);
	if (lock < 0 || starting < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 || dup2(lock, LOCK_FD) < 0 ||
	    dup3(starting, STARTING_FD, O_CLOEXEC) < 0)
		return false;
	if (syscall(SYS_close_range, STARTING_FD + 1, ~0u, 0) != 0)
		close_listed_from(STARTING_FD + 1);
	return true;
}

/* What a rank was given for itself: processors, memory of one socket, a real-time priority. */
static void let_go_of_binding(void)
{
	unsigned char all[MAX_CPUS / 8];
	struct sched_param normal = {.sched_priority = 0};

	memset(all, 0xff, sizeof all);
	/* The kernel takes of these what the job's cgroup allows. */
	syscall(SYS_sched_setaffinity, 0, sizeof all, all);
	syscall(SYS_set_mempolicy, 0, NULL, 0);
	sched_setscheduler(0, SCHED_OTHER, &normal);
	setpriority(PRIO_PROCESS, 0, NICE);
}

static void default_signals(void)
{
	/* The kernel's structure, all zeros: SIG_DFL. The C library's function leaves out two signals that it uses itself, and
	 * that a launcher may have ignored. */
	static const unsigned long standard[8];
	sigset_t none;

	for (int signal = 1; signal < NSIG; signal++)
		syscall(SYS_rt_sigaction, signal, standard, NULL, NSIG / 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int run_program(void *argument)
{
	struct stage *s = argument;

	default_signals();
	execve(s->spawn->program, s->spawn->arguments, s->spawn->environment);
	s->program_error = errno;
	syscall(SYS_exit_group, 1);
	return 1;
}

/* Gives a file a name that no other one has. */
static int name_file(const char *made, const char *name)
{
	if (syscall(SYS_renameat2, AT_FDCWD, made, AT_FDCWD, name, NO_REPLACE) == 0)
		return 0;
	int error = errno;
	/* Kernels before 3.15, and file systems that cannot do that. */
	if (error == ENOSYS || error == EINVAL)
		error = link(made, name) == 0 ? 0 : errno;
	unlink(made);
	return error;
}

/* Locks the first bytes of a file that appears with the lock on it. Where the directory has gone, or another file has
 * come, the caller looks again: EALREADY. */
static int make_starting(const struct moriens_spawn *spawn, int *fd)
{
	int error;

	*fd = open(spawn->making, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd < 0)
		return errno == ENOENT ? EALREADY : errno;
	if (!moriens_lock_starting(*fd)) {
		unlink(spawn->making);
		return ENOLCK;
	}
	error = name_file(spawn->making, spawn->lock);
	return error == ENOENT || error == EEXIST ? EALREADY : error;
}

static int take_starting(const struct moriens_spawn *spawn, int *fd)
{
	*fd = open(spawn->lock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (*fd >= 0)
		return moriens_lock_starting(*fd) ? 0 : EALREADY;
	return errno == ENOENT ? make_starting(spawn, fd) : errno;
}

/* Who starts a program holds the first bytes until the program runs; then only the rest is locked, which the program
 * inherits. */
static int take_locks(const struct moriens_spawn *spawn, int *lock, int *starting)
{
	int error = take_starting(spawn, starting);

	if (error != 0)
		return error;
	*lock = open(spawn->lock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (*lock < 0)
		return errno == ENOENT ? EALREADY : errno;
	if (!moriens_lock_is_at(*starting, spawn->lock) || !moriens_lock_is_at(*lock, spawn->lock))
		return EALREADY; /* it is another one by now */
	if (!moriens_lock_is_empty(*lock))
		return ECANCELED;
	if (!moriens_lock_running(*lock))
		return EALREADY;
	/* Until now a program may have had it that has let go of it, with a word or without its name. */
	error = !moriens_lock_is_at(*lock, spawn->lock) ? EALREADY : !moriens_lock_is_empty(*lock) ? ECANCELED : 0;
	if (error != 0)
		close(*lock);
	return error;
}

static int run_stage(void *argument)
{
	struct stage *s = argument;
	int lock, starting;
	int error = take_locks(s->spawn, &lock, &starting);

	if (error == 0) {
		if (!only_locks_open(lock, starting)) {
			error = errno;
		} else {
			setsid();
			let_go_of_binding();
			error = clone(run_program, s->stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, s) < 0 ? errno : s->program_error;
		}
		if (error != 0)
			unlink(s->spawn->lock); /* while it is locked: nobody takes it for one of a program that ended */
	}
	s->error = error;
	syscall(SYS_exit_group, 0);
	return 0;
}

int moriens_spawn(const struct moriens_spawn *spawn)
{
	int saved = errno;
	char *stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	struct stage stage = {.spawn = spawn, .stack = stacks, .error = ECHILD}; /* of a stage that is killed */

	if (stacks == MAP_FAILED) {
		stage.error = errno;
	} else {
		/* No signal is sent for this child, and no wait of the application's sees it, nor its end. */
		pid_t child = clone(run_stage, stacks + 2 * STACK_BYTES, CLONE_VM | CLONE_VFORK, &stage);
		if (child < 0)
			stage.error = errno;
		else
			while (waitpid(child, NULL, __WCLONE) < 0 && errno == EINTR)
				;
		munmap(stacks, 2 * STACK_BYTES);
	}
	errno = saved;
	return stage.error;
}
