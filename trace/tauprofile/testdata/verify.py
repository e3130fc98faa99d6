#!/usr/bin/env python3
"""Compares profiles of TAU with the JSON of the tree that they were made of: verify.py FOLDER TREE

Reads files under the conditions of ParaProf (rows without calls are left out, whole numbers of calls) and of Hatchet
(" #" in the second line, the metric's name as the first value of the metadata, whole numbers in the root's row, the same
rows in the files of all metrics, call paths whose parents came before). It shares no code with moriens. It prints what
differs, and ends with 1 then.
"""
import collections
import json
import os
import re
import sys
import xml.etree.ElementTree
from fractions import Fraction

folder, tree = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
wrong = []
ROOT = ".TAU application"


def check(what, got, want):
    if got != want:
        wrong.append(f"{what}: got {got!r}, want {want!r}")


def read(path, exact):
    """name -> (calls, subrs, exclusive, inclusive, group), and the metadata."""
    lines = open(path, encoding="utf-8", newline="\n").read().split("\n")
    count, metric = re.fullmatch(r"(\d+) templated_functions_MULTI_(.+)", lines[0]).groups()
    check(f"{path}: columns", re.match(r"\#\s(.*)\s\#", lines[1]).group(1), "Name Calls Subrs Excl Incl ProfileCalls")
    meta = xml.etree.ElementTree.fromstring(lines[1].split(" # ", 1)[1])
    facts = [(a.find("name").text or "", a.find("value").text or "") for a in meta.findall("attribute")]
    check(f"{path}: first fact", facts[0], ("Metric Name", metric))
    check(f"{path}: first value", re.search(r"<value>(.*?)<\/value>", lines[1]).group(1), metric)
    rows = {}
    for k, line in enumerate(lines[2 : 2 + int(count)]):
        m = re.fullmatch(r'"([^"]*)" (\d+) (\d+) (\S+) (\S+) 0 GROUP="([^"]*)"', line)
        if not m:
            wrong.append(f"{path}: no row: {line!r}")
            continue
        name, calls, subrs, exclusive, inclusive, group = m.groups()
        if k == 0:
            check(f"{path}: first row", name, ROOT)
            int(exclusive), int(inclusive)
        check(f"{path}: blanks", " => ".join(x.strip(" ") for x in name.split("=>")), name)
        if int(calls) == 0:
            wrong.append(f"{path}: ParaProf leaves out {line!r}")
        if name in rows:
            wrong.append(f"{path}: twice {name!r}")
        rows[name] = int(calls), int(subrs), Fraction(exclusive), Fraction(inclusive), group
    check(f"{path}: end", lines[2 + int(count) :], ["0 aggregates", "0 userevents", ""])
    return rows, facts, metric


nodes, threads = tree["nodes"], tree["threads"]
functions = any(n["Type"] == "function" for n in nodes)
phased = not functions and any(n["Type"] in ("phase", "iterations") for n in nodes)


def above(i):
    """The node and those round it, innermost first."""
    while i >= 0:
        yield i
        i = nodes[i]["Parent"]


