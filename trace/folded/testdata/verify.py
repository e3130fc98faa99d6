#!/usr/bin/env python3
"""Compares folded stacks with the JSON of the tree that they were made of: verify.py STACKS TREE us|ns

Reads lines as flamegraph.pl does. It shares no code with moriens. It prints what differs, and ends with 1 then.
"""
import collections
import json
import re
import sys
from fractions import Fraction

data, tree = open(sys.argv[1], "rb").read().decode("utf-8"), json.load(open(sys.argv[2], encoding="utf-8"))
unit = {"us": 1000, "ns": 1}[sys.argv[3]]
wrong = []

got, order = {}, []
for line in data.split("\n")[:-1] if data else []:
    m = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line)
    if not m:
        wrong.append(f"no stack and number: {line!r}")
        continue
    stack, value = m.groups()
    if re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", stack):
        wrong.append(f"flamegraph.pl takes this for the line of a difference: {line!r}")
    if stack in got:
        wrong.append(f"twice: {stack!r}")
    if int(value) <= 0:
        wrong.append(f"not above 0: {line!r}")
    got[stack] = int(value)
    order.append(stack.split(";"))
if data and not data.endswith("\n"):
    wrong.append("the last line has no end")
if order != sorted(order):
    wrong.append("not sorted")

nodes = tree["nodes"]
known, taken, names = {}, set(), []
for n in nodes:
    key = n["Type"], n["Name"]
    if key not in known:
        plain = n["Type"] + ":" + n["Name"] if n["Type"] in ("phase", "iterations") else n["Name"]
        plain = "".join(" " if c.isspace() or ord(c) < 32 or 127 <= ord(c) < 160 else c for c in plain.replace(";", ":"))
        plain = " ".join(plain.split()) or "(no name)"
        plain = re.sub(r" ([0-9.]*)$", r"_\1", plain)
        name, i = plain, 2
        while name in taken:
            name, i = f"{plain} ({i})", i + 1
        known[key] = name
        taken.add(name)
    names.append(known[key])

want, by_name, lines_of = collections.Counter(), collections.Counter(), collections.Counter()
for i in range(len(nodes)):
    ns = sum(v["ns"][i] for v in tree["values"])
    frames, k = [], i
    while k >= 0:
        frames.append(names[k])
        k = nodes[k]["Parent"]
    if ns:
        want[";".join(reversed(frames))] += ns
        by_name[frames[0]] += ns


def near(what, units, ns, most):
    """Within most units."""
    if abs(Fraction(units) - Fraction(ns, unit)) > (most if unit > 1 else 0):
        wrong.append(f"{what}: got {units}, want {ns / unit}")


near("the sum", sum(got.values()), sum(want.values()), Fraction(1, 2))
for stack in set(got) | set(want):
    near(repr(stack), got.get(stack, 0), want.get(stack, 0), 1)
    lines_of[stack.split(";")[-1]] += 1
prefixes = {tuple(s.split(";")[:n]) for s in want for n in range(1, 1 + s.count(";") + 1)}
for p in prefixes:  # inclusive
    inside = lambda s: tuple(s.split(";")[: len(p)]) == p
    near(f"all below {p}", sum(v for s, v in got.items() if inside(s)), sum(v for s, v in want.items() if inside(s)), 1)
for name, ns in by_name.items():
    near(f"the name {name!r}", sum(v for s, v in got.items() if s.split(";")[-1] == name), ns, lines_of[name])

print("\n".join(wrong), end="")
sys.exit(1 if wrong else 0)
