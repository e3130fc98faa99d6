! One source for three bindings. F08: mpi_f08, without the error code, which is optional there. USE_MPI: the
! mpi module. Otherwise mpif.h.
#if defined(F08)
#define MODULE_ use mpi_f08
#define INCLUDE_
#define COMM_ type(MPI_Comm)
#define GROUP_ type(MPI_Group)
#define INFO_ type(MPI_Info)
#define REQUEST_ type(MPI_Request)
#define STATUS_ type(MPI_Status)
#define STATUSES_(n) type(MPI_Status) :: n
#define TYPE_ type(MPI_Datatype)
#define WIN_ type(MPI_Win)
#define FILE_ type(MPI_File)
#define MESSAGE_ type(MPI_Message)
#define SESSION_ type(MPI_Session)
#define SOURCE_(s) s%MPI_SOURCE
#define TAG_(s) s%MPI_TAG
#define E
#define E0
#else
#if defined(USE_MPI)
#define MODULE_ use mpi
#define INCLUDE_
#else
#define MODULE_
#define INCLUDE_ include 'mpif.h'
#endif
#define COMM_ integer
#define GROUP_ integer
#define INFO_ integer
#define REQUEST_ integer
#define STATUS_ integer, dimension(MPI_STATUS_SIZE)
#define TYPE_ integer
#define WIN_ integer
#define FILE_ integer
#define MESSAGE_ integer
#define SESSION_ integer
#define SOURCE_(s) s(MPI_SOURCE)
#define TAG_(s) s(MPI_TAG)
#define E , ierr
#define E0 ierr
#endif
#define M(name) call planted('MPI_'//name); call
