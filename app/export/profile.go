package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"moriens/app/pairing"
	"moriens/app/profiling"
	"moriens/app/question"
	"moriens/internal/hint"
	"moriens/internal/plain"
	"moriens/internal/units"
	"moriens/trace/calltree"
	"moriens/trace/folded"
	"moriens/trace/hatchet"
	"moriens/trace/pprof"
	"moriens/trace/rundir"
	"moriens/trace/tauprofile"
)

// The formats of profiles.
const (
	Pprof   = "pprof"
	Folded  = "folded"
	Hatchet = "hatchet"
	TAU     = "tau"
)

// OfProfiles reports whether a format is one of profiles.
func OfProfiles(format string) bool {
	switch format {
	case Pprof, Folded, Hatchet, TAU:
		return true
	}
	return false
}

// A ProfileConfig says what of a profile to export, and where to.
type ProfileConfig struct {
	Dir    string
	By     profiling.By       // ByPhase, ByCallPath, ByCall, ByLoop, ByCluster; empty: call paths in phases
	In     *profiling.Pattern // of which phases; nil: all
	Ranks  pairing.RankList
	Format string
	Unit   time.Duration // of folded stacks
	Out    string        // a file, of TAU a directory; neither may exist, but an empty directory. Empty: Stdout
	Stdout io.Writer
	Stderr io.Writer // for notes; nil: none
}

// shape is that of the tree to export.
func (c *ProfileConfig) shape() (profiling.Shape, error) {
	s := profiling.Exported
	switch c.By {
	case "":
	case profiling.ByPhase:
		s.Calls = profiling.ByFunction
	case profiling.ByCallPath:
		s.Phases = false
	case profiling.ByCall:
		s = profiling.Shape{Calls: profiling.ByFunction}
	case profiling.ByLoop:
		s = profiling.Shape{Calls: profiling.ByLoops}
	case profiling.ByCluster:
		s = profiling.Shape{Calls: profiling.Together}
	default:
		return s, question.Misuse("leave out --by for call paths in phases, or give one of phase, callpath, call, loop, cluster", "--by %s has no tree that --format %s could hold", c.By, c.Format)
	}
	s.In = c.In
	return s, nil
}

// Run exports, whole or not at all.
func (c *ProfileConfig) Run(ctx context.Context) error {
	shape, err := c.shape()
	if err != nil {
		return err
	}
	if c.Format == TAU && c.Out == "" {
		return question.Misuse("name a directory with --out", "--format %s is a directory of files", TAU)
	}
	if err := c.Vacant(); err != nil {
		return err
	}
	s, err := profiling.Open(c.Dir)
	if err != nil {
		return err
	}
	const lacks = "phases are not known: an earlier version of moriens wrote " + rundir.ProfileFile
	if s.Format < 2 && c.By == profiling.ByPhase {
		return question.Lacking("measure, or analyze, again with this version; --by callpath has no phases", lacks)
	}
	if c.Format == TAU && s.ByClass(shape) {
		const known = rundir.ProfileFile + " has sums of call paths over classes of ranks, and a file of TAU is of a thread"
		if c.By == profiling.ByCallPath || c.By == profiling.ByLoop {
			return question.Misuse("leave out --by, or --by phase or call: functions of MPI and clusters are known of each thread; or measure with a larger --keep", known)
		}
		shape.Calls = profiling.ByFunction
		c.note(known + ": functions of the program are left out, functions of MPI and clusters are there")
	}
	t, err := s.Tree(shape, c.Ranks)
	if err != nil {
		return err
	}
	if t.Ranks > 0 {
		c.note(fmt.Sprintf("%s has call paths as sums of classes of ranks: the values are those of %s, not of each rank", rundir.ProfileFile, units.Counted(len(t.Threads), "class")))
	}
	if s.Format < 2 && shape.Phases {
		c.note(lacks)
	}
	each := t.Each
	t.Each = func(give func(thread int, v *calltree.Values) error) error {
		return each(func(thread int, v *calltree.Values) error {
			if ctx.Err() != nil {
				return hint.With(context.Cause(ctx), "no files remain")
			}
			return give(thread, v)
		})
	}
	return c.write(s, t)
}

