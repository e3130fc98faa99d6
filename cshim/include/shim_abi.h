/*
 * The shared-memory layout between libmoriens.so (writer) and the moriens agent (reader).
 *
 * This header is the only description of the layout; internal/shmabi mirrors it for Go
 * (`make generate` runs `go tool cgo -godefs`, a test compares sizes and offsets).
 * docs/format/ring.md describes the same bytes in prose.
 *
 * Files, all 0600, in the directory $MORIENS_SHM/moriens-<uid>-<run>, which is 0700:
 *
 *   <process>.process          one per process that called MPI: who it is, its modules and call paths
 *   <process>.<thread>.ring    one per thread that called MPI: its MPI calls and marks, in time order
 *   fault-<rank>-<errno>-<size>-<pid>   this rank could not record, and why: empty, or, where errno is 0, the path of
 *                              the library before this one that has answered all its calls
 *   past-<rank>-<size>-<pid>   path of the MPI library that this rank has initialised past us; where that was not
 *                              found by dlopen, a line feed and the reason why no call has come to us
 *
 * <process> is a random 64-bit number in 16 hexadecimal digits, <thread> an ordinal in decimal,
 * <run> the value of MORIENS_RUN. Every file is written under a temporary name (a leading dot) and
 * renamed once its header is complete, so a reader never sees half a header.
 *
 *    struct moriens_ring                        struct moriens_slot[slots], and room for more
 *   ┌──────────────┬───────────┬───────────┐   ┌────┬────┬─────┬────┬────┬─────┬────┐
 *   │ constants    │ head      │ tail      │   │call│call│count│call│poll│ ... │    │
 *   │              │ dropped   │           │   │    │    │ ers │    │ s  │     │    │
 *   └──────────────┴───────────┴───────────┘   └────┴────┴─────┴────┴────┴─────┴────┘
 *     page 0         shim only   agent only            ▲                   ▲
 *                                                     tail                head   (both count slots, mod slots)
 *
 * A record is a call slot or a mark, and as many continuation slots as its `slots` says, less one; the last four
 * bytes of a continuation slot say of what kind it is. A record may wrap round the end slot by slot.
 *
 * head and tail only ever grow; a slot's place is its number modulo the slots of its segment. Slots in
 * [tail, head) are readable. The shim loads tail (acquire) to see whether there is room and publishes by storing head
 * (release); the agent loads head (acquire) and gives slots back by storing tail (release). The shim
 * never waits: a record for which there is no room is dropped whole and counted in `dropped`, and the
 * next record that does find room has MORIENS_SLOT_LOST.
 *
 * A ring that is full grows: the shim goes on in a further segment. The file has room for several areas, each with
 * twice as many slots as the one before it, or as many, of which only the first is allocated from the beginning; a
 * segment is the use of one of them from some slot number on. The shim writes the segment's entry, then (release)
 * segments; a record that is open comes along, so that none is in two segments. An area can be used again when tail has
 * come to the end of its last use. The agent frees the memory of any but the first (MADV_REMOVE) before it stores a
 * tail that is at its end or beyond; where tail was there already when the shim left it, the shim does. When the agent
 * keeps up again, the shim goes back to the first.
 *
 *   file   │ header │ area 0 │ area 1          │ area 2                            │   unused: no memory
 *   slots            0 … 99    100 … 299         300 … 499, 500 … in area 0 again
 *
 * The agent sleeps longer than a ring takes to fill at the greatest speed there can be. So the shim sets the times of
 * its process file to now (utimensat) whenever it comes half a ring beyond tail, and when it waits at the end of MPI:
 * the agent watches the directory (inotify). A kernel that has no watch to give makes the agent look more often.
 *
 * A call is written in two steps so that a process that dies inside MPI still shows where it was. At
 * entry the shim fills enter, call, path, flags, the counters of the burst before it, slots and, last
 * (release), seq of the slot at head; at exit it fills exit, what the call's results mean, and advances head over the
 * record. In the ring of a dead process the slot at head is an unfinished call if its seq equals (uint32_t)(head + 1)
 * and the top bit of its slots, where a continuation slot has its kind, is not set; otherwise it is stale.
 *
 * A polling call that found nothing is not published at its exit: the polls that follow it at once, and
 * find nothing either, become part of its record (a run of polls) and are counted in its moriens_polls.
 * The slot at head then has MORIENS_SLOT_RETURNED: it is a finished record, and is read as one when the
 * process has died.
 *
 *   slot:  free ──entry──▶ open ──────────exit──────────▶ published ──agent──▶ free
 *                           │└─exit of a failed poll─▶ returned ──▲
 *                           │                           └── process dies ──▶ finished (and perhaps a poll under way)
 *                           └── process dies ──▶ unfinished (read once, by its seq)
 *
 *   process.state:  SETUP ──▶ RUNNING ──MPI_Finalize──▶ FINALIZED
 *                                └──────MPI_Abort─────▶ ABORTED
 *
 * Whether a process still lives is shown by a lock for writing on its whole .process file, one of the open
 * file description (fcntl F_OFD_SETLK). Only the process's mapping keeps that description: the kernel
 * releases the lock however the process ends, the application has no descriptor to close by accident, a
 * fork does not inherit it (MADV_DONTFORK), and it means the same in every pid namespace.
 */
