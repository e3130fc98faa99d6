#include "lock.h"
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMOVE_TRIES 10
#define REMOVE_PAUSE_US 1000u

static struct flock range_of(bool starting)
{
	return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = starting ? 0 : 1, .l_len = starting ? 1 : 0};
}

static bool is_locked(int fd, bool starting)
{
	int saved = errno;
	struct flock lock = range_of(starting);
	bool locked = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;

	errno = saved;
	return locked;
}

static bool take(int fd, bool starting)
{
	struct flock lock = range_of(starting);

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* To close it would not do: a child that another thread forks has it too. */
static void let_go(int fd)
{
	struct flock lock = range_of(true);

	lock.l_type = F_UNLCK;
	fcntl(fd, F_OFD_SETLK, &lock);
}

bool moriens_lock_starting(int fd)
{
	return take(fd, true);
}

bool moriens_lock_running(int fd)
{
	return take(fd, false);
}

int moriens_lock_open(const char *path)
{
	int saved = errno;
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	errno = saved;
	return fd;
}

bool moriens_lock_is_running(int fd)
{
	return is_locked(fd, false);
}

/* A process that starts a program has both locks from before the second one to the outcome; where it fails it removes
 * the file first, and then lets go of them. So the rest is looked at before the first byte, and the name last. The rest
 * is looked at twice: somebody may have had it for a moment, to find that the program has left word. */
enum moriens_lock_state moriens_lock_look(int fd)
{
	int saved = errno;
	struct stat info;
	bool running = is_locked(fd, false);

	if (is_locked(fd, true) || is_locked(fd, false) != running || is_locked(fd, true))
		return MORIENS_LOCK_STARTING;
	bool removed = fstat(fd, &info) == 0 && info.st_nlink == 0;
	errno = saved;
	return removed ? MORIENS_LOCK_REMOVED : running ? MORIENS_LOCK_RUNNING : MORIENS_LOCK_ENDED;
}

bool moriens_lock_is_at(int fd, const char *path)
{
	int saved = errno;
	struct stat open_file, named;
	bool same = fstat(fd, &open_file) == 0 && lstat(path, &named) == 0 && open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;

	errno = saved;
	return same;
}

bool moriens_lock_is_empty(int fd)
{
	int saved = errno;
	struct stat info;
	bool empty = fstat(fd, &info) == 0 && info.st_nlink > 0 && info.st_size == 0;

	errno = saved;
	return empty;
}

void moriens_lock_remove(const char *path, const char *directory)
{
	int saved = errno;
	int fd = moriens_lock_open(path);

	for (int tries = 0; fd >= 0 && !moriens_lock_is_running(fd) && tries < REMOVE_TRIES; tries++) {
		if (!moriens_lock_starting(fd)) { /* another one that removes it, or that starts something: that can take long */
			moriens_os_sleep_us(REMOVE_PAUSE_US);
			continue;
		}
		if (!moriens_lock_is_running(fd) && moriens_lock_is_at(fd, path))
			unlink(path);
		let_go(fd);
		break;
	}
	if (fd >= 0)
		close(fd);
	rmdir(directory);
	errno = saved;
}
