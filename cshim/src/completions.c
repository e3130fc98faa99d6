#include "meaning.h"

static void event(struct moriens_span *span, word request, enum moriens_request_event event)
{
	struct moriens_request *slot = moriens_extend(span);

	if (slot != NULL)
		*slot = (struct moriens_request){
			.request = request,
			.source = MORIENS_ANY,
			.tag = MORIENS_ANY,
			.event = event,
			.kind = MORIENS_SLOT_REQUEST,
		};
}

void moriens_cancels(void)
{
	__atomic_store_n(&moriens_status_cancels, true, __ATOMIC_RELAXED);
}

void moriens_given_requests(enum moriens_binding binding, int count, word requests)
{
	struct moriens_thread *t = &moriens_thread;

	moriens_requests_copy(&t->requests, binding, requests, count, moriens_ring_most(&t->ring));
}

void moriens_made_request(struct moriens_span *span, word request)
{
	if (request != moriens_mpi.request_null)
		event(span, request, MORIENS_REQUEST_MADE);
}

static bool from_nobody(const struct moriens_transfer *transfer)
{
	return transfer->kind == MORIENS_SLOT_RECEIVED && transfer->peer == MORIENS_PROC_NULL;
}

void moriens_requested_of_nobody(const struct moriens_transfer *transfer)
{
	if (from_nobody(transfer))
		__atomic_store_n(&moriens_receive_of_nobody, (word)transfer->request, __ATOMIC_RELAXED);
}

void moriens_asked(struct moriens_span *span, word request)
{
	/* With one part only it is an ordinary send or receive. */
	if (span->kind != MORIENS_SPAN_RECORD || span->second == 0 || !moriens_mpi.isendrecv_unreported)
		return;
	const struct moriens_transfer *received = moriens_transfer_slot(span->second);
	if (moriens_transfer_slot(span->transfer)->peer != MORIENS_PROC_NULL && received->peer != MORIENS_PROC_NULL)
		moriens_asked_made(request, received->peer, received->tag);
}

void moriens_persistent(struct moriens_span *span, word request)
{
	bool one = span->kind == MORIENS_SPAN_RECORD && span->transfer != 0 && span->second == 0;

	moriens_persistent_made(request, one && from_nobody(moriens_transfer_slot(span->transfer)));
}

static void start(struct moriens_span *span, word request)
{
	struct moriens_persistent *p = moriens_persistent_find(request);

	if (p != NULL)
		__atomic_store_n(&p->active, true, __ATOMIC_RELAXED);
	event(span, request, MORIENS_REQUEST_STARTED);
}

void moriens_started(struct moriens_span *span)
{
	start(span, moriens_thread.requests.one);
}

/* Whether we know what the call was given; if not, its record would hold half of it. */
static bool known(struct moriens_span *span)
{
	bool copied = moriens_thread.requests.copied;

	if (!copied && span->kind == MORIENS_SPAN_RECORD)
		moriens_drop(span);
	return copied;
}

void moriens_started_all(struct moriens_span *span)
{
	const struct moriens_requests *r = &moriens_thread.requests;

	for (uint32_t i = 0; known(span) && i < r->count; i++)
		start(span, r->handle[i]);
}

void moriens_freed_request(struct moriens_span *span)
{
	word request = moriens_thread.requests.one;
	struct moriens_asked asked;

	moriens_persistent_freed(request);
	moriens_asked_take(request, &asked);
	event(span, request, MORIENS_REQUEST_FREED);
}

/* A call has failed as a whole, and may yet have ended some requests. */
static void complete_gone(struct moriens_span *span, enum moriens_binding binding, word requests)
{
	const struct moriens_requests *r = &moriens_thread.requests;

	for (uint32_t i = 0; i < r->count; i++) {
		word after = moriens_request_at(binding, requests, i);
		if (after != r->handle[i])
			moriens_complete(span, r->handle[i], after, MORIENS_NO_STATUS);
	}
}

