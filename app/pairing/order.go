package pairing

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"moriens/internal/hint"
)

// The formats of WriteOrder.
const (
	OrderMPICH    = "mpich"    // MPICH_RANK_ORDER, for Cray MPICH with MPICH_RANK_REORDER_METHOD=3
	OrderRankfile = "rankfile" // mpirun --rankfile of Open MPI
	OrderHostfile = "hostfile" // mpiexec -f of MPICH, mpirun --map-by seq --hostfile of Open MPI
	OrderSlurm    = "slurm"    // SLURM_HOSTFILE, for srun --distribution=arbitrary
)

// OrderFormats are the formats of WriteOrder.
var OrderFormats = []string{OrderMPICH, OrderRankfile, OrderHostfile, OrderSlurm}

// WriteOrder writes the advised placement as the file with which a launcher starts ranks so. Such a file is of the
// ranks of one world, all of them. What cannot be written so is an error, and then nothing is written.
func WriteOrder(w io.Writer, format string, r *Result) error {
	places, err := placesOf(r, format != OrderMPICH)
	if err != nil {
		return fmt.Errorf("no order file: %w", err)
	}
	out := bufio.NewWriter(w)
	switch format {
	case OrderMPICH:
		// Ranks in the order of slots, a line for each node.
		for _, n := range r.Placement.Nodes {
			if len(n.Ranks) > 0 {
				fmt.Fprintln(out, ranges(n.Ranks))
			}
		}
	case OrderRankfile:
		for rank, p := range places {
			fmt.Fprintf(out, "rank %d=%s slot=%d\n", rank, p.node, p.slot)
		}
	case OrderHostfile, OrderSlurm:
		// A line for each rank: a number of slots behind a name would put the ranks of a node one after the other.
		for _, p := range places {
			fmt.Fprintln(out, p.node)
		}
	default:
		return fmt.Errorf("no order file: format %q is none of %s", format, strings.Join(OrderFormats, ", "))
	}
	return out.Flush()
}

// A place is where one rank is to lie.
type place struct {
	node string
	slot int // on the node, from 0
}

// placesOf gives the advised places by rank of the world; named says that nodes need names that launchers can read.
func placesOf(r *Result, named bool) ([]place, error) {
	if r.Placement == nil {
		return nil, errors.New("no placement is known")
	}
	places := make([]place, len(r.Ranks))
	for _, n := range r.Placement.Nodes {
		if named && (n.Name == "" || strings.ContainsAny(n.Name, " \t\n=,:#")) {
			return nil, hint.With(fmt.Errorf("no launcher can read the node name %q", n.Name), "--order-format mpich names no nodes")
		}
		for slot, i := range inOrder(n.Ranks) {
			if i < 0 || i >= len(r.Ranks) {
				return nil, fmt.Errorf("node %s has rank %d of %d", n.Name, i, len(r.Ranks))
			}
			rank := r.Ranks[i]
			switch {
			case rank.World != r.Ranks[0].World:
				return nil, fmt.Errorf("the run has several worlds, %d and %d among them; a launcher starts one", r.Ranks[0].World, rank.World)
			case rank.Rank != i:
				return nil, fmt.Errorf("rank %d has no record", missing(r.Ranks))
			case places[i].node != "":
				return nil, fmt.Errorf("rank %d lies on nodes %s and %s", i, places[i].node, n.Name)
			}
			places[i] = place{n.Name, slot}
		}
	}
	if i := slices.Index(places, place{}); i >= 0 {
		return nil, fmt.Errorf("rank %d lies on no node", i)
	}
	return places, nil
}

// missing is the first rank that is not there.
func missing(ranks []Rank) int {
	for i, r := range ranks {
		if r.Rank != i {
			return i
		}
	}
	return len(ranks)
}

func inOrder(ranks []int) []int { return slices.Sorted(slices.Values(ranks)) }

// ranges writes ranks as "0-3,8,12-15".
func ranges(ranks []int) string {
	var text []string
	list := inOrder(ranks)
	for from := 0; from < len(list); {
		to := from
		for to+1 < len(list) && list[to+1] == list[to]+1 {
			to++
		}
		one := strconv.Itoa(list[from])
		if to > from {
			one += "-" + strconv.Itoa(list[to])
		}
		text, from = append(text, one), to+1
	}
	return strings.Join(text, ",")
}
