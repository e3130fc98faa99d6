! Phases, events and a pause of a Fortran program, by moriens.F90.
#include "bindings.h"

program annotatef
  MODULE_
  use moriens
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  INCLUDE_
  character(len=16) :: padded
  integer :: rank, i, ierr

  call moriens_begin('before MPI')
  M('Init') MPI_Init(E0)
  call moriens_end('before MPI')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank E)
  padded = 'iteration'
  call moriens_begin('solve')
  do i = 1, 5
    call moriens_begin(padded)
    M('Barrier') MPI_Barrier(MPI_COMM_WORLD E)
    call moriens_event('step', i)
    call moriens_event('large', 5000000000_int64 + i)
    call moriens_end('iteration')
  end do
  call moriens_end('solve')
  M('Pcontrol') MPI_Pcontrol(0)
  do i = 1, 3
    call MPI_Barrier(MPI_COMM_WORLD E)
  end do
  M('Pcontrol') MPI_Pcontrol(1)
  M('Barrier') MPI_Barrier(MPI_COMM_WORLD E)
  M('Finalize') MPI_Finalize(E0)
  call report(rank)
end program
