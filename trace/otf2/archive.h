// What the Go part of this package hands to libotf2.
#ifndef MORIENS_OTF2_ARCHIVE_H
#define MORIENS_OTF2_ARCHIVE_H

#include <otf2/otf2.h>
#include <stdint.h>

// Laid out as the Go type of the same name.
struct event {
	int64_t time_ns;
	uint32_t kind;
	uint32_t ref;
	uint64_t args[5];
	uint64_t attr[6];
	uint32_t attr_ref[6];
	uint32_t attrs;
};

enum event_kind {
	EVENT_ENTER,
	EVENT_LEAVE,
	EVENT_VALUES,
	EVENT_METRIC,
	EVENT_SEND,
	EVENT_ISEND,
	EVENT_RECV,
	EVENT_IRECV_REQUEST,
	EVENT_IRECV,
	EVENT_COLLECTIVE,
	EVENT_COLLECTIVE_END,
	EVENT_NON_BLOCKING,
	EVENT_NON_BLOCKING_END,
	EVENT_MEASUREMENT,
	EVENT_STRING,
	EVENT_INT,
};

struct archive {
	OTF2_Archive *otf2;
	OTF2_EvtWriter *events;
	OTF2_GlobalDefWriter *definitions;
	OTF2_AttributeList *attributes;
	const uint8_t *attribute_types; // by number; the caller's
	OTF2_MetricValue values[UINT8_MAX];
	uint8_t value_count; // of the metric that comes next
};

// All return OTF2_SUCCESS or the library's code of what went wrong. archive_complaint is what it said first, with
// archive_cause its code.
OTF2_ErrorCode archive_open(struct archive *a, const char *dir, const char *name, const char *creator);
OTF2_ErrorCode archive_begin(struct archive *a, uint64_t location);
OTF2_ErrorCode archive_events(struct archive *a, const struct event *e, size_t n);
OTF2_ErrorCode archive_end(struct archive *a, uint64_t *count);
// Ends the events and begins the definitions: local ones of each location, which are none, then the global ones.
OTF2_ErrorCode archive_definitions(struct archive *a, const uint64_t *locations, size_t n);
OTF2_ErrorCode archive_member(struct archive *a, uint32_t number, uint32_t name, uint32_t unit, int papi, uint8_t mode);
OTF2_ErrorCode archive_class(struct archive *a, uint32_t number, const uint32_t *members, uint8_t n, uint8_t occurrence);
OTF2_ErrorCode archive_close(struct archive *a);
// Reads a closed archive again: the library does not notice every write that fails. Each location must have as many
// events as counts says.
OTF2_ErrorCode archive_verify(const char *anchor, const uint64_t *locations, const uint64_t *counts, size_t n);
const char *archive_complaint(void);
OTF2_ErrorCode archive_cause(void);

#endif
