"""Calls MPI_Barrier from lines of Python that it notes itself: recursion, generators, callbacks from C, code that is made, thrown away and made again,
instrumented code, a thread. Usage: places.py SEED ROUNDS"""

import functools
import json
import os
import random
import sys
import threading

try:
    from mpi4py import MPI

    barrier, finalize = MPI.COMM_WORLD.Barrier, MPI.Finalize
except ImportError:  # the module of a test
    import MPI

    MPI.init()
    barrier, finalize = MPI.barrier, MPI.finalize

draw = random.Random(int(sys.argv[1]))
stacks = threading.local()


def here(below=0):
    """Notes the stack of the call that comes so many lines below."""
    frame, stack = sys._getframe(1), []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith("<frozen "):
            stack.append([code.co_filename, frame.f_lineno, getattr(code, "co_qualname", code.co_name)])
        frame = frame.f_back
    stack[0][1] += below
    stacks.list.append(stack)


def plain():
    here(); barrier()


def deep(n=None):
    n = draw.randrange(9) if n is None else n
    if n > 0:
        deep(n - 1)
    here(); barrier()


class Solver:
    @property
    def residual(self):
        here(); barrier()
        return 0

    def step(self):
        return (
            self.residual
            + [here() or barrier() or 0 for _ in range(2)][0]
        )


def split():
    here(2)
    (
        barrier(
        )
    )


def numbers():
    for i in range(draw.randrange(1, 4)):
        here(); barrier()
        yield i


def generated():
    return sum(numbers())


async def awaited():
    here(); barrier()


def coroutine():
    try:
        awaited().send(None)
    except StopIteration:
        pass


def key(x):
    here(); barrier()
    return x


def called_back():
    sorted([3, 1, 2], key=key)
    sorted([2, 1], key=functools.cmp_to_key(lambda a, b: here() or barrier() or a - b))


def again():
    """Code objects that come to lie where others lay."""
    lines = draw.randrange(1, 3)
    file = draw.choice(["/home/user/cell-%d.py", "größe/größe-%d.py", "中/中中中中%d.py", "\U0001f600%d.py", 90 * "x/" + "%d.py"]) % draw.randrange(2)
    names = {"here": here, "barrier": barrier}
    exec(compile(lines * "\n" + "def f():\n" + draw.randrange(3) * "\n" + " here(); barrier()\nf()\n", file, "exec"), names)


def traced():
    sys.settrace(lambda *_: None)
    deep(1)
    sys.settrace(None)
    plain()


def recovered():
    try:
        raise ValueError
    except ValueError:
        here(); barrier()
    finally:
        here(); barrier()


kinds = [plain, deep, lambda: Solver().step(), split, generated, coroutine, called_back, again, again, again, traced, recovered]


def work(thread, rounds):
    stacks.list = []
    for kind in kinds:
        kind()
    for _ in range(rounds):
        draw.choice(kinds)()
    with open(f"{os.environ['MINIAPP_OUT']}/places.{thread}", "w") as f:
        json.dump(stacks.list, f)
    calls[0] += len(stacks.list)


calls = [0]
work(0, int(sys.argv[2]))
other = threading.Thread(target=work, args=(1, int(sys.argv[2])))
other.start()
other.join()
finalize()
with open(f"{os.environ['MINIAPP_OUT']}/counts.0", "w") as f:
    f.write(f"0 MPI_Init_thread 1\n0 MPI_Barrier {calls[0]}\n0 MPI_Finalize 1\n")
