! Planted: the shape of a Fourier transform of which the data are in pencils: each step transposes within the rows and
! then within the columns of a grid of ranks, and prints a checksum. One transform goes before, forwards.
module ft_data
  use mpi
  implicit none
  integer, parameter :: n = 64
  integer :: rank, size, along, across, steps, ierr
  double precision :: a(n, 8), b(n, 8)
end module

subroutine compute(turns)
  use ft_data
  implicit none
  integer, intent(in) :: turns
  integer :: k
  do k = 1, turns
    a = a*1.0000001d0 + 1d-9
  end do
end subroutine

subroutine transpose_rows
  use ft_data
  implicit none
  call MPI_Alltoall(a, n, MPI_DOUBLE_PRECISION, b, n, MPI_DOUBLE_PRECISION, along, ierr) ! @rows
  if (ierr /= MPI_SUCCESS) stop 1
end subroutine

subroutine transpose_columns
  use ft_data
  implicit none
  call MPI_Alltoall(b, n, MPI_DOUBLE_PRECISION, a, n, MPI_DOUBLE_PRECISION, across, ierr) ! @columns
  if (ierr /= MPI_SUCCESS) stop 1
end subroutine

subroutine fft(direction)
  use ft_data
  implicit none
  integer, intent(in) :: direction
  if (direction == 1) then
    call compute(60)
    call transpose_rows
    call compute(30)
    call transpose_columns
  else
    call transpose_columns
    call compute(30)
    call transpose_rows
    call compute(60)
  end if
end subroutine

subroutine checksum(step)
  use ft_data
  implicit none
  integer, intent(in) :: step
  double precision :: mine, total
  mine = sum(a)
  call MPI_Reduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr) ! @checksum
  if (rank == 0 .and. mod(step, 10) == 0) print '(i4, es14.5)', step, total
end subroutine

program ft
  use ft_data
  implicit none
  integer :: step, shape(2)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  shape = 0
  call MPI_Dims_create(size, 2, shape, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, rank/shape(2), rank, along, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, shape(2)), rank, across, ierr)
  steps = 30
  call MPI_Bcast(steps, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  a = rank
  b = 0
  call fft(1)
  do step = 1, steps
    call compute(50)
    call fft(-1)
    call checksum(step)
  end do
  call MPI_Comm_free(along, ierr)
  call MPI_Comm_free(across, ierr)
  call MPI_Finalize(ierr)
  if (ierr /= MPI_SUCCESS) stop 1
end program
