"""A Jacobi iteration of mpi4py on two ranks: every step exchanges a value and sums the residual."""

from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD


class Solver:
    def __init__(self, n):
        self.values = [float(comm.rank)] * n
        self.edge, self.total = array("d", [0.0]), array("d", [0.0])

    def exchange(self):
        own = array("d", [self.values[0]])
        comm.Sendrecv(own, 1 - comm.rank, 1, self.edge, 1 - comm.rank, 1)  # exchange
        self.values[0] = (own[0] + self.edge[0]) / 2

    def step(self):
        self.exchange()  # step
        residual = sum(abs(a - b) for a, b in zip(self.values, self.values[1:]))
        comm.Allreduce(array("d", [residual]), self.total)  # residual


def main():
    solver = Solver(2000)
    for _ in range(40):
        solver.step()  # main


main()
