package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	pq "github.com/parquet-go/parquet-go"

	"moriens/internal/files"
	"moriens/trace"
)

// ReadFile reads a file that Write wrote; see Read.
func ReadFile(path string) (*trace.Run, error) { return readFile(path, Read) }

// ReadNumberedFile reads a file that Write wrote; see ReadNumbered.
func ReadNumberedFile(path string, paths []trace.CallPath, names []string) (*trace.Run, error) {
	return readFile(path, func(in io.ReaderAt, bytes int64) (*trace.Run, error) { return ReadNumbered(in, bytes, paths, names) })
}

func readFile[T any](path string, read func(in io.ReaderAt, bytes int64) (*T, error)) (*T, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := read(f, f.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

// Read reads what Write wrote: threads with their bursts, call paths of one frame, counters. Worlds are as large as the
// highest rank with a burst; calls, nodes, phases and messages are not in the file, nor are threads without a burst.
func Read(in io.ReaderAt, bytes int64) (run *trace.Run, err error) {
	return ReadNumbered(in, bytes, nil, nil)
}

// ReadNumbered reads what Write wrote of a run whose call paths and their names are known, and gives bursts the numbers
// of these. That a file gives them other names is an error. Without call paths it is Read.
func ReadNumbered(in io.ReaderAt, bytes int64, paths []trace.CallPath, names []string) (run *trace.Run, err error) {
	err = withFile(in, bytes, func(f *pq.File) error {
		run, err = readRun(f, paths, names)
		return err
	})
	if err != nil {
		return nil, err
	}
	return run, nil
}

// withFile hands an opened file of the present format to read.
func withFile(in io.ReaderAt, bytes int64, read func(*pq.File) error) error {
	return withDense(in, bytes, valuesPerByte, read)
}

// withDense is that for a file that may have so many values in a byte.
func withDense(in io.ReaderAt, bytes, perByte int64, read func(*pq.File) error) (err error) {
	return withFormats(in, bytes, perByte, FormatVersion, func(f *pq.File, _ int) error { return read(f) })
}

// withFormats is that for a file of one of the formats from 1 to the newest.
func withFormats(in io.ReaderAt, bytes, perByte int64, newest int, read func(f *pq.File, format int) error) error {
	return sound(func() error {
		f, err := open(in, bytes, perByte)
		if err != nil {
			return err
		}
		format, err := formatIn(f, newest)
		if err != nil {
			return err
		}
		return read(f, format)
	})
}

// formatIn is the format of a file: one from 1 to the newest.
func formatIn(f *pq.File, newest int) (int, error) {
	v, _ := f.Lookup(keyFormat)
	format, err := strconv.Atoi(v)
	if err != nil || format < 1 || format > newest {
		return 0, fmt.Errorf("format %q, not %d", v, newest)
	}
	return format, nil
}

// sound makes an error of a panic: the library panics on some malformed pages.
func sound(read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed parquet file: %v", p)
		}
	}()
	return read()
}

func readRun(f *pq.File, paths []trace.CallPath, names []string) (*trace.Run, error) {
	r := &reader{
		run:   &trace.Run{CallPaths: []trace.CallPath{{}}},
		paths: map[string]uint32{trace.CallPath{}.String(): 0}, lineages: map[string]uint32{"": 0},
	}
	if paths != nil {
		r.run.CallPaths, r.run.PathNames, r.numbered = paths, names, true
	}
	if err := r.columns(f); err != nil {
		return nil, err
	}
	for _, g := range f.RowGroups() {
		if err := r.group(g); err != nil {
			return nil, err
		}
	}
	for i := range r.run.Threads {
		t := &r.run.Threads[i]
		b := &t.Bursts
		if r.run.Lineages == nil {
			b.Lineage = nil
		}
		if slices.Equal(b.Kind, b.Cluster) {
			b.Kind = nil
		}
		t.BeginNS = b.StartNS[0]
		t.EndNS = b.StartNS[b.Len()-1] + b.DurationNS[b.Len()-1]
		r.run.DurationNS = max(r.run.DurationNS, t.EndNS)
	}
	r.run.SummariseClusters()
	return r.run, nil
}

type reader struct {
	run      *trace.Run
	paths    map[string]uint32
	numbered bool // the file's numbers are those of run.CallPaths
	lineages map[string]uint32
	place    []int // in the file, of leading and then of the counters; -1 = not there
}

