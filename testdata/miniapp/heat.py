"""The heat equation on a plate with insulated edges, by rows on all ranks: explicit steps, a report every ten of them.

    heat.py [STEPS [ROWS [COLUMNS]]]

Heat is conserved: at the end rank 0 prints the highest temperature and by how much the sum has changed, and the status is
not 0 where that is more than rounding.
"""

import sys
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
steps, rows, columns = (int(a) for a in (sys.argv[1:] + ["60", "96", "96"][len(sys.argv) - 1 :]))
above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
below = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL


def start():
    """The rank's rows, with a ghost row on either side; one corner of the plate is hot."""
    first, last = comm.rank * rows // comm.size, (comm.rank + 1) * rows // comm.size
    plate = [array("d", [0.0]) * columns for _ in range(last - first + 2)]
    for i in range(first, min(last, rows // 4)):
        for j in range(columns // 4):
            plate[i - first + 1][j] = 100.0
    return plate


def exchange(plate):
    comm.Sendrecv(plate[1], above, 1, plate[-1], below, 1)
    comm.Sendrecv(plate[-2], below, 2, plate[0], above, 2)
    if above == MPI.PROC_NULL:
        plate[0] = plate[1]
    if below == MPI.PROC_NULL:
        plate[-1] = plate[-2]


def diffuse(plate):
    new = [plate[0][:]]
    for up, row, down in zip(plate, plate[1:], plate[2:]):
        left, right = row[:1] + row[:-1], row[1:] + row[-1:]
        new.append(array("d", [c + 0.2 * (u + d + l + r - 4 * c) for c, u, d, l, r in zip(row, up, down, left, right)]))
    return new + [plate[-1][:]]


def total(plate):
    value = array("d", [sum(map(sum, plate[1:-1]))])
    comm.Allreduce(MPI.IN_PLACE, value)
    return value[0]


def highest(plate):
    value = array("d", [max(map(max, plate[1:-1]))])
    comm.Reduce(MPI.IN_PLACE if comm.rank == 0 else value, value, MPI.MAX)
    return value[0]


plate = start()
before = total(plate)
for step in range(steps):
    exchange(plate)
    plate = diffuse(plate)
    if step % 10 == 9:
        top = highest(plate)
        if comm.rank == 0:
            print(f"step {step + 1}: {top:.6f}")
change = total(plate) - before
if comm.rank == 0:
    print(f"heat {before:.3f}, changed by {change:.1e}")
sys.exit(abs(change) > 1e-6 * before)
