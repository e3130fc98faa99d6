! Calls of every class that Fortran programs use, on two ranks, with checks of what they communicate. Arguments: a
! directory for a file and, where ports and spawning work, the path of child; or the word abort.
#include "bindings.h"

module world
  implicit none
  integer :: rank, size, next, before, ierr
contains
  subroutine expect(condition, what)
    MODULE_
    INCLUDE_
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (.not. condition) then
      write (0, *) 'rank', rank, what, ' went wrong'
      call MPI_Abort(MPI_COMM_WORLD, 1 E)
    end if
  end subroutine
end module

subroutine messages()
  MODULE_
  use world
  implicit none
  INCLUDE_
  integer :: value, got, values(6), gots(3), i, done, indices(2), position
  logical :: flag
  REQUEST_ :: requests(2), one
  STATUS_ :: status
  MESSAGE_ :: message
#if defined(F08)
  type(MPI_Status) :: statuses(2)
#else
  integer :: statuses(MPI_STATUS_SIZE, 2)
#endif

  value = 10 + rank
  got = -1
  ! From anybody: the status says from whom.
  M('Irecv') MPI_Irecv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, one E)
  M('Send') MPI_Send(value, 1, MPI_INTEGER, next, 7, MPI_COMM_WORLD E)
  M('Wait') MPI_Wait(one, status E)
  call expect(got == 10 + before .and. SOURCE_(status) == before .and. TAG_(status) == 7, 'Irecv')

  M('Irecv') MPI_Irecv(got, 1, MPI_INTEGER, before, 1, MPI_COMM_WORLD, requests(1) E)
  M('Isend') MPI_Isend(value, 1, MPI_INTEGER, next, 1, MPI_COMM_WORLD, requests(2) E)
  M('Waitall') MPI_Waitall(2, requests, statuses E)
  call expect(got == 10 + before, 'Waitall')
  M('Irecv') MPI_Irecv(got, 1, MPI_INTEGER, before, 1, MPI_COMM_WORLD, requests(1) E)
  M('Issend') MPI_Issend(value, 1, MPI_INTEGER, next, 1, MPI_COMM_WORLD, requests(2) E)
  ! Of the first alone: which of the two is complete first is up to the machine.
  M('Waitany') MPI_Waitany(1, requests, position, status E)
  ! MPICH 4.0.2 counts from 0 in mpi_f08.
  call expect(position >= 0 .and. position <= 1, 'Waitany')
  M('Waitsome') MPI_Waitsome(2, requests, done, indices, MPI_STATUSES_IGNORE E)
  call expect(done == 1, 'Waitsome')
  M('Testall') MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE E)
  call expect(flag, 'Testall')
  M('Test') MPI_Test(requests(1), flag, MPI_STATUS_IGNORE E)
  call expect(flag, 'Test')

  ! Two that one call finds complete.
  do i = 1, 2
    M('Irecv') MPI_Irecv(gots(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(i) E)
  end do
  do i = 1, 2
    M('Send') MPI_Send(rank, 1, MPI_INTEGER, 0, i, MPI_COMM_SELF E)
  end do
  M('Waitsome') MPI_Waitsome(2, requests, done, indices, statuses E)
  call expect(done == 2 .and. gots(1) == rank .and. gots(2) == rank, 'Waitsome of two')

  ! Parts of an array that do not lie together.
  do i = 1, 6
    values(i) = 100 * rank + i
  end do
  M('Sendrecv') MPI_Sendrecv(values(1:5:2), 3, MPI_INTEGER, next, 2, gots, 3, MPI_INTEGER, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE E)
  call expect(gots(1) == 100 * before + 1 .and. gots(2) == 100 * before + 3 .and. gots(3) == 100 * before + 5, 'Sendrecv')
  M('Sendrecv_replace') MPI_Sendrecv_replace(value, 1, MPI_INTEGER, next, 3, before, 3, MPI_COMM_WORLD, status E)
  call expect(value == 10 + before, 'Sendrecv_replace')

  M('Isend') MPI_Isend(rank, 1, MPI_INTEGER, next, 4, MPI_COMM_WORLD, one E)
  M('Probe') MPI_Probe(before, 4, MPI_COMM_WORLD, status E)
  M('Iprobe') MPI_Iprobe(before, 4, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE E)
  call expect(flag, 'Iprobe')
  M('Mprobe') MPI_Mprobe(before, 4, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE E)
  M('Mrecv') MPI_Mrecv(got, 1, MPI_INTEGER, message, MPI_STATUS_IGNORE E)
  call expect(got == before, 'Mrecv')
  M('Wait') MPI_Wait(one, MPI_STATUS_IGNORE E)

  M('Recv_init') MPI_Recv_init(got, 1, MPI_INTEGER, before, 5, MPI_COMM_WORLD, requests(1) E)
  M('Send_init') MPI_Send_init(rank, 1, MPI_INTEGER, next, 5, MPI_COMM_WORLD, requests(2) E)
  M('Startall') MPI_Startall(2, requests E)
  M('Waitall') MPI_Waitall(2, requests, MPI_STATUSES_IGNORE E)
  M('Start') MPI_Start(requests(1) E)
  M('Start') MPI_Start(requests(2) E)
  M('Waitall') MPI_Waitall(2, requests, MPI_STATUSES_IGNORE E)
  call expect(got == before, 'Startall')
  do i = 1, 2
    M('Request_free') MPI_Request_free(requests(i) E)
  end do
end subroutine

! A message that begins at MPI_BOTTOM, to an address.
subroutine bottom()
  MODULE_
  use world
  implicit none
  INCLUDE_
  integer, asynchronous, save :: value, got
  integer(kind=MPI_ADDRESS_KIND) :: places(1)
  integer :: lengths(1)
  TYPE_ :: absolute

  lengths(1) = 1
  got = -1
  value = 70 + rank
  call MPI_Get_address(got, places(1) E)
  call MPI_Type_create_hindexed(1, lengths, places, MPI_INTEGER, absolute E)
  call MPI_Type_commit(absolute E)
  if (rank == 0) then
    M('Send') MPI_Send(value, 1, MPI_INTEGER, next, 0, MPI_COMM_WORLD E)
    M('Recv') MPI_Recv(MPI_BOTTOM, 1, absolute, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE E)
  else
    M('Recv') MPI_Recv(MPI_BOTTOM, 1, absolute, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE E)
    M('Send') MPI_Send(value, 1, MPI_INTEGER, next, 0, MPI_COMM_WORLD E)
  end if
  call changed(got)
  call expect(got == 70 + before, 'MPI_BOTTOM')
  call MPI_Type_free(absolute E)
end subroutine

! Makes the compiler read a variable again.
subroutine changed(value)
  implicit none
  integer :: value
  if (value < -1) value = -1
end subroutine

subroutine collectives()
  MODULE_
  use world
  implicit none
  INCLUDE_
  integer :: value, total, mine(2), all(2), counts(2), places(2), bytes(2), i
  TYPE_ :: types(2)
  REQUEST_ :: one

  M('Barrier') MPI_Barrier(MPI_COMM_WORLD E)
  value = 0
  if (rank == 0) value = 42
  M('Bcast') MPI_Bcast(value, 1, MPI_INTEGER, 0, MPI_COMM_WORLD E)
  call expect(value == 42, 'Bcast')
  total = rank + 1
  M('Allreduce') MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD E)
  call expect(total == 3, 'Allreduce in place')
  value = rank + 1
  if (rank == 0) then
    M('Reduce') MPI_Reduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD E)
    call expect(value == 3, 'Reduce in place')
  else
    M('Reduce') MPI_Reduce(value, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD E)
  end if
  do i = 1, 2
    mine(i) = 10 * rank + i
    counts(i) = 1
    places(i) = i - 1
    bytes(i) = 4 * (i - 1)
    types(i) = MPI_INTEGER
  end do
  M('Gather') MPI_Gather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, 0, MPI_COMM_WORLD E)
  M('Gatherv') MPI_Gatherv(rank, 1, MPI_INTEGER, all, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD E)
  call expect(rank /= 0 .or. all(2) == 1, 'Gatherv')
  M('Allgather') MPI_Allgather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD E)
  call expect(all(1) == 0 .and. all(2) == 1, 'Allgather')
  M('Scatter') MPI_Scatter(mine, 1, MPI_INTEGER, value, 1, MPI_INTEGER, 0, MPI_COMM_WORLD E)
  call expect(value == rank + 1, 'Scatter')
  M('Alltoall') MPI_Alltoall(mine, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD E)
  call expect(all(1) == rank + 1 .and. all(2) == 10 + rank + 1, 'Alltoall')
  M('Alltoallv') MPI_Alltoallv(mine, counts, places, MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD E)
  call expect(all(1) == rank + 1 .and. all(2) == 10 + rank + 1, 'Alltoallv')
  all = -1
  M('Alltoallw') MPI_Alltoallw(mine, counts, bytes, types, all, counts, bytes, types, MPI_COMM_WORLD E)
  call expect(all(1) == rank + 1 .and. all(2) == 10 + rank + 1, 'Alltoallw')
  M('Scan') MPI_Scan(counts, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD E)
  call expect(all(1) == rank + 1, 'Scan')
  M('Reduce_scatter_block') MPI_Reduce_scatter_block(counts, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD E)
  call expect(value == 2, 'Reduce_scatter_block')
  value = rank
  M('Ibcast') MPI_Ibcast(value, 1, MPI_INTEGER, 1, MPI_COMM_WORLD, one E)
  M('Wait') MPI_Wait(one, MPI_STATUS_IGNORE E)
  call expect(value == 1, 'Ibcast')
  M('Iallreduce') MPI_Iallreduce(rank, total, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, one E)
  M('Wait') MPI_Wait(one, MPI_STATUS_IGNORE E)
  call expect(total == 1, 'Iallreduce')