func (r *reader) columns(f *pq.File) error {
	r.place = slices.Repeat([]int{-1}, len(leading))
	for i, name := range leading {
		if i == columnPhase {
			continue // its name alone is not the phase
		}
		if (i == columnPathBefore || i == columnPathAfter) && !r.numbered {
			continue // numbers of nothing
		}
		c, ok := f.Schema().Lookup(name)
		if !ok && (i == columnNodes || i == columnKind) {
			continue // of an earlier version
		}
		if !ok {
			return fmt.Errorf("no column %s", name)
		}
		want := pq.Int64
		switch i {
		case columnWorld, columnRank, columnThread, columnCluster, columnKind, columnPathBefore, columnPathAfter:
			want = pq.Int32
		case columnWeight:
			want = pq.Double
		case columnBefore, columnAfter, columnNodes:
			want = pq.ByteArray
		}
		if c.Node.Type().Kind() != want || c.Node.Repeated() || c.Node.Required() == (i == columnNodes) {
			return fmt.Errorf("column %s is of type %s, not %s, or it is not as often there", name, c.Node.Type(), want)
		}
		r.place[i] = c.ColumnIndex
	}
	for _, field := range f.Schema().Fields() {
		if slices.Contains(leading, field.Name()) {
			continue
		}
		if !field.Leaf() || field.Type().Kind() != pq.Int64 || field.Repeated() {
			continue // of a later version
		}
		c, _ := f.Schema().Lookup(field.Name())
		unit, _ := f.Lookup(keyUnit + field.Name())
		r.run.Counters = append(r.run.Counters, trace.Counter{Name: counterOf(field.Name()), Unit: unit})
		r.place = append(r.place, c.ColumnIndex)
	}
	return nil
}

var errRows = errors.New("columns of a row group differ in length")

func (r *reader) group(g pq.RowGroup) error {
	columns := make([]*columnReader, len(r.place))
	for i, p := range r.place {
		if p < 0 {
			continue
		}
		columns[i] = newColumnReader(g.ColumnChunks()[p])
		defer columns[i].pages.Close()
	}
	for left := g.NumRows(); left > 0; {
		n := int(min(left, rowsPerBatch))
		for _, c := range columns {
			if c == nil {
				continue
			}
			if err := c.read(n); err != nil {
				return err
			}
		}
		for k := range n {
			if err := r.row(columns, k); err != nil {
				return err
			}
		}
		left -= int64(n)
	}
	return nil
}

func (r *reader) row(columns []*columnReader, k int) error {
	world, rank := int(columns[columnWorld].values[k].Int32()), int(columns[columnRank].values[k].Int32())
	thread := int(columns[columnThread].values[k].Int32())
	run := r.run
	n := len(run.Threads)
	if n == 0 || run.Threads[n-1].Thread != thread || run.Threads[n-1].Rank != rank || run.Threads[n-1].World != world {
		if world < 0 || rank < 0 || thread < 0 || world > 1<<20 {
			return fmt.Errorf("no world %d rank %d thread %d", world, rank, thread)
		}
		for len(run.Worlds) <= world {
			run.Worlds = append(run.Worlds, trace.World{})
		}
		run.Worlds[world].Size = max(run.Worlds[world].Size, rank+1)
		t := trace.Thread{World: world, Rank: rank, Thread: thread}
		t.Bursts.Counters = make([][]int64, len(run.Counters))
		run.Threads = append(run.Threads, t)
		if err := check(run, n); err != nil {
			return err
		}
		n++
	}
	b := &run.Threads[n-1].Bursts
	weight := columns[columnWeight].values[k].Double()
	if b.Weight == nil && weight != 1 {
		b.Weight = slices.Repeat([]float64{1}, b.Len())
	}
	if b.Weight != nil {
		b.Weight = append(b.Weight, weight)
	}
	b.StartNS = append(b.StartNS, columns[columnStart].values[k].Int64())
	b.DurationNS = append(b.DurationNS, columns[columnDuration].values[k].Int64())
	label := columns[columnCluster].values[k].Int32()
	if label < trace.LabelMissing || label > 1<<20 {
		return fmt.Errorf("no cluster %d", label)
	}
	b.Cluster = append(b.Cluster, label)
	if kinds := columns[columnKind]; kinds != nil {
		kind := kinds.values[k].Int32()
		if kind < trace.LabelMissing || kind > 1<<20 {
			return fmt.Errorf("no kind %d", kind)
		}
		b.Kind = append(b.Kind, kind)
	}
	if nodes := columns[columnNodes]; nodes != nil {
		b.Lineage = append(b.Lineage, r.lineage(nodes.values[k]))
	}
	before, err := r.path(columns[columnBefore].values[k], columns[columnPathBefore], k)
	if err != nil {
		return err
	}
	after, err := r.path(columns[columnAfter].values[k], columns[columnPathAfter], k)
	if err != nil {
		return err
	}
	b.Before, b.After = append(b.Before, before), append(b.After, after)
	for c := range b.Counters {
		count := trace.NoCount
		if v := columns[firstCounter+c].values[k]; !v.IsNull() {
			count = v.Int64()
		}
		b.Counters[c] = append(b.Counters[c], count)
	}
	return nil
}

