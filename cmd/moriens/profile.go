package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"moriens/app/console"
	"moriens/app/export"
	"moriens/app/pairing"
	"moriens/app/profiling"
	"moriens/app/question"
	"moriens/internal/hint"
	"moriens/internal/plain"
)

type profileCommand struct {
	Dir    string             `arg:"" help:"Run directory." type:"path"`
	By     profiling.By       `group:"shown" help:"List by call (MPI functions and clusters), callpath, function, phase, instance (of a phase), iteration (that was found), loop (of the program's structure), cluster (kind of computation), rank or node (default: phase if the program has phases, else call)." enum:",call,callpath,function,phase,instance,iteration,loop,cluster,rank,node" default:"" placeholder:"WHAT"`
	In     *profiling.Pattern `group:"shown" help:"Only these phases, with the phases in them: solve/iteration, found at any depth; * stands for any text in a name, ** for any number of phases. With --by instance: the phase." placeholder:"PHASE"`
	Found  int                `group:"shown" name:"iterations" help:"With --by iteration: which of the loops that were found, from 0 (default: the longest)." default:"-1" placeholder:"N"`
	Ranks  pairing.RankList   `group:"shown" name:"rank" help:"Only these ranks: 12-15,21; of several worlds 1:12 for rank 12 of world 1." placeholder:"LIST"`
	Metric string             `group:"shown" help:"time, calls (of MPI), bytes (sent and received), late (waits for late senders and receivers), ipc, or a counter by its name; of instances time or time:WHAT for an MPI function or a cluster: time:MPI_Waitall (default: ${default})." default:"time" placeholder:"METRIC"`
	Stat   profiling.Stat     `group:"shown" help:"Statistic over ranks and threads: sum, mean, most, least, std or imbalance, which is most/mean (default: ${default})." enum:"sum,mean,most,least,std,imbalance" default:"sum" placeholder:"STAT"`
	Tree   bool               `group:"shown" help:"With --by callpath, phase, loop or cluster: print the tree."`
	Depth  int                `group:"shown" help:"Print N levels of the tree (default: all)." placeholder:"N"`
	Sort   profiling.Sort     `group:"shown" help:"Sort by inclusive or exclusive figures, calls or name." enum:",inclusive,exclusive,calls,name" default:"" placeholder:"COLUMN"`
	Top    int                `group:"shown" help:"Print N rows at most, with --by phase N phases, of instances the N longest; 0: all (default: those that matter)." default:"-1" placeholder:"N"`
	Format string             `group:"written" help:"Format: text, a table; json or csv, all rows of the view with all statistics; for other tools, the whole tree as pprof, folded (stacks for flame graphs), hatchet or tau (default: ${default})." enum:"text,json,csv,pprof,folded,hatchet,tau" default:"text" placeholder:"FORMAT"`
	Out    string             `group:"written" help:"Write to PATH, which must not exist: a file, of tau a directory." placeholder:"PATH" type:"path"`
	Unit   string             `group:"written" help:"Of folded stacks: us or ns (default: ${default})." enum:"us,ns" default:"us" placeholder:"UNIT"`
}

func (c *profileCommand) Run(line *kong.Context) error {
	if err := c.check(line); err != nil {
		return err
	}
	if export.OfProfiles(c.Format) {
		return misused(c.export())
	}
	if err := (&export.ProfileConfig{Format: c.Format, Out: c.Out}).Vacant(); err != nil {
		return misused(err)
	}
	answer, err := profiling.Ask(profiling.Question{
		Dir: c.Dir, By: c.By, In: c.In, Found: c.Found, Ranks: c.Ranks, Metric: c.Metric, Stat: c.Stat, Sort: c.Sort, Nested: c.Tree, Depth: c.Depth, Top: c.Top,
	})
	if err == nil {
		err = c.write(answer)
	}
	return misused(err)
}

// misused gives an error the exit status that it has.
func misused(err error) error {
	var mistake question.UsageError
	if errors.As(err, &mistake) {
		return usage(err, hint.Of(err))
	}
	return err
}

// export writes a format of other tools.
func (c *profileCommand) export() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	if c.Format == export.Pprof && c.Out == "" && term.IsTerminal(int(os.Stdout.Fd())) {
		return question.Misuse("name a file with --out, or send it to another program", "--format pprof is not for a terminal")
	}
	unit := time.Microsecond
	if c.Unit == "ns" {
		unit = time.Nanosecond
	}
	config := export.ProfileConfig{Dir: c.Dir, By: c.By, In: c.In, Ranks: c.Ranks, Format: c.Format, Unit: unit, Out: c.Out, Stdout: os.Stdout, Stderr: os.Stderr}
	return config.Run(ctx)
}

// write writes the answer in the format, to where it is to go.
func (c *profileCommand) write(answer *profiling.Answer) error {
	if c.Out == "" {
		if c.Format == "text" {
			return console.Profile(plain.Writer(os.Stdout), answer)
		}
		return c.format(os.Stdout, answer)
	}
	_, err := export.File(c.Out, func(w io.Writer) error { return c.format(w, answer) })
	return err
}

func (c *profileCommand) format(to io.Writer, answer *profiling.Answer) error {
	switch c.Format {
	case "json":
		return answer.JSON(to)
	case "csv":
		return answer.CSV(to)
	}
	return console.Profile(plain.Writer(to), answer)
}

// check refuses what no run has an answer to.
func (c *profileCommand) check(line *kong.Context) error {
	const options = "moriens profile --help lists its options"
	switch {
	case flagged(line, "depth") && c.Depth < 1:
		return usage(errors.New("--depth must be larger"), options)
	case flagged(line, "top") && c.Top < 0:
		return usage(errors.New("--top must be 0 or more"), options)
	case flagged(line, "iterations") && c.Found < 0:
		return usage(errors.New("--iterations must be 0 or more"), options)
	case c.Format != export.Folded && flagged(line, "unit"):
		return usage(errors.New("--unit is of folded stacks"), "add --format folded, or leave it out")
	case export.OfProfiles(c.Format):
		for _, flag := range []string{"metric", "stat", "tree", "depth", "sort", "top", "iterations"} {
			if flagged(line, flag) {
				return usage(fmt.Errorf("--format %s has all figures, --%s chooses some", c.Format, flag), "leave out one of them")
			}
		}
	case c.Format != "text" && (flagged(line, "top") || flagged(line, "depth")):
		return usage(fmt.Errorf("--format %s has all rows, --top and --depth limit those of the text", c.Format), "leave out one of them")
	}
	return nil
}
