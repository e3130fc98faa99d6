package pairing

import (
	"fmt"

	"moriens/trace/rundir"
)

// A Finding is something unusual, and what to do about it.
type Finding struct {
	rundir.PairsFinding
	Advice string `json:"advice"` // in words without a full stop; commands have DIR for the run directory
}

// anyDirectory stands for the run directory in advice that does not know it.
const anyDirectory = "DIR"

// advise says of each finding what to do about it.
func (r *Result) advise() {
	for i := range r.Findings {
		r.Findings[i].Advice, _ = r.AdviceOn(&r.Findings[i].PairsFinding, anyDirectory)
	}
}

// AdviceOn is what to do about a finding of a run directory, and the command in it, if it has one. The name of the
// directory is as a shell takes it.
func (r *Result) AdviceOn(f *rundir.PairsFinding, dir string) (text, command string) {
	switch f.Kind {
	case rundir.PairsLateSender:
		text, command = "give other ranks part of its work, or send earlier; ", "moriens waits --by callpath "+dir
	case rundir.PairsLateReceiver:
		text = "post the receive earlier (MPI_Irecv before computing), or send without waiting (MPI_Isend)"
	case rundir.PairsSlowLink:
		text = "compare the link of these nodes with others; place the ranks elsewhere"
		if f.Node != "" {
			text = "compare where the two ranks run with others: cores, sockets, NUMA domains (mpirun --report-bindings); bind them next to each other"
		}
	case rundir.PairsSlowNode:
		text = "run without the node, and report it"
	case rundir.PairsSmallMessages:
		text = "pack messages to the same rank into one"
	case rundir.PairsFirstMessage:
		text = "connections are set up here; exchange a message with each neighbour before what is timed"
	case rundir.PairsIrregular:
		text = "view Pairs of the page, size and time over run time: one time, one node, or always"
	case rundir.PairsHeavyPair:
		text = "compare it with its neighbours"
		if len(f.Pairs) > 0 {
			text, command = text+": ", fmt.Sprintf("moriens pairs --ranks %s,%s %s", r.Name(f.Pairs[0][0]), r.Name(f.Pairs[0][1]), dir)
		}
	case rundir.PairsPlacing:
		text, command = "write the order, and measure again: ", r.OrderCommand(dir)
		if command == "" {
			text = "place the ranks of each world by hand"
		}
	}
	return text + command, command
}

// OrderCommand is the command that writes the advised order of the ranks of a run directory; empty: it cannot.
func (r *Result) OrderCommand(dir string) string {
	p := r.Placement
	if p == nil || !p.Better || r.severalWorlds() {
		return ""
	}
	options := ""
	if p.RanksPerNode > 0 {
		options = fmt.Sprintf(" --ranks-per-node %d", p.RanksPerNode)
	}
	if p.Weigh != weighBytes {
		options += " --weigh " + p.Weigh
	}
	text := fmt.Sprintf("moriens pairs%s --order MPICH_RANK_ORDER --order-format mpich %s", options, dir)
	if p.RanksPerNode == 0 {
		text += " (or rankfile, hostfile, slurm)"
	}
	return text
}

// Name names a rank, by its index: with several worlds the world's number comes first.
func (r *Result) Name(i int) string {
	switch {
	case i < 0 || i >= len(r.Ranks):
		return "?"
	case r.severalWorlds():
		return fmt.Sprintf("%d:%d", r.Ranks[i].World, r.Ranks[i].Rank)
	}
	return fmt.Sprint(r.Ranks[i].Rank)
}

func (r *Result) severalWorlds() bool {
	n := len(r.Ranks)
	return n > 0 && r.Ranks[n-1].World > r.Ranks[0].World
}
