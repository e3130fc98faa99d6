package rundir

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"moriens/internal/files"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/overview"
	"moriens/trace/parquet"
	"moriens/trace/picture"
	"moriens/trace/prv"
)

// A Content is what a run directory is made of.
//
// Several members may have the threads of its run, each the columns of its own. The first member then writes, from what
// is kept, which it has, from what Count has counted, and from files that RenderSums and RenderPictures have made;
// these three are collective.
type Content struct {
	Run     *trace.Run   // the whole run
	Team    team.Threads // who has the columns of which threads of Run
	Kept    *trace.Run   // what of it the detail holds; nil = everything
	Rows    *trace.Run   // whose bursts are the rows of bursts.parquet, where they are more than those of Kept; else nil
	Levels  *Levels      // nil = none
	Sums    *Sums        // of all threads, where Run has the columns of some alone; nil = it has those of all
	Picture int          // about how many bytes the marks of a picture may take; 0 = as many as are usual
	// Report writes the page of which manifest is the text of manifest.json; nil = there is to be none.
	Report   func(w io.Writer, manifest []byte) error
	Manifest *Manifest
	Clusters *Clusters

	figures       *figures           // that Count has counted; nil = Run has all columns
	made          map[string][]byte  // by name, files that RenderSums and RenderPictures have made
	waitsBytes    int64              // of waits.json before it has the waits of windows
	drawn         bool               // RenderPictures has made them
	overview      *overview.Overview // as it was last drawn, for so many bytes
	overviewBytes int
}

// Detail is the run whose calls and bursts are in the directory, and rows the one whose bursts are those of
// bursts.parquet.
func (c *Content) Detail() (detail, rows *trace.Run) {
	if c.Kept == nil {
		return c.Run, c.Run
	}
	return c.Kept, cmp.Or(c.Rows, c.Kept)
}

// ready gives files as they were made before, where they were.
func (c *Content) ready(list []file) []file {
	list = slices.Clone(list)
	for i := range list {
		if text, made := c.made[list[i].name]; made {
			list[i].write = func(w io.Writer) error {
				_, err := w.Write(text)
				return err
			}
		}
	}
	return list
}

// A file is one of the directory's, as it is to be written.
type file struct {
	name, content string
	write         func(io.Writer) error
}

// sumFiles and pictures are those whose size does not depend on how much detail is kept, the dearest first, but for the
// manifest.
func (c *Content) sumFiles() []file {
	list := []file{{ClustersFile, "clusters: parameters, figures, call paths", func(w io.Writer) error { return writeJSON(w, c.Clusters) }}}
	list = append(list, file{CallPathsFile, "call paths: all, by number, with frames", func(w io.Writer) error {
		return writeJSON(w, CallPathsOf(c.Run))
	}})
	return append(list, c.Levels.files()...)
}

func (c *Content) pictures() []file {
	size := cmp.Or(c.Picture, picture.DefaultBytes)
	return []file{
		{OverviewFile, "all ranks over time, for pages", func(w io.Writer) error {
			o, err := c.Overview()
			if err != nil || c.Team.Rank() != 0 {
				return err
			}
			return o.Write(w)
		}},
		{ScatterFile, "picture: burst space", func(w io.Writer) error {
			return picture.Scatter(w, c.Run, c.Team, axes(c.Clusters), size)
		}},
		{TimelineFile, "picture: ranks over time", func(w io.Writer) error { return picture.Timeline(w, c.Run, c.Team, size) }},
	}
}

// Overview is the whole run on a grid. It is collective where it has not been drawn yet for as many bytes.
func (c *Content) Overview() (*overview.Overview, error) {
	if bytes := cmp.Or(c.Picture, overview.DefaultBytes); c.overview == nil || bytes != c.overviewBytes {
		o, err := overview.Shared(c.Run, c.Team, bytes)
		if err != nil {
			return nil, err
		}
		c.overview, c.overviewBytes = o, bytes
	}
	return c.overview, nil
}

// ClustersJSON is the text of clusters.json.
func (c *Content) ClustersJSON() ([]byte, error) { return encode(c.Clusters) }

