"""MPI by ctypes. Usage: ctypes_calls.py HOW LIBRARY

handle    the library is opened and its functions looked up in what that gives
children  the same, and children that end after it: a fork, a shell
unused    it is opened, and MPI not begun
global    it is opened for all to see, and its functions are looked up in all that is loaded
both      the library is one that names libmoriens.so and MPI's

Writes down at which lines it calls MPI."""

import collections
import ctypes
import os
import subprocess
import sys

how, library = sys.argv[1:]
if how == "global":
    ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    mpi = ctypes.CDLL(None)
else:
    mpi = ctypes.CDLL(library)
if how == "unused":
    flag = ctypes.c_int()
    assert mpi.MPI_Initialized(ctypes.byref(flag)) == 0 and flag.value == 0
    with open(f"{os.environ['MINIAPP_OUT']}/counts.{os.getpid()}", "w") as f:
        f.write("0 MPI_Initialized 1\n")
    sys.exit(0)

if hasattr(mpi, "ompi_mpi_comm_world"):
    world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
else:
    world = ctypes.c_int(0x44000000)
counts = collections.Counter()
lines = []


def note(function):
    counts[function] += 1
    lines.append(f"{function} {sys._getframe(1).f_lineno}\n")


note("MPI_Init"); mpi.MPI_Init(None, None)
rank = ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
for _ in range(5):
    note("MPI_Barrier"); mpi.MPI_Barrier(world)


def lonely():
    note("MPI_Barrier"); mpi.MPI_Barrier(world)


lonely()
note("MPI_Finalize"); mpi.MPI_Finalize()
if how == "children":
    if os.fork() == 0:
        sys.exit(0)
    os.wait()
    subprocess.check_call(["/bin/sh", "-c", ":"])
with open(f"{os.environ['MINIAPP_OUT']}/counts.{rank.value}", "w") as f:
    for name, n in counts.items():
        f.write(f"{rank.value} {name} {n}\n")
with open(f"{os.environ['MINIAPP_OUT']}/lines.{rank.value}", "w") as f:
    f.writelines(lines)
