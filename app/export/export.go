// Package export writes the kept trace of a run directory in other formats: Paraver, OTF2, Perfetto, Parquet, CSV.
//
// Output appears whole or not at all: files are written beside their final place, synced and renamed, and existing
// files are never replaced.
package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"moriens/app/console"
	"moriens/app/question"
	"moriens/internal/hint"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// The formats.
const (
	Paraver  = "prv"
	OTF2     = "otf2"
	Perfetto = "perfetto"
	Parquet  = "parquet"
	CSV      = "csv"
)

// A Config says what to export and where to.
type Config struct {
	Dir    string // run directory
	Format string
	Out    string // file or directory, which must not be there
	Stdout io.Writer
	Stderr io.Writer       // takes notes of what a format has no place for
	Status *console.Status // shows how far it is
}

// Run exports. When ctx ends it stops and leaves nothing behind.
func Run(ctx context.Context, c Config) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Format == OTF2 {
		return c.otf2(ctx)
	}
	c.Status.Show("moriens: reading " + c.Dir)
	run, _, _, err := rundir.Read(c.Dir)
	if err != nil {
		return err
	}
	place, err := newPlace(c.Out)
	if err != nil {
		return err
	}
	defer place.remove()
	files := c.files(run)
	for _, f := range files {
		if err := c.write(ctx, place.in(f.name), f); err != nil {
			return hint.Default(fmt.Errorf("%s: %w", f.name, err), "choose another path with --out")
		}
	}
	if c.directory() {
		err = place.publish()
	} else {
		err = place.publishFiles(files)
	}
	if err != nil {
		return err
	}
	return c.say(Counts(run), files)
}

// check refuses what cannot be written before anything is read.
func (c *Config) check() error {
	base := filepath.Base(c.Out)
	if c.Format == Paraver && (!strings.HasSuffix(strings.TrimSuffix(base, ".gz"), ".prv") || strings.HasPrefix(base, ".prv")) {
		return question.Misuse("name it NAME.prv or NAME.prv.gz; its .pcf, .row and .cfg are written beside it", "--out %s is not the name of a Paraver trace", c.Out)
	}
	for _, name := range c.outputs() {
		if _, err := os.Lstat(name); err == nil {
			return exists(name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return hint.With(err, "name a writable path with --out")
		}
	}
	return nil
}

// outputs are the files, or the directory, that are known to be made before the run is read.
func (c *Config) outputs() []string {
	if c.Format != Paraver {
		return []string{c.Out}
	}
	base := strings.TrimSuffix(strings.TrimSuffix(c.Out, ".gz"), ".prv")
	return []string{c.Out, base + ".pcf", base + ".row"}
}

func exists(name string) error {
	return hint.With(fmt.Errorf("%s: %w", name, fs.ErrExist), "name another path with --out, or remove it first")
}

// directory reports whether the format is a directory of files.
func (c *Config) directory() bool { return c.Format != Paraver && c.Format != Perfetto }

// say prints what was made of how much.
func (c *Config) say(of string, files []*file) error {
	bytes := int64(0)
	for _, f := range files {
		bytes += f.bytes
	}
	if _, err := fmt.Fprintf(c.Stdout, "moriens: %s: %s, %v of %s\n", c.Out, units.Counted(len(files), "file"), units.Bytes(bytes), of); err != nil {
		return hint.With(fmt.Errorf("print the summary: %w", err), "the export is in "+c.Out)
	}
	return nil
}

// Counts says how much a run holds, of each thing.
func Counts(run *trace.Run) string {
	text := strings.Join([]string{
		units.Counted(run.Bursts(), "burst"), units.Counted(run.Calls(), "MPI call"), units.Counted(len(run.Messages), "message"), units.Counted(len(run.Communicators), "communicator"), units.Counted(len(run.Clusters), "cluster"),
	}, ", ")
	if run.Windows != nil {
		text += ", kept in " + units.Counted(len(run.Windows), "window")
	}
	return text
}
