/*
 * PAPI, loaded when it is asked for: the shim is not linked to it and works where it is absent.
 * The functions are those of papi.h under their own names; declared here because a machine that builds
 * the shim need not have that header.
 */
#ifndef MORIENS_PAPI_H
#define MORIENS_PAPI_H

#include "base.h"

#define MORIENS_PAPI_OK 0
#define MORIENS_PAPI_NULL (-1)

struct moriens_papi {
	int (*library_init)(int version);
	int (*get_opt)(int option, void *value);
	int (*thread_init)(unsigned long (*id)(void));
	int (*event_name_to_code)(const char *name, int *code);
	int (*get_event_component)(int code);
	int (*create_eventset)(int *set);
	int (*add_event)(int set, int code);
	int (*start)(int set);
	int (*read)(int set, long long *values);
	int (*stop)(int set, long long *values);
	int (*cleanup_eventset)(int set);
	int (*destroy_eventset)(int *set);
	char *(*strerror)(int error);
	int (*num_components)(void);
	const void *(*get_component_info)(int component);
	int (*enum_event)(int *code, int modifier);
	int (*query_event)(int code);
	int (*event_code_to_name)(int code, char *name);
};

/* What there is of PAPI_component_info_t in every version from 6 on. */
struct moriens_papi_component {
	char name[128];
	char not_used[384];
	char disabled_reason[128]; /* longer from 7 on; empty: it is not disabled */
};

extern struct moriens_papi moriens_papi;

/* Loads and initialises PAPI, once per process; name: the library's file, or NULL. Returns NULL, or why
 * it cannot be used. */
const char *moriens_papi_load(const char *name);

/* The file that was loaded, and the version as PAPI_VERSION packs it. */
const char *moriens_papi_file(void);
int moriens_papi_version(void);

/* What an error code means. */
const char *moriens_papi_reason(int error);

#endif