// detailFiles are the others: of what is kept of a run that has these things, and of the one whose bursts are rows.
func detailFiles(has Has, run, rows *trace.Run) []file {
	bursts := "bursts: all kept ones, with their clusters"
	if rows != run {
		bursts = "bursts: those of windows and a sample of the others, with their clusters"
	}
	list := []file{{BurstsFile, bursts, func(w io.Writer) error {
		_, err := parquet.Write(w, rows)
		return err
	}}}
	if has.Phases {
		list = append(list, file{PhasesFile, "phases: all kept ones that the program named", func(w io.Writer) error { return parquet.WritePhases(w, run) }})
	}
	if has.Events {
		list = append(list, file{EventsFile, "events: all kept ones that the program named", func(w io.Writer) error { return parquet.WriteEvents(w, run) }})
	}
	if has.Transfers {
		list = append(list, file{TransfersFile, "transfers: data sent, received, put, got, written, read by each kept call", func(w io.Writer) error { return parquet.WriteTransfers(w, run) }})
	}
	list = append(list,
		file{LabelsFile, "Paraver trace: labels and colours", func(w io.Writer) error { return prv.WriteLabels(w, run) }},
		file{NamesFile, "Paraver trace: names of nodes, ranks and threads", func(w io.Writer) error { return prv.WriteNames(w, run) }},
	)
	for _, v := range prv.Views(run) {
		list = append(list, file{path.Join(ViewsDir, v.Name+".cfg"), "Paraver configuration: " + v.About, v.Write})
	}
	return append(list,
		file{TraceFile, "Paraver trace: states, MPI calls, messages, clusters, counters", func(w io.Writer) error { return prv.WriteTrace(w, run) }},
	)
}

// counted is what Count has counted, or what is counted of a run that is all here.
func (c *Content) counted() *figures {
	if c.figures != nil {
		return c.figures
	}
	return figuresOf(c.Run)
}

// Describe has manifest and clusters say what the runs contain. It sets Format of both, and manifest.Score.
func (c *Content) Describe() {
	c.Manifest.Format, c.Clusters.Format = ManifestFormat, ClustersFormat
	f := c.counted()
	if c.Kept == nil {
		c.Manifest.Kept.count(c.Run, f, f.Total.Bursts)
	} else {
		detail, rows := c.Detail()
		c.Manifest.Kept.count(detail, figuresOf(detail), rows.Bursts())
	}
	if c.Sums != nil {
		c.Sums.put(f)
	}
	c.Manifest.describe(c.Run, f)
	c.Clusters.describe(c.Run, f)
	c.Manifest.Score = c.Clusters.Score
	levels := cmp.Or(c.Levels, new(Levels))
	if levels.Efficiency != nil {
		levels.Efficiency.Runs[0].Bounded(c.Manifest.timeless)
	}
	c.Clusters.takeCosts(levels.Efficiency, levels.Waits)
	fillEmpty(c.Manifest, c.Clusters)
}

// Write writes a run directory and returns the files with their sizes, the manifest included. It calls Describe, and
// sets Manifest.Files.
//
// A file that fails leaves the others alone: all that can be written is, except manifest.json, and the error joins
// those of the files, each with its name. errors.Is(err, syscall.ENOSPC) shows a full disk.
func Write(c *Content, dir string) ([]File, error) {
	c.Describe()
	if c.Manifest.Nobody() {
		c.Manifest.Files = []File{}
		return writeFiles(dir, []file{{ManifestFile, manifestContent, func(w io.Writer) error { return writeJSON(w, c.Manifest) }}})
	}
	// The smallest and dearest first: a disk may be nearly full.
	files, err := writeFiles(dir, c.ready(slices.Concat(c.sumFiles(), c.pictures())))
	detail, rows := c.Detail()
	has := HasOf(c.Run)
	if c.figures != nil {
		has = c.figures.Has
	}
	large, largeErr := writeFiles(dir, detailFiles(has, detail, rows))
	files = append(files, large...)
	if err := errors.Join(err, largeErr); err != nil {
		return files, err
	}
	c.Manifest.Files = files
	if c.Kept == nil {
		c.Manifest.Reduction.everything(large)
	}
	page, err := c.writeReport(dir)
	if err != nil {
		return files, err
	}
	if err := c.Manifest.weigh(); err != nil {
		return files, err
	}
	last, err := writeFiles(dir, []file{{ManifestFile, manifestContent, func(w io.Writer) error { return writeJSON(w, c.Manifest) }}})
	return slices.Concat(files, page, last), err
}

