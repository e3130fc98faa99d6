package rundir

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"moriens/trace"
	"moriens/trace/parquet"
)

// counter counts what is written.
type counter struct{ bytes int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}

// size is how many bytes files would have.
func size(files []file) (int64, error) {
	var all counter
	var failed []error
	for _, f := range files {
		out := bufio.NewWriterSize(&all, 1<<16)
		if err := errors.Join(f.write(out), out.Flush()); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", f.name, err))
		}
	}
	return all.bytes, errors.Join(failed...)
}

// DetailBytes is how many bytes the files of a run directory would have that hold the calls and bursts of what is kept
// of a run that has these things, and in bursts.parquet those of rows.
func DetailBytes(has Has, kept, rows *trace.Run) (int64, error) {
	return size(detailFiles(has, kept, rows))
}

// RenderSums makes clusters.json and the levels of all ranks, several at a time, and says how many bytes they have.
// Write takes them as they are: what they describe must not change any more.
func (c *Content) RenderSums(threadsAtWork int) (int64, error) {
	return c.render(c.sumFiles(), threadsAtWork)
}

// TakeWindowWaits adds the waits of windows to those of the whole run, which may have been rendered before, and says
// what is not known of all then. It returns by how many bytes waits.json is larger then than RenderSums has said.
func (c *Content) TakeWindowWaits(windows *WaitsTable, why []string) (int64, error) {
	c.Levels.Waits.Windows, c.Levels.Waits.Why = windows, why
	delete(c.made, WaitsFile)
	bytes, err := size([]file{{WaitsFile, "", c.Levels.Waits.Write}})
	return max(0, bytes-c.waitsBytes), err
}

// TakeProfile puts a profile into the place of the one that RenderSums has made, if that makes the file smaller. It
// returns by how many bytes it is; 0 or less: the profile is as before.
func (c *Content) TakeProfile(p *parquet.Profile) (int64, error) {
	text, err := (&file{ProfileFile, "", func(w io.Writer) error { return parquet.WriteProfile(w, p) }}).text()
	less := c.Rendered(ProfileFile) - int64(len(text))
	if err != nil || less <= 0 {
		return 0, err
	}
	c.made[ProfileFile], c.Levels.Profile = text, p
	return less, nil
}

// Rendered is how many bytes a file has that RenderSums or RenderPictures has made; 0 where they have not.
func (c *Content) Rendered(name string) int64 { return int64(len(c.made[name])) }

// RenderPictures does the same for the pictures. Members of a team draw them together, one after the other, and the
// first has them then.
func (c *Content) RenderPictures(threadsAtWork int) (int64, error) {
	if c.Team.Size() > 1 {
		threadsAtWork = 1
	}
	size, err := c.render(c.pictures(), threadsAtWork)
	c.drawn = err == nil
	return size, err
}

// waitsOfWindows says that waits.json gets those of windows, when they are known.
func (c *Content) waitsOfWindows() bool {
	return c.Levels != nil && c.Levels.Waits != nil && c.Levels.Waits.WholeRun != nil && c.Levels.Waits.WholeRun.Basis == WaitsCollectives
}

// LaterBytes is about how much the files that RenderSums has made grow by what is only known of what is kept: the waits
// of windows take about as much as those of the whole run.
func (c *Content) LaterBytes() int64 {
	if !c.waitsOfWindows() {
		return 0
	}
	if c.Levels.Waits.Main != nil {
		return c.waitsBytes / 2 // which has it and the whole run
	}
	return c.waitsBytes
}

func (c *Content) render(list []file, threadsAtWork int) (size int64, err error) {
	texts, errs := make([][]byte, len(list)), make([]error, len(list))
	free := make(chan struct{}, max(1, threadsAtWork))
	var wg sync.WaitGroup
	for i := range list {
		free <- struct{}{}
		wg.Go(func() {
			texts[i], errs[i] = list[i].text()
			<-free
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	if c.made == nil {
		c.made = make(map[string][]byte)
	}
	for i, f := range list {
		size += int64(len(texts[i]))
		c.made[f.name] = texts[i]
		if f.name == WaitsFile {
			c.waitsBytes = int64(len(texts[i]))
		}
	}
	return size, nil
}

// text is what a file has in it.
func (f *file) text() (text []byte, err error) {
	defer func() {
		// A fault in the drawing of a picture must not cost the other files.
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: internal error: %v", f.name, p)
		}
	}()
	var b bytes.Buffer
	if err := f.write(&b); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	return b.Bytes(), nil
}

// ManifestBytes is how many the manifest has as it is now.
func (c *Content) ManifestBytes() (int64, error) {
	return size([]file{{ManifestFile, "", func(w io.Writer) error { return writeJSON(w, c.Manifest) }}})
}

// everything says that the files with detail hold all of it.
func (r *Reduction) everything(detail []File) {
	r.FullBytes, r.FullMeasured = 0, true
	for _, f := range detail {
		r.FullBytes += f.Bytes
	}
}

// ratioRounds is how often the ratio may follow the size of the manifest that has it.
const ratioRounds = 8

// weigh says how many bytes the directory has, the manifest that says so included.
func (m *Manifest) weigh() error {
	files := int64(0)
	for _, f := range m.Files {
		files += f.Bytes
	}
	r := &m.Reduction
	for round := 1; ; round++ {
		own, err := size([]file{{ManifestFile, "", func(w io.Writer) error { return writeJSON(w, m) }}})
		if err != nil || r.Bytes == files+own {
			return err
		}
		r.Bytes = files + own
		// Another digit makes the manifest longer, and another ratio may remove that digit again: then the ratio is kept.
		if round < ratioRounds {
			r.Ratio = Number(math.Round(1e4*float64(r.FullBytes)/float64(r.Bytes)) / 1e4)
		}
	}
}
