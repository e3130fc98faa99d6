package clustering

import (
	"cmp"
	"strconv"
	"strings"

	"moriens/analysis/grouping"
	"moriens/analysis/refine"
	"moriens/trace/rundir"
)

// describeTree puts the steps of a refinement into the words of the run directory.
func describeTree(result *grouping.Result, o grouping.Options) rundir.Refinement {
	d := rundir.Refinement{Rules: "default", Freeze: rundir.Number(cmp.Or(o.Freeze, refine.DefaultFreeze))}
	switch {
	case o.Fixed != nil:
		d.Rules, d.Freeze = "none", 0
	case o.Strict:
		d.Rules, d.Freeze, d.Merged = "strict", 1, true
	case byKinds(result):
		d.Rules, d.Freeze = "kinds", 0
	}
	t := result.Tree
	if t == nil {
		return d
	}
	d.Why, d.Alternatives = t.Why, t.Merged
	for _, level := range t.Chosen {
		d.Chosen = append(d.Chosen, level+1)
	}
	clusters := clusterOf(result)
	for i := range t.Levels {
		level := describeLevel(&t.Levels[i])
		for k := range level.Nodes {
			if n := &level.Nodes[k]; n.ID != refine.Noise && t.Chosen[n.Group] == i {
				n.Cluster = clusters[n.ID]
			}
		}
		d.Levels = append(d.Levels, level)
	}
	d.Basins, d.Joins = describeBasins(result), describeJoins(result)
	return d
}

// describeBasins leaves out those that have their group to themselves.
func describeBasins(result *grouping.Result) (list []rundir.Basin) {
	of := make([]int, len(result.Groups))
	for _, b := range result.Basins {
		of[b.Group]++
	}
	for _, b := range result.Basins {
		if of[b.Group] < 2 {
			continue
		}
		d := rundir.Basin{Group: b.Group, Stratum: b.Stratum, Bursts: b.Bursts, Eps: sixDigits(b.Eps), Valley: sixDigits(b.Valley), Clusters: b.Clusters}
		for j := range b.From {
			d.From, d.To = append(d.From, sixDigits(b.From[j])), append(d.To, sixDigits(b.To[j]))
		}
		list = append(list, d)
	}
	return list
}

func describeJoins(result *grouping.Result) (list []rundir.Join) {
	for _, j := range result.Joins {
		list = append(list, rundir.Join{Round: j.Round, From: j.From, To: j.To, Bursts: j.Bursts, Foretold: sixDigits(j.Foretold), Why: j.Why})
	}
	return list
}

// clusterOf gives the number of a cluster by its node in the chosen level. Alternatives that were merged have one
// cluster.
func clusterOf(result *grouping.Result) map[int32]int32 {
	clusters := make(map[int32]int32)
	for _, c := range result.Clusters {
		clusters[c.Node] = c.ID
	}
	for _, set := range result.Tree.Merged {
		for _, id := range set {
			if clusters[id] == 0 {
				clusters[id] = clusters[set[0]]
			}
		}
	}
	return clusters
}

func describeLevel(l *refine.Level) rundir.Level {
	d := rundir.Level{Score: rundir.Number(l.Score)}
	for _, eps := range l.Eps {
		d.Eps = append(d.Eps, sixDigits(eps))
	}
	for _, n := range l.Nodes {
		node := rundir.Node{
			ID: n.ID, Group: n.Group, Eps: sixDigits(n.Eps), MinPts: n.MinPts, Bursts: n.Bursts,
			Seconds: rundir.Number(float64(n.TimeNS) / 1e9), Score: sixDigits(n.Score), Frozen: n.Frozen,
		}
		for _, p := range n.Parents {
			node.Parents = append(node.Parents, rundir.Parent(p))
		}
		d.Nodes = append(d.Nodes, node)
	}
	return d
}

// sixDigits rounds what a step is described with: there are many nodes, and nothing is computed from them.
func sixDigits(x float64) rundir.Number {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return rundir.Number(x)
	}
	return rundir.Number(rounded)
}

// A Tree is how a refinement has found its clusters.
type Tree struct {
	*refine.Tree
	Clusters map[int32]int32 // number of a cluster by its node in the chosen level
	Kinds    []ClusterKind   // by cluster; nil where they were not found by kinds
	Basins   []rundir.Basin
	Joins    []grouping.Join
}

// A ClusterKind is the kind of a cluster, and why it is of that.
type ClusterKind struct {
	Kind int32
	Why  string
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
