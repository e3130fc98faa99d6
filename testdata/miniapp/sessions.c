/*
 * MPI-4's sessions, one inside another's life (MPICH 4.0.2 fails by itself at the second of two that follow
 * each other), on two ranks. Without an argument a program that never calls MPI_Init; with "world" one that does, and
 * ends MPI_COMM_WORLD before its session; with "crossed" the session that was opened first ends first.
 */
#include "planted.h"

static int rank, size;

static MPI_Session begin(void)
{
	MPI_Session session;

	MPI(Session_init, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	return session;
}

/* A communicator of all, and a sum over it. */
static void use(MPI_Session session, const char *tag)
{
	MPI_Group group;
	MPI_Comm comm;
	int one = 1, sum = 0;

	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Group_rank(group, &rank);
	MPI_Group_size(group, &size);
	MPI(Comm_create_from_group, group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI(Allreduce, &one, &sum, 1, MPI_INT, MPI_SUM, comm);
	if (sum != size) {
		fprintf(stderr, "rank %d: %d of %d are there\n", rank, sum, size);
		exit(1);
	}
	MPI(Comm_free, &comm);
	MPI_Group_free(&group);
}

/* Ranks 0 and 1, each a group of its own, and what is between them. */
static void between(MPI_Session session)
{
	int other = 1 - rank;
	MPI_Group group, mine, theirs;
	MPI_Comm both;

	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Group_incl(group, 1, &rank, &mine);
	MPI_Group_incl(group, 1, &other, &theirs);
	MPI(Intercomm_create_from_groups, mine, 0, theirs, 0, "between", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &both);
	MPI(Barrier, both);
	MPI(Comm_free, &both);
	MPI_Group_free(&group);
	MPI_Group_free(&mine);
	MPI_Group_free(&theirs);
}

int main(int argc, char **argv)
{
	MPI_Session outer = begin(), inner;

	if (argc > 1 && strcmp(argv[1], "world") == 0) {
		MPI(Init, NULL, NULL);
		use(outer, "mixed");
		MPI(Barrier, MPI_COMM_WORLD);
		MPI(Finalize);
	} else if (argc > 1 && strcmp(argv[1], "crossed") == 0) {
		inner = begin();
		use(outer, "outer");
		MPI(Session_finalize, &outer);
		use(inner, "inner");
		outer = inner;
	} else {
		use(outer, "outer");
		inner = begin();
		use(inner, "inner");
		between(inner);
		MPI(Session_finalize, &inner);
		use(outer, "again");
	}
	MPI(Session_finalize, &outer);
	report(rank);
	return 0;
}
