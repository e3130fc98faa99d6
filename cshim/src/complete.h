/*
 * Requests that are complete, at the exit of a call that ends one, all, any or some of those that it is given.
 */
#ifndef MORIENS_COMPLETE_H
#define MORIENS_COMPLETE_H

#include "record.h"
#include "status.h"

#define MORIENS_NO_STATUS ((word)0)

/* Fills in what was received, by the status, and by what is known better than some libraries' statuses. */
MORIENS_HOT void moriens_fill(struct moriens_request *slot, const struct moriens_persistent *p, const struct moriens_asked *asked, word status)
{
	if (unlikely(moriens_status_cancelled(status))) {
		slot->event = MORIENS_REQUEST_CANCELLED;
		return;
	}
	if (unlikely(p != NULL ? p->nobody : slot->request == __atomic_load_n(&moriens_receive_of_nobody, __ATOMIC_RELAXED))) {
		slot->source = MORIENS_PROC_NULL;
		return;
	}
	if (unlikely(asked != NULL)) {
		slot->bytes = MORIENS_BYTES_UNKNOWN;
		slot->source = asked->source;
		slot->tag = asked->tag;
		return;
	}
	slot->bytes = moriens_status_bytes(status);
	moriens_two(&slot->source, (uint32_t)moriens_status_source(status), (uint32_t)moriens_status_tag(status));
}

/* A request is complete that was before, and whose handle is now after. */
MORIENS_HOT void moriens_complete(struct moriens_span *span, word before, word after, word status)
{
	const struct moriens_persistent *p = NULL;
	struct moriens_asked asked;
	bool was_asked;

	if (before == moriens_mpi.request_null)
		return;
	if (unlikely(after == before)) {
		/* Only a persistent request keeps its handle. Was it active until now? */
		struct moriens_persistent *kept = moriens_persistent_find(before);
		if (kept != NULL && !__atomic_exchange_n(&kept->active, false, __ATOMIC_RELAXED))
			return;
		p = kept;
	}
	was_asked = unlikely(__atomic_load_n(&moriens_asked_count, __ATOMIC_ACQUIRE) != 0) && moriens_asked_take(before, &asked);
	struct moriens_request *slot = moriens_extend(span);
	if (unlikely(slot == NULL))
		return;
	slot->request = before;
	slot->bytes = 0;
	moriens_two(&slot->source, (uint32_t)MORIENS_ANY, (uint32_t)MORIENS_ANY);
	moriens_two(&slot->event, MORIENS_REQUEST_COMPLETED, MORIENS_SLOT_REQUEST);
	if (likely(status != MORIENS_NO_STATUS))
		moriens_fill(slot, p, was_asked ? &asked : NULL, status);
}

/* Of the one request; */
MORIENS_HOT void moriens_completed(struct moriens_span *span, enum moriens_binding binding, int result, word request, word status)
{
	word before = moriens_thread.requests.one;
	word after = moriens_request_at(binding, request, 0);

	if (result == 0)
		moriens_complete(span, before, after, status);
	else if (after != before || moriens_persistent_find(before) != NULL)
		moriens_complete(span, before, after, MORIENS_NO_STATUS); /* with an error */
}

/* of all, of one by its index, of some by their indices. */
void moriens_completed_all(struct moriens_span *span, enum moriens_binding binding, int result, word requests, word statuses);
void moriens_completed_any(struct moriens_span *span, enum moriens_binding binding, int result, word requests, word index, word status);
void moriens_completed_some(struct moriens_span *span, enum moriens_binding binding, int result, word requests, word outcount, word indices, word statuses);

#endif
