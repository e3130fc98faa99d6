package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/alecthomas/kong"

	"moriens/app/console"
	"moriens/app/pairing"
	"moriens/app/question"
	"moriens/internal/hint"
	"moriens/internal/plain"
)

type pairsCommand struct {
	Dir         string           `arg:"" help:"Run directory." type:"path"`
	By          pairing.By       `group:"shown" help:"What makes two ranks close: blocked (time in calls that completed receives), late (waits for late senders and receivers), bytes, messages, or span (from the entry of the send to the end of the receive) (default: ${default})." enum:"blocked,late,bytes,messages,span" default:"blocked" placeholder:"WHAT"`
	Top         int              `group:"shown" help:"Number of pairs to list (default: ${default})." default:"10" placeholder:"N"`
	Ranks       pairing.RankList `group:"shown" help:"Show only pairs that include these ranks: 12-15,21; of several worlds 1:12 for rank 12 of world 1." placeholder:"LIST"`
	JSON        bool             `group:"shown" name:"json" help:"Print JSON: all pairs, merges, groups, findings and the placement (docs/format/pairs.md)."`
	Linkage     string           `group:"groups" help:"single or average (default: average; single above 20,000 ranks)." enum:",single,average" default:"" placeholder:"LINKAGE"`
	Groups      int              `group:"groups" help:"Cut the dendrogram into N groups (default: the cut with the largest modularity)." placeholder:"N"`
	Height      float64          `group:"groups" help:"Cut the dendrogram at height H = 1/T, in 1/s for times." placeholder:"H"`
	PerNode     int              `group:"placement" name:"ranks-per-node" help:"Assume N ranks on each node, in their order, in place of the nodes of the run." placeholder:"N"`
	Weigh       string           `group:"placement" help:"Place ranks so that little of this is between nodes: bytes or blocked (default: ${default})." enum:"bytes,blocked" default:"bytes" placeholder:"WHAT"`
	Order       string           `group:"placement" help:"Write the advised order of ranks to FILE, which must not exist." placeholder:"FILE" type:"path"`
	OrderFormat string           `group:"placement" help:"Format of --order: mpich (MPICH_RANK_ORDER of Cray MPICH), rankfile (Open MPI), hostfile (a host for each rank) or slurm (srun --distribution=arbitrary)." enum:",mpich,rankfile,hostfile,slurm" default:"" placeholder:"FORMAT"`
}

func (c *pairsCommand) Run(line *kong.Context) error {
	if err := c.check(line); err != nil {
		return err
	}
	asked := flagged(line, "weigh") || c.PerNode > 0 || c.Order != ""
	q := pairing.Question{By: c.By, Linkage: c.Linkage, Groups: c.Groups, Height: c.Height, RanksPerNode: c.PerNode, Weigh: c.Weigh == "blocked", Place: asked}
	answer, err := pairing.Ask(c.Dir, q, c.Ranks)
	if err == nil && c.Order != "" {
		err = answer.WriteOrder(c.Order, c.OrderFormat)
	}
	var mistake question.UsageError
	if errors.As(err, &mistake) {
		return usage(err, hint.Of(err))
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return answer.WriteJSON(os.Stdout)
	}
	form := console.PairsForm{Dir: c.Dir, Top: c.Top, Ranks: c.Ranks != nil, Cut: c.Groups > 0 || c.Height > 0, Order: c.Order, OrderFormat: c.OrderFormat, Manifest: answer.Manifest}
	return console.Pairs(plain.Writer(os.Stdout), answer.Result, form)
}

// check refuses what no run has an answer to.
func (c *pairsCommand) check(line *kong.Context) error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"groups", float64(c.Groups)}, {"height", c.Height}, {"ranks-per-node", float64(c.PerNode)}, {"top", float64(c.Top) + 1}} {
		if flagged(line, f.name) && !(f.value > 0) {
			return usage(fmt.Errorf("--%s must be larger", f.name), "moriens pairs --help lists its options")
		}
	}
	switch {
	case c.Groups > 0 && c.Height > 0:
		return usage(errors.New("--groups and --height are two cuts of one dendrogram"), "leave out one of them")
	case c.JSON && flagged(line, "top"):
		return usage(errors.New("--json prints all pairs, --top limits those of the text"), "leave out one of them")
	case c.Order != "" && c.OrderFormat == "":
		return usage(errors.New("--order needs --order-format"), "--order-format mpich, rankfile, hostfile or slurm: the launcher's (docs/pairs.md)")
	case c.OrderFormat != "" && c.Order == "":
		return usage(errors.New("--order-format needs --order"), "--order FILE says where to write the order of ranks")
	}
	return nil
}

// flagged reports whether a command line has a flag.
func flagged(line *kong.Context, name string) bool {
	return slices.ContainsFunc(line.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == name })
}
