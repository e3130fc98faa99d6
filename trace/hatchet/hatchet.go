// Package hatchet writes a profile as the literal that Hatchet and Thicket read (GraphFrame.from_literal): a JSON list
// with one tree of nodes, each with frame, metrics and children. What comes in is a calltree.Tree; what goes out are
// sums over all threads, and mean and most over ranks, in seconds. docs/format/profiles.md describes it.
package hatchet

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"moriens/trace/calltree"
)

// Write writes the tree as JSON. Hatchet takes each column for inclusive whose name has "(inc)", and others for
// exclusive. Seconds have nine digits: the nanoseconds are exact.
func Write(w io.Writer, t *calltree.Tree) error {
	x := &writer{out: bufio.NewWriter(w), tree: t, ranks: 0, children: make([][]int32, len(t.Nodes))}
	if err := x.sum(); err != nil {
		return err
	}
	for i, n := range t.Nodes {
		if n.Parent >= 0 {
			x.children[n.Parent] = append(x.children[n.Parent], int32(i))
		}
	}
	x.names = make([]string, len(t.Nodes))
	keys := make([]calltree.Key, len(t.Nodes))
	for i := range t.Nodes {
		keys[i] = t.Nodes[i].Key()
	}
	x.names = calltree.Distinct(keys, func(k calltree.Key) string {
		if k.Name == "" {
			return calltree.NoName // Hatchet fails at an empty one
		}
		return strings.ToValidUTF8(k.Name, "\uFFFD")
	})
	x.columns = x.metrics()
	x.out.WriteString("[\n")
	if len(t.Nodes) > 0 {
		x.node(0, " ")
	}
	x.out.WriteString("\n]\n")
	return x.out.Flush()
}

// A writer holds sums and writes them.
type writer struct {
	out      *bufio.Writer
	tree     *calltree.Tree
	children [][]int32
	names    []string // of nodes
	columns  []string // of further metrics
	next     int      // number of the next node

	ranks           int
	total           *calltree.Values
	inclusive       []int64   // time
	most, inMost    []int64   // of a rank, exclusive and inclusive
	metricInclusive [][]int64 // by metric
}

// sum reads all threads; those of a rank follow each other.
func (x *writer) sum() error {
	t := x.tree
	n := len(t.Nodes)
	x.total, x.inclusive, x.most, x.inMost = t.NewValues(), make([]int64, n), make([]int64, n), make([]int64, n)
	rank, inRank := make([]int64, n), make([]int64, n)
	var of calltree.Thread
	end := func() {
		t.Inclusive(rank, inRank)
		for i := range rank {
			x.most[i], x.inMost[i] = max(x.most[i], rank[i]), max(x.inMost[i], inRank[i])
		}
		clear(rank)
	}
	err := t.Each(func(thread int, v *calltree.Values) error {
		if th := t.Threads[thread]; x.ranks == 0 || th.World != of.World || th.Rank != of.Rank {
			if x.ranks > 0 {
				end()
			}
			of = th
			x.ranks++
		}
		calltree.AddTo(rank, v.NS)
		x.total.Add(v)
		return nil
	})
	if err != nil {
		return err
	}
	if x.ranks > 0 {
		end()
	}
	if t.Ranks > 0 { // whose classes are
		x.ranks = t.Ranks
	}
	t.Inclusive(x.total.NS, x.inclusive)
	for _, column := range x.total.Metrics {
		inclusive := make([]int64, n)
		t.Inclusive(column, inclusive)
		x.metricInclusive = append(x.metricInclusive, inclusive)
	}
	return nil
}

// metrics are the names of the columns of the tree's metrics, none of which is one of ours.
func (x *writer) metrics() []string {
	var keys []calltree.Key
	for _, ours := range []string{"name", "node", "rank", "thread", "type", "time", "time_mean", "time_max", "calls", "_hatchet_nid"} {
		keys = append(keys, calltree.Key{Type: "ours", Name: ours})
	}
	given := len(keys)
	for i, m := range x.tree.Metrics {
		keys = append(keys, calltree.Key{Type: calltree.Type(strconv.Itoa(i)), Name: m.Name})
	}
	return calltree.Distinct(keys, func(k calltree.Key) string {
		if k.Name == "" {
			return calltree.NoName
		}
		return strings.ReplaceAll(strings.ToValidUTF8(k.Name, "\uFFFD"), "(inc)", "(including)")
	})[given:]
}

// node writes a node and those below it. Nodes are numbered as Hatchet goes through them: depth first.
func (x *writer) node(i int32, indent string) {
	n := &x.tree.Nodes[i]
	name := x.names[i]
	fmt.Fprintf(x.out, `%s{"name": %s, "frame": {"name": %s, "type": %s}, "metrics": {`, indent, text(name), text(name), text(string(n.Type)))
	x.seconds("time", x.total.NS[i])
	x.seconds("time (inc)", x.inclusive[i])
	ranks := float64(max(x.ranks, 1))
	x.number("time_mean", float64(x.total.NS[i])/1e9/ranks)
	x.number("time_mean (inc)", float64(x.inclusive[i])/1e9/ranks)
	if x.tree.Ranks == 0 { // else the most of a rank is not known
		x.seconds("time_max", x.most[i])
		x.seconds("time_max (inc)", x.inMost[i])
	}
	fmt.Fprintf(x.out, `"calls": %d, `, x.total.Calls[i])
	for m, column := range x.columns {
		fmt.Fprintf(x.out, "%s: %d, %s: %d, ", text(column), x.total.Metrics[m][i], text(column+" (inc)"), x.metricInclusive[m][i])
	}
	fmt.Fprintf(x.out, `"_hatchet_nid": %d}`, x.next)
	x.next++
	if n.File != "" {
		fmt.Fprintf(x.out, `, "attributes": {"file": %s, "line": %d}`, text(n.File), n.Line)
	}
	if list := x.children[i]; len(list) > 0 {
		x.out.WriteString(`, "children": [`)
		for k, child := range list {
			if k > 0 {
				x.out.WriteByte(',')
			}
			x.out.WriteByte('\n')
			x.node(child, indent+" ")
		}
		x.out.WriteByte(']')
	}
	x.out.WriteByte('}')
}

func (x *writer) seconds(column string, ns int64) {
	fmt.Fprintf(x.out, `%s: %d.%09d, `, text(column), ns/1e9, ns%1e9)
}

func (x *writer) number(column string, v float64) {
	fmt.Fprintf(x.out, `%s: %s, `, text(column), strconv.FormatFloat(v, 'f', -1, 64))
}

// text is a string in JSON.
func text(s string) string {
	b, _ := json.Marshal(s) // a string has no error
	return string(b)
}
