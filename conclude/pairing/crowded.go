package pairing

import (
	"fmt"

	"moriens/internal/team"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// takeCrowded is collective: it gives the first member the nodes of which ranks had to wait for a core, as their
// kernels say, or where these say nothing, because the ranks were more than the CPUs.
func (d *describer) takeCrowded(owners team.Threads) error {
	kernels := make(map[string]*rundir.HostScheduling)
	if d.Scheduling != nil {
		for i := range d.Scheduling.Hosts {
			kernels[d.Scheduling.Hosts[i].Host] = &d.Scheduling.Hosts[i]
		}
	}
	said := make([][]int64, len(d.run.Threads))
	for i := range d.run.Threads {
		if h := kernels[d.run.NodeName(d.run.Threads[i].Node)]; h != nil && owners.Mine(i) {
			said[i] = []int64{0}
			if h.Crowded() {
				said[i][0] = 1
			}
		}
	}
	said, err := team.FirstByThread(owners, said)
	if err != nil || owners.Rank() != 0 {
		return err
	}
	d.crowded = make([]bool, len(d.run.Nodes))
	known, ranks := make([]bool, len(d.run.Nodes)), make([]int, len(d.run.Nodes))
	type rank struct{ world, rank int }
	counted := make(map[rank]bool)
	for i := range d.run.Threads {
		t := &d.run.Threads[i]
		for _, is := range said[i] {
			known[t.Node], d.crowded[t.Node] = true, d.crowded[t.Node] || is > 0
		}
		if r := (rank{t.World, t.Rank}); !counted[r] {
			counted[r] = true
			ranks[t.Node]++
		}
	}
	for node, n := range ranks {
		if cpus := d.run.Nodes[node].CPUs; !known[node] && cpus > 0 && n > cpus {
			d.crowded[node] = true
		}
	}
	return nil
}

// crowdedNodes are the names of the nodes of which ranks had to wait for a core.
func (d *describer) crowdedNodes() (names []string) {
	for node, is := range d.crowded {
		if is {
			names = append(names, d.run.NodeName(node))
		}
	}
	return names
}

// queued says that one of two ranks had to wait for a core: what their messages took says nothing of the link.
func (d *describer) queued(a, b int32) bool {
	return d.crowded[d.known.Ranks[a].Node] || d.crowded[d.known.Ranks[b].Node]
}

// firstOf names the first of a list, and how many more there are.
func firstOf(list []string, what string) string {
	if len(list) == 1 {
		return list[0]
	}
	return fmt.Sprintf("%s and %s", list[0], units.Count(len(list)-1, "more "+what))
}
