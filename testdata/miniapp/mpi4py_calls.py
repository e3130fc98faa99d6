"""Calls of mpi4py on two ranks, counted. mpi4py loads MPI as a plugin of Python: no global symbol leads to it."""

import collections
import os
from array import array

from mpi4py import MPI

counts = collections.Counter()


def count(name, n=1):
    counts["MPI_" + name] += n


comm = MPI.COMM_WORLD  # importing MPI has called MPI_Init_thread
count("Init_thread")
rank, size = comm.Get_rank(), comm.Get_size()
after, before = (rank + 1) % size, (rank - 1) % size

comm.Barrier()
count("Barrier")
one, total = array("d", [rank + 1.0]), array("d", [0.0])
comm.Allreduce(one, total, op=MPI.SUM)
count("Allreduce")
assert total[0] == size * (size + 1) / 2
comm.Allreduce(MPI.IN_PLACE, one, op=MPI.SUM)
count("Allreduce")
assert one[0] == total[0]

got = array("d", [0.0])
status = MPI.Status()
receive = comm.Irecv(got, source=MPI.ANY_SOURCE, tag=3)
count("Irecv")
comm.Send(array("d", [10.0 + rank]), dest=after, tag=3)
count("Send")
receive.Wait(status)
count("Wait")
assert got[0] == 10 + before and status.Get_source() == before

half = comm.Split(rank % 2, 0)
count("Comm_split")
half.Barrier()
count("Barrier")
half.Free()
count("Comm_free")

window = MPI.Win.Create(array("d", 4 * [0.0]), 8, comm=comm)
count("Win_create")
window.Fence()
window.Put(one, after)
window.Fence()
count("Win_fence", 2)
count("Put")
window.Free()
count("Win_free")

MPI.Finalize()
count("Finalize")
with open(f"{os.environ['MINIAPP_OUT']}/counts.{rank}", "w") as f:
    for name, n in counts.items():
        f.write(f"{rank} {name} {n}\n")
