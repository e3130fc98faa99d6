/* Fortran wrappers of the tool that go on to the C function under its MPI name, which the library before the tool has
 * too. */
#include <mpi.h>
#include <stddef.h>

void tool_count(const char *name);

void mpi_init_(MPI_Fint *ierror)
{
	tool_count("f:MPI_Init");
	*ierror = MPI_Init(NULL, NULL);
}

void mpi_finalize_(MPI_Fint *ierror)
{
	tool_count("f:MPI_Finalize");
	*ierror = MPI_Finalize();
}

void mpi_barrier_(MPI_Fint *comm, MPI_Fint *ierror)
{
	tool_count("f:MPI_Barrier");
	*ierror = MPI_Barrier(MPI_Comm_f2c(*comm));
}

void mpi_send_(void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *ierror)
{
	tool_count("f:MPI_Send");
	*ierror = MPI_Send(buf, *count, MPI_Type_f2c(*type), *dest, *tag, MPI_Comm_f2c(*comm));
}

void mpi_ssend_(void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *ierror)
{
	tool_count("f:MPI_Ssend");
	*ierror = MPI_Ssend(buf, *count, MPI_Type_f2c(*type), *dest, *tag, MPI_Comm_f2c(*comm));
}

void mpi_comm_free_(MPI_Fint *comm, MPI_Fint *ierror)
{
	MPI_Comm c = MPI_Comm_f2c(*comm);

	tool_count("f:MPI_Comm_free");
	*ierror = MPI_Comm_free(&c);
	*comm = MPI_Comm_c2f(c);
}
