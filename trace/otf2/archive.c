//go:build otf2 && cgo

#include "archive.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// The Go part has these numbers from the specification.
_Static_assert(OTF2_PARADIGM_USER == 1 && OTF2_PARADIGM_COMPILER == 2 && OTF2_PARADIGM_MPI == 4 && OTF2_PARADIGM_MEASUREMENT_SYSTEM == 6, "paradigms");
_Static_assert(OTF2_REGION_ROLE_FUNCTION == 1 && OTF2_REGION_ROLE_CODE == 4 && OTF2_REGION_ROLE_BARRIER == 15 && OTF2_REGION_ROLE_COLL_ONE2ALL == 23 &&
                       OTF2_REGION_ROLE_COLL_ALL2ONE == 24 && OTF2_REGION_ROLE_COLL_ALL2ALL == 25 && OTF2_REGION_ROLE_COLL_OTHER == 26 &&
                       OTF2_REGION_ROLE_FILE_IO == 27 && OTF2_REGION_ROLE_POINT2POINT == 28 && OTF2_REGION_ROLE_RMA == 29 &&
                       OTF2_REGION_ROLE_ARTIFICIAL == 31,
               "roles of regions");
_Static_assert(OTF2_TYPE_UINT8 == 1 && OTF2_TYPE_UINT64 == 4 && OTF2_TYPE_INT32 == 7 && OTF2_TYPE_DOUBLE == 10 && OTF2_TYPE_STRING == 11 && OTF2_TYPE_CALLING_CONTEXT == 21, "types");
_Static_assert(sizeof(OTF2_Type) == 1, "a type is a byte");
_Static_assert(OTF2_PARAMETER_TYPE_STRING == 0 && OTF2_PARAMETER_TYPE_INT64 == 1, "parameters");
_Static_assert(OTF2_METRIC_ACCUMULATED_START == 0 && OTF2_METRIC_ABSOLUTE_NEXT == 49 && OTF2_METRIC_SYNCHRONOUS == 1 && OTF2_METRIC_ASYNCHRONOUS == 2, "metrics");
_Static_assert(OTF2_GROUP_TYPE_COMM_LOCATIONS == 4 && OTF2_GROUP_TYPE_COMM_GROUP == 5, "groups");
_Static_assert(OTF2_MEASUREMENT_ON == 1 && OTF2_MEASUREMENT_OFF == 2, "measurement");
_Static_assert((uint32_t)OTF2_COLLECTIVE_ROOT_SELF == UINT32_MAX - 1 && (uint32_t)OTF2_COLLECTIVE_ROOT_NONE == UINT32_MAX, "roots");
_Static_assert(OTF2_COLLECTIVE_OP_BARRIER == 0 && OTF2_COLLECTIVE_OP_BCAST == 1 && OTF2_COLLECTIVE_OP_GATHER == 2 && OTF2_COLLECTIVE_OP_GATHERV == 3 &&
                       OTF2_COLLECTIVE_OP_SCATTER == 4 && OTF2_COLLECTIVE_OP_SCATTERV == 5 && OTF2_COLLECTIVE_OP_ALLGATHER == 6 &&
                       OTF2_COLLECTIVE_OP_ALLGATHERV == 7 && OTF2_COLLECTIVE_OP_ALLTOALL == 8 && OTF2_COLLECTIVE_OP_ALLTOALLV == 9 &&
                       OTF2_COLLECTIVE_OP_ALLTOALLW == 10 && OTF2_COLLECTIVE_OP_ALLREDUCE == 11 && OTF2_COLLECTIVE_OP_REDUCE == 12 &&
                       OTF2_COLLECTIVE_OP_REDUCE_SCATTER == 13 && OTF2_COLLECTIVE_OP_SCAN == 14 && OTF2_COLLECTIVE_OP_EXSCAN == 15 &&
                       OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK == 16 && OTF2_COLLECTIVE_OP_CREATE_HANDLE == 17 &&
                       OTF2_COLLECTIVE_OP_DESTROY_HANDLE == 18,
               "operations");

enum { CHUNK_EVENTS = 1 << 20, CHUNK_DEFINITIONS = 4 << 20 };

