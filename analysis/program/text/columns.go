package text

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/analysis/program"
	"moriens/internal/units"
)

// A Column is a figure of each line.
type Column struct {
	Name string // by which it is asked for
	head string
	cell func(f figures) string
}

// figures are what a line has to show: those of its node, with those of a body that is folded.
type figures struct {
	*program.Node
	ns, of int64 // computing and MPI time of it and all that lies in it, and of the program
}

// Counters from which other figures follow.
const (
	instructions = "PAPI_TOT_INS"
	cycles       = "PAPI_TOT_CYC"
)

var columns = []Column{
	{"calls", "calls", func(n figures) string {
		if n.Count == 0 {
			return ""
		}
		return fmt.Sprint(n.Count)
	}},
	{"inclusive", "incl.", func(n figures) string {
		if n.ns == 0 {
			return ""
		}
		return fmt.Sprintf("%.1f %%", 100*float64(n.ns)/float64(n.of))
	}},
	{"share", "share", func(n figures) string {
		if n.Share == 0 {
			return ""
		}
		return fmt.Sprintf("%.1f %%", 100*n.Share)
	}},
	{"time", "time", func(n figures) string {
		return duration(float64(n.ComputeNS+n.MPINS), n.Count+n.ComputeNS+n.MPINS)
	}},
	{"mean", "mean", func(n figures) string {
		if n.Kind != program.KindCompute {
			return ""
		}
		return duration(n.MeanNS, n.Count)
	}},
	{"std", "std", func(n figures) string {
		if n.Kind != program.KindCompute {
			return ""
		}
		return duration(n.StdNS, n.Count)
	}},
	{"mpi", "MPI", func(n figures) string { return perCall(n.Node, n.MPINS) }},
	{"late", "late", func(n figures) string {
		if n.LateNS == 0 { // or not known
			return ""
		}
		return perCall(n.Node, n.LateNS)
	}},
	{"bytes", "bytes", func(n figures) string {
		switch b := n.Bytes; {
		case b == nil:
			return ""
		case b.Least == b.Most:
			return bytes(b.Least)
		default:
			return strings.TrimSuffix(bytes(b.Least), " B") + ".." + bytes(b.Most)
		}
	}},
	{"ipc", "IPC", func(n figures) string {
		x := counter(n.Node, instructions) / counter(n.Node, cycles)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return ""
		}
		return fmt.Sprintf("%.2f", x)
	}},
	{"mips", "MIPS", func(n figures) string {
		x := counter(n.Node, instructions) / n.MeanNS * 1e3
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return ""
		}
		return units.Integer(int(math.Round(x)))
	}},
	{"cluster", "cluster", func(n figures) string { return clusters(n.Node) }},
}

// Defaults are the columns where none are asked for.
func Defaults() []Column {
	list, _ := Columns(nil, []string{"calls", "inclusive", "share", "mean", "mpi", "bytes", "cluster"})
	return list
}

// Names are those that columns of a program have: figures, and its counters.
func Names(p *program.Program) []string {
	var names, counters []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
		for _, c := range n.Counters {
			if !slices.Contains(counters, c.Name) {
				counters = append(counters, c.Name)
			}
		}
	})
	slices.Sort(counters)
	return append(names, counters...)
}

// Columns are those of these names; the first that is none of theirs is returned else. counters are names of counters.
func Columns(counters, names []string) (list []Column, unknown string) {
	for _, name := range names {
		if i := slices.IndexFunc(columns, func(c Column) bool { return c.Name == name }); i >= 0 {
			list = append(list, columns[i])
			continue
		}
		if !slices.Contains(counters, name) {
			return nil, name
		}
		list = append(list, Column{name, name, func(n figures) string {
			x := counter(n.Node, name)
			if math.IsNaN(x) {
				return ""
			}
			return units.Integer(int(math.Round(x)))
		}})
	}
	return list, ""
}

func counter(n *program.Node, name string) float64 {
	for _, c := range n.Counters {
		if c.Name == name && c.N > 0 {
			return c.Mean
		}
	}
	return math.NaN()
}

// duration is a time; empty where there is nothing that took it.
func duration(ns float64, of int64) string {
	if of == 0 {
		return ""
	}
	return units.Duration(ns)
}

func perCall(n *program.Node, ns int64) string {
	if n.Kind != program.KindMPI && n.Kind != program.KindOther || n.Count == 0 {
		return ""
	}
	return units.Duration(float64(ns) / float64(n.Count))
}

// manyBytes is from where on bytes are given in larger units.
const manyBytes = 100_000

func bytes(n int64) string {
	if n < manyBytes {
		return fmt.Sprintf("%d B", n)
	}
	return units.Bytes(n).String()
}

// mostClusters is how many clusters of a line are named.
const mostClusters = 4

func clusters(n *program.Node) string {
	var list []string
	for _, c := range n.Clusters {
		if c.Cluster > 0 {
			list = append(list, fmt.Sprint(c.Cluster))
		}
	}
	if len(list) > mostClusters {
		return strings.Join(list[:mostClusters], " ") + fmt.Sprintf(" +%d", len(list)-mostClusters)
	}
	return strings.Join(list, " ")
}

// figures are those that a row shows, of a program with so much time.
func (r *row) figures(of int64) figures {
	n := cmp.Or(r.node, new(program.Node))
	if r.folded != nil {
		sum := *r.folded
		sum.Share += n.Share
		sum.ComputeNS += n.ComputeNS
		n = &sum
	}
	return figures{n, r.ns, of}
}
