#!/usr/bin/env python3
"""Recounts the MPI time of phases from the tables of `moriens export --format csv`, in the plainest way.

    phases.py TABLES PROFILE.json

All calls and phases must have been kept (--keep-bursts all). PROFILE.json has what the run directory says, as lists of
world, rank, thread and more: "profile" of phase path (a list of names), call path, calls and time in ns, of the mpi rows
of profile.parquet; "instances" of phase path, number, function, calls and time directly in the instance, of the mpi rows
of single threads in instances.parquet, where none is of a group. It shares no code with moriens. It prints what is not
the same to the nanosecond, and ends with 1 then.
"""
import bisect
import collections
import csv
import json
import sys

tables, said = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))


def rows(name):
    with open(f"{tables}/{name}.csv", newline="", encoding="utf-8") as f:
        yield from csv.DictReader(f)


def who(row):
    return int(row["world"]), int(row["rank"]), int(row["thread"])


def text(field):
    """As it was before what keeps spreadsheets from taking it for a formula."""
    return field[1:] if field[:1] == "'" and field[1:2] in tuple("=+-@\t\r'") else field


phases = collections.defaultdict(list)
for row in rows("phases"):
    begin = int(row["begin_ns"])
    phases[who(row)].append((int(row["depth"]), begin, begin + int(row["duration_ns"]), text(row["name"])))

# Of each thread, where the innermost phase changes, and to which path and instance.
borders = {}
for thread, listed in phases.items():
    open_, numbers, changes = [], collections.Counter(), [(-1 << 62, ((), 0))]

    def close(depth):
        while len(open_) > depth:
            ends = open_.pop()[0]
            changes.append((ends, open_[-1][1] if open_ else ((), 0)))

    for depth, begin, end, name in listed:  # in the order of their begins, the outer one first
        close(depth)
        path, number = open_[-1][1] if open_ else ((), 0)
        if not path or path[-1] != name:
            path += (name,)
            number = numbers[path]
            numbers[path] += 1
        open_.append((end, (path, number)))
        changes.append((begin, (path, number)))
    close(0)
    if [t for t, _ in changes] != sorted(t for t, _ in changes):
        sys.exit(f"{thread}: phases do not nest")
    borders[thread] = [t for t, _ in changes], [where for _, where in changes]

by_path, by_instance = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: [0, 0])
for row in rows("calls"):
    thread, name, function = who(row), text(row["call_path"]), row["function"]
    enter, leave = int(row["enter_ns"]), int(row["exit_ns"])
    times, places = borders.get(thread, ([-1 << 62], [((), 0)]))
    at = bisect.bisect_right(times, enter) - 1  # of several borders at one time the last: what is empty has no time
    now, first = enter, True
    while first or now < leave:
        path, number = places[at]
        until = min(leave, times[at + 1]) if at + 1 < len(times) else leave
        for sums, key in ((by_path, (*thread, path, name)), (by_instance, (*thread, path, number, function))):
            sums[key][0] += int(row["calls"]) if first else 0
            sums[key][1] += until - now
        now, at, first = until, at + 1, False

wrong = 0


def compare(what, want, listed):
    global wrong
    got = collections.defaultdict(lambda: [0, 0])
    for *key, calls, ns in listed:
        key = tuple(tuple(x) if isinstance(x, list) else x for x in key)
        got[key][0] += calls
        got[key][1] += ns
    for key in sorted(set(want) | set(got), key=str):
        x, y = list(want[key]), list(got[key])
        if x != y:
            wrong += 1
            if wrong < 20:
                print(f"{what} {key}: calls and ns are {x}, said are {y}")


compare("profile", by_path, said["profile"])
if said["instances"] is not None:
    compare("instance", by_instance, said["instances"])
if not by_path:
    sys.exit("no calls")
sys.exit(wrong > 0)