/* Request number i, of a call that may have failed for single requests, by its status. */
static void complete_by_status(struct moriens_span *span, enum moriens_binding binding, word requests, uint32_t i, word status)
{
	int error = moriens_status_error(status);

	if (error == 0 || moriens_error_class(error) != moriens_mpi.err_pending)
		moriens_complete(span, moriens_thread.requests.handle[i], moriens_request_at(binding, requests, i), error == 0 ? status : MORIENS_NO_STATUS);
}

void moriens_completed_all(struct moriens_span *span, enum moriens_binding binding, int result, word requests, word statuses)
{
	const struct moriens_requests *r = &moriens_thread.requests;
	uint32_t stride = moriens_mpi.status.bytes;

	if (!known(span))
		return;
	if (result == 0) {
		for (uint32_t i = 0; i < r->count; i++)
			moriens_complete(span, r->handle[i], moriens_request_at(binding, requests, i), statuses + i * stride);
	} else if (moriens_error_class(result) == moriens_mpi.err_in_status) {
		for (uint32_t i = 0; i < r->count; i++)
			complete_by_status(span, binding, requests, i, statuses + i * stride);
	} else {
		complete_gone(span, binding, requests);
	}
}

/* Whether request number i can be one that the call has ended: its handle is gone, or it is persistent and was
 * active. */
static bool can_have_ended(enum moriens_binding binding, word requests, int64_t i)
{
	const struct moriens_requests *r = &moriens_thread.requests;

	if (i < 0 || i >= r->count || r->handle[i] == moriens_mpi.request_null)
		return false;
	if (moriens_request_at(binding, requests, (uint32_t)i) != r->handle[i])
		return true;
	const struct moriens_persistent *p = moriens_persistent_find(r->handle[i]);
	return p != NULL && __atomic_load_n(&p->active, __ATOMIC_RELAXED);
}

/* What a call counts the n requests from whose indices it gives: Fortran from 1, but for MPICH 4.0.2's mpi_f08, which
 * counts from 0. Before any of them is taken for ended. */
static int first_index(enum moriens_binding binding, word requests, const int *indices, int n)
{
	int fits_one = 0, fits_zero = 0;

	if (binding == MORIENS_C)
		return 0;
	for (int k = 0; k < n; k++) {
		fits_one += can_have_ended(binding, requests, (int64_t)indices[k] - 1);
		fits_zero += can_have_ended(binding, requests, indices[k]);
	}
	return fits_zero > fits_one ? 0 : 1;
}

void moriens_completed_any(struct moriens_span *span, enum moriens_binding binding, int result, word requests, word index, word status)
{
	const struct moriens_requests *r = &moriens_thread.requests;

	if (!known(span))
		return;
	if (result != 0) {
		complete_gone(span, binding, requests);
		return;
	}
	/* Negative where there is none. */
	int64_t i = (int64_t)*(const int *)index - first_index(binding, requests, (const int *)index, 1);
	if (i >= 0 && i < r->count)
		moriens_complete(span, r->handle[i], moriens_request_at(binding, requests, (uint32_t)i), status);
}

void moriens_completed_some(struct moriens_span *span, enum moriens_binding binding, int result, word requests, word outcount, word indices, word statuses)
{
	const struct moriens_requests *r = &moriens_thread.requests;
	bool in_status = result != 0 && moriens_error_class(result) == moriens_mpi.err_in_status;

	if (!known(span))
		return;
	if (result != 0 && !in_status) {
		complete_gone(span, binding, requests);
		return;
	}
	int n = *(const int *)outcount;
	int first = first_index(binding, requests, (const int *)indices, n);
	for (int k = 0; k < n; k++) {
		int64_t i = (int64_t)((const int *)indices)[k] - first;
		word status = statuses + (uint32_t)k * moriens_mpi.status.bytes;
		if (i < 0 || i >= r->count)
			continue;
		if (in_status)
			complete_by_status(span, binding, requests, (uint32_t)i, status);
		else
			moriens_complete(span, r->handle[i], moriens_request_at(binding, requests, (uint32_t)i), status);
	}
}
