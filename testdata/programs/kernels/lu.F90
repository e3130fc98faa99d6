! Planted: the shape of a solver by symmetric successive over-relaxation on a grid of ranks: planes pass over the grid as
! a wave, from the north-west, then from the south-east. Ranks at borders have fewer neighbours. One function does all
! exchanges of the waves, by its argument: the compiler may make one call of several of its lines, so that their numbers
! mean nothing.
module lu_data
  use mpi
  implicit none
  integer, parameter :: n = 64
  integer :: rank, size, rows, columns, row, column, north, south, west, east, planes, steps, ierr
  double precision :: u(n), buffer(n)
end module

subroutine compute(turns)
  use lu_data
  implicit none
  integer, intent(in) :: turns
  integer :: k
  do k = 1, turns
    u = u*1.0000001d0 + 1d-9
  end do
end subroutine

! part is 0: receive from north and west; 1: send to south and east; 2: receive from south and east; 3: send to north and
! west.
subroutine exchange_1(part)
  use lu_data
  implicit none
  integer, intent(in) :: part
  if (part == 0) then
    if (north >= 0) call MPI_Recv(buffer, n, MPI_DOUBLE_PRECISION, north, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    if (west >= 0) call MPI_Recv(buffer, n, MPI_DOUBLE_PRECISION, west, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  else if (part == 1) then
    if (south >= 0) call MPI_Send(u, n, MPI_DOUBLE_PRECISION, south, 1, MPI_COMM_WORLD, ierr)
    if (east >= 0) call MPI_Send(u, n, MPI_DOUBLE_PRECISION, east, 2, MPI_COMM_WORLD, ierr)
  else if (part == 2) then
    if (south >= 0) call MPI_Recv(buffer, n, MPI_DOUBLE_PRECISION, south, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    if (east >= 0) call MPI_Recv(buffer, n, MPI_DOUBLE_PRECISION, east, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  else
    if (north >= 0) call MPI_Send(u, n, MPI_DOUBLE_PRECISION, north, 3, MPI_COMM_WORLD, ierr)
    if (west >= 0) call MPI_Send(u, n, MPI_DOUBLE_PRECISION, west, 4, MPI_COMM_WORLD, ierr)
  end if
  u(1) = u(1) + buffer(1)
end subroutine

subroutine exchange_3
  use lu_data
  implicit none
  integer :: request
  if (north >= 0) call MPI_Irecv(buffer, n, MPI_DOUBLE_PRECISION, north, 5, MPI_COMM_WORLD, request, ierr)
  if (south >= 0) call MPI_Send(u, n, MPI_DOUBLE_PRECISION, south, 5, MPI_COMM_WORLD, ierr) ! @facesouth
  if (north >= 0) call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  u(1) = u(1) + buffer(1)
end subroutine

subroutine lower
  use lu_data
  implicit none
  call exchange_1(0)
  call compute(100)
  call exchange_1(1)
end subroutine

subroutine upper
  use lu_data
  implicit none
  call exchange_1(2)
  call compute(100)
  call exchange_1(3)
end subroutine

subroutine ssor
  use lu_data
  implicit none
  integer :: step, k
  double precision :: norm, total
  do step = 1, steps
    do k = 1, planes
      call compute(50)
      call lower
    end do
    do k = planes, 1, -1
      call compute(50)
      call upper
    end do
    call exchange_3
    call compute(300)
    if (mod(step, 5) == 0) then
      norm = sum(u)
      call MPI_Allreduce(norm, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr) ! @norm
    end if
  end do
end subroutine

program lu
  use lu_data
  implicit none
  integer :: shape(2)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  shape = 0
  call MPI_Dims_create(size, 2, shape, ierr)
  rows = shape(1)
  columns = shape(2)
  row = rank/columns
  column = mod(rank, columns)
  north = merge(rank - columns, -1, row > 0)
  south = merge(rank + columns, -1, row < rows - 1)
  west = merge(rank - 1, -1, column > 0)
  east = merge(rank + 1, -1, column < columns - 1)
  planes = 12
  steps = 20
  call MPI_Bcast(planes, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  call MPI_Bcast(steps, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  u = 1
  buffer = 0
  call ssor
  call MPI_Finalize(ierr)
  if (ierr /= MPI_SUCCESS) stop 1
end program
