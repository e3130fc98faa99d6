/* Who this process is, who started it, and what it runs on. */
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

uint32_t moriens_os_pid(void)
{
	return (uint32_t)getpid();
}

uint32_t moriens_os_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

uint32_t moriens_os_uid(void)
{
	return (uint32_t)geteuid();
}

void moriens_os_host(char *text, size_t bytes)
{
	int saved = errno;

	if (gethostname(text, bytes) != 0)
		text[0] = '\0';
	text[bytes - 1] = '\0';
	errno = saved;
}

void moriens_os_executable(char *text, size_t bytes)
{
	static const char gone[] = " (deleted)";
	int saved = errno;
	ssize_t n = readlink("/proc/self/exe", text, bytes - 1);

	text[n > 0 ? n : 0] = '\0';
	/* One that is gone by now has its name all the same. */
	size_t end = strlen(text), more = strlen(gone);
	if (end > more && strcmp(text + end - more, gone) == 0 && access(text, F_OK) != 0)
		text[end - more] = '\0';
	errno = saved;
}

static size_t read_small_file(const char *path, char *text, size_t bytes)
{
	int saved = errno;
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		do
			n = read(fd, text, bytes - 1);
		while (n < 0 && errno == EINTR);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	errno = saved;
	return n > 0 ? (size_t)n : 0;
}

/* The parent of a process, and when a process started, in ticks since the machine did. */
static long parent_of(long pid, unsigned long long *start)
{
	char path[64], stat[1024];
	long parent = 0;

	snprintf(path, sizeof path, "/proc/%ld/stat", pid);
	read_small_file(path, stat, sizeof stat);
	*start = 0;
	/* The command, field 2, may hold blanks and parentheses; the parent is field 4, the start time field 22. */
	char *rest = strrchr(stat, ')');
	for (int field = 2; rest != NULL && field < 22; field++) {
		rest = strchr(rest + 1, ' ');
		if (rest != NULL && field == 3)
			parent = strtol(rest, NULL, 10);
	}
	if (rest != NULL)
		*start = strtoull(rest, NULL, 10);
	return parent;
}

static void describe_process(long pid, char *text, size_t bytes)
{
	char host[256];
	unsigned long long start;

	moriens_os_host(host, sizeof host);
	parent_of(pid, &start);
	snprintf(text, bytes, "%s/%ld/%llu", host, pid, start);
}

void moriens_os_parent(char *text, size_t bytes)
{
	describe_process((long)getppid(), text, bytes);
}

/* The argument after an option, in arguments that NULs end. */
static const char *value_of(const char *arguments, size_t bytes, const char *option)
{
	for (const char *a = arguments; a < arguments + bytes; a += strlen(a) + 1) {
		const char *next = a + strlen(a) + 1;
		if (strcmp(a, option) == 0 && next < arguments + bytes)
			return next;
	}
	return NULL;
}

bool moriens_os_ancestor(const char *option, char *value, size_t value_bytes, char *parent, size_t parent_bytes)
{
	char path[64], arguments[4096];
	unsigned long long start;

	for (long pid = (long)getppid(); pid > 1; pid = parent_of(pid, &start)) {
		snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
		size_t n = read_small_file(path, arguments, sizeof arguments);
		const char *found = value_of(arguments, n, option);
		if (found == NULL)
			continue;
		snprintf(value, value_bytes, "%s", found);
		long above = parent_of(pid, &start);
		parent[0] = '\0';
		if (above > 1)
			describe_process(above, parent, parent_bytes);
		return true;
	}
	return false;
}

bool moriens_os_executable_file(const char *path)
{
	int saved = errno;
	bool can = access(path, X_OK) == 0;

	errno = saved;
	return can;
}

void moriens_os_working_directory(char *text, size_t bytes)
{
	int saved = errno;

	if (getcwd(text, bytes) == NULL)
		text[0] = '\0';
	errno = saved;
}

void moriens_os_clock_source(char *text, size_t bytes)
{
	read_small_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", text, bytes);
	text[strcspn(text, "\n")] = '\0';
}
