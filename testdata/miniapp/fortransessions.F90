! A Fortran program that uses a session and never calls MPI_Init.
#include "bindings.h"

program fortransessions
  MODULE_
  implicit none
  INCLUDE_
  integer :: rank, total, ierr
  SESSION_ :: session
  GROUP_ :: group
  COMM_ :: comm

  M('Session_init') MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session E)
  call MPI_Group_from_session_pset(session, 'mpi://WORLD', group E)
  call MPI_Group_rank(group, rank E)
  M('Comm_create_from_group') MPI_Comm_create_from_group(group, 'a tag', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm E)
  M('Allreduce') MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, comm E)
  if (total /= 1) stop 1
  M('Comm_free') MPI_Comm_free(comm E)
  call MPI_Group_free(group E)
  M('Session_finalize') MPI_Session_finalize(session E)
  call report(rank)
end program
