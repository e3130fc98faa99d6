// Calls MPI_Barrier from many stacks and writes what they were: one line per call, in order, to
// $MINIAPP_OUT/paths.<rank>.<thread>: the function that calls MPI and the line, then the return addresses of its
// callers, innermost first, as file+offset. Functions that tail-call leave no frame.
//
//	callpath SEED CALLS THREADS
#include "planted.h"

#include <alloca.h>
#include <dlfcn.h>
#include <link.h>

#include <string>
#include <thread>
#include <vector>

#define NOINLINE extern "C" __attribute__((noinline, noclone))

struct Thread {
	std::vector<void *> stack;
	std::vector<std::string> lines;
	uint64_t random;
};

static thread_local Thread self;

// Lives in every function that does not tail-call.
struct Frame {
	explicit Frame(void *caller) { self.stack.push_back(caller); }
	~Frame() { self.stack.pop_back(); }
};

#define FRAME Frame frame_here(__builtin_return_address(0))

static unsigned draw(unsigned n)
{
	self.random = self.random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(self.random >> 33) % n;
}

static void plant(const char *function, int number)
{
	std::string line = std::string(function) + ":" + std::to_string(number);

	for (size_t i = self.stack.size(); i-- > 0;) {
		Dl_info info;
		struct link_map *map;
		char text[64];
		dladdr1(self.stack[i], &info, (void **)&map, RTLD_DL_LINKMAP);
		snprintf(text, sizeof text, "+%lx", (unsigned long)((char *)self.stack[i] - (char *)map->l_addr));
		line += " ";
		line += strrchr(info.dli_fname, '/') + 1;
		line += text;
	}
	self.lines.push_back(line);
}

#define BARRIER() (plant(__func__, __LINE__), MPI(Barrier, MPI_COMM_SELF))

// Uses what a compiler cannot see through.
static volatile unsigned sink;
static unsigned touch(volatile char *p, size_t n)
{
	p[0] = 1;
	p[n - 1] = 2;
	return p[n / 2];
}

NOINLINE void leaf()
{
	FRAME;
	BARRIER();
}

// Both calls have the same stack pointer.
NOINLINE void two_sites(unsigned n)
{
	FRAME;
	while (n-- > 0) {
		if (n % 2)
			leaf();
		else
			leaf();
	}
}

// What lies in p is whatever was there before.
NOINLINE void hole(size_t n)
{
	FRAME;
	volatile char *p = static_cast<volatile char *>(alloca(n));
	p[0] = 1;
	BARRIER();
	sink = p[0];
}

// Frames of all sizes, so that two callers' holes end at one address.
template <int N> struct Wide {
	static __attribute__((noinline, noclone)) void call(size_t n)
	{
		FRAME;
		volatile char p[N];
		sink = touch(p, N);
		hole(n);
		sink = p[0];
	}
};

NOINLINE void holes()
{
	FRAME;
	size_t n = 16 * (1 + draw(12));

	switch (draw(6)) {
	case 0:
		return Wide<16>::call(n);
	case 1:
		return Wide<32>::call(n);
	case 2:
		return Wide<48>::call(n);
	case 3:
		return Wide<64>::call(n);
	case 4:
		return Wide<96>::call(n);
	default:
		return hole(n);
	}
}

NOINLINE void aligned()
{
	FRAME;
	alignas(64) volatile char p[128];
	sink = touch(p, sizeof p) + ((uintptr_t)p % 64 != 0);
	BARRIER();
	sink = p[3];
}

// A realigned frame with a hole of its own, at either phase of the stack pointer.
NOINLINE void aligned_hole(size_t n)
{
	FRAME;
	alignas(64) volatile char p[64];
	sink = touch(p, sizeof p);
	volatile char *q = static_cast<volatile char *>(alloca(n));
	q[0] = 1;
	leaf();
	sink = q[0] + p[3];
}

NOINLINE void realigned()
{
	FRAME;
	if (draw(2))
		Wide<16>::call(16);
	if (draw(2))
		return aligned();
	aligned_hole(16 * (1 + draw(6)));
}

NOINLINE void recurse(unsigned n, unsigned a, unsigned b)
{
	FRAME;
	if (n == 0)
		BARRIER();
	else if (a < b)
		recurse(n - 1, b, a + n);
	else
		recurse(n - 1, a, b + 2 * n);
	sink = a + b;
}

NOINLINE unsigned many(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, unsigned g, unsigned h)
{
	FRAME;
	leaf();
	return a + b + c + d + e + f + g + h;
}

NOINLINE void tail_target(unsigned n)
{
	FRAME;
	BARRIER();
	sink = n;
}

NOINLINE void tail(unsigned n)
{
#ifndef __OPTIMIZE__
	FRAME;
#endif
	tail_target(n + 1);
}

NOINLINE void tails()
{
	FRAME;
	tail(1);
	tail(2);
}

NOINLINE void throws(unsigned n)
{
	FRAME;
	BARRIER();
	if (n == 0)
		throw n;
	throws(n - 1);
}

NOINLINE void catches(unsigned n)
{
	FRAME;
	try {
		throws(n);
	} catch (unsigned) {
		BARRIER();
	}
	leaf();
}

NOINLINE void by_pointer()
{
	FRAME;
	static void (*const volatile targets[])() = {leaf, holes, tails, realigned};

	targets[draw(4)]();
}

NOINLINE void step()
{
	FRAME;
	switch (draw(9)) {
	case 0:
		return two_sites(draw(5));
	case 1:
		return holes();
	case 2:
		return realigned();
	case 3:
		return recurse(draw(40), draw(100), draw(100));
	case 4:
		sink = many(1, 2, 3, 4, 5, 6, 7, 8);
		return;
	case 5:
		return tails();
	case 6:
		return catches(draw(4));
	case 7:
		return by_pointer();
	default:
		return leaf();
	}
}

NOINLINE void work(uint64_t seed, unsigned calls)
{
	FRAME;
	self.random = seed;
	while (self.lines.size() < calls)
		step();
}

static void write_lines(int rank, int thread)
{
	char what[32];
	FILE *f = planted_open();

	for (const std::string &line : self.lines)
		fprintf(f, "%s\n", line.c_str());
	snprintf(what, sizeof what, "paths.%d", rank);
	planted_close(f, what, thread);
}

static void in_thread(uint64_t seed, unsigned calls, int rank, int thread)
{
	FRAME;
	work(seed, calls);
	write_lines(rank, thread);
}

int main(int argc, char **argv)
{
	FRAME;
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	unsigned calls = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
	int threads = argc > 3 ? atoi(argv[3]) : 0;
	int rank, provided;

	MPI(Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	work(seed, calls);
	write_lines(rank, 0);
	for (int i = 1; i <= threads; i++) /* one after the other: their numbers are the order of their first calls */
		std::thread(in_thread, seed + (uint64_t)i, calls, rank, i).join();
	MPI(Finalize);
	report(rank);
	return 0;
}
