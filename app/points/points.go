// Package points reads plain points, one per row, from files of two formats: CSV, with or without a line of names, and
// NumPy's .npy with float32 or float64. It recognizes the format by the content.
//
// A .npy file may be read by ranges of rows, by several processes.
//
// Out come float64 coordinates in the unit of the file. The package never drops a row: ragged, truncated, empty or
// non-finite input is an error that names the place.
package points

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"moriens/internal/files"
	"moriens/internal/hint"
)

// A Matrix is points, row by row.
type Matrix struct {
	Dims   int // columns, 1 or more
	Coords []float64
}

// Rows returns the number of points.
func (m Matrix) Rows() int { return len(m.Coords) / m.Dims }

// ReadFile reads a file of points, of which there has to be one at least.
func ReadFile(path string) (Matrix, error) {
	f, err := open(path)
	if err != nil {
		return Matrix{}, err
	}
	defer f.Close()
	m, err := read(f, f.Size())
	if err != nil {
		return Matrix{}, badFile(path, err)
	}
	return m, nil
}

func open(path string) (*files.File, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, hint.With(err, "give a file of points, CSV or .npy")
	}
	return f, nil
}

func badFile(path string, err error) error {
	return hint.With(fmt.Errorf("%s: %w", path, err),
		"points are rows of numbers: CSV, or .npy with float32 or float64 and the shape (rows, dimensions)")
}

var errEmpty = errors.New("no points in it")

// read reads points to the end of r, of size bytes.
func read(r io.Reader, size int64) (Matrix, error) {
	b := bufio.NewReaderSize(r, 1<<20)
	start, err := b.Peek(len(npyMagic))
	if err != nil && err != io.EOF {
		return Matrix{}, err
	}
	if bytes.HasPrefix(start, []byte(npyMagic)) {
		return readNPY(b, size)
	}
	return readCSV(b)
}

// check returns an error for a number that is not finite.
func check(v float64, where string, at, column int) error {
	if v-v != 0 { // NaN for NaN and for ±Inf
		return fmt.Errorf("%s %d, column %d: %v is not a finite number", where, at, column, v)
	}
	return nil
}
