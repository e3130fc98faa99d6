! Planted: functions of modules, loops in loops, one of them a triangle, and a pause in one trip, in which nothing
! happens.
module ranks
  use mpi
  implicit none
  integer :: rank, size, one, ierr
  double precision, volatile :: sink
contains
  subroutine identify()
    ! 1, which the compiler does not know
    one = 1 + command_argument_count()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  end subroutine

  subroutine work(n)
    integer, intent(in) :: n
    integer :: i
    double precision :: x
    x = 1
    do i = 1, n
      x = x*1.0000001d0 + 1d-9
    end do
    sink = x
  end subroutine
end module

module solver
  use ranks
  implicit none
contains
  subroutine sweep(field, n)
    integer, intent(in) :: n
    double precision, intent(inout) :: field(n)
    integer :: k, next, before
    next = modulo(rank + 1, size)
    before = modulo(rank - 1, size)
    do k = 1, 4*one
      call work(8000)
      call MPI_Sendrecv_replace(field, n, MPI_DOUBLE_PRECISION, next, 1, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr) ! @ring
      if (ierr /= MPI_SUCCESS) stop 1
    end do
    ! Without it two sweeps after each other look like one that is longer.
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (ierr /= MPI_SUCCESS) stop 1
  end subroutine

  subroutine triangle(rows)
    integer, intent(in) :: rows
    integer :: i, j
    double precision :: value, total
    do i = 1, rows
      do j = 1, i
        value = i*j
        call MPI_Allreduce(value, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr) ! @triangle
        if (ierr /= MPI_SUCCESS) stop 1
      end do
      call MPI_Barrier(MPI_COMM_WORLD, ierr)
      if (ierr /= MPI_SUCCESS) stop 1
    end do
  end subroutine
end module

program fortran
  use solver
  implicit none
  interface
    function pause_for(us) bind(c, name='usleep')
      use iso_c_binding
      integer(c_int), value :: us
      integer(c_int) :: pause_for
    end function
  end interface
  double precision :: field(256), x, total
  integer :: step
  call MPI_Init(ierr)
  call identify()
  field = rank
  do step = 1, 20*one
    if (step == 8) x = pause_for(50000)
    call sweep(field, 256)
    if (mod(step, 5) == 0) then
      x = field(1)
      call MPI_Reduce(x, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr) ! @reduce
      if (ierr /= MPI_SUCCESS) stop 1
    end if
  end do
  call triangle(6*one)
  call MPI_Finalize(ierr)
  if (ierr /= MPI_SUCCESS) stop 1
end program