#ifndef MORIENS_SHIM_ABI_H
#define MORIENS_SHIM_ABI_H

#include <stddef.h>
#include <stdint.h>

#define MORIENS_ABI_VERSION 5u
#define MORIENS_PROCESS_MAGIC 0x434f525049524f4dull /* "MORIPROC", little endian */
#define MORIENS_RING_MAGIC 0x474e495249524f4dull    /* "MORIRING", little endian */

#define MORIENS_HEADER_BYTES 4096u
#define MORIENS_SLOT_BYTES 32u

/* What the tick counter of enter and exit is. */
enum moriens_clock {
	MORIENS_CLOCK_TSC = 1,           /* x86 rdtsc */
	MORIENS_CLOCK_CNTVCT = 2,        /* aarch64 cntvct_el0 */
	MORIENS_CLOCK_MONOTONIC_RAW = 3, /* clock_gettime(CLOCK_MONOTONIC_RAW), ns */
};

enum moriens_process_state {
	MORIENS_PROCESS_SETUP = 0,
	MORIENS_PROCESS_RUNNING = 1,
	MORIENS_PROCESS_FINALIZED = 2,
	MORIENS_PROCESS_ABORTED = 3,
};

enum moriens_ring_state {
	MORIENS_RING_OPEN = 1,
	MORIENS_RING_CLOSED = 2, /* its thread has ended, or MPI has */
};

/* moriens_slot.flags */
enum moriens_slot_flag {
	MORIENS_SLOT_LOST = 1, /* records were dropped just before this one: the burst before it is unknown */
	MORIENS_SLOT_RETURNED = 2, /* a failed poll that has returned: exit is set, though head may not have moved */
	MORIENS_SLOT_PAUSED = 4, /* recording was paused just before this one: calls are missing, and the burst is unknown */
};

/* A call: the first slot of a record. Times are ticks of moriens_process.clock. */
struct moriens_slot {
	uint64_t enter; /* outermost MPI call's entry; the first one's in a run of polls */
	uint64_t exit;  /* and its exit; the last one's in a run of polls */
	uint32_t path;  /* call path, defined in the process file's log; 0 = unknown */
	uint32_t seq;   /* low 32 bits of this slot's number + 1, stored last at entry */
	uint16_t call;  /* MPI function, internal/mpicall */
	uint16_t flags; /* moriens_slot_flag */
	uint32_t slots; /* slots of this record, this one included */
};

