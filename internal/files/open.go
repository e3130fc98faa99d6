package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// How many bytes a file may hold that is read into memory.
const (
	MostJSON = 512 << 20 // a document of a run directory
	MostSide = 1 << 30   // the labels or the names of a trace
)

// ErrNotRegular is the error for what is there and is no regular file.
var ErrNotRegular = errors.New("no regular file")

// ErrGrown is the error for a file that holds more than it did when it was opened.
var ErrGrown = errors.New("it holds more than its size: it is still being written, or has no end")

// ErrTooLarge is the error for a file that holds more than may be read into memory.
var ErrTooLarge = errors.New("too large")

// A kindError says what something is instead.
type kindError struct{ kind string }

func (e kindError) Error() string        { return "it is " + e.kind + ", " + ErrNotRegular.Error() }
func (e kindError) Is(target error) bool { return target == ErrNotRegular }

// kindOf names what is no regular file.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// A File is a regular file open for reading. It ends where it did when it was opened: reading on returns ErrGrown if
// there is more.
type File struct {
	file *os.File
	info fs.FileInfo
	read int64
}

// Open opens a file that others may have made. It never waits, as for the writer of a FIFO, and opens neither devices
// nor anything else that is no regular file. Links to regular files are followed.
func Open(path string) (*File, error) {
	// Opening a device may already do something, so look first. What is there may be another a moment later, so look
	// again.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: kindError{kindOf(info.Mode())}}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: kindError{kindOf(info.Mode())}}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &File{file: f, info: info}, nil
}

// Name is the path by which the file was opened.
func (f *File) Name() string { return f.file.Name() }

// Size is how many bytes the file held when it was opened.
func (f *File) Size() int64 { return f.info.Size() }

// Stat describes the file as it was when it was opened.
func (f *File) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Read reads on. Behind Size there is io.EOF, or ErrGrown.
func (f *File) Read(p []byte) (int, error) {
	left := f.Size() - f.read
	if left <= 0 && len(p) > 0 {
		var more [1]byte
		switch n, err := f.file.ReadAt(more[:], f.read); {
		case n > 0:
			return 0, f.error(ErrGrown)
		case err != nil && err != io.EOF:
			return 0, err
		}
		return 0, io.EOF
	}
	n, err := f.file.Read(p[:min(int64(len(p)), left)])
	f.read += int64(n)
	return n, err
}

// Seek says where to read on.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	at, err := f.file.Seek(offset, whence)
	if err == nil {
		f.read = at
	}
	return at, err
}

// ReadAt reads at a place before Size.
func (f *File) ReadAt(p []byte, at int64) (int, error) {
	if left := f.Size() - at; at >= 0 && int64(len(p)) > left {
		if left <= 0 {
			return 0, io.EOF
		}
		n, err := f.file.ReadAt(p[:left], at)
		if err == nil {
			err = io.EOF
		}
		return n, err
	}
	return f.file.ReadAt(p, at)
}

func (f *File) error(err error) error {
	return &fs.PathError{Op: "read", Path: f.Name(), Err: err}
}

// ReadFile reads a file that others may have made, of so many bytes at most.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.all(most)
}

// all reads the file from its beginning.
func (f *File) all(most int64) ([]byte, error) {
	if f.Size() > most {
		return nil, f.error(tooLarge(most))
	}
	b := bytes.NewBuffer(make([]byte, 0, f.Size()+bytes.MinRead))
	_, err := b.ReadFrom(f)
	if err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func tooLarge(most int64) error { return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most) }

// AtMost is a reader that fails with ErrTooLarge where r has more than so many bytes.
func AtMost(r io.Reader, most int64) io.Reader { return &bounded{r, most, most} }

type bounded struct {
	in         io.Reader
	most, left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.in.Read(p[:min(int64(len(p)), b.left+1)])
	if int64(n) > b.left {
		return int(b.left), tooLarge(b.most)
	}
	b.left -= int64(n)
	return n, err
}

// Dir is a directory that others may have filled: its files open as by Open, and ReadFile reads documents, of
// MostJSON bytes.
type Dir string

// Open opens a file of the directory; the error has its name alone.
func (d Dir) Open(name string) (fs.File, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d Dir) open(name string) (*File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := Open(filepath.Join(string(d), filepath.FromSlash(name)))
	return f, inside(name, err)
}

// inside has an error name the file as the directory does.
func inside(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return &fs.PathError{Op: path.Op, Path: name, Err: path.Err}
	}
	return err
}

// ReadFile reads a file of the directory.
func (d Dir) ReadFile(name string) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := f.all(MostJSON)
	return b, inside(name, err)
}

// Stat describes a file of the directory, of whatever kind it is.
func (d Dir) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	info, err := os.Stat(filepath.Join(string(d), filepath.FromSlash(name)))
	return info, inside(name, err)
}
