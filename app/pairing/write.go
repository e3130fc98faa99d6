package pairing

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"moriens/app/question"
	"moriens/internal/hint"
)

// WriteOrder writes the advised order of ranks to a file, which must not exist.
func (a *Answer) WriteOrder(path, format string) (err error) {
	p := a.Placement
	switch {
	case p == nil && a.Table.Summed > 0 && a.severalNodes():
		return hint.With(errors.New("no order is written: too many pairs have no row of their own"), moreRoom)
	case p == nil:
		return hint.With(errors.New("no order is written: all ranks are on one node, or exchange nothing"), "--ranks-per-node N plans for nodes of N ranks")
	case a.severalWorlds():
		return question.Misuse("place the ranks of each world by hand: moriens pairs lists them by node", "no order is written: order files are of one world, the run has several")
	case !p.Better:
		return hint.With(fmt.Errorf("no order is written: none that was found saves 10 %% of the %s between nodes", p.weighed()), "leave the ranks in their order")
	case p.RanksPerNode > 0 && format != OrderMPICH:
		return question.Misuse("--order-format mpich names no hosts", "--order-format %s needs the names of hosts, and --ranks-per-node has none", format)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return question.Misuse("choose another name, or remove it", "%s exists", path)
	}
	if err != nil {
		return hint.With(err, "choose another path with --order")
	}
	if err = errors.Join(WriteOrder(f, format, a.Result), f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// severalNodes says that ranks are on more nodes than one.
func (r *Result) severalNodes() bool {
	return slices.ContainsFunc(r.Ranks, func(x Rank) bool { return x.Node != r.Ranks[0].Node })
}

// weighed is what is to be small between nodes.
func (p *Placement) weighed() string {
	if p.Weigh == weighBlocked {
		return "blocked time"
	}
	return "bytes"
}