/* Kinds of continuation slots. All have the top bit set, which no call slot's slots has. */
#define MORIENS_SLOT_COUNTERS 0x80000001u
#define MORIENS_SLOT_POLLS 0x80000002u
#define MORIENS_SLOT_SENT 0x80000003u       /* struct moriens_transfer: to be received by peer */
#define MORIENS_SLOT_RECEIVED 0x80000004u   /* struct moriens_transfer: from peer, or room for it where there is a request */
#define MORIENS_SLOT_PROBED 0x80000005u     /* struct moriens_transfer: a message from peer that waits to be received */
#define MORIENS_SLOT_PUT 0x80000006u        /* struct moriens_transfer: into peer's part of a window */
#define MORIENS_SLOT_GOT 0x80000007u        /* struct moriens_transfer: out of peer's part of a window */
#define MORIENS_SLOT_WRITTEN 0x80000008u    /* struct moriens_transfer: to a file */
#define MORIENS_SLOT_READ 0x80000009u       /* struct moriens_transfer: from a file */
#define MORIENS_SLOT_COLLECTIVE 0x8000000au /* struct moriens_collective */
#define MORIENS_SLOT_REQUEST 0x8000000bu    /* struct moriens_request */

#define MORIENS_MAX_EVENTS 8u
#define MORIENS_SLOT_EVENTS 3u

/* Stands for the value of an event that could not be read. */
#define MORIENS_NO_COUNT INT64_MIN

/* What the process's events counted in the burst before the call, in the order of moriens_process.events,
 * three a slot. A record has all of these slots or none: without them the burst's counts are unknown. */
struct moriens_counters {
	int64_t value[MORIENS_SLOT_EVENTS];
	uint32_t count; /* of value that are used */
	uint32_t kind;  /* MORIENS_SLOT_COUNTERS */
};

/* Part of a run of polls: the calls of one function from one place after the record's first call. A program may poll
 * in turn from several places: each has a slot of its own, in the order of their first calls. */
struct moriens_polls {
	uint64_t first; /* entry of the first of them */
	uint64_t enter; /* entry of the last of them */
	uint32_t path;  /* as in moriens_slot */
	uint32_t steps; /* entries and returns: odd while a call is under way, else twice the calls */
	uint16_t call;  /* as in moriens_slot */
	uint16_t reserved;
	uint32_t kind; /* MORIENS_SLOT_POLLS */
};

/* Stand for a peer, a root or a tag; all MPI libraries' own values become these. */
enum moriens_rank {
	MORIENS_ANY = -1,       /* MPI_ANY_SOURCE or MPI_ANY_TAG, which nothing has resolved; also no peer, no root, no tag */
	MORIENS_PROC_NULL = -2, /* MPI_PROC_NULL */
	MORIENS_ROOT = -3,      /* MPI_ROOT: this rank is the root, for the other group of an intercommunicator */
};

/* What a call moves between this rank and one other. MPI_Sendrecv has two of them. Bytes are those of the
 * message's data, by the size of its datatype. */
struct moriens_transfer {
	uint64_t bytes;
	uint64_t request; /* C handle of the request that the call made, or of the message that a probe matched; 0 = none */
	int32_t peer; /* rank in the communicator (of an intercommunicator, in its remote group), or moriens_rank */
	int32_t tag;  /* or moriens_rank */
	uint32_t comm; /* communicator, window or file, defined in the process file's log; 0 = unknown */
	uint32_t kind;
};

/* A collective call. */
struct moriens_collective {
	uint64_t sent;     /* bytes that this rank contributes, in place or not */
	uint64_t received; /* bytes that this rank is given, in place or not */
	uint32_t ordinal;  /* of this collective call in its communicator, from 0, modulo 2^32: the same on all ranks */
	int32_t root; /* as a peer; MORIENS_ANY = it has none */
	uint32_t comm; /* as in moriens_transfer */
	uint32_t kind; /* MORIENS_SLOT_COLLECTIVE */
};

/* moriens_request.event */
enum moriens_request_event {
	MORIENS_REQUEST_MADE = 1,      /* by a call without a moriens_transfer that says so: a nonblocking collective */
	MORIENS_REQUEST_STARTED = 2,   /* a persistent or partitioned one */
	MORIENS_REQUEST_COMPLETED = 3,
	MORIENS_REQUEST_CANCELLED = 4, /* completed, but was cancelled: nothing was moved */
	MORIENS_REQUEST_FREED = 5,     /* whether it was complete or not */
	MORIENS_REQUEST_MATCHED = 6,   /* request is a message that MPI_Mprobe gave and this call receives */
};

/* In moriens_request.bytes: MPI has not reported, and source and tag are what the receive asked for. It was no more
 * than that had room for. */
