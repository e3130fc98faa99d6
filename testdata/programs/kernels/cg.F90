! Planted: the shape of a conjugate-gradient solver on a square of ranks: 15 outer steps of 25 inner ones, each of which
! sums over the rows of ranks by exchanges with rank^1, rank^2, …, and exchanges with the transposed rank. Loops over
! the exchanges have one trip with four ranks.
module cg_data
  use mpi
  implicit none
  integer, parameter :: n = 128
  integer :: rank, size, edge, exchanges, transposed, ierr, outer, inner
  integer :: partner(8)
  double precision :: p(n), q(n), r(n), w(n), d
end module

subroutine multiply
  use cg_data
  implicit none
  integer :: k
  do k = 1, 60
    q = q*0.999999d0 + p*1d-6
  end do
end subroutine

! The sum of a number over the row of ranks.
subroutine row_sum(value)
  use cg_data
  implicit none
  double precision, intent(inout) :: value
  double precision :: other
  integer :: k, request
  do k = 1, exchanges
    call MPI_Irecv(other, 1, MPI_DOUBLE_PRECISION, partner(k), 3, MPI_COMM_WORLD, request, ierr)
    call MPI_Send(value, 1, MPI_DOUBLE_PRECISION, partner(k), 3, MPI_COMM_WORLD, ierr) ! @number
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    value = value + other
  end do
end subroutine

subroutine conj_grad
  use cg_data
  implicit none
  integer :: it, k, request
  double precision :: rho
  rho = sum(r)
  call row_sum(rho)
  do it = 1, inner
    call multiply
    do k = 1, exchanges
      call MPI_Irecv(w, n, MPI_DOUBLE_PRECISION, partner(k), 1, MPI_COMM_WORLD, request, ierr)
      call MPI_Send(q, n, MPI_DOUBLE_PRECISION, partner(k), 1, MPI_COMM_WORLD, ierr) ! @vector
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
      q = q + w
    end do
    call MPI_Irecv(w, n, MPI_DOUBLE_PRECISION, transposed, 2, MPI_COMM_WORLD, request, ierr)
    call MPI_Send(q, n, MPI_DOUBLE_PRECISION, transposed, 2, MPI_COMM_WORLD, ierr) ! @transposed
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    d = sum(p*w)
    call row_sum(d)
    p = r + p*1d-3
  end do
end subroutine

program cg
  use cg_data
  implicit none
  integer :: step, k
  double precision :: norm, total
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  edge = nint(sqrt(dble(size)))
  if (edge*edge /= size) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  exchanges = 0
  do while (2**exchanges < edge)
    exchanges = exchanges + 1
    partner(exchanges) = ieor(rank, 2**(exchanges - 1))
  end do
  transposed = mod(rank, edge)*edge + rank/edge
  outer = 15
  inner = 25
  call MPI_Bcast(outer, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  call MPI_Bcast(inner, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  p = 1
  q = 1
  r = 1
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  do step = 1, outer
    call conj_grad
    norm = sum(p)
    do k = 1, exchanges
      call MPI_Sendrecv(norm, 1, MPI_DOUBLE_PRECISION, partner(k), 4, total, 1, MPI_DOUBLE_PRECISION, partner(k), 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr) ! @norm
      norm = norm + total
    end do
    p = p/norm
  end do
  call MPI_Finalize(ierr)
  if (ierr /= MPI_SUCCESS) stop 1
end program
