package export

import (
	"io"
	"path/filepath"
	"strings"

	"moriens/trace"
	"moriens/trace/csv"
	"moriens/trace/parquet"
	"moriens/trace/perfetto"
	"moriens/trace/prv"
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
		return tables(run, ".parquet", func(w io.Writer, t table.Table) error { return writeParquet(w, run, t) })
	}
	return tables(run, ".csv", csv.Write)
}

func paraver(out string, run *trace.Run) []*file {
	base := strings.TrimSuffix(strings.TrimSuffix(out, ".gz"), ".prv")
	files := []*file{
		{name: base + ".pcf", write: func(w io.Writer) error { return prv.WriteLabels(w, run) }},
		{name: base + ".row", write: func(w io.Writer) error { return prv.WriteNames(w, run) }},
	}
	for _, v := range prv.Views(run) {
		files = append(files, &file{name: base + "." + v.Name + ".cfg", write: v.Write})
	}
	return append(files, &file{name: out, write: func(w io.Writer) error { return prv.WriteTrace(w, run) }})
}

func tables(run *trace.Run, ending string, write func(io.Writer, table.Table) error) []*file {
	var files []*file
	for _, t := range table.All(run) {
		files = append(files, &file{name: t.Name + ending, write: func(w io.Writer) error { return write(w, t) }})
	}
	return files
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
