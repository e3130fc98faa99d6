/* What kind of object a handle is of, and the hash from which the object's id is made: the same on all of its ranks. */
#ifndef MORIENS_IDENTITY_H
#define MORIENS_IDENTITY_H

#include "base.h"

/* A reference is a handle in any binding, with these bits. */
enum moriens_comm_kind {
	MORIENS_KIND_COMM = 0,
	MORIENS_KIND_WIN = 1,
	MORIENS_KIND_FILE = 2,
};

#define MORIENS_KIND_SHIFT 60

static inline enum moriens_comm_kind moriens_kind_of(word reference)
{
	return (enum moriens_comm_kind)(reference >> MORIENS_KIND_SHIFT & 3);
}

static inline word moriens_kind_bits(enum moriens_comm_kind kind)
{
	return (word)kind << MORIENS_KIND_SHIFT;
}

/* A hash that all ranks compute alike. */
static inline uint64_t moriens_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

#endif
