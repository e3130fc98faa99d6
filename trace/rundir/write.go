package rundir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/picture"
	"moriens/trace/prv"
)

// Write writes the run into dir and returns the files with their sizes, the manifest included. It calls Describe on
// manifest and clusters, and sets Format of both, manifest.Score and manifest.Files.
//
// A file that fails leaves the others alone: all that can be written is, except manifest.json, and the error joins
// those of the files, each with its name. errors.Is(err, syscall.ENOSPC) tells a full disk.
func Write(run *trace.Run, manifest *Manifest, clusters *Clusters, dir string) ([]File, error) {
	manifest.Format, clusters.Format = FormatVersion, FormatVersion
	manifest.Describe(run)
	clusters.Describe(run)
	manifest.Score = clusters.Score
	fillEmpty(manifest, clusters)

	var files []File
	var failed []error
	put := func(name, content string, write func(io.Writer) error) {
		bytes, err := writeFile(dir, name, write)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
			return
		}
		files = append(files, File{Name: name, Bytes: bytes, Content: content})
	}
	// The smallest and dearest first: a disk may be nearly full.
	put(ClustersFile, "clusters: parameters, figures, call paths", func(w io.Writer) error { return writeJSON(w, clusters) })
	put(BurstsFile, "bursts: every kept one, with its cluster", func(w io.Writer) error {
		_, err := parquet.Write(w, run)
		return err
	})
	if len(manifest.Phases) > 0 {
		put(PhasesFile, "phases: every one that the program named", func(w io.Writer) error { return parquet.WritePhases(w, run) })
	}
	if len(manifest.Events) > 0 {
		put(EventsFile, "events: every one that the program named", func(w io.Writer) error { return parquet.WriteEvents(w, run) })
	}
	put(LabelsFile, "Paraver trace: labels and colours", func(w io.Writer) error { return prv.WriteLabels(w, run) })
	put(NamesFile, "Paraver trace: names of nodes, ranks and threads", func(w io.Writer) error { return prv.WriteNames(w, run) })
	put(ScatterFile, "picture: burst space", func(w io.Writer) error { return picture.Scatter(w, run, axes(clusters)) })
	put(TimelineFile, "picture: ranks over time", func(w io.Writer) error { return picture.Timeline(w, run) })
	put(TraceFile, "Paraver trace: states, MPI calls, messages, clusters, counters", func(w io.Writer) error { return prv.WriteTrace(w, run) })
	if len(failed) > 0 {
		return files, errors.Join(failed...)
	}
	manifest.Files = files
	put(ManifestFile, "what this is and how it came about", func(w io.Writer) error { return writeJSON(w, manifest) })
	return files, errors.Join(failed...)
}

// axes are the dimensions as the picture takes them: it draws the first two.
func axes(c *Clusters) []picture.Dimension {
	var list []picture.Dimension
	for _, d := range c.Dimensions {
		list = append(list, picture.Dimension{Name: d.Name, Log: d.Scale == "log"})
	}
	return list
}

// fillEmpty makes lists that are nil empty ones: their readers expect [] and {}, not null.
func fillEmpty(m *Manifest, c *Clusters) {
	some(&m.Command)
	some(&m.Notes)
	some(&m.Worlds)
	some(&m.Hosts)
	some(&m.Agents)
	some(&m.Clocks)
	some(&m.Counters)
	some(&m.Messages.Unmatched)
	some(&m.Communicators)
	some(&m.Filtered.Ranges)
	some(&m.Losses.RanksDied)
	some(&m.Losses.CountersUnavailable)
	some(&c.Dimensions)
	some(&c.Eps)
	some(&c.Groups)
	some(&c.Refinement.Chosen)
	some(&c.Refinement.Alternatives)
	some(&c.Refinement.Levels)
	for i := range c.Refinement.Levels {
		level := &c.Refinement.Levels[i]
		some(&level.Eps)
		some(&level.Nodes)
		for k := range level.Nodes {
			some(&level.Nodes[k].Parents)
		}
	}
	if m.StageSeconds == nil {
		m.StageSeconds = map[string]Number{}
	}
}

func some[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}

func writeJSON(w io.Writer, v any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// writeFile makes the file appear whole: it is written beside its place, synced and renamed. On an error nothing is left.
func writeFile(dir, name string, write func(io.Writer) error) (bytes int64, err error) {
	path := filepath.Join(dir, name)
	partial := path + ".partial"
	f, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return 0, err
	}
	open := true
	defer func() {
		// A fault in the drawing of a picture must not cost the other files.
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
		if err != nil {
			bytes = 0
			if open {
				f.Close()
			}
			os.Remove(partial)
		}
	}()
	out := bufio.NewWriterSize(f, 1<<18)
	if err := write(out); err != nil {
		return 0, err
	}
	if err := out.Flush(); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	open = false
	if err := f.Close(); err != nil {
		return 0, err
	}
	if err := os.Rename(partial, path); err != nil {
		return 0, err
	}
	return info.Size(), syncDir(dir)
}

// syncDir makes a rename last; file systems that cannot are left at that.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
