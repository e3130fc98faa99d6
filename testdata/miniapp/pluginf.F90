! An MPI program in Fortran as a plugin: see host.c.
#include "bindings.h"

integer(c_int) function plugin_main(argc, argv) bind(C)
  use, intrinsic :: iso_c_binding
  MODULE_
  implicit none
  INCLUDE_
  integer(c_int), value :: argc
  type(c_ptr), value :: argv
  integer :: rank, ranks, one, total, i, ierr

  one = 1
  total = 0
  ierr = 0
  M('Init') MPI_Init(E0)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank E)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks E)
  do i = 1, 50
    M('Allreduce') MPI_Allreduce(one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD E)
  end do
  M('Finalize') MPI_Finalize(E0)
  call report(rank)
  plugin_main = merge(0, 1, argc > 1 .and. c_associated(argv) .and. total == ranks .and. ierr == 0)
end function
