package pairing

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"moriens/internal/hint"
)

// WriteOrder writes the advised order of ranks to a file, which must not exist.
func (a *Answer) WriteOrder(path, format string) (err error) {
	p := a.Placement
	switch {
	case p == nil:
		return hint.With(errors.New("no order is written: all ranks are on one node, or exchange nothing"), "--ranks-per-node N plans for nodes of N ranks")
	case a.Ranks[len(a.Ranks)-1].World > a.Ranks[0].World:
		return misuse("place the ranks of each world by hand: moriens pairs lists them by node", "no order is written: order files are of one world, the run has several")
	case !p.Better:
		return hint.With(fmt.Errorf("no order is written: none that was found saves 10 %% of the %s between nodes", p.weighed()), "leave the ranks in their order")
	case p.RanksPerNode > 0 && format != OrderMPICH:
		return misuse("--order-format mpich names no hosts", "--order-format %s needs the names of hosts, and --ranks-per-node has none", format)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return misuse("choose another name, or remove it", "%s exists", path)
	}
	if err != nil {
		return hint.With(err, "choose another path with --order")
	}
	if err = errors.Join(WriteOrder(f, format, a.Result), f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// weighed is what is to be small between nodes.
func (p *Placement) weighed() string {
	if p.Weigh == weighBlocked {
		return "blocked time"
	}
	return "bytes"
}