end subroutine

! What is hard to tell: buffers that are in place, sizes of types whose handles come again, wildcards, ignored statuses.
subroutine meaning()
  MODULE_
  use world
  implicit none
  INCLUDE_
  integer :: all(2), values(8), i
  COMM_ :: copy
  REQUEST_ :: requests(2)
  TYPE_ :: row

  all(rank + 1) = rank
  M('Allgather') MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD E)
  call expect(all(1) == 0 .and. all(2) == 1, 'Allgather in place')
  if (rank == 1) then
    M('Gather') MPI_Gather(MPI_IN_PLACE, 0, MPI_INTEGER, all, 1, MPI_INTEGER, 1, MPI_COMM_WORLD E)
    M('Scatter') MPI_Scatter(all, 1, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_INTEGER, 1, MPI_COMM_WORLD E)
  else
    M('Gather') MPI_Gather(rank, 1, MPI_INTEGER, all, 0, MPI_INTEGER, 1, MPI_COMM_WORLD E)
    M('Scatter') MPI_Scatter(all, 0, MPI_INTEGER, i, 1, MPI_INTEGER, 1, MPI_COMM_WORLD E)
  end if
  do i = 1, 3
    call MPI_Type_contiguous(i, MPI_DOUBLE_PRECISION, row E)
    call MPI_Type_commit(row E)
    M('Bcast') MPI_Bcast(values, 1, row, 0, MPI_COMM_WORLD E)
    call MPI_Type_free(row E)
    M('Comm_split') MPI_Comm_split(MPI_COMM_WORLD, 0, i * rank, copy E)
    M('Barrier') MPI_Barrier(copy E)
    M('Comm_free') MPI_Comm_free(copy E)
  end do
  M('Irecv') MPI_Irecv(values, 8, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests(1) E)
  M('Isend') MPI_Isend(all, 2, MPI_INTEGER, next, 17, MPI_COMM_WORLD, requests(2) E)
  M('Waitall') MPI_Waitall(2, requests, MPI_STATUSES_IGNORE E)
  M('Isend') MPI_Isend(all, 1, MPI_INTEGER, next, 18, MPI_COMM_WORLD, requests(2) E)
  M('Recv') MPI_Recv(values, 8, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE E)
  M('Wait') MPI_Wait(requests(2), MPI_STATUS_IGNORE E)
  M('Send') MPI_Send(all, 1, MPI_INTEGER, MPI_PROC_NULL, 19, MPI_COMM_WORLD E)
  M('Recv') MPI_Recv(values, 8, MPI_INTEGER, MPI_PROC_NULL, 19, MPI_COMM_WORLD, MPI_STATUS_IGNORE E)
