#include "os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* More is a loop, and carries nothing new. */
#define MAX_WARNINGS 4

/* Opens a directory that is ours alone. */
static int open_own(int parent, const char *path, int *fd)
{
	struct stat st;
	int result = 0;

	*fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd < 0)
		return errno;
	if (fstat(*fd, &st) != 0) {
		result = errno;
	} else if (st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
		/* In a directory that others can write, they could swap our files for theirs. */
		result = EPERM;
	}
	if (result != 0) {
		close(*fd);
		*fd = -1;
	}
	return result;
}

int moriens_os_open_directory(const char *path, int *fd)
{
	int saved = errno;
	int result;

	*fd = -1;
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		result = errno;
	else
		result = open_own(AT_FDCWD, path, fd);
	errno = saved;
	return result;
}

/* Finds the first by name, of the directories that are ours alone, whose path begins as the given one does, with a
 * dash. */
static bool find_beside(const char *path, char *found, size_t bytes)
{
	const char *slash = strrchr(path, '/');
	size_t begin = slash != NULL ? (size_t)(slash - path) + 1 : 0, name = strlen(path) - begin;
	char best[256] = "";
	DIR *list;
	int fd;

	if (begin == 0 || begin >= bytes)
		return false;
	snprintf(found, bytes, "%.*s", (int)begin, path);
	list = opendir(found);
	for (struct dirent *d; list != NULL && (d = readdir(list)) != NULL;) {
		if (strncmp(d->d_name, path + begin, name) != 0 || d->d_name[name] != '-' || (best[0] != '\0' && strcmp(d->d_name, best) > 0))
			continue;
		if (open_own(dirfd(list), d->d_name, &fd) == 0) {
			close(fd);
			snprintf(best, sizeof best, "%s", d->d_name);
		}
	}
	if (list != NULL)
		closedir(list);
	return best[0] != '\0' && (size_t)snprintf(found, bytes, "%.*s%s", (int)begin, path, best) < bytes;
}

int moriens_os_open_beside(char *path, size_t bytes, int *fd)
{
	int result = moriens_os_open_directory(path, fd);
	int saved = errno;
	char made[PATH_MAX], found[PATH_MAX];

	if (result != EPERM && result != EACCES && result != ENOTDIR && result != ELOOP)
		return result;
	if (!find_beside(path, found, sizeof found)) {
		int n = snprintf(made, sizeof made, "%s-%016" PRIx64, path, moriens_os_random());
		bool ours = n > 0 && (size_t)n < sizeof made && mkdir(made, 0700) == 0;
		/* Another rank of the job may have come to here in the same moment: they agree on the first by name, or have an agent
		 * each. */
		if (!ours || !find_beside(path, found, sizeof found)) {
			errno = saved;
			return result;
		}
		if (strcmp(made, found) != 0)
			rmdir(made);
	}
	if (strlen(found) < bytes && moriens_os_open_directory(found, fd) == 0) {
		snprintf(path, bytes, "%s", found);
		result = 0;
	}
	errno = saved;
	return result;
}

/* Without this a full tmpfs is noticed at the first write to the mapping, by SIGBUS. */
static int allocate(int fd, size_t offset, size_t bytes)
{
	int result;

	do
		result = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
	while (result == EINTR);
	return result;
}

int moriens_os_create(int directory, const char *name, size_t bytes, size_t all, struct moriens_file *file)
{
	int saved = errno;
	int result;
	struct rlimit most;

	*file = (struct moriens_file){.fd = -1, .bytes = bytes};
	/* To try would end the application by SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &most) == 0 && all > most.rlim_cur) {
		errno = saved;
		return EFBIG;
	}
	snprintf(file->temporary, sizeof file->temporary, ".%s", name);
	file->fd = openat(directory, file->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file->fd < 0) {
		result = errno;
		errno = saved;
		return result;
	}
	result = all > bytes && ftruncate(file->fd, (off_t)all) != 0 ? errno : 0;
	if (result == 0)
		result = allocate(file->fd, 0, bytes);
	if (result == 0) {
		/* Populated: otherwise every 128th record of a ring's first round would take a page fault. */
		file->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file->fd, 0);
		if (file->memory == MAP_FAILED) {
			result = errno;
			file->memory = NULL;
		}
	}
	if (result != 0)
		moriens_os_discard(directory, file);
	errno = saved;
	return result;
}

