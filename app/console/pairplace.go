package console

import (
	"fmt"
	"strings"

	"moriens/app/pairing"
	"moriens/internal/plain"
	"moriens/internal/units"
)

func (w pairWords) writePlacement(b *strings.Builder, form PairsForm) {
	p := w.Placement
	if p == nil {
		return
	}
	weighed := func(now, then string) string {
		return fmt.Sprintf("%s between nodes, %s as advised", now, then)
	}
	bytes := func(n int64) string { return units.Bytes(n).String() }
	text := weighed(bytes(p.InternodeBytes), bytes(p.Advised))
	if p.Weigh != "bytes" {
		text = fmt.Sprintf("blocked %s; %s", weighed(spent(p.Blocked), spent(p.AdvisedBlocked)), weighed(bytes(p.InternodeBytes), bytes(p.Advised)))
	}
	if !p.Better {
		text = bytes(p.InternodeBytes) + " between nodes; no other order found that saves 10 %"
	}
	fmt.Fprintf(b, "\nplacement: %s (ranks in blocks: %s, in turn: %s)\n", text, bytes(p.Blocks), bytes(p.RoundRobin))
	if !p.Better {
		return
	}
	if p.Saved > 0 {
		fmt.Fprintf(b, "  saves about %s of transfers, all ranks together, by the lines above\n", spent(p.Saved))
	}
	for _, n := range p.Nodes[:min(mostPlaced, len(p.Nodes))] {
		fmt.Fprintf(b, "  %s: %s\n", n.Name, w.list(n.Ranks))
	}
	if rest := len(p.Nodes) - mostPlaced; rest > 0 {
		fmt.Fprintf(b, "  %s: --order, or --json\n", units.Counted(rest, "more node"))
	}
	if form.Order != "" {
		fmt.Fprintf(b, "written: %s; %s\n", plain.Line(form.Order), useOrder(form.OrderFormat, quoted(plain.Line(form.Order))))
	}
}

// useOrder says how a launcher takes an order file.
func useOrder(format, path string) string {
	switch format {
	case pairing.OrderMPICH:
		return "copy it to MPICH_RANK_ORDER in the directory of the job, and set MPICH_RANK_REORDER_METHOD=3"
	case pairing.OrderRankfile:
		return "mpirun --rankfile " + path
	case pairing.OrderHostfile:
		return "mpirun -f " + path + " (MPICH), or mpirun --hostfile " + path + " --map-by seq (Open MPI)"
	}
	return "SLURM_HOSTFILE=" + path + " srun --distribution=arbitrary"
}