end subroutine

subroutine communicators()
  MODULE_
  use world
  implicit none
  INCLUDE_
  COMM_ :: copy, half, both, ring, graph
  integer :: dims(1), in(2), counts(2), out(2), others(2)
  integer(kind=MPI_ADDRESS_KIND) :: bytes(2)
  TYPE_ :: types(2)
  logical :: periodic(1)

  M('Comm_dup') MPI_Comm_dup(MPI_COMM_WORLD, copy E)
  call MPI_Comm_set_name(copy, 'a copy' E)
  M('Barrier') MPI_Barrier(copy E)
  M('Comm_split') MPI_Comm_split(copy, rank, 0, half E)
  M('Intercomm_create') MPI_Intercomm_create(half, 0, copy, 1 - rank, 9, both E)
  M('Barrier') MPI_Barrier(both E)
  M('Comm_free') MPI_Comm_free(both E)
  M('Comm_free') MPI_Comm_free(half E)
  M('Comm_free') MPI_Comm_free(copy E)
  dims(1) = size
  periodic(1) = .true.
  M('Cart_create') MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periodic, .false., ring E)
  M('Neighbor_allgather') MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, in, 1, MPI_INTEGER, ring E)
  call expect(in(1) == before .and. in(2) == next, 'Neighbor_allgather')
  out = rank
  counts = 1
  types = MPI_INTEGER
  bytes(1) = 0
  bytes(2) = 4
  in = -1
  ! Not on the ring: in mpi_f08 MPICH 4.0.2 takes the communicator for a distributed graph.
  others(1) = before
  others(2) = next
  M('Dist_graph_create_adjacent') MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, others, counts, 2, others, counts, MPI_INFO_NULL, .false., graph E)
  M('Neighbor_alltoallw') MPI_Neighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, graph E)
  call expect(in(1) == before .and. in(2) == next, 'Neighbor_alltoallw')
  M('Comm_free') MPI_Comm_free(graph E)
  M('Comm_free') MPI_Comm_free(ring E)