// note says what is not in the export.
func (c *ProfileConfig) note(text string) {
	if c.Stderr != nil {
		fmt.Fprintln(c.Stderr, "note: "+text)
	}
}

// Vacant refuses a place where something is, before anything is read.
func (c *ProfileConfig) Vacant() error {
	if c.Out == "" {
		return nil
	}
	if _, err := os.Lstat(c.Out); err != nil {
		return nil // what is wrong with it is found when it is made
	}
	if c.Format == TAU {
		if list, err := os.ReadDir(c.Out); err == nil && len(list) == 0 {
			return nil
		}
	}
	return question.Misuse("choose another name, or remove it", "%s exists", c.Out)
}

func (c *ProfileConfig) write(s *profiling.Source, t *calltree.Tree) error {
	if c.Format == TAU {
		if err := c.writeTAU(s, t); err != nil {
			return err
		}
		return c.say(units.Counted(tauprofile.Files(t), "file"), t)
	}
	write := func(w io.Writer) error { return c.stream(w, s, t) }
	if c.Out == "" {
		return write(c.Stdout)
	}
	bytes, err := File(c.Out, write)
	if err != nil {
		return err
	}
	return c.say(units.Bytes(bytes).String(), t)
}

// say says what was written.
func (c *ProfileConfig) say(what string, t *calltree.Tree) error {
	of := units.Counted(len(t.Threads), "thread")
	if t.Ranks > 0 {
		of = fmt.Sprintf("%s of %s", units.Counted(len(t.Threads), "class"), units.Counted(t.Ranks, "rank"))
	}
	if _, err := fmt.Fprintf(plain.Writer(c.Stdout), "moriens: %s: %s, %s of %s\n", c.Out, what, units.Counted(len(t.Nodes), "node"), of); err != nil {
		return hint.With(fmt.Errorf("print the summary: %w", err), "the export is in "+c.Out)
	}
	return nil
}

// stream writes a format that is one file.
func (c *ProfileConfig) stream(w io.Writer, s *profiling.Source, t *calltree.Tree) error {
	switch c.Format {
	case Folded:
		return folded.Write(w, t, c.Unit)
	case Hatchet:
		return hatchet.Write(w, t)
	}
	o := pprof.Options{Start: s.Manifest.Started}
	if ns := float64(s.Manifest.Seconds) * 1e9; ns > 0 && ns < math.MaxInt64 {
		o.Duration = time.Duration(math.Round(ns))
	}
	return pprof.Write(w, t, o)
}

func (c *ProfileConfig) writeTAU(s *profiling.Source, t *calltree.Tree) error {
	o := tauprofile.Options{Chosen: c.Ranks != nil}
	for i := range s.Manifest.Worlds {
		o.Sizes = append(o.Sizes, s.Manifest.Worlds[i].Size)
	}
	err := Directory(c.Out, func(create func(string) (io.WriteCloser, error)) error { return tauprofile.Write(t, o, create) })
	if errors.Is(err, tauprofile.ErrTooMany) {
		return question.Misuse(fmt.Sprintf("choose ranks: --rank 0-15; or write all the files: --rank %s", allRanks(t)), "%w", err)
	}
	return err
}

// allRanks is the list of ranks that is all of them.
func allRanks(t *calltree.Tree) string {
	var list []string
	several := t.Threads[0].World != t.Threads[len(t.Threads)-1].World
	for i := 0; i < len(t.Threads); {
		first := t.Threads[i]
		last := first
		for i < len(t.Threads) && t.Threads[i].World == first.World && t.Threads[i].Rank <= last.Rank+1 {
			last = t.Threads[i]
			i++
		}
		text := fmt.Sprintf("%d-%d", first.Rank, last.Rank)
		if first.Rank == last.Rank {
			text = fmt.Sprint(first.Rank)
		}
		if several {
			text = fmt.Sprintf("%d:%s", first.World, text)
		}
		list = append(list, text)
	}
	return strings.Join(list, ",")
}
