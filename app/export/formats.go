package export

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"moriens/internal/files"
	"moriens/trace"
	"moriens/trace/csv"
	"moriens/trace/parquet"
	"moriens/trace/perfetto"
	"moriens/trace/prv"
	"moriens/trace/rundir"
	"moriens/trace/table"
)

// A file is one to be written.
type file struct {
	name  string // its last part
	write func(io.Writer) error
	bytes int64
}

// files are those of the format, the one that lists the others last.
func (c *Config) files(run *trace.Run) []*file {
	switch c.Format {
	case Paraver:
		return paraver(filepath.Base(c.Out), run)
	case Perfetto:
		return []*file{{name: filepath.Base(c.Out), write: func(w io.Writer) error { return perfetto.Write(w, run) }}}
	case Parquet:
		return c.tables(run, ".parquet", func(w io.Writer, t table.Table) error { return writeParquet(w, run, t) })
	}
	return c.tables(run, ".csv", csv.Write)
}

func paraver(out string, run *trace.Run) []*file {
	base := strings.TrimSuffix(strings.TrimSuffix(out, ".gz"), ".prv")
	list := []*file{
		{name: base + ".pcf", write: func(w io.Writer) error { return prv.WriteLabels(w, run) }},
		{name: base + ".row", write: func(w io.Writer) error { return prv.WriteNames(w, run) }},
	}
	for _, v := range prv.Views(run) {
		list = append(list, &file{name: base + "." + v.Name + ".cfg", write: v.Write})
	}
	return append(list, &file{name: out, write: func(w io.Writer) error { return prv.WriteTrace(w, run) }})
}

func (c *Config) tables(run *trace.Run, ending string, write func(io.Writer, table.Table) error) []*file {
	var list []*file
	for _, t := range append(table.All(run), parquet.WaitsTable(c.scanWaits)) {
		list = append(list, &file{name: t.Name + ending, write: func(w io.Writer) error { return write(w, t) }})
	}
	return list
}

// scanWaits hands out the rows of waits.parquet, which the run directory does not have where waits are not known.
func (c *Config) scanWaits(give func(rows []parquet.WaitsRow) error) error {
	f, err := files.Open(filepath.Join(c.Dir, rundir.WaitsTableFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return parquet.ScanWaits(f, f.Size(), give)
}

// writeParquet writes bursts, phases and events in the formats that they have in a run directory.
func writeParquet(w io.Writer, run *trace.Run, t table.Table) error {
	switch t.Name {
	case "bursts":
		_, err := parquet.Write(w, run)
		return err
	case "phases":
		return parquet.WritePhases(w, run)
	case "events":
		return parquet.WriteEvents(w, run)
	}
	return parquet.WriteTable(w, t)
}
