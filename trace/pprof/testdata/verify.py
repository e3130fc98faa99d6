#!/usr/bin/env python3
"""Compares a profile of pprof with the JSON of the tree that it was made of: verify.py PROFILE TREE [summed]

Decodes profile.proto itself. It shares no code with moriens. It prints what differs, and ends with 1 then.
"""
import collections
import gzip
import json
import sys

profile, tree = gzip.open(sys.argv[1]).read(), json.load(open(sys.argv[2], encoding="utf-8"))
summed = sys.argv[3:] == ["summed"]
wrong = []


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def message(data):
    """The fields of a message: number -> values."""
    fields, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
            assert len(value) == size
        else:
            raise ValueError(f"wire type {tag & 7}")
        fields[tag >> 3].append(value)
    return fields


def numbers(values):
    """Packed or not."""
    out = []
    for v in values:
        if isinstance(v, int):
            out.append(v)
            continue
        at = 0
        while at < len(v):
            n, at = varint(v, at)
            out.append(n)
    return [n - (1 << 64) if n >> 63 else n for n in out]


def one(m, field):
    return m[field][0] if m[field] else 0


def check(what, got, want):
    if got != want:
        wrong.append(f"{what}: got {got!r}, want {want!r}")


top = message(profile)
strings = [s.decode("utf-8") for s in top[6]]  # strictly
functions = {one(f, 1): (strings[one(f, 2)], strings[one(f, 4)]) for f in map(message, top[5])}
locations = {}
for m in map(message, top[4]):
    lines = [message(x) for x in m[4]]
    assert len(lines) == 1
    name, file = functions[one(lines[0], 1)]
    locations[one(m, 1)] = (name, file, one(lines[0], 2))
types = [(strings[one(m, 1)], strings[one(m, 2)]) for m in map(message, top[1])]

check("first types", types[:2], [("calls", "count"), ("time", "nanoseconds")])
check("default type", strings[one(top, 14)], "time")
check("types", len(types), 2 + len(tree["metrics"]))
check("types twice", len({t for t, _ in types}), len(types))
for (name, unit), metric in zip(types[2:], tree["metrics"]):
    if not name.startswith(metric["Name"] or "(no name)") or unit != (metric["Unit"] or "count"):
        wrong.append(f"metric {metric}: {name} in {unit}")

# What the tree has, by stack, with the place of each call at the frame that makes it.
nodes = tree["nodes"]
known, taken, names = {}, set(), []
for n in nodes:
    key = n["Type"], n["Name"]
    if key not in known:
        plain = n["Type"] + ":" + n["Name"] if n["Type"] in ("phase", "iterations") else n["Name"] or "(no name)"
        name, i = plain, 2
        while name in taken:
            name, i = f"{plain} ({i})", i + 1
        known[key] = name
        taken.add(name)
    names.append(known[key])


def stack(i):
    frames = [(names[i], "", 0)]
    while nodes[i]["Parent"] >= 0:
        n = nodes[i]
        i = n["Parent"]
        frames.append((names[i], n["File"], n["Line"] if n["File"] else 0))
    return tuple(frames)


def phase(i):
    path = []
    while i >= 0:
        if nodes[i]["Type"] in ("phase", "iterations"):
            path.append(nodes[i]["Name"].replace("\\", "\\\\").replace("/", "\\/"))
        i = nodes[i]["Parent"]
    return "/".join(reversed(path))


several = len({t["World"] for t in tree["threads"]}) > 1
want = collections.defaultdict(lambda: [0] * len(types))
for t, v in zip(tree["threads"], tree["values"]):
    who = {} if summed else {"rank": str(t["Rank"]), "thread": str(t["Thread"])}
    if several and not summed:
        who["world"] = str(t["World"])
    for i, n in enumerate(nodes):
        values = [v["calls"][i], v["ns"][i]] + [m[i] for m in v["metrics"]]
        if not any(values):
            continue
        labels = dict(who)
        if phase(i):
            labels["phase"] = phase(i)
        if n["Type"] == "cluster":
            labels["cluster"] = str(n["Cluster"]) if n["Cluster"] > 0 else "none"
        key = stack(i), tuple(sorted(labels.items()))
        want[key] = [a + b for a, b in zip(want[key], values)]

got = collections.defaultdict(lambda: [0] * len(types))
for m in map(message, top[2]):
    labels = {}
    for l in map(message, m[3]):
        assert one(l, 2) and not one(l, 3), "a label without a text"
        labels[strings[one(l, 1)]] = strings[one(l, 2)]
    values = numbers(m[2])
    check("values of a sample", len(values), len(types))
    if not any(values):
        wrong.append("a sample of zeros")
    key = tuple(locations[x] for x in numbers(m[1])), tuple(sorted(labels.items()))
    got[key] = [a + b for a, b in zip(got[key], values)]

for key in sorted(set(want) | set(got)):
    check(key, got.get(key), want.get(key))


def totals(of, by):
    out = collections.defaultdict(lambda: [0] * len(types))
    for key, values in of.items():
        out[by(*key)] = [a + b for a, b in zip(out[by(*key)], values)]
    return dict(out)


check("by thread", totals(got, lambda s, l: tuple(x for x in l if x[0] in ("world", "rank", "thread"))), totals(want, lambda s, l: tuple(x for x in l if x[0] in ("world", "rank", "thread"))))
check("by name", totals(got, lambda s, l: s[0][0]), totals(want, lambda s, l: s[0][0]))
comments = [strings[i] for i in numbers(top[13])]
check("a comment says that ranks are summed", any(c.startswith("summed over ") for c in comments), summed)
for fact in tree["facts"] or []:
    if " ".join(f"{fact['Name']}: {fact['Value']}".split()) not in [" ".join(c.split()) for c in comments]:
        wrong.append(f"no comment for {fact}")

print("\n".join(wrong), end="")
sys.exit(1 if wrong else 0)