end subroutine

subroutine windows()
  use, intrinsic :: iso_c_binding
  MODULE_
  use world
  implicit none
  INCLUDE_
  integer, asynchronous, save :: cells(4)
  integer :: value, got
  integer(kind=MPI_ADDRESS_KIND) :: bytes, place
#if defined(F08) || defined(USE_MPI)
  type(c_ptr) :: base
#else
  integer(kind=MPI_ADDRESS_KIND) :: base
#endif
  WIN_ :: win

  bytes = 16
  place = 1
  cells = 0
  value = 5 + rank
  M('Win_create') MPI_Win_create(cells, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win E)
  M('Win_fence') MPI_Win_fence(0, win E)
  M('Put') MPI_Put(value, 1, MPI_INTEGER, next, place, 1, MPI_INTEGER, win E)
  M('Win_fence') MPI_Win_fence(0, win E)
  call changed(cells(2))
  call expect(cells(2) == 5 + before, 'Put')
  M('Get') MPI_Get(got, 1, MPI_INTEGER, next, place, 1, MPI_INTEGER, win E)
  M('Win_fence') MPI_Win_fence(0, win E)
  call changed(got)
  call expect(got == 5 + rank, 'Get')
  M('Win_free') MPI_Win_free(win E)
  M('Win_allocate') MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win E)
  M('Win_lock') MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win E)
  M('Accumulate') MPI_Accumulate(value, 1, MPI_INTEGER, next, place, 1, MPI_INTEGER, MPI_REPLACE, win E)
  M('Win_flush') MPI_Win_flush(next, win E)
  M('Win_unlock') MPI_Win_unlock(next, win E)
  M('Win_free') MPI_Win_free(win E)
end subroutine