#define MORIENS_BYTES_UNKNOWN UINT64_MAX

/* What a call did to a request. Several requests of a process can have one handle at a time: the agent
 * distinguishes them by time. Those of one call stand in the order of its array. */
struct moriens_request {
	uint64_t request; /* C handle */
	uint64_t bytes;   /* received, by its status, or MORIENS_BYTES_UNKNOWN; of use only where it was one that receives */
	int32_t source;   /* by its status, as a peer; likewise */
	int32_t tag;
	uint32_t event; /* moriens_request_event */
	uint32_t kind;  /* MORIENS_SLOT_REQUEST */
};

/* moriens_mark.what: in the place of moriens_slot.call, with values that no call has. */
enum moriens_mark_what {
	MORIENS_MARK_BEGIN = 0xff01, /* of a phase; phases nest */
	MORIENS_MARK_END = 0xff02,   /* of the innermost phase of that name */
	MORIENS_MARK_EVENT = 0xff03, /* with a value */
};

/* A mark that the program set by moriens.h. It is no call and ends no burst. One that begins or ends a phase has slots
 * with counters behind it where MORIENS_PHASE_COUNTERS asks for them: what the events counted from the begin of the
 * burst to the mark. */
struct moriens_mark {
	uint64_t time;
	int64_t value; /* of an event */
	uint32_t name; /* defined in the process file's log; 0 = unknown */
	uint32_t seq;  /* as in moriens_slot */
	uint16_t what; /* moriens_mark_what */
	uint16_t flags; /* as in moriens_slot */
	uint32_t slots; /* of this record, this one included; 1 without counters */
};

#define MORIENS_RING_SEGMENTS 16u /* no more areas than that, less one: each is in use once at a time */

/* Part of a ring's slots: those from number first up to the next segment's first. */
struct moriens_ring_segment {
	uint64_t first;
	uint64_t offset; /* of its area in the file */
	uint32_t slots;  /* a power of two: slot number n is at offset + 32 * (n mod slots) */
	uint32_t reserved;
};

struct moriens_ring {
	/* constants, written before the file gets its name */
	uint64_t magic;
	uint32_t abi;
	uint32_t header_bytes;
	uint32_t slot_bytes;
	uint32_t slots; /* of the first area, a power of two */
	uint64_t ring;  /* random id of this ring */
	uint64_t process;
	uint32_t thread; /* ordinal within the process, 0 = the first that called MPI */
	uint32_t tid;    /* for people; never used to find the thread */
	uint8_t pad0[80];

	/* written by the shim only */
	uint64_t head;    /* atomic */
	uint64_t dropped; /* atomic: records that found no room */
	uint64_t abandoned; /* atomic: calls that were left by longjmp or an exception */
	uint64_t paused;  /* atomic: calls that were not recorded because the program had paused recording */
	uint64_t marks_inside; /* atomic: marks that were not recorded because their thread was inside an MPI call */
	uint32_t state;   /* atomic: moriens_ring_state */
	uint32_t segments; /* atomic: that there were; number n, from 0, is segment[n mod MORIENS_RING_SEGMENTS] */
	uint8_t pad1[80];

	/* written by the agent only */
	uint64_t tail; /* atomic */
	uint32_t agent; /* atomic: whether an agent reads the ring */
	uint8_t pad2[116];

	/* written by the shim only, each before segments counts it */
	struct moriens_ring_segment segment[MORIENS_RING_SEGMENTS];
	uint8_t pad3[3328];
};

struct moriens_process {
	uint64_t magic;
	uint32_t abi;
	uint32_t header_bytes;
	uint64_t process; /* random id */
	uint64_t log_bytes; /* room for the log, which follows the header */
	int32_t rank;       /* in MPI_COMM_WORLD */
	int32_t size;
	uint32_t pid; /* for people; never used to find the process */
	uint32_t clock; /* moriens_clock */
	uint8_t pad0[80];

