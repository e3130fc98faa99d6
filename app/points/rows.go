package points

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"moriens/internal/files"
)

// ErrWhole is that a file can be read as a whole alone.
var ErrWhole = errors.New("only .npy files can be read by rows")

// Rows is a .npy file of which any range of rows can be read.
type Rows struct {
	Count, Dims int // of rows, and of columns

	path   string
	file   *files.File
	header npyHeader
	start  int64 // of the numbers, in the file
}

// OpenRows opens a file. Where it is no .npy file the error is ErrWhole; other errors are as those of
// ReadFile, but that no number has been read.
func OpenRows(path string) (*Rows, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	r := &Rows{path: path, file: f}
	if err := r.begin(f.Size()); err != nil {
		f.Close()
		if err == ErrWhole {
			return nil, err
		}
		return nil, badFile(path, err)
	}
	return r, nil
}

// begin reads the header of a file of size bytes.
func (r *Rows) begin(size int64) error {
	in := &counting{in: r.file}
	b := bufio.NewReader(in)
	if magic, err := b.Peek(len(npyMagic)); err != nil && err != io.EOF {
		return err
	} else if !bytes.Equal(magic, []byte(npyMagic)) {
		return ErrWhole
	}
	h, err := readHeader(b)
	if err != nil {
		return badHeader(err)
	}
	if h.rows == 0 || h.dims == 0 {
		return errEmpty
	}
	r.start = in.read - int64(b.Buffered())
	r.header, r.Count, r.Dims = h, h.rows, h.dims
	switch numbers := int((size - r.start) / int64(h.size)); {
	case numbers < h.rows*h.dims:
		return h.truncated(numbers)
	case size-r.start > int64(h.rows*h.dims*h.size):
		return h.tooLong()
	}
	return nil
}

// A counting reader counts what is read of another.
type counting struct {
	in   io.Reader
	read int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.read += int64(n)
	return n, err
}

// Read reads the rows from begin up to end, which may be none.
func (r *Rows) Read(begin, end int) (Matrix, error) {
	m := Matrix{Dims: r.Dims, Coords: make([]float64, 0, (end-begin)*r.Dims)}
	var err error
	if !r.header.byColumns {
		m.Coords, err = r.numbers(m.Coords, begin*r.Dims, end*r.Dims)
	}
	for column := 0; column < r.Dims && r.header.byColumns && err == nil; column++ {
		m.Coords, err = r.numbers(m.Coords, column*r.Count+begin, column*r.Count+end)
	}
	if err != nil {
		return Matrix{}, badFile(r.path, err)
	}
	if r.header.byColumns {
		m.Coords = byRows(m.Coords, end-begin, r.Dims)
	}
	return m, nil
}

// numbers appends the file's numbers from begin up to end.
func (r *Rows) numbers(to []float64, begin, end int) ([]float64, error) {
	size := r.header.size
	buffer := make([]byte, min(1<<20/size, end-begin)*size)
	for begin < end {
		some := buffer[:min(len(buffer), (end-begin)*size)]
		if _, err := r.file.ReadAt(some, r.start+int64(begin*size)); err != nil {
			return to, err
		}
		var err error
		if to, err = r.header.numbers(to, some, begin); err != nil {
			return to, err
		}
		begin += len(some) / size
	}
	return to, nil
}

// Close closes the file.
func (r *Rows) Close() error { return r.file.Close() }
