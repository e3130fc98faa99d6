package otf2

import (
	"fmt"

	"moriens/trace"
)

// ranks numbers the processes of all worlds: those of the first world by rank, then those of the second.
type ranks struct {
	first []int // of each world
	total int
}

func (r *ranks) of(world, rank int) uint32 { return uint32(r.first[world] + rank) }

// definePlaces defines hosts, processes and threads. A rank that left no record has a process and a thread without
// events, so that the numbers of the others are their ranks.
func (d *definitions) definePlaces(run *trace.Run) {
	machine := d.node("moriens", "run", undefined)
	var hosts []uint32
	for _, n := range run.Nodes {
		hosts = append(hosts, d.node(n.Name, "node", machine))
	}
	for _, w := range run.Worlds {
		d.ranks.first = append(d.ranks.first, d.ranks.total)
		d.ranks.total += w.Size
	}
	at := 0
	for w, world := range run.Worlds {
		for r := range world.Size {
			place := machine
			from := at
			for at < len(run.Threads) && run.Threads[at].World == w && run.Threads[at].Rank == r {
				if n := run.Threads[at].Node; n < len(hosts) {
					place = hosts[n]
				}
				at++
			}
			number := uint32(len(d.processes))
			d.processes = append(d.processes, process{d.strings.of(run.RankName(w, r)), place})
			if from == at || run.Threads[from].Thread != 0 {
				d.location(number, 0, -1)
			}
			for i := from; i < at; i++ {
				d.location(number, run.Threads[i].Thread, i)
			}
		}
	}
}

func (d *definitions) node(name, class string, parent uint32) uint32 {
	d.nodes = append(d.nodes, node{d.strings.of(name), d.strings.of(class), parent})
	return uint32(len(d.nodes) - 1)
}

// location numbers threads as Score-P does: the process in the lower half, the thread in the upper.
func (d *definitions) location(process uint32, thread, inRun int) {
	d.locations = append(d.locations, location{
		id: uint64(thread)<<32 | uint64(process), name: d.strings.of(fmt.Sprintf("thread %d", thread)), process: process, thread: inRun,
	})
}