	uint32_t state; /* atomic: moriens_process_state */
	uint32_t threads; /* atomic: threads that have, or should have had, a ring */
	uint32_t threads_failed; /* atomic: threads for which no ring could be made */
	uint32_t fault;          /* atomic: errno of the latest of those */
	uint64_t log_head;       /* atomic: bytes of the log that are readable */
	uint64_t paths_lost;     /* atomic: call paths for which the log had no room */
	uint64_t unrecorded;     /* atomic: outermost calls of threads without a ring */
	uint64_t comms_lost;     /* atomic: communicators, windows and files for which the log had no room */
	uint64_t names_lost;     /* atomic: times that a name of a phase or an event was to be defined and it had none */
	uint32_t over;           /* atomic: MPI has ended for good, though the process may go on */
	uint8_t pad1[68];

	/* NUL-terminated, cut where too long */
	char world[256];      /* the launcher's name for this MPI_COMM_WORLD; empty if it gives none */
	char parent[256];     /* host, pid and start time of the parent: distinguishes launches where world is empty */
	char host[256];
	char executable[1024];
	char mpi_library[1024]; /* first line of MPI_Get_library_version */
	char events[512];      /* that are counted, in the order of their values, separated by commas */
	char unavailable[512]; /* that are not, though they were asked for: lines of "name: reason", or "name" */
};

/* The log of a process file: entries one after the other, each 8-byte aligned. */
enum moriens_log_kind {
	MORIENS_LOG_MODULE = 1, /* struct moriens_log_module, then its path without NUL */
	MORIENS_LOG_PATH = 2,   /* struct moriens_log_path, then its frames, innermost first */
	MORIENS_LOG_NOTE = 3,   /* struct moriens_log_entry, then a line for the user, without NUL */
	MORIENS_LOG_COMM = 4,   /* struct moriens_log_comm, then struct moriens_log_ranks for its peers, then, where it is MET, a moriens_log_origin and its text */
	MORIENS_LOG_NAME = 5,   /* struct moriens_log_name, then the name of a phase or event, without NUL */
	MORIENS_LOG_UNSEEN = 6, /* struct moriens_log_entry, then a line that says which calls are not recorded, without NUL */
	MORIENS_LOG_PLACE = 7,  /* struct moriens_log_place, then a file's name and a function's, without NUL */
};

struct moriens_log_entry {
	uint32_t bytes; /* of the whole entry, this header and padding included; a multiple of 8 */
	uint16_t kind;  /* moriens_log_kind */
	uint16_t length; /* of what follows the fixed part: bytes of a text, or frames, or moriens_log_ranks */
};

struct moriens_log_module {
	struct moriens_log_entry entry;
	uint32_t module; /* 1, 2, 3, … */
	uint32_t build_id_bytes;
	uint8_t build_id[32];
};

struct moriens_log_frame {
	uint32_t module; /* 0 = not in any module */
	uint32_t place;  /* 0, or a line of an interpreter's program: then module and offset are 0 */
	uint64_t offset; /* return address minus the module's load address */
};

struct moriens_log_path {
	struct moriens_log_entry entry;
	uint32_t path; /* 1, 2, 3, … */
	uint32_t reserved;
};

/* moriens_log_comm.flags */
enum moriens_comm_flag {
	MORIENS_COMM_INTER = 1,  /* an intercommunicator: its peers are the remote group */
	MORIENS_COMM_WINDOW = 2, /* a window: its peers are the group it was made over */
	MORIENS_COMM_FILE = 4,   /* a file: likewise */
	MORIENS_COMM_GUESSED = 8, /* its making was not seen, or ranks of another world take part: another of the same ranks may have
	                           * the same id, or not all of its ranks the same */
	MORIENS_COMM_CUT = 16,    /* there was no room for all of its ranks */
	MORIENS_COMM_MET = 32,    /* ranks of another world take part, and a moriens_log_origin says how they were connected */
};

/* A communicator, or what else has collective calls of its own. It is defined by the first record that names it. */
struct moriens_log_comm {
	struct moriens_log_entry entry;
	uint32_t comm;  /* 1, 2, 3, … */
	uint32_t flags; /* moriens_comm_flag */
	uint64_t id;    /* the same on all of its ranks, in both groups of an intercommunicator */
	int32_t rank;   /* of this process in it */
	uint32_t size;  /* of its own group */
	uint32_t peers; /* ranks that a peer can be: size, or that of the remote group */
	uint32_t reserved;
};