/* A mapping begins on a page, which may be larger than the multiple that offset is of. */
static size_t page_part(size_t offset)
{
	return offset & ((size_t)sysconf(_SC_PAGESIZE) - 1);
}

/* Whether the file is the one that starts with these bytes: somebody may have removed it and put another in its
 * place. */
static bool starts_with(int fd, const void *mapped)
{
	char start[40];

	return pread(fd, start, sizeof start, 0) == (ssize_t)sizeof start && memcmp(start, mapped, sizeof start) == 0;
}

static int extend(int directory, int fd, const void *mapped, size_t offset, size_t bytes, void **memory)
{
	size_t part = page_part(offset);
	int result;

	if (!starts_with(fd, mapped))
		return ENOENT;
	if (bytes > moriens_os_share(directory))
		return ENOSPC;
	result = allocate(fd, offset, bytes);
	if (result != 0 || *memory != NULL)
		return result;
	/* Not populated: that would take milliseconds in one go. */
	char *map = mmap(NULL, part + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(offset - part));
	if (map == MAP_FAILED)
		return errno;
	*memory = map + part;
	return 0;
}

int moriens_os_extend(const char *path, const char *name, const void *mapped, size_t offset, size_t bytes, void **memory)
{
	int saved = errno;
	sigset_t signals;
	int directory, fd;

	moriens_os_block_signals(&signals);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fd = directory >= 0 ? openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	int result = fd >= 0 ? extend(directory, fd, mapped, offset, bytes, memory) : errno;
	if (fd >= 0)
		close(fd);
	if (directory >= 0)
		close(directory);
	moriens_os_restore_signals(&signals);
	errno = saved;
	return result;
}

int moriens_os_publish(int directory, const char *name, struct moriens_file *file)
{
	int saved = errno;
	int result = renameat(directory, file->temporary, directory, name) == 0 ? 0 : errno;

	errno = saved;
	return result;
}

void moriens_os_discard(int directory, struct moriens_file *file)
{
	int saved = errno;

	unlinkat(directory, file->temporary, 0);
	if (file->memory != NULL)
		munmap(file->memory, file->bytes);
	if (file->fd >= 0)
		close(file->fd);
	file->memory = NULL;
	file->fd = -1;
	errno = saved;
}

int moriens_os_lock(struct moriens_file *file)
{
	int saved = errno;
	int result = 0;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	/* The lock is the open file description's, which the mapping keeps alive: no descriptor is left for
	 * the application to close, and a child, which gets no mapping, does not hold it. */
	if (fcntl(file->fd, F_OFD_SETLK, &lock) != 0 || madvise(file->memory, file->bytes, MADV_DONTFORK) != 0)
		result = errno;
	close(file->fd);
	file->fd = -1;
	errno = saved;
	return result;
}

void moriens_os_block_signals(sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, saved);
}

void moriens_os_restore_signals(const sigset_t *saved)
{
	pthread_sigmask(SIG_SETMASK, saved, NULL);
}

void moriens_os_close(int fd)
{
	int saved = errno;

	close(fd);
	errno = saved;
}

void moriens_os_unmap(void *memory, size_t bytes)
{
	int saved = errno;

	munmap(memory, bytes);
	errno = saved;
}

void moriens_os_unmap_part(void *memory, size_t bytes)
{
	size_t part = page_part((uintptr_t)memory);

	moriens_os_unmap((char *)memory - part, part + bytes);
}

void moriens_os_free_part(void *memory, size_t bytes)
{
	int saved = errno;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)memory + page - 1) & ~(page - 1), to = ((uintptr_t)memory + bytes) & ~(page - 1);

	if (from < to)
		madvise((void *)from, to - from, MADV_REMOVE); /* no loss where it fails */
	errno = saved;
}

void *moriens_os_memory(size_t bytes)
{
	int saved = errno;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = saved;
	return memory == MAP_FAILED ? NULL : memory;
}

