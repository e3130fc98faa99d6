//go:build mpi && cgo

#include "job.h"

#include <stdlib.h>

int mpix_errors_return(void) { return MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); }

int mpix_meet(struct mpix_meeting *m) {
	return MPI_Iallreduce(m->mine, m->greatest, MPIX_SAID, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD, &m->request);
}

int mpix_met(struct mpix_meeting *m, int *all) { return MPI_Test(&m->request, all, MPI_STATUS_IGNORE); }

struct mpix_message *mpix_message(int64_t length, int64_t piece) {
	struct mpix_message *m = calloc(1, sizeof *m);
	if (m == NULL)
		return NULL;
	int64_t bytes = length > 0 ? length : 0; // below 0 it is a sign
	m->length = length;
	m->pieces = (int)((bytes + piece - 1) / piece);
	m->requests = malloc((size_t)(1 + m->pieces) * sizeof *m->requests);
	m->bytes = malloc(bytes > 0 ? (size_t)bytes : 1);
	if (m->requests == NULL || m->bytes == NULL) {
		mpix_free(m);
		return NULL;
	}
	for (int i = 0; i <= m->pieces; i++)
		m->requests[i] = MPI_REQUEST_NULL;
	return m;
}

int mpix_send(struct mpix_message *m, int64_t piece, int to) {
	int err = MPI_Isend(&m->length, 1, MPI_INT64_T, to, 0, MPI_COMM_WORLD, &m->requests[0]);
	for (int i = 0; i < m->pieces && err == MPI_SUCCESS; i++) {
		int64_t begin = i * piece, rest = m->length - begin;
		err = MPI_Isend(m->bytes + begin, (int)(rest < piece ? rest : piece), MPI_BYTE, to, 0, MPI_COMM_WORLD, &m->requests[1 + i]);
	}
	return err;
}

// One by one: gcc takes MPICH's MPI_STATUSES_IGNORE for an array that is too small.
int mpix_sent(struct mpix_message *m, int *all) {
	int err = MPI_SUCCESS;
	*all = 1;
	for (int i = 0; i <= m->pieces && err == MPI_SUCCESS; i++) {
		int done = 0;
		err = MPI_Test(&m->requests[i], &done, MPI_STATUS_IGNORE);
		*all &= done;
	}
	return err;
}

void mpix_free(struct mpix_message *m) {
	free(m->requests);
	free(m->bytes);
	free(m);
}

int mpix_probe(int from, int *here) { return MPI_Iprobe(from, 0, MPI_COMM_WORLD, here, MPI_STATUS_IGNORE); }

int mpix_allgatherv(const void *mine, int count, void *all, const int *counts, const int *displacements) {
	return MPI_Allgatherv(mine, count, MPI_BYTE, all, counts, displacements, MPI_BYTE, MPI_COMM_WORLD);
}

int mpix_alltoallv(const void *mine, const int *counts, const int *displacements, void *all, const int *all_counts, const int *all_displacements) {
	return MPI_Alltoallv(mine, counts, displacements, MPI_BYTE, all, all_counts, all_displacements, MPI_BYTE, MPI_COMM_WORLD);
}

void mpix_abort(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

int mpix_error(int err, char *text) {
	int length;
	return MPI_Error_string(err, text, &length);
}

int mpix_library(char *text) {
	int length;
	return MPI_Get_library_version(text, &length);
}