static char complaint[512]; // the library's first
static OTF2_ErrorCode cause;

static OTF2_ErrorCode complain(void *data, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code, const char *format, va_list list) {
	(void)data;
	(void)file;
	(void)line;
	(void)function;
	if (cause == OTF2_SUCCESS) {
		cause = code;
		vsnprintf(complaint, sizeof complaint, format, list);
	}
	return code;
}

const char *archive_complaint(void) {
	return complaint;
}

OTF2_ErrorCode archive_cause(void) {
	return cause;
}

static OTF2_FlushType before_flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final) {
	(void)data;
	(void)type;
	(void)location;
	(void)caller;
	(void)final;
	return OTF2_FLUSH;
}

// Without a callback behind the flush no flush is recorded: it is no part of the run.
static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = before_flush};

OTF2_ErrorCode archive_open(struct archive *a, const char *dir, const char *name, const char *creator) {
	OTF2_Error_RegisterCallback(complain, NULL);
	complaint[0] = '\0';
	cause = OTF2_SUCCESS;
	a->otf2 = OTF2_Archive_Open(dir, name, OTF2_FILEMODE_WRITE, CHUNK_EVENTS, CHUNK_DEFINITIONS, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (a->otf2 == NULL)
		return OTF2_ERROR_FILE_CAN_NOT_OPEN;
	a->attributes = OTF2_AttributeList_New();
	if (a->attributes == NULL)
		return OTF2_ERROR_MEM_ALLOC_FAILED;
	OTF2_ErrorCode e = OTF2_Archive_SetFlushCallbacks(a->otf2, &flush, NULL);
	if (e == OTF2_SUCCESS)
		e = OTF2_Archive_SetSerialCollectiveCallbacks(a->otf2);
	if (e == OTF2_SUCCESS)
		e = OTF2_Archive_SetCreator(a->otf2, creator);
	return e == OTF2_SUCCESS ? OTF2_Archive_OpenEvtFiles(a->otf2) : e;
}

OTF2_ErrorCode archive_begin(struct archive *a, uint64_t location) {
	a->events = OTF2_Archive_GetEvtWriter(a->otf2, location);
	return a->events != NULL ? OTF2_SUCCESS : OTF2_ERROR_INTEGRITY_FAULT;
}

static OTF2_ErrorCode write_event(struct archive *a, const struct event *e) {
	static OTF2_Type int64s[UINT8_MAX];
	OTF2_EvtWriter *w = a->events;
	OTF2_AttributeList *list = a->attributes;
	uint64_t now = (uint64_t)e->time_ns;
	const uint64_t *v = e->args;

	if (int64s[0] != OTF2_TYPE_INT64)
		memset(int64s, OTF2_TYPE_INT64, sizeof int64s);
	switch (e->kind) {
	case EVENT_ENTER:
		return OTF2_EvtWriter_Enter(w, list, now, e->ref);
	case EVENT_LEAVE:
		return OTF2_EvtWriter_Leave(w, list, now, e->ref);
	case EVENT_VALUES:
		for (uint32_t i = 0; i < e->ref && a->value_count < UINT8_MAX; i++)
			a->values[a->value_count++].signed_int = (int64_t)v[i];
		return OTF2_SUCCESS;
	case EVENT_METRIC: {
		uint8_t n = a->value_count;
		a->value_count = 0;
		return OTF2_EvtWriter_Metric(w, list, now, e->ref, n, int64s, a->values);
	}
	case EVENT_SEND:
		return OTF2_EvtWriter_MpiSend(w, list, now, (uint32_t)v[0], e->ref, (uint32_t)v[1], v[2]);
	case EVENT_ISEND:
		return OTF2_EvtWriter_MpiIsend(w, list, now, (uint32_t)v[0], e->ref, (uint32_t)v[1], v[2], v[3]);
	case EVENT_RECV:
		return OTF2_EvtWriter_MpiRecv(w, list, now, (uint32_t)v[0], e->ref, (uint32_t)v[1], v[2]);
	case EVENT_IRECV_REQUEST:
		return OTF2_EvtWriter_MpiIrecvRequest(w, list, now, v[0]);
	case EVENT_IRECV:
		return OTF2_EvtWriter_MpiIrecv(w, list, now, (uint32_t)v[0], e->ref, (uint32_t)v[1], v[2], v[3]);
	case EVENT_COLLECTIVE:
		return OTF2_EvtWriter_MpiCollectiveBegin(w, list, now);
	case EVENT_COLLECTIVE_END:
		return OTF2_EvtWriter_MpiCollectiveEnd(w, list, now, (OTF2_CollectiveOp)v[0], e->ref, (uint32_t)v[1], v[2], v[3]);
	case EVENT_NON_BLOCKING:
		return OTF2_EvtWriter_NonBlockingCollectiveRequest(w, list, now, v[0]);
	case EVENT_NON_BLOCKING_END:
		return OTF2_EvtWriter_NonBlockingCollectiveComplete(w, list, now, (OTF2_CollectiveOp)v[0], e->ref, (uint32_t)v[1], v[2], v[3], v[4]);
	case EVENT_MEASUREMENT:
		return OTF2_EvtWriter_MeasurementOnOff(w, list, now, (OTF2_MeasurementMode)v[0]);
	case EVENT_STRING:
		return OTF2_EvtWriter_ParameterString(w, list, now, e->ref, (OTF2_StringRef)v[0]);
	case EVENT_INT:
		return OTF2_EvtWriter_ParameterInt(w, list, now, e->ref, (int64_t)v[0]);
	}
	return OTF2_ERROR_INVALID_ARGUMENT;
}

static OTF2_ErrorCode add_attribute(OTF2_AttributeList *list, uint32_t ref, uint8_t type, uint64_t bits) {
	OTF2_AttributeValue value;

	switch (type) {
	case OTF2_TYPE_UINT8:
		value.uint8 = (uint8_t)bits;
		break;
	case OTF2_TYPE_INT32:
		value.int32 = (int32_t)(uint32_t)bits;
		break;
	case OTF2_TYPE_DOUBLE:
		memcpy(&value.float64, &bits, sizeof bits);
		break;
	case OTF2_TYPE_STRING:
		value.stringRef = (OTF2_StringRef)bits;
		break;
	case OTF2_TYPE_CALLING_CONTEXT:
		value.callingContextRef = (OTF2_CallingContextRef)bits;
		break;
	default:
		value.uint64 = bits;
	}
	return OTF2_AttributeList_AddAttribute(list, ref, type, value);
}

OTF2_ErrorCode archive_events(struct archive *a, const struct event *e, size_t n) {
	for (; n > 0; n--, e++) {
		for (uint32_t i = 0; i < e->attrs; i++) {
			OTF2_ErrorCode code = add_attribute(a->attributes, e->attr_ref[i], a->attribute_types[e->attr_ref[i]], e->attr[i]);
			if (code != OTF2_SUCCESS)
				return code;
		}
		// It empties the list.
		OTF2_ErrorCode code = write_event(a, e);
		if (code != OTF2_SUCCESS)
			return code;
	}
	return OTF2_SUCCESS;
}

OTF2_ErrorCode archive_end(struct archive *a, uint64_t *count) {
	OTF2_ErrorCode e = OTF2_EvtWriter_GetNumberOfEvents(a->events, count);
	OTF2_ErrorCode closed = OTF2_Archive_CloseEvtWriter(a->otf2, a->events);
	a->events = NULL;
	return e != OTF2_SUCCESS ? e : closed;
}

OTF2_ErrorCode archive_definitions(struct archive *a, const uint64_t *locations, size_t n) {
	OTF2_ErrorCode e = OTF2_Archive_CloseEvtFiles(a->otf2);
	if (e == OTF2_SUCCESS)
		e = OTF2_Archive_OpenDefFiles(a->otf2);
	for (size_t i = 0; i < n && e == OTF2_SUCCESS; i++) {
		OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(a->otf2, locations[i]);
		e = local != NULL ? OTF2_Archive_CloseDefWriter(a->otf2, local) : OTF2_ERROR_INTEGRITY_FAULT;
	}
	if (e == OTF2_SUCCESS)
		e = OTF2_Archive_CloseDefFiles(a->otf2);
	if (e != OTF2_SUCCESS)
		return e;
	a->definitions = OTF2_Archive_GetGlobalDefWriter(a->otf2);
	return a->definitions != NULL ? OTF2_SUCCESS : OTF2_ERROR_INTEGRITY_FAULT;
}

OTF2_ErrorCode archive_member(struct archive *a, uint32_t number, uint32_t name, uint32_t unit, int papi, uint8_t mode) {
	return OTF2_GlobalDefWriter_WriteMetricMember(a->definitions, number, name, 0, papi ? OTF2_METRIC_TYPE_PAPI : OTF2_METRIC_TYPE_OTHER,
	                                              mode, OTF2_TYPE_INT64, OTF2_BASE_DECIMAL, 0, unit);
}

OTF2_ErrorCode archive_class(struct archive *a, uint32_t number, const uint32_t *members, uint8_t n, uint8_t occurrence) {
	return OTF2_GlobalDefWriter_WriteMetricClass(a->definitions, number, n, members, occurrence, OTF2_RECORDER_KIND_CPU);
}

OTF2_ErrorCode archive_close(struct archive *a) {
	OTF2_ErrorCode e = OTF2_SUCCESS;
	if (a->attributes != NULL)
		OTF2_AttributeList_Delete(a->attributes);
	if (a->otf2 != NULL)
		e = OTF2_Archive_Close(a->otf2);
	a->attributes = NULL;
	a->otf2 = NULL;
	return e;
}

static OTF2_ErrorCode verify_definitions(OTF2_Reader *r, const uint64_t *locations, size_t n) {
	uint64_t read;
	OTF2_GlobalDefReader *global = OTF2_Reader_GetGlobalDefReader(r);
	if (global == NULL)
		return OTF2_ERROR_INTEGRITY_FAULT;
	OTF2_ErrorCode e = OTF2_Reader_ReadAllGlobalDefinitions(r, global, &read);
	if (e == OTF2_SUCCESS)
		e = OTF2_Reader_OpenDefFiles(r);
	for (size_t i = 0; i < n && e == OTF2_SUCCESS; i++) {
		OTF2_DefReader *local = OTF2_Reader_GetDefReader(r, locations[i]);
		e = local != NULL ? OTF2_Reader_ReadAllLocalDefinitions(r, local, &read) : OTF2_ERROR_INTEGRITY_FAULT;
		if (local != NULL)
			OTF2_Reader_CloseDefReader(r, local);
	}
	return e == OTF2_SUCCESS ? OTF2_Reader_CloseDefFiles(r) : e;
}

static OTF2_ErrorCode verify_events(OTF2_Reader *r, const uint64_t *locations, const uint64_t *counts, size_t n) {
	OTF2_ErrorCode e = OTF2_Reader_OpenEvtFiles(r);
	for (size_t i = 0; i < n && e == OTF2_SUCCESS; i++) {
		uint64_t read = 0;
		OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(r, locations[i]);
		e = events != NULL ? OTF2_Reader_ReadAllLocalEvents(r, events, &read) : OTF2_ERROR_INTEGRITY_FAULT;
		if (e == OTF2_SUCCESS && read != counts[i])
			e = OTF2_ERROR_INTEGRITY_FAULT;
		if (events != NULL)
			OTF2_Reader_CloseEvtReader(r, events);
	}
	return e == OTF2_SUCCESS ? OTF2_Reader_CloseEvtFiles(r) : e;
}

OTF2_ErrorCode archive_verify(const char *anchor, const uint64_t *locations, const uint64_t *counts, size_t n) {
	OTF2_Reader *r = OTF2_Reader_Open(anchor);
	if (r == NULL)
		return OTF2_ERROR_INTEGRITY_FAULT;
	OTF2_ErrorCode e = OTF2_Reader_SetSerialCollectiveCallbacks(r);
	for (size_t i = 0; i < n && e == OTF2_SUCCESS; i++)
		e = OTF2_Reader_SelectLocation(r, locations[i]);
	if (e == OTF2_SUCCESS)
		e = verify_definitions(r, locations, n);
	if (e == OTF2_SUCCESS)
		e = verify_events(r, locations, counts, n);
	OTF2_ErrorCode closed = OTF2_Reader_Close(r);
	return e != OTF2_SUCCESS ? e : closed;
}