def clean(name):
    name = "".join(" " if ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029" else c for c in name)
    return name.replace('"', "'").replace("=>", "->").replace("[{", "[(").strip(" ") or "(no name)"


known, taken, names = {}, set(), []
for i, n in enumerate(nodes):
    text = n["Name"]
    if n["Type"] in ("phase", "iterations"):
        path = [nodes[k]["Name"] for k in above(i) if nodes[k]["Type"] in ("phase", "iterations")]
        text = "/".join(x.replace("\\", "\\\\").replace("/", "\\/") for x in reversed(path))
    key = n["Type"], text
    if key not in known:
        plain = clean(text)
        if n["Type"] == "program":
            plain = ROOT
        if n["Type"] == "phase" and not plain.endswith(" phase"):
            plain += " phase"
        if n["Type"] == "mpi" and not plain.endswith("()"):
            plain += "()"
        name, k = plain, 2
        while name in taken:
            name, k = f"{plain} ({k})", k + 1
        known[key] = name
        taken.add(name)
    names.append(known[key])
paths = [" => ".join(names[k] for k in reversed(list(above(i)))) for i in range(len(nodes))]


def phase_of(i):
    """The phase, or the program, that a node lies in."""
    return next(k for k in above(nodes[i]["Parent"]) if nodes[k]["Type"] in ("phase", "iterations", "program"))


sizes = collections.Counter()
for t in threads:
    sizes[t["World"]] = max(sizes[t["World"]], t["Rank"] + 1)
metrics = [None] + list(range(len(tree["metrics"])))
folders = sorted(os.listdir(folder))
if len(metrics) == 1:
    places = [folder]
else:
    check("folders", len(folders), len(metrics))
    check("time", "MULTI__TIME" in folders, True)
    # In the tree's order by names: a metric that another one's name was taken by has a number.
    places = ["TIME"]
    for m in tree["metrics"]:
        plain = name = re.sub(r"[^A-Za-z0-9_.:-]", "_", m["Name"]) or "_"
        k = 2
        while name in places:
            name, k = f"{plain}_{k}", k + 1
        places.append(name)
    places = [os.path.join(folder, "MULTI__" + p) for p in places]
for place in places:
    check(f"{place}: files", len([f for f in os.listdir(place) if f.startswith("profile.")]), len(threads))

for t, v in zip(threads, tree["values"]):
    node = sum(sizes[w] for w in range(t["World"])) + t["Rank"]
    file = f"profile.{node}.0.{t['Thread']}"
    first = None
    for place, metric in zip(places, metrics):
        rows, facts, name = read(os.path.join(place, file), metric is None)
        check(f"{file}: metric", "MULTI__" + name if len(metrics) > 1 else name, os.path.basename(place) if len(metrics) > 1 else "TIME")
        for fact in [("MPI Rank", str(t["Rank"])), ("MPI World", str(t["World"]))]:
            if fact not in facts:
                wrong.append(f"{file}: no {fact}")
        if first is None:
            first = rows
        check(f"{file}: rows of {place}", [(k, r[:2], r[4]) for k, r in rows.items()], [(k, r[:2], r[4]) for k, r in first.items()])
        scale = 1000 if metric is None else 1
        values = v["ns"] if metric is None else v["metrics"][metric]
        inclusive = list(values)
        for i in range(len(nodes) - 1, 0, -1):
            inclusive[nodes[i]["Parent"]] += inclusive[i]

        want_exclusive, want_inclusive = collections.Counter(), collections.Counter()
        for i in range(len(nodes)):
            want_exclusive[names[i]] += values[i]
            if all(names[k] != names[i] for k in list(above(i))[1:]):
                want_inclusive[names[i]] += inclusive[i]
            if i == 0:
                continue
            if not phased:
                want_exclusive[paths[i]] += values[i]
                want_inclusive[paths[i]] += inclusive[i]
                continue
            p = phase_of(i)
            row = f"{names[p]} => {names[i]}"
            want_exclusive[row] += values[i]
            between = [k for k in above(nodes[i]["Parent"]) if k != p and k > p and p in above(k)]
            if all(names[k] != names[i] for k in between):
                want_inclusive[row] += inclusive[i]
        for row in set(want_inclusive) | set(want_exclusive) | set(rows):
            if row not in rows:
                if want_inclusive[row] or want_exclusive[row]:
                    wrong.append(f"{file}: no row {row!r}")
                continue
            _, _, exclusive, incl, _ = rows[row]
            near = Fraction(1, 2) if row == ROOT and metric is None else 0
            if abs(exclusive - Fraction(want_exclusive[row], scale)) > near or abs(incl - Fraction(want_inclusive[row], scale)) > near:
                wrong.append(f"{file} {row!r}: got {exclusive}, {incl}, want {want_exclusive[row]}, {want_inclusive[row]} / {scale}")
        # Sums: of names and of call paths or phases the same, within a microsecond of the root's time.
        flat = {k: r for k, r in rows.items() if " => " not in k}
        deep = {k: r for k, r in rows.items() if " => " in k}
        for what, some in [("names", flat), ("paths", deep)]:
            total = sum(r[2] for r in some.values()) + (rows[ROOT][2] if what == "paths" else 0)
            if abs(total - rows[ROOT][3]) > 1 or abs(total - Fraction(sum(values), scale)) > 1:
                wrong.append(f"{file}: the sum of {what} is {total}, the root has {rows[ROOT][3]}")

    # Calls: those of a call path, at least one where it has a row; of a name, their sum. Subroutines: calls below.
    calls = collections.Counter()
    for i in range(len(nodes)):
        calls[paths[i]] += v["calls"][i]
    some = [any(x) for x in zip(*[v["calls"], v["ns"], *v["metrics"]])]
    for i in range(len(nodes) - 1, 0, -1):
        some[nodes[i]["Parent"]] = some[nodes[i]["Parent"]] or some[i]
    used = {paths[i] for i in range(len(nodes)) if some[i] or i == 0}
    want = {p: 1 if p == ROOT else max(calls[p], 1) for p in used}
    below = collections.Counter()
    for p in used:
        if p != ROOT:
            below[p.rsplit(" => ", 1)[0]] += want[p]
    want_calls, want_subrs = collections.Counter(), collections.Counter()
    for p in used:
        last = p.rsplit(" => ", 1)[-1]
        want_calls[last] += want[p]
        want_subrs[last] += below[p]
        if p == ROOT:
            continue
        row = p
        if phased:
            i = paths.index(p)
            row = f"{names[phase_of(i)]} => {names[i]}"
        want_calls[row] += want[p]
        want_subrs[row] += below[p]
    check(f"{file}: rows", set(first), set(want_calls))
    for row, r in first.items():
        check(f"{file} {row!r}: calls", r[0], want_calls[row])
        check(f"{file} {row!r}: subroutines", r[1], want_subrs[row])
    seen = {ROOT}
    for row in first:
        if " => " in row and not phased:
            if row.rsplit(" => ", 1)[0] not in seen:
                wrong.append(f"{file}: {row!r} is before its parent")
            seen.add(row)
    by_type = collections.defaultdict(set)
    for i, n in enumerate(nodes):
        by_type[names[i]].add(n["Type"])
    for row, r in first.items():
        if " => " in row:
            check(f"{row!r}: group", r[4], "TAU_CALLPATH")
        else:
            (kind,) = by_type[row]
            want_group = {"mpi": "MPI", "phase": "TAU_PHASE", "iterations": "TAU_PHASE"}.get(kind, "TAU_DEFAULT")
            if kind == "program" and phased:
                want_group = "TAU_PHASE"
            check(f"{row!r}: group", r[4], want_group)
    if phased:
        check(f"{file}: phases", {r.split(" => ")[0] for r in first if " => " in r} <= {r for r in first if first[r][4] == "TAU_PHASE"}, True)

print("\n".join(wrong), end="")
sys.exit(1 if wrong else 0)
