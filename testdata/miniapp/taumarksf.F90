! A program of Fortran that calls TAU, linked to libmoriens_tau.a.
#include "bindings.h"

subroutine x_solve
  MODULE_
  implicit none
  INCLUDE_
  integer, save :: profiler(2) = (/ 0, 0 /)
  integer :: ierr
  call TAU_PHASE_CREATE_STATIC(profiler, 'x_solve phase')
  call TAU_PHASE_START(profiler)
  M('Barrier') MPI_Barrier(MPI_COMM_WORLD E)
  call TAU_PHASE_STOP(profiler)
end subroutine

subroutine y_solve
  implicit none
  integer, save :: profiler(2) = (/ 0, 0 /)
  call TAU_PROFILE_TIMER(profiler, 'y_solve &
    &phase 2   ')
  call TAU_PROFILE_START(profiler)
  call TAU_PROFILE_STOP(profiler)
end subroutine

program taumarksf
  MODULE_
  implicit none
  INCLUDE_
  integer, save :: main(2) = (/ 0, 0 /), residual(2) = (/ 0, 0 /)
  integer :: phase(2), step(2), never(2), rank, i, ierr
  character(len=20) :: name

  never = 0
  step = 0
  call TAU_PROFILE_INIT()
  call TAU_PROFILE_TIMER(main, 'main')
  call TAU_PROFILE_START(main)
  M('Init') MPI_Init(E0)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank E)
  call TAU_PROFILE_SET_NODE(rank)
  call TAU_REGISTER_EVENT(residual, 'residual')
  do i = 1, 3
    write (name, '(A,I3)') 'ITERATE ', i * 40
    phase = -1
    call TAU_PHASE_CREATE_DYNAMIC(phase, name)
    call TAU_PHASE_START(phase)
    call x_solve
    call y_solve
    call TAU_EVENT(residual, 1.5d0 * i)
    call TAU_PHASE_STOP(phase)
    call TAU_PHASE_DYNAMIC_ITER(i, step, 'step')
    call TAU_PHASE_START(step)
    call TAU_PHASE_STOP(step)
    call TAU_DYNAMIC_TIMER_START(i, 'counted')
    call TAU_DYNAMIC_TIMER_STOP(i, 'counted')
  end do
  call TAU_START('output 1')
  M('Barrier') MPI_Barrier(MPI_COMM_WORLD E)
  call TAU_STOP('output 1')
  call TAU_PHASE_START(never)
  call TAU_PHASE_STOP(never)
  call TAU_PROFILE_STOP(main)
  call TAU_DB_DUMP()
  M('Finalize') MPI_Finalize(E0)
  call TAU_PROFILE_EXIT('done')
  call report(rank)
end program
