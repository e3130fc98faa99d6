#!/usr/bin/env python3
"""Compares a literal of Hatchet with the JSON of the tree that it was made of: verify.py LITERAL TREE

Goes through the literal as GraphFrame.from_literal does, with its conditions. It shares no code with moriens. It prints
what differs, and ends with 1 then.
"""
import collections
import json
import sys
from decimal import Decimal

literal = json.load(open(sys.argv[1], encoding="utf-8"), parse_float=Decimal)
tree = json.load(open(sys.argv[2], encoding="utf-8"))
wrong = []
rows, numbers = [], []


def check(what, got, want):
    if got != want:
        wrong.append(f"{what}: got {got!r}, want {want!r}")


def visit(node, parent):
    extra = set(node) - {"name", "frame", "metrics", "attributes", "children"}
    if extra:
        wrong.append(f"keys {extra}")
    if not node["frame"]["name"]:
        wrong.append("an empty name")
    check("name", node["name"], node["frame"]["name"])
    check("frame", set(node["frame"]), {"name", "type"})
    check("columns", list(node["metrics"]), list(literal[0]["metrics"]))
    for column, value in node["metrics"].items():
        if isinstance(value, (str, bool)) or value is None:
            wrong.append(f"{column} is no number")
    numbers.append(node["metrics"]["_hatchet_nid"])
    rows.append((node, parent))
    at = len(rows) - 1
    for child in node.get("children", []):
        visit(child, at)


check("roots", len(literal), 1)
visit(literal[0], -1)
check("numbers, depth first", numbers, list(range(len(rows))))
if "rank" in literal[0]["metrics"]:
    wrong.append("a column of ranks")

# The tree's nodes, depth first.
nodes = tree["nodes"]
children = collections.defaultdict(list)
for i, n in enumerate(nodes):
    children[n["Parent"]].append(i)
order, parents = [], []
open_ = [(0, -1)]
while open_:
    i, parent = open_.pop()
    order.append(i)
    parents.append(parent)
    open_.extend((c, len(order) - 1) for c in reversed(children[i]))
check("parents", [p for _, p in rows], parents)

known, taken, names = {}, set(), []
for n in nodes:
    key = n["Type"], n["Name"]
    if key not in known:
        plain = name = n["Name"] or "(no name)"
        i = 2
        while name in taken:
            name, i = f"{plain} ({i})", i + 1
        known[key] = name
        taken.add(name)
    names.append(known[key])


def inclusive(column):
    out = list(column)
    for i in range(len(out) - 1, 0, -1):
        out[nodes[i]["Parent"]] += out[i]
    return out


def total(columns):
    return [sum(x) for x in zip(*columns)] if columns else [0] * len(nodes)


ranks = collections.defaultdict(list)
for t, v in zip(tree["threads"], tree["values"]):
    ranks[t["World"], t["Rank"]].append(v["ns"])
of_rank = [total(columns) for columns in ranks.values()]
time = total(of_rank)
most = [max(x) for x in zip(*of_rank)] if of_rank else time
most_inclusive = [max(x) for x in zip(*map(inclusive, of_rank))] if of_rank else time
billion, n = Decimal(10**9), max(len(ranks), 1)

want = {"time": [x / billion for x in map(Decimal, time)], "time (inc)": [x / billion for x in map(Decimal, inclusive(time))]}
want["time_mean"] = [x / n for x in want["time"]]
want["time_mean (inc)"] = [x / n for x in want["time (inc)"]]
want["time_max"] = [x / billion for x in map(Decimal, most)]
want["time_max (inc)"] = [x / billion for x in map(Decimal, most_inclusive)]
want["calls"] = total([v["calls"] for v in tree["values"]])
columns = list(literal[0]["metrics"])
check("first columns", columns[:7], list(want))
check("number of columns", len(columns), 8 + 2 * len(tree["metrics"]))
for m, metric in enumerate(tree["metrics"]):
    name = columns[7 + 2 * m]
    check("inclusive column", columns[8 + 2 * m], name + " (inc)")
    if not name.startswith((metric["Name"] or "(no name)").replace("(inc)", "(including)")):
        wrong.append(f"{metric}: {name}")
    want[name] = total([v["metrics"][m] for v in tree["values"]])
    want[name + " (inc)"] = inclusive(want[name])

for (node, _), i in zip(rows, order):
    check("name", node["name"], names[i])
    check("type", node["frame"]["type"], nodes[i]["Type"])
    place = {"file": nodes[i]["File"], "line": nodes[i]["Line"]} if nodes[i]["File"] else None
    check("place", node.get("attributes"), place)
    for column, values in want.items():
        got = Decimal(node["metrics"][column])
        if got != values[i] if "mean" not in column else abs(got - values[i]) > Decimal("1e-6"):
            wrong.append(f"{names[i]!r} {column}: got {got}, want {values[i]}")

print("\n".join(wrong), end="")
sys.exit(1 if wrong else 0)