// path is the number of a call path: the one that the row gives, where there are numbers.
func (r *reader) path(v pq.Value, numbers *columnReader, row int) (uint32, error) {
	if numbers != nil {
		n := numbers.values[row].Int32()
		if n < 0 || int(n) >= len(r.run.CallPaths) {
			return 0, fmt.Errorf("there is no call path %d", n)
		}
		if name := string(v.ByteArray()); name != r.run.PathNames[n] {
			return 0, fmt.Errorf("call path %d is %s, not %s as it says", n, r.run.PathNames[n], name)
		}
		return uint32(n), nil
	}
	if i, ok := r.paths[string(v.ByteArray())]; ok {
		return i, nil
	}
	name := string(v.ByteArray())
	i := uint32(len(r.run.CallPaths))
	r.run.CallPaths = append(r.run.CallPaths, parsePath(name))
	r.paths[name] = i
	return i, nil
}

func (r *reader) lineage(v pq.Value) uint32 {
	i, known := r.lineages[string(v.ByteArray())] // null is not known, 0
	if !known {
		if r.run.Lineages == nil {
			r.run.Lineages = []string{""}
		}
		i = uint32(len(r.run.Lineages))
		nodes := string(v.ByteArray())
		r.run.Lineages = append(r.run.Lineages, nodes)
		r.lineages[nodes] = i
	}
	return i
}

// parsePath gives a call path that prints as text does. Whether what stands before an offset is a module or a function,
// with frames further out perhaps, the text does not show; it becomes the module.
func parsePath(text string) trace.CallPath {
	function, place, ok := strings.Cut(text, "@")
	if !ok || place == "" {
		return trace.CallPath{Function: text}
	}
	var frame trace.Frame
	if i := strings.LastIndex(place, "+0x"); i > 0 {
		if offset, err := strconv.ParseUint(place[i+3:], 16, 64); err == nil {
			frame.Module, frame.Offset = place[:i], offset
		}
	}
	if i := strings.LastIndexByte(place, ':'); frame.Module == "" && i > 0 {
		if line, err := strconv.ParseInt(place[i+1:], 10, 32); err == nil && line > 0 {
			frame.File, frame.Line = place[:i], int(line)
		}
	}
	if frame.Same(&trace.Frame{}) {
		frame.Function = place
	}
	p := trace.CallPath{Function: function, Frames: []trace.Frame{frame}}
	if p.String() != text {
		return trace.CallPath{Function: text}
	}
	return p
}

// A columnReader reads a column of a row group in batches, across its pages.
type columnReader struct {
	pages  pq.Pages
	page   pq.ValueReader
	values []pq.Value
}

func newColumnReader(c pq.ColumnChunk) *columnReader {
	return &columnReader{pages: c.Pages(), values: make([]pq.Value, rowsPerBatch)}
}

func (c *columnReader) read(n int) error {
	for have := 0; have < n; {
		if c.page == nil {
			p, err := c.pages.ReadPage()
			if err == io.EOF {
				return errRows
			}
			if err != nil {
				return err
			}
			c.page = p.Values()
		}
		got, err := c.page.ReadValues(c.values[have:n])
		have += got
		switch {
		case err == io.EOF:
			c.page = nil
		case err != nil:
			return err
		case got == 0:
			return io.ErrNoProgress
		}
	}
	return nil
}
