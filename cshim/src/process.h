/*
 * The process file: who this process is, its state, its loss counters, and the log in which its
 * modules and call paths are defined.
 */
#ifndef MORIENS_PROCESS_H
#define MORIENS_PROCESS_H

#include "base.h"
#include "os.h"
#include "shim_abi.h"

struct moriens_identity {
	uint64_t process;
	int32_t rank;
	int32_t size;
	uint32_t pid;
	uint32_t clock;
	char world[256];
	char parent[256];
	char host[256];
	char executable[1024];
	char mpi_library[1024];
	char events[512];
	char unavailable[512];
};

struct moriens_process_file {
	struct moriens_file file;
	struct moriens_process *header;
	char *log;
};

/* Creates, fills and locks the file under its temporary name. Returns an errno value. */
int moriens_process_create(struct moriens_process_file *p, int directory, size_t log_bytes, const struct moriens_identity *identity);

/* Leaves the file by which the agent learns that a rank records nothing, and why: an errno value. rank is -1 where it
 * is not known. Returns an errno value. */
int moriens_process_fault(int directory, int32_t rank, int32_t size, uint32_t pid, int error);

/* The same for a rank of which the tool at path, before us, has answered all calls. */
int moriens_process_outrun(int directory, int32_t rank, int32_t size, uint32_t pid, const char *path);

/* Gives it its name. */
int moriens_process_publish(struct moriens_process_file *p, int directory);

void moriens_process_set_state(struct moriens_process_file *p, enum moriens_process_state state);

/* MPI has ended for good; after the state. */
void moriens_process_over(struct moriens_process_file *p);

/* Appends an entry made of two parts, padded with zeros to 8 bytes. False: the log is full. One caller at a time. */
bool moriens_process_log(struct moriens_process_file *p, const void *fixed, size_t fixed_bytes, const void *rest, size_t rest_bytes);

/* Says something to the user, by way of the log and the agent. */
void moriens_process_note(struct moriens_process_file *p, const char *text);

/* Says which calls are not recorded: the results are incomplete then. */
void moriens_process_unseen(struct moriens_process_file *p, const char *text);

#endif