int moriens_os_touch(int directory, const char *name)
{
	int saved = errno;
	int result = 0;
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		result = errno;
	else
		close(fd);
	errno = saved;
	return result;
}

int moriens_os_leave(int directory, const char *name, const char *text)
{
	char temporary[128];
	int saved = errno;
	int result = 0;

	snprintf(temporary, sizeof temporary, ".%s", name);
	int fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		result = errno;
	} else {
		ssize_t n = write(fd, text, strlen(text));
		if (n != (ssize_t)strlen(text))
			result = n < 0 ? errno : ENOSPC;
		close(fd);
		if (result == 0 && renameat(directory, temporary, directory, name) != 0)
			result = errno;
		if (result != 0)
			unlinkat(directory, temporary, 0);
	}
	errno = saved;
	return result;
}

bool moriens_os_read_memory(uintptr_t from, void *to, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {NULL, bytes};
	int saved = errno;

	memcpy(&there.iov_base, &from, sizeof from); /* no pointer that the compiler would take for one to an object */
	bool all = process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
	errno = saved;
	return all;
}

void moriens_os_ring(const char *path)
{
	int saved = errno;

	if (utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) != 0)
		errno = saved;
}

static uint64_t cpus(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	return online > 0 ? (uint64_t)online : 1;
}

uint64_t moriens_os_share(int directory)
{
	int saved = errno;
	struct statvfs fs;
	uint64_t bytes = 0;

	if (fstatvfs(directory, &fs) == 0)
		bytes = (uint64_t)fs.f_bavail * fs.f_frsize / (4 * cpus());
	errno = saved;
	return bytes;
}

bool moriens_os_has_pmu(void)
{
	int saved = errno;
	bool found = false;
	DIR *devices = opendir("/sys/bus/event_source/devices");

	for (struct dirent *d; devices != NULL && !found && (d = readdir(devices)) != NULL;)
		/* x86; its processors of two kinds; ARM. */
		found = strcmp(d->d_name, "cpu") == 0 || strcmp(d->d_name, "cpu_core") == 0 || strncmp(d->d_name, "armv", 4) == 0;
	if (devices != NULL)
		closedir(devices);
	errno = saved;
	return found;
}

bool moriens_os_read_start(const char *directory, const char *name, void *to, size_t bytes)
{
	char path[4096 + 64];
	int saved = errno;
	ssize_t n = -1;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) {
		n = pread(fd, to, bytes, 0);
		close(fd);
	}
	errno = saved;
	return n == (ssize_t)bytes;
}

uint64_t moriens_os_monotonic_us(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void moriens_os_sleep_us(uint64_t us)
{
	int saved = errno;
	struct timespec pause = {.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};

	nanosleep(&pause, NULL);
	errno = saved;
}

uint64_t moriens_os_random(void)
{
	int saved = errno;
	uint64_t bits;

	if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != (ssize_t)sizeof bits) {
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		bits = ((uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec ^ (uint64_t)moriens_os_tid() << 16) * 0x9e3779b97f4a7c15ull;
	}
	errno = saved;
	return bits;
}

void moriens_os_remove(const char *path)
{
	int saved = errno;

	unlink(path);
	errno = saved;
}

void moriens_os_remove_empty(const char *directory)
{
	int saved = errno;

	rmdir(directory);
	errno = saved;
}

void moriens_os_say_file(int fd)
{
	int saved = errno;
	char text[4096];
	ssize_t n = pread(fd, text, sizeof text, 0);

	if (n > 0)
		n = write(STDERR_FILENO, text, (size_t)n);
	errno = saved;
}

void moriens_os_warn(const char *problem, const char *hint)
{
	static int warnings;
	char line[1024];
	int saved = errno;

	if (__atomic_fetch_add(&warnings, 1, __ATOMIC_RELAXED) < MAX_WARNINGS) {
		int n = snprintf(line, sizeof line, "moriens: %s\nhint: %s\n", problem, hint);
		if (n > (int)sizeof line - 1)
			n = (int)sizeof line - 1;
		/* One write, so that the lines of several ranks do not mix. */
		ssize_t written = write(STDERR_FILENO, line, (size_t)n);
		(void)written;
	}
	errno = saved;
}
