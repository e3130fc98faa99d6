/*
 * Three kinds of computation bursts, planted between fixed MPI calls:
 *
 *	planted [ITERATIONS [SHORT_US MIDDLE_US LONG_US [SHORTS MIDDLES]]]
 *
 * An iteration is SHORTS short bursts, each before an MPI_Allreduce, MIDDLES middle ones, each before an
 * MPI_Barrier, and one long one before an MPI_Bcast. By default the kinds are 30 times apart and each has
 * about a third of the time: 900 of 0.2 ms, 30 of 6 ms and one of 180 ms.
 *
 * Every rank writes a line "kind start_ns end_ns away_ns" per burst, in CLOCK_MONOTONIC, to $MINIAPP_OUT/bursts.<rank>:
 * the readings enclose the work and lie just after the call before it and just before the call after it. For away_ns of
 * the time since the burst before it the kernel had the rank not run.
 */
#include "planted.h"

static struct burst {
	int kind;
	int64_t start, end, away;
} *bursts;
static long made;

static void work(int kind, int64_t ns)
{
	static int64_t ran; /* until the burst before this one ended */
	struct burst *b = &bursts[made++];

	b->kind = kind;
	b->start = now_ns();
	if (made > 1)
		b->away = b->start - b[-1].end - (clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran);
	while (now_ns() - b->start < ns)
		;
	ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	b->end = now_ns();
}

int main(int argc, char **argv)
{
	int rank, size;
	long iterations = argc > 1 ? atol(argv[1]) : 3;
	int64_t short_ns = (argc > 4 ? atol(argv[2]) : 200) * 1000;
	int64_t middle_ns = (argc > 4 ? atol(argv[3]) : 6000) * 1000;
	int64_t long_ns = (argc > 4 ? atol(argv[4]) : 180000) * 1000;
	long shorts = argc > 6 ? atol(argv[5]) : 900;
	long middles = argc > 6 ? atol(argv[6]) : 30;
	double one = 1, sum;
	size_t total = (size_t)(iterations * (shorts + middles + 1));

	bursts = malloc((total + 1) * sizeof *bursts);
	memset(bursts, 0, (total + 1) * sizeof *bursts); /* no page fault inside a burst */
	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI(Barrier, MPI_COMM_WORLD);
	for (long i = 0; i < iterations; i++) {
		for (long k = 0; k < shorts; k++) {
			work(1, short_ns);
			MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		}
		for (long k = 0; k < middles; k++) {
			work(2, middle_ns);
			MPI_Barrier(MPI_COMM_WORLD);
		}
		work(3, long_ns);
		MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	}
	/* Counted here and not call by call: counting is not part of any burst. */
	planted_add("MPI_Allreduce", iterations * shorts);
	planted_add("MPI_Barrier", iterations * middles);
	planted_add("MPI_Bcast", iterations);
	MPI(Finalize);

	FILE *f = planted_open();
	for (long i = 0; i < made; i++)
		fprintf(f, "%d %lld %lld %lld\n", bursts[i].kind, (long long)bursts[i].start, (long long)bursts[i].end, (long long)bursts[i].away);
	planted_close(f, "bursts", rank);
	free(bursts);
	report(rank);
	return 0;
}