subroutine files()
  MODULE_
  use world
  implicit none
  INCLUDE_
  character(len=1000) :: directory
  integer :: value, got
  integer(kind=MPI_OFFSET_KIND) :: place
  FILE_ :: file

  call get_command_argument(1, directory)
  value = 30 + rank
  place = rank
  M('File_open') MPI_File_open(MPI_COMM_WORLD, trim(directory)//'/fortran', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file E)
  M('File_set_view') MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL E)
  M('File_write_at_all') MPI_File_write_at_all(file, place, value, 1, MPI_INTEGER, MPI_STATUS_IGNORE E)
  M('File_sync') MPI_File_sync(file E)
  M('File_read_at') MPI_File_read_at(file, place, got, 1, MPI_INTEGER, MPI_STATUS_IGNORE E)
  call expect(got == value, 'File_read_at')
  M('File_close') MPI_File_close(file E)
  M('Barrier') MPI_Barrier(MPI_COMM_WORLD E)
  if (rank == 0) then
    M('File_delete') MPI_File_delete(trim(directory)//'/fortran', MPI_INFO_NULL E)
  end if
end subroutine

! Texts of many lengths go in and come out.
subroutine processes(child)
  MODULE_
  use world
  implicit none
  INCLUDE_
  character(len=*), intent(in) :: child
  character(len=MPI_MAX_PORT_NAME) :: port
  character(len=10) :: arguments(3)
  integer :: total, errors(1)
  COMM_ :: other, all

  if (rank == 0) then
    M('Open_port') MPI_Open_port(MPI_INFO_NULL, port E)
    M('Publish_name') MPI_Publish_name('moriens-fortran', MPI_INFO_NULL, port E)
    M('Barrier') MPI_Barrier(MPI_COMM_WORLD E)
    M('Comm_accept') MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, other E)
  else
    M('Barrier') MPI_Barrier(MPI_COMM_WORLD E)
    M('Lookup_name') MPI_Lookup_name('moriens-fortran', MPI_INFO_NULL, port E)
    M('Comm_connect') MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, other E)
  end if
  M('Comm_disconnect') MPI_Comm_disconnect(other E)
  M('Barrier') MPI_Barrier(MPI_COMM_WORLD E)
  if (rank == 0) then
    M('Unpublish_name') MPI_Unpublish_name('moriens-fortran', MPI_INFO_NULL, port E)
    M('Close_port') MPI_Close_port(port E)
  end if

  arguments(1) = 'one'
  arguments(2) = 'two'
  arguments(3) = ' '
  M('Comm_spawn') MPI_Comm_spawn(trim(child), arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, other, errors E)
  M('Intercomm_merge') MPI_Intercomm_merge(other, .false., all E)
  M('Allreduce') MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, all E)
  call expect(total == 101, 'Comm_spawn')
  M('Comm_free') MPI_Comm_free(all E)
  M('Comm_disconnect') MPI_Comm_disconnect(other E)
end subroutine

#if defined(F08) && defined(LARGE)
subroutine large()
  use mpi_f08
  use world
  implicit none
  integer(kind=MPI_COUNT_KIND) :: one
  integer :: value, got
  type(MPI_Request) :: request

  one = 1
  value = 60 + rank
  M('Irecv_c') MPI_Irecv(got, one, MPI_INTEGER, before, 0, MPI_COMM_WORLD, request)
  M('Send_c') MPI_Send(value, one, MPI_INTEGER, next, 0, MPI_COMM_WORLD)
  M('Wait') MPI_Wait(request, MPI_STATUS_IGNORE)
  call expect(got == 60 + before, 'Send_c')
  M('Allreduce_c') MPI_Allreduce(rank, got, one, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call expect(got == 1, 'Allreduce_c')
end subroutine
#endif

program fortran
  MODULE_
  use world
  implicit none
  INCLUDE_
  integer :: provided
  character(len=1000) :: child, word

  if (command_argument_count() > 1) then
    M('Init_thread') MPI_Init_thread(MPI_THREAD_SINGLE, provided E)
  else
    M('Init') MPI_Init(E0)
  end if
  call MPI_Comm_rank(MPI_COMM_WORLD, rank E)
  call MPI_Comm_size(MPI_COMM_WORLD, size E)
  next = mod(rank + 1, size)
  before = mod(rank + size - 1, size)
  call get_command_argument(1, word)
  if (word == 'abort') then
    call planted('MPI_Abort')
    call report(rank)
    call MPI_Abort(MPI_COMM_WORLD, 3 E)
  end if
  call messages()
  call bottom()
  call collectives()
  call meaning()
  call communicators()
  call windows()
  call files()
#if defined(F08) && defined(LARGE)
  call large()
#endif
  if (command_argument_count() > 1) then
    call get_command_argument(2, child)
    call processes(child)
  end if
  M('Pcontrol') MPI_Pcontrol(1)
  M('Finalize') MPI_Finalize(E0)
  call report(rank)
end program