// writeReport writes the page, and has the manifest name it, without its size, for the page holds the manifest. A page
// that cannot be written costs no results: the manifest says so.
func (c *Content) writeReport(dir string) ([]File, error) {
	if c.Report == nil {
		return nil, nil
	}
	m := c.Manifest
	named := m.Files
	m.Files = append(slices.Clip(named), File{Name: ReportFile, Content: reportContent})
	if err := m.weigh(); err != nil {
		return nil, err
	}
	text, err := encode(m)
	if err != nil {
		return nil, err
	}
	page, err := writeFiles(dir, []file{{ReportFile, reportContent, func(w io.Writer) error { return c.Report(w, text) }}})
	if err != nil {
		m.Files = named
		m.Notes = append(m.Notes, fmt.Sprintf("report.html is missing; moriens report DIR writes it: %v", err))
	}
	return page, nil
}

// WriteReport writes report.html alone into dir, in the place of one that is there.
func WriteReport(dir string, write func(io.Writer) error) (File, error) {
	files, err := writeFiles(dir, []file{{ReportFile, reportContent, write}})
	if err != nil {
		return File{}, err
	}
	return files[0], nil
}

const reportContent = "page: all views, for a browser; not part of reduction.bytes"

const manifestContent = "description of the run and its files"

// Written lists the files of a run directory with their sizes, as Write does.
func (m *Manifest) Written(dir string) ([]File, error) {
	files := slices.Clone(m.Files)
	for i := range files {
		if files[i].Name != ReportFile {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, ReportFile)); err == nil {
			files[i].Bytes = info.Size()
		}
	}
	info, err := os.Stat(filepath.Join(dir, ManifestFile))
	if err != nil {
		return nil, err
	}
	return append(files, File{Name: ManifestFile, Bytes: info.Size(), Content: manifestContent}), nil
}

// writeFiles writes files into dir. One that fails leaves the others alone.
func writeFiles(dir string, list []file) (files []File, err error) {
	var failed []error
	for _, f := range list {
		bytes, err := writeFile(dir, f.name, f.write)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", f.name, err))
			continue
		}
		files = append(files, File{Name: f.name, Bytes: bytes, Content: f.content})
	}
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
	some(&m.Incomplete)
	some(&m.Losses.Hidden)
	some(&m.Notes)
	some(&m.Worlds)
	for i := range m.Worlds {
		some(&m.Worlds[i].Unrecorded)
	}
	some(&m.Hosts)
	some(&m.Agents)
	some(&m.Clocks)
	some(&m.Counters)
	some(&m.Messages.Unmatched)
	some(&m.Communicators)
	some(&m.Filtered.Ranges)
	some(&m.Losses.RanksDied)
	some(&m.Losses.AgentsUnfinished)
	some(&m.Losses.CountersUnavailable)
	some(&m.Kept.Phases)
	some(&m.Kept.Classes)
	some(&m.Kept.Outliers)
	some(&m.Kept.Windows)
	some(&m.Kept.Dropped)
	some(&m.Reduction.Missing)
	some(&m.Reduction.GivenUp)
	if m.Cells != nil {
		some(&m.Cells.Unanswered)
	}
	some(&c.Dimensions)
	some(&c.Eps)
	some(&c.Paths)
	some(&c.Groups)
	if c.Cells != nil {
		some(&c.Cells.Certificate.Steps)
		for i := range c.Cells.Certificate.Steps {
			some(&c.Cells.Certificate.Steps[i].Eps)
		}
	}
	some(&c.Refinement.Chosen)
	some(&c.Refinement.Alternatives)
	some(&c.Refinement.Basins)
	for i := range c.Refinement.Basins {
		some(&c.Refinement.Basins[i].Clusters)
	}
	some(&c.Refinement.Joins)
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

var create = createNew // tests have it on a full disk

// createNew makes a file that is not there. What an earlier write has left in its place goes; so does what others
// have put there, a FIFO or a link, and nothing is written through it.
func createNew(path string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := os.OpenFile(path, flags, 0o666)
	if errors.Is(err, fs.ErrExist) {
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			return nil, fmt.Errorf("%s is a directory", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(path, flags, 0o666)
	}
	return f, err
}

// writeFile makes the file appear whole: it is written beside its place, synced and renamed. On an error nothing is
// left.
func writeFile(dir, name string, write func(io.Writer) error) (bytes int64, err error) {
	place := filepath.Join(dir, name)
	folder := filepath.Dir(place)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return 0, err
	}
	partial := place + ".partial"
	f, err := create(partial)
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
			if folder != filepath.Clean(dir) {
				os.Remove(folder) // if it is empty
			}
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
	if err := os.Rename(partial, place); err != nil {
		return 0, err
	}
	return info.Size(), files.SyncDir(folder)
}
