! Planted: the shape of a block-tridiagonal solver with alternating directions on a square of ranks. Each step exchanges
! the faces of the cells with six neighbours, then solves along three directions: forwards from cell to cell, then
! backwards, where the first cell waits for none and the last sends to none.
module bt_data
  use mpi
  implicit none
  integer, parameter :: n = 64
  integer :: rank, size, edge, row, column, cells, steps, ierr
  integer :: successor(3), predecessor(3)
  ! Of a cell; the compiler does not know that they are those of the first and the last.
  logical :: receives(8), sends(8)
  double precision :: face_in(n, 6), face_out(n, 6), line(n), u(n)
end module

subroutine compute(turns)
  use bt_data
  implicit none
  integer, intent(in) :: turns
  integer :: k
  do k = 1, turns
    u = u*1.0000001d0 + 1d-9
  end do
end subroutine

subroutine copy_faces
  use bt_data
  implicit none
  integer :: requests(12)
  call compute(100)
  call MPI_Irecv(face_in(1, 1), n, MPI_DOUBLE_PRECISION, successor(1), 1, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Irecv(face_in(1, 2), n, MPI_DOUBLE_PRECISION, predecessor(1), 2, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Irecv(face_in(1, 3), n, MPI_DOUBLE_PRECISION, successor(2), 3, MPI_COMM_WORLD, requests(3), ierr)
  call MPI_Irecv(face_in(1, 4), n, MPI_DOUBLE_PRECISION, predecessor(2), 4, MPI_COMM_WORLD, requests(4), ierr)
  call MPI_Irecv(face_in(1, 5), n, MPI_DOUBLE_PRECISION, successor(3), 5, MPI_COMM_WORLD, requests(5), ierr)
  call MPI_Irecv(face_in(1, 6), n, MPI_DOUBLE_PRECISION, predecessor(3), 6, MPI_COMM_WORLD, requests(6), ierr)
  call MPI_Isend(face_out(1, 1), n, MPI_DOUBLE_PRECISION, predecessor(1), 1, MPI_COMM_WORLD, requests(7), ierr)
  call MPI_Isend(face_out(1, 2), n, MPI_DOUBLE_PRECISION, successor(1), 2, MPI_COMM_WORLD, requests(8), ierr)
  call MPI_Isend(face_out(1, 3), n, MPI_DOUBLE_PRECISION, predecessor(2), 3, MPI_COMM_WORLD, requests(9), ierr)
  call MPI_Isend(face_out(1, 4), n, MPI_DOUBLE_PRECISION, successor(2), 4, MPI_COMM_WORLD, requests(10), ierr)
  call MPI_Isend(face_out(1, 5), n, MPI_DOUBLE_PRECISION, predecessor(3), 5, MPI_COMM_WORLD, requests(11), ierr)
  call MPI_Isend(face_out(1, 6), n, MPI_DOUBLE_PRECISION, successor(3), 6, MPI_COMM_WORLD, requests(12), ierr)
  call MPI_Waitall(12, requests, MPI_STATUSES_IGNORE, ierr)
  u(1) = u(1) + face_in(1, 1)
end subroutine

subroutine x_solve
  use bt_data
  implicit none
  integer :: stage, receive, send
  send = MPI_REQUEST_NULL
  do stage = 1, cells
    if (receives(stage)) then
      call MPI_Irecv(line, n, MPI_DOUBLE_PRECISION, predecessor(1), 11, MPI_COMM_WORLD, receive, ierr)
      call MPI_Wait(receive, MPI_STATUS_IGNORE, ierr) ! @xforward
    end if
    call compute(400)
    if (sends(stage)) then
      call MPI_Isend(u, n, MPI_DOUBLE_PRECISION, successor(1), 11, MPI_COMM_WORLD, send, ierr)
      call MPI_Wait(send, MPI_STATUS_IGNORE, ierr)
    end if
  end do
  do stage = 1, cells
    if (receives(stage)) then
      call MPI_Irecv(line, n, MPI_DOUBLE_PRECISION, successor(1), 12, MPI_COMM_WORLD, receive, ierr)
      call MPI_Wait(receive, MPI_STATUS_IGNORE, ierr) ! @xbackward
    end if
    call compute(200)
    if (sends(stage)) then
      call MPI_Isend(u, n, MPI_DOUBLE_PRECISION, predecessor(1), 12, MPI_COMM_WORLD, send, ierr)
      call MPI_Wait(send, MPI_STATUS_IGNORE, ierr)
    end if
  end do
end subroutine

subroutine y_solve
  use bt_data
  implicit none
  integer :: stage, receive, send
  send = MPI_REQUEST_NULL
  do stage = 1, cells
    if (receives(stage)) then
      call MPI_Irecv(line, n, MPI_DOUBLE_PRECISION, predecessor(2), 21, MPI_COMM_WORLD, receive, ierr)
      call MPI_Wait(receive, MPI_STATUS_IGNORE, ierr)
    end if
    call compute(400)
    if (sends(stage)) then
      call MPI_Isend(u, n, MPI_DOUBLE_PRECISION, successor(2), 21, MPI_COMM_WORLD, send, ierr)
      call MPI_Wait(send, MPI_STATUS_IGNORE, ierr)
    end if
  end do
  do stage = 1, cells
    if (receives(stage)) then
      call MPI_Irecv(line, n, MPI_DOUBLE_PRECISION, successor(2), 22, MPI_COMM_WORLD, receive, ierr)
      call MPI_Wait(receive, MPI_STATUS_IGNORE, ierr)
    end if
    call compute(200)
    if (sends(stage)) then
      call MPI_Isend(u, n, MPI_DOUBLE_PRECISION, predecessor(2), 22, MPI_COMM_WORLD, send, ierr)
      call MPI_Wait(send, MPI_STATUS_IGNORE, ierr)
    end if
  end do
end subroutine

subroutine z_solve
  use bt_data
  implicit none
  integer :: stage, receive, send
  send = MPI_REQUEST_NULL
  do stage = 1, cells
    if (receives(stage)) then
      call MPI_Irecv(line, n, MPI_DOUBLE_PRECISION, predecessor(3), 31, MPI_COMM_WORLD, receive, ierr)
      call MPI_Wait(receive, MPI_STATUS_IGNORE, ierr)
    end if
    call compute(400)
    if (sends(stage)) then
      call MPI_Isend(u, n, MPI_DOUBLE_PRECISION, successor(3), 31, MPI_COMM_WORLD, send, ierr)
      call MPI_Wait(send, MPI_STATUS_IGNORE, ierr)
    end if
  end do
  do stage = 1, cells
    if (receives(stage)) then
      call MPI_Irecv(line, n, MPI_DOUBLE_PRECISION, successor(3), 32, MPI_COMM_WORLD, receive, ierr)
      call MPI_Wait(receive, MPI_STATUS_IGNORE, ierr)
    end if
    call compute(200)
    if (sends(stage)) then
      call MPI_Isend(u, n, MPI_DOUBLE_PRECISION, predecessor(3), 32, MPI_COMM_WORLD, send, ierr)
      call MPI_Wait(send, MPI_STATUS_IGNORE, ierr)
    end if
  end do
end subroutine

subroutine adi
  use bt_data
  implicit none
  call copy_faces
  call x_solve
  call y_solve
  call z_solve
  call compute(100)
end subroutine

program bt
  use bt_data
  implicit none
  integer :: step
  double precision :: norm, total
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  edge = nint(sqrt(dble(size)))
  if (edge*edge /= size) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  row = rank/edge
  column = mod(rank, edge)
  successor = [row*edge + mod(column + 1, edge), mod(row + 1, edge)*edge + column, &
    mod(row + 1, edge)*edge + mod(column + 1, edge)]
  predecessor = [row*edge + modulo(column - 1, edge), modulo(row - 1, edge)*edge + column, &
    modulo(row - 1, edge)*edge + modulo(column - 1, edge)]
  cells = 3
  steps = 40
  call MPI_Bcast(cells, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  call MPI_Bcast(steps, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  receives = .true.
  receives(1) = .false.
  sends = .true.
  sends(cells) = .false.
  u = 1 + rank
  face_out = 0
  do step = 1, steps
    if (mod(step, 20) == 0 .or. step == 1) then
      if (rank == 0) print '(a, i4)', ' step', step
    end if
    call adi
  end do
  norm = sum(u)
  call MPI_Allreduce(norm, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr) ! @norm
  call MPI_Finalize(ierr)
  if (ierr /= MPI_SUCCESS) stop 1
end program