/* count ranks of MPI_COMM_WORLD: first, first + stride, … */
struct moriens_log_ranks {
	int32_t first; /* -1, with stride 0: of another world */
	int32_t stride;
	uint32_t count;
};

/* moriens_log_origin.how */
enum moriens_origin {
	MORIENS_ORIGIN_DERIVED = 1,   /* made of another such communicator, by a call of its ranks */
	MORIENS_ORIGIN_SPAWNED = 2,   /* by MPI_Comm_spawn, of the ranks that called it, with the world that it started */
	MORIENS_ORIGIN_PARENT = 3,    /* of that world, with them: MPI_Comm_get_parent's */
	MORIENS_ORIGIN_ACCEPTED = 4,
	MORIENS_ORIGIN_CONNECTED = 5,
	MORIENS_ORIGIN_JOINED = 6,
};

/* How ranks of several worlds were connected. Neither side knows the other's identifiers: the end of the run finds out
 * which belong together. It follows the ranks, 8-byte aligned, and is followed by its text without NUL. */
struct moriens_log_origin {
	uint32_t how;    /* moriens_origin */
	uint32_t parent; /* DERIVED: the communicator that it was made of, defined before; else 0 */
	uint64_t key;    /* DERIVED: a hash that all of its ranks, of all worlds, have alike; else 0 */
	/* Else: ticks of the call that brought the worlds together, for those that were spawned of MPI_Init. */
	uint64_t began;
	uint64_t ended;
	/* Of text: SPAWNED and PARENT the launcher's name for the process that spawned, ACCEPTED and CONNECTED the port, as
	 * far as they are known. */
	uint32_t length;
	uint32_t reserved;
};

struct moriens_log_name {
	struct moriens_log_entry entry;
	uint32_t name; /* 1, 2, 3, … */
	uint32_t reserved;
};

/* A line of a program that an interpreter runs: it has no address. It is defined before the first path that names
 * it. */
struct moriens_log_place {
	struct moriens_log_entry entry;
	uint32_t place; /* 1, 2, 3, … */
	uint32_t line;  /* from 1; 0 = unknown */
	uint32_t file_bytes; /* of the text, the rest is the function's name */
	uint32_t reserved;
};

_Static_assert(sizeof(struct moriens_slot) == MORIENS_SLOT_BYTES, "a slot is half a cache line");
_Static_assert(sizeof(struct moriens_counters) == MORIENS_SLOT_BYTES, "a continuation slot");
_Static_assert(sizeof(struct moriens_polls) == MORIENS_SLOT_BYTES, "a continuation slot");
_Static_assert(sizeof(struct moriens_transfer) == MORIENS_SLOT_BYTES, "a continuation slot");
_Static_assert(sizeof(struct moriens_collective) == MORIENS_SLOT_BYTES, "a continuation slot");
_Static_assert(sizeof(struct moriens_request) == MORIENS_SLOT_BYTES, "a continuation slot");
_Static_assert(sizeof(struct moriens_mark) == MORIENS_SLOT_BYTES, "a slot of its own");
_Static_assert(offsetof(struct moriens_slot, slots) == 28 && offsetof(struct moriens_counters, kind) == 28 &&
	offsetof(struct moriens_polls, kind) == 28 && offsetof(struct moriens_transfer, kind) == 28 &&
	offsetof(struct moriens_collective, kind) == 28 && offsetof(struct moriens_request, kind) == 28, "the last four bytes distinguish a call from a continuation");
_Static_assert(offsetof(struct moriens_mark, seq) == offsetof(struct moriens_slot, seq) &&
	offsetof(struct moriens_mark, what) == offsetof(struct moriens_slot, call) &&
	offsetof(struct moriens_mark, slots) == offsetof(struct moriens_slot, slots), "the call shows that it is a mark");
_Static_assert(sizeof(struct moriens_log_origin) % 8 == 0, "its text follows at once");
_Static_assert(sizeof(struct moriens_ring) == MORIENS_HEADER_BYTES, "the slots start on a page");
_Static_assert(sizeof(struct moriens_process) == MORIENS_HEADER_BYTES, "the log starts on a page");

#endif
