/*
 * Programs that say what they do, by moriens.h:
 *
 *	annotate nest N        N iterations of nested phases, of events and of calls
 *	annotate names         names of all sorts
 *	annotate threads N M   M threads with N phases each, which do not call MPI
 *	annotate unbalanced    ends without begins, begins without ends, a phase that crosses another
 *	annotate early         phases before MPI_Init and after MPI_Finalize
 *	annotate inside        marks inside an MPI call, by the callback of an attribute
 *	annotate pause N       N calls before, in and after a pause
 *	annotate polls N       N failing polls, a mark, N failing polls
 *	annotate many N        N events, each of another name
 *	annotate die           SIGKILL in a phase in a phase
 */
#include "moriens.h"
#include "planted.h"

#include <pthread.h>
#include <signal.h>

static void barrier(void)
{
	MPI(Barrier, MPI_COMM_WORLD);
}

static void nest(long n)
{
	MORIENS_BEGIN("solve");
	for (long i = 0; i < n; i++) {
		MORIENS_BEGIN("iteration");
		barrier();
		MORIENS_BEGIN("halo");
		barrier();
		barrier();
		MORIENS_END("halo");
		MORIENS_EVENT("residual", 1000 - i);
		MORIENS_END("iteration");
	}
	MORIENS_END("solve");
}

/* Characters of three bytes, and dots where no whole one fits. */
static char *long_name(size_t bytes)
{
	char *name = malloc(bytes + 1);

	memset(name, '.', bytes);
	for (size_t i = 0; i + 3 <= bytes; i += 3)
		memcpy(name + i, "\xe2\x82\xac", 3);
	name[bytes] = '\0';
	return name;
}

static void say(const char *name)
{
	moriens_begin(name);
	moriens_event(name, (long)strlen(name));
	moriens_end(name);
}

static void names(void)
{
	static const size_t bytes[] = {1, 7, 8, 9, 4096, 65535, 65536};

	MORIENS_BEGIN("");
	MORIENS_END("");
	MORIENS_BEGIN("say \"so\"\t'now'\\\n");
	MORIENS_END("say \"so\"\t'now'\\\n");
	MORIENS_BEGIN("L\xc3\xb6sung \xe2\x86\x92 \xf0\x9f\x98\x80");
	MORIENS_END("L\xc3\xb6sung \xe2\x86\x92 \xf0\x9f\x98\x80");
	MORIENS_BEGIN("not UTF-8: \xff");
	MORIENS_END("not UTF-8: \xff");
	say("");
	for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
		char *name = long_name(bytes[i]);
		say(name);
		free(name);
	}
	MORIENS_EVENT("least", -9223372036854775807L - 1);
	MORIENS_EVENT("greatest", 9223372036854775807L);
}

static void *thread(void *argument)
{
	char name[32];

	for (long i = 0; i < *(long *)argument; i++) {
		MORIENS_BEGIN("work");
		snprintf(name, sizeof name, "part %ld", i % 10);
		moriens_begin(name);
		moriens_end(name);
		MORIENS_END("work");
	}
	return NULL;
}

static void threads(long n, int count)
{
	pthread_t t[64];

	for (int i = 0; i < count; i++)
		pthread_create(&t[i], NULL, thread, &n);
	for (int i = 0; i < count; i++)
		pthread_join(t[i], NULL);
}

static void unbalanced(void)
{
	MORIENS_END("never begun");
	MORIENS_BEGIN("a");
	MORIENS_BEGIN("b");
	barrier();
	MORIENS_END("a"); /* b ends here too */
	MORIENS_END("b");
	MORIENS_BEGIN("open");
	barrier();
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm, (void)key, (void)value, (void)extra;
	MORIENS_BEGIN("in a callback");
	MORIENS_EVENT("in a callback", 1);
	MORIENS_END("in a callback");
	return MPI_SUCCESS;
}

static void inside(void)
{
	MPI_Comm comm;
	int key;

	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &key, NULL);
	MORIENS_BEGIN("outside");
	MPI(Comm_dup, MPI_COMM_WORLD, &comm);
	MPI_Comm_set_attr(comm, key, NULL);
	MPI(Comm_free, &comm);
	MORIENS_END("outside");
	MPI_Comm_free_keyval(&key);
}

static void pause_recording(long n)
{
	MORIENS_BEGIN("whole");
	for (long i = 0; i < n; i++)
		barrier();
	MORIENS_BEGIN("left out");
	MPI(Pcontrol, 0);
	for (long i = 0; i < n; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	MORIENS_EVENT("in the pause", n);
	usleep(20000);
	MPI(Pcontrol, 1);
	MORIENS_END("left out");
	for (long i = 0; i < n; i++)
		barrier();
	MPI(Pcontrol, 7); /* resumes what is not paused */
	MPI(Pcontrol, -3); /* means nothing */
	barrier();
	MORIENS_END("whole");
	MPI(Pcontrol, 0);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void polls(long n)
{
	int flag;

	for (int half = 0; half < 2; half++) {
		for (long i = 0; i < n; i++)
			MPI(Iprobe, 0, 8, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
		if (half == 0)
			MORIENS_EVENT("half", n);
	}
}

/* When all have reported: the launcher ends the others then. */
static void die(int size)
{
	char path[4096];

	for (int rank = 0; rank < size; rank++) {
		planted_path(path, sizeof path, "counts", rank);
		while (access(path, F_OK) != 0)
			usleep(1000);
	}
	kill(getpid(), SIGKILL);
}

static void many(long n)
{
	char name[32];

	for (long i = 0; i < n; i++) {
		snprintf(name, sizeof name, "name %ld", i);
		moriens_event(name, i);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 10;
	int rank, size, provided;

	if (strcmp(what, "early") == 0) {
		MORIENS_BEGIN("over before it counts");
		MORIENS_END("over before it counts");
		MORIENS_EVENT("too early", 1);
		MORIENS_BEGIN("program");
		moriens_begin("set-up");
	}
	MPI(Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	if (strcmp(what, "early") == 0) {
		moriens_end("set-up");
		MORIENS_END("program");
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	barrier();
	if (strcmp(what, "nest") == 0)
		nest(n);
	else if (strcmp(what, "names") == 0)
		names();
	else if (strcmp(what, "threads") == 0)
		threads(n, argc > 3 ? atoi(argv[3]) : 4);
	else if (strcmp(what, "unbalanced") == 0)
		unbalanced();
	else if (strcmp(what, "inside") == 0)
		inside();
	else if (strcmp(what, "pause") == 0)
		pause_recording(n);
	else if (strcmp(what, "polls") == 0)
		polls(n);
	else if (strcmp(what, "many") == 0)
		many(n);
	if (strcmp(what, "die") == 0) {
		MORIENS_BEGIN("outer");
		barrier();
		MORIENS_BEGIN("inner");
		barrier();
		report(rank);
		die(size);
	}
	MPI(Finalize);
	MORIENS_BEGIN("too late");
	MORIENS_END("too late");
	report(rank);
	return 0;
}
