package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"moriens/app/pairing"
	"moriens/app/structure"
	"moriens/internal/plain"
)

type structureCommand struct {
	Dir      string           `arg:"" help:"Run directory." type:"path"`
	Ranks    pairing.RankList `group:"shown" name:"rank" help:"Only what these ranks do: 12-15,21; of several worlds 1:12 for rank 12 of world 1. Figures are those of all ranks." placeholder:"LIST"`
	Depth    int              `group:"shown" help:"Print N levels, and sum up what lies deeper (default: all)." placeholder:"N"`
	Above    structure.Share  `group:"shown" help:"Sum up lines with less than this share of all computing and MPI time, with what lies in them." default:"0%" placeholder:"P%"`
	MinShare structure.Share  `group:"shown" help:"Sum up computation with less than this share of all computing time in the line of its function (default: ${default})." default:"0.5%" placeholder:"P%"`
	Metric   []string         `group:"shown" help:"Figures of each line: calls, inclusive (share of all computing and MPI time, with what lies in the line), share (of the computing time), time, mean and std (of bursts), mpi and late (mean time in MPI, and waiting for late senders), bytes, ipc, mips, cluster, and counters by their names (default: calls,inclusive,share,mean,mpi,bytes,cluster)." placeholder:"LIST"`
	Function string           `group:"shown" help:"Only the calls of this function, with what lies in them." placeholder:"NAME"`
	All      bool             `group:"shown" help:"Show loops of one trip, and computation below --min-share, too."`
	Loops    string           `group:"shown" enum:",code,order,thesis" help:"How loops are found: code (machine code; by the order of lines where it was not read), order (of lines alone), or thesis (the published method, by repetitions and time, to compare) (default: code)." default:"" placeholder:"HOW"`
	Source   string           `group:"shown" help:"Print the line of the source beside each line: of the files below DIR." placeholder:"DIR" type:"path"`
	JSON     bool             `group:"shown" name:"json" help:"Print JSON (docs/format/program.md): everything, or what --rank, --function, --depth, --above and --min-share leave."`
	Verify   bool             `group:"shown" help:"Compare the program with what was recorded of each thread, call by call; exit with 1 and name the first difference if there is one."`
	Shell    bool             `group:"shown" help:"Start a shell with the commands show, rank, above, depth, open, close, metric, loops, find, why, source, reading, plot, json; help lists them."`
}

func (c *structureCommand) Run(line *kong.Context) error {
	if err := c.check(line); err != nil {
		return err
	}
	if c.Verify {
		return c.verify()
	}
	answer, err := structure.Ask(structure.Question{
		Dir: c.Dir, Loops: c.Loops, Ranks: c.Ranks, Function: c.Function, Depth: c.Depth, Above: c.Above, MinShare: c.MinShare, All: c.All || c.JSON && !flagged(line, "min-share"), Metrics: c.Metric, Source: c.Source,
	})
	switch {
	case err != nil:
		return misused(err)
	case c.Shell:
		return c.shell(answer)
	case c.JSON:
		return answer.JSON(os.Stdout)
	}
	return answer.Write(plain.Writer(os.Stdout), widthOf(os.Stdout))
}

// verify compares the program with what was recorded.
func (c *structureCommand) verify() error {
	v, err := structure.Verify(c.Dir, c.Loops)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.Dir, err)
	case v.Differs != "":
		return fmt.Errorf("%s: the program is not what was recorded: %s", c.Dir, v.Differs)
	}
	fmt.Fprintln(os.Stdout, v)
	return nil
}

// check refuses what no run has an answer to.
func (c *structureCommand) check(line *kong.Context) error {
	if flagged(line, "depth") && c.Depth < 1 {
		return usage(errors.New("--depth must be larger than 0"), "leave it out to see all levels")
	}
	if flagged(line, "function") && c.Function == "" {
		return usage(errors.New("--function has no name"), "leave it out to see all functions")
	}
	if c.Verify {
		for _, flag := range []string{"rank", "depth", "above", "min-share", "metric", "function", "all", "source", "json", "shell"} {
			if flagged(line, flag) {
				return usage(fmt.Errorf("--verify compares all of a program, --%s is of what is shown of it", flag), "leave out one of them")
			}
		}
	}
	if c.Loops == structure.ByThesis {
		if c.Verify {
			return usage(errors.New("--loops thesis does not say in which trips calls are made: --verify has nothing to compare"), "--verify compares --loops code and --loops order")
		}
		if flagged(line, "min-share") {
			return usage(errors.New("--loops thesis has no computation, which --min-share sums up"), "leave out --min-share")
		}
	}
	if c.All && flagged(line, "min-share") {
		return usage(errors.New("--all shows what --min-share sums up"), "leave out one of them")
	}
	if !c.JSON {
		return nil
	}
	for _, flag := range []string{"metric", "source", "shell"} {
		if flagged(line, flag) {
			return usage(fmt.Errorf("--json prints all figures of a program, --%s is of its text", flag), "leave out one of them")
		}
	}
	return nil
}

// widthOf is how wide a terminal is; 0: it is none.
func widthOf(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// shell answers commands from a terminal, with line editing and a history, or from a file or a pipe.
func (c *structureCommand) shell(answer *structure.Answer) error {
	s := structure.Shell{Answer: answer, In: structure.LinesOf(os.Stdin), Out: plain.Writer(os.Stdout), Err: plain.Writer(os.Stderr), Width: func() int { return widthOf(os.Stdout) }}
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) || !term.IsTerminal(int(os.Stdout.Fd())) {
		understood, err := s.Run()
		if err == nil && !understood {
			return exitStatus{statusUsage, nil}
		}
		return err
	}
	before, err := term.MakeRaw(in)
	if err != nil {
		return err
	}
	defer term.Restore(in, before)
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{os.Stdin, os.Stdout}, "structure> ")
	s.In, s.Out, s.Err = sized{t}, t, t
	_, err = s.Run()
	return err
}

// sized is a terminal that knows its size at each line.
type sized struct{ *term.Terminal }

func (s sized) ReadLine() (string, error) {
	if width, height, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		if err := s.SetSize(width, height); err != nil {
			return "", err
		}
	}
	return s.Terminal.ReadLine()
}
