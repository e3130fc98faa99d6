/* A second tool, to be preloaded behind the library: it does nothing but go on to PMPI. */
#include <mpi.h>

int MPI_Init(int *argc, char ***argv) { return PMPI_Init(argc, argv); }

int MPI_Finalize(void) { return PMPI_Finalize(); }

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
	return PMPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
	return PMPI_Isend(buf, count, type, dest, tag, comm, request);
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	return PMPI_Recv(buf, count, type, source, tag, comm, status);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) { return PMPI_Wait(request, status); }

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) { return PMPI_Test(request, flag, status); }

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
	return PMPI_Iprobe(source, tag, comm, flag, status);
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	return PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);
}
