package program

import (
	"fmt"
	"math"
	"slices"
)

// Compilers make several calls of one in a loop. Where the debugging information says that calls are at one line and
// column, with nothing but computing between them, they are one loop again.

// A spot is a call in the source. The zero value is none.
type spot struct {
	kind, function, file string
	line, column         int
}

// spotOf is the call that a node stands for, or the only one that a loop holds.
func spotOf(n *Node) spot {
	switch {
	case n.Kind == KindLoop:
		inner := slices.DeleteFunc(slices.Clone(n.Body), func(x *Node) bool { return x.Kind == KindCompute })
		if len(inner) == 1 && n.Trips.Kind == TripsConstant {
			return spotOf(inner[0])
		}
	case n.Line > 0 && n.column > 0 && (n.Kind == KindMPI || n.Kind == KindCall && !n.Recursive && !n.Inlined):
		return spot{n.Kind, n.Function, n.File, n.Line, n.column}
	}
	return spot{}
}

// rolled puts copies of a call together, among the lines of a body that come in all of so many executions.
func (s *solver) rolled(list []*Node, executions int64) (out []*Node) {
	for i := 0; i < len(list); {
		at := spotOf(list[i])
		run := []*Node{}
		end := i
		for k := i; at.line > 0 && k < len(list); k++ {
			if list[k].Kind == KindCompute {
				continue
			}
			if spotOf(list[k]) != at || len(run) > 0 && !alike(core(run[0]), core(list[k])) {
				break
			}
			run = append(run, list[k])
			end = k + 1
		}
		if len(run) < 2 {
			out = append(out, list[i])
			i++
			continue
		}
		// What is computed between them is in the loop.
		var between []*Node
		for _, n := range list[i:end] {
			if n.Kind == KindCompute {
				between = append(between, n)
			}
		}
		loop := rolledUp(run, between, executions)
		s.movedIn(loop.Body)
		out = append(out, loop)
		i = end
	}
	return out
}

// movedIn says of all copies of each call together whom they sent to and received from.
func (s *solver) movedIn(list []*Node) {
	for _, n := range list {
		if n.Kind == KindMPI {
			s.moved(n)
		}
		s.movedIn(n.Body)
	}
}

// core is the call that a node is, or that a loop holds.
func core(n *Node) *Node {
	for n.Kind == KindLoop {
		n = n.Body[slices.IndexFunc(n.Body, func(x *Node) bool { return x.Kind != KindCompute })]
	}
	return n
}

// alike reports whether two nodes are the same lines.
func alike(a, b *Node) bool {
	return a.Kind == b.Kind && a.Function == b.Function && a.File == b.File && a.Line == b.Line && a.WhenText == b.WhenText && a.RanksText == b.RanksText &&
		(a.Trips == nil) == (b.Trips == nil) && (a.Trips == nil || a.Trips.Expression == b.Trips.Expression) &&
		slices.EqualFunc(calls(a), calls(b), alike)
}

// calls are the lines of a body but for computing.
func calls(n *Node) []*Node {
	return slices.DeleteFunc(slices.Clone(n.Body), func(x *Node) bool { return x.Kind == KindCompute })
}

// rolledUp makes a loop of copies of a call, each of which is one trip, or a loop of such.
func rolledUp(run, between []*Node, executions int64) *Node {
	trips, copies := int64(0), 0
	body := core(run[0])
	loop := &Node{Kind: KindLoop, By: ByCode, File: body.File, Line: body.Line}
	for k, n := range run {
		turns, inner := int64(1), 1
		for x := n; x.Kind == KindLoop; x = calls(x)[0] {
			turns *= x.Trips.Most
			inner = max(inner, x.Unrolled)
			loop.File, loop.Line, loop.Function, loop.Variable = x.File, x.Line, x.Function, x.Variable
			for _, y := range x.Body {
				if y.Kind == KindCompute {
					between = append(between, y)
				}
			}
		}
		trips += turns
		copies += inner
		if k > 0 {
			merge(body, core(n))
		}
	}
	loop.Unrolled = copies
	loop.Trips = &Trips{Least: trips, Most: trips, Mean: float64(trips), Entries: executions, Total: trips * executions, Kind: TripsConstant, Expression: fmt.Sprint(trips)}
	if len(between) > 0 {
		first := between[0]
		for _, n := range between[1:] {
			merge(first, n)
		}
		loop.Body = append(loop.Body, first)
	}
	loop.Body = append(loop.Body, body)
	return loop
}

// merge adds the figures of b, and of what it holds, to a.
func merge(a, b *Node) {
	if n := a.Count + b.Count; a.Kind == KindCompute && n > 0 {
		p, q := float64(a.Count)/float64(n), float64(b.Count)/float64(n)
		mean := p*a.MeanNS + q*b.MeanNS
		squares := p*(a.StdNS*a.StdNS+a.MeanNS*a.MeanNS) + q*(b.StdNS*b.StdNS+b.MeanNS*b.MeanNS)
		a.MeanNS, a.StdNS = mean, math.Sqrt(max(0, squares-mean*mean))
		a.Clusters = mergeClusters(a, b)
		a.Counters = mergeCounters(a.Counters, b.Counters)
	}
	a.Count += b.Count
	a.Happened += b.Happened
	a.Of += b.Of
	a.ComputeNS += b.ComputeNS
	a.MPINS += b.MPINS
	a.LateNS += b.LateNS
	a.Paths = append(a.Paths, b.Paths...)
	a.Each = append(a.Each, b.Each...) // partners and bytes: movedIn
	a.Around = append(a.Around, b.Around...)
	if a.Trips != nil && b.Trips != nil {
		a.Trips.Entries += b.Trips.Entries
		a.Trips.Total += b.Trips.Total
	}
	x, y := calls(a), calls(b)
	for k := range min(len(x), len(y)) {
		merge(x[k], y[k])
	}
	var busy []*Node
	for _, n := range b.Body {
		if n.Kind == KindCompute {
			busy = append(busy, n)
		}
	}
	for _, n := range busy {
		k := slices.IndexFunc(a.Body, func(x *Node) bool { return x.Kind == KindCompute })
		if k < 0 {
			a.Body = slices.Insert(a.Body, 0, n)
			continue
		}
		merge(a.Body[k], n)
	}
}

func mergeClusters(a, b *Node) []ClusterShare {
	total := float64(a.ComputeNS + b.ComputeNS)
	at := make(map[int32]int)
	var list []ClusterShare
	for _, n := range []*Node{a, b} {
		for _, c := range n.Clusters {
			c.Share *= float64(n.ComputeNS) / max(1, total)
			if k, ok := at[c.Cluster]; ok {
				list[k].Bursts += c.Bursts
				list[k].Share += c.Share
				continue
			}
			at[c.Cluster] = len(list)
			list = append(list, c)
		}
	}
	return list
}

func mergeCounters(a, b []CounterMean) []CounterMean {
	for _, c := range b {
		k := slices.IndexFunc(a, func(x CounterMean) bool { return x.Name == c.Name })
		if k < 0 {
			a = append(a, c)
			continue
		}
		n := a[k].N + c.N
		a[k].Mean = (a[k].Mean*float64(a[k].N) + c.Mean*float64(c.N)) / float64(max(1, n))
		a[k].N = n
	}
	return a
}
