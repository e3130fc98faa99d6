#!/usr/bin/env python3
"""Recounts efficiency.json from the tables of `moriens export --format csv`, by definition and in the plainest way.

    efficiency.py TABLES EFFICIENCY.json

All bursts and calls must have been kept (--keep-bursts all). It shares no code with moriens. It prints what differs by
more than 1e-9, and ends with 1 then.
"""
import collections
import csv
import json
import sys
from fractions import Fraction

tables, wanted = sys.argv[1], json.load(open(sys.argv[2]))


def rows(name):
    with open(f"{tables}/{name}.csv", newline="", encoding="utf-8") as f:
        yield from csv.DictReader(f)


def who(row):
    return int(row["world"]), int(row["rank"]), int(row["thread"])


calls = collections.defaultdict(list)
for row in rows("calls"):
    calls[who(row)].append((int(row["enter_ns"]), int(row["exit_ns"]), row["function"]))
bursts = collections.defaultdict(list)
for row in rows("bursts"):
    bursts[who(row)].append((int(row["start_ns"]), int(row["start_ns"]) + int(row["duration_ns"])))
nodes = {(int(row["world"]), int(row["rank"])): row["node"] for row in rows("ranks")}

locations = sorted(set(calls) | set(bursts))
begin = max(x for t in locations for _, x, f in calls[t] if f in ("MPI_Init", "MPI_Init_thread"))
end = min(e for t in locations for e, _, f in calls[t] if f == "MPI_Finalize")


def inside(intervals):
    return sum(max(0, min(b, end) - max(a, begin)) for a, b, *_ in intervals)


n = len(locations)
total = end - begin
computing = [inside(bursts[t]) for t in locations]
mpi = [inside(calls[t]) for t in locations]
mean, most = Fraction(sum(computing), n), max(computing)
of_node = collections.defaultdict(list)
for t, u in zip(locations, computing):
    of_node[nodes[t[0], t[1]]].append(u)
largest = max(Fraction(sum(u), len(u)) for u in of_node.values())

figures = {
    "locations": n,
    "seconds": Fraction(total, 10**9),
    "parallel_efficiency": mean / total,
    "load_balance": mean / most,
    "load_balance_in_nodes": largest / most,
    "load_balance_between_nodes": mean / largest,
    "communication_efficiency": Fraction(most, total),
    "mean_computing_seconds": mean / 10**9,
    "most_computing_seconds": Fraction(most, 10**9),
}
run = wanted["runs"][0]
found = {name: run[name] for name in figures}
figures["budget.computing_seconds"] = Fraction(sum(computing), 10**9)
figures["budget.mpi_seconds"] = Fraction(sum(mpi), 10**9)
figures["budget.total_seconds"] = Fraction(n * total, 10**9)
for name in ("computing_seconds", "mpi_seconds", "total_seconds"):
    found["budget." + name] = run["budget"][name]

wrong = [f"{name}: {found[name]!r}, recounted {float(x)!r}" for name, x in figures.items() if found[name] is None or abs(Fraction(found[name]) - x) > Fraction(1, 10**9) * max(1, abs(x))]
if wanted["within"] != "main":
    wrong.append(f"within {wanted['within']}")
parts = run["budget"]
if abs(sum(parts[k] for k in ("computing_seconds", "mpi_seconds", "outside_seconds", "not_recorded_seconds")) - parts["total_seconds"]) > 1e-9 * max(1, parts["total_seconds"]):
    wrong.append(f"the parts of the budget do not add up: {parts}")
print("\n".join(wrong) or f"{len(figures)} figures of {n} locations are equal")
sys.exit(bool(wrong))
