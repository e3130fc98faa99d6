package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"moriens/internal/hint"
)

// File makes a file of what write writes, whole or not at all. It must not exist. bytes is its size.
func File(out string, write func(w io.Writer) error) (bytes int64, err error) {
	p, err := newPlace(out)
	if err != nil {
		return 0, err
	}
	defer p.remove()
	f := &file{name: filepath.Base(p.out), write: write}
	if err := f.make(p.in(f.name)); err != nil {
		return 0, hint.Default(fmt.Errorf("%s: %w", out, err), "choose another path with --out")
	}
	return f.bytes, p.publishFiles([]*file{f})
}

// make writes the file and waits until it is on disk.
func (f *file) make(path string) (err error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	buffer := bufio.NewWriterSize(out, 1<<18)
	if err := f.write(buffer); err != nil {
		return err
	}
	if err := buffer.Flush(); err != nil {
		return err
	}
	if f.bytes, err = out.Seek(0, io.SeekCurrent); err != nil {
		return err
	}
	if err := out.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// Directory makes a directory of the files that write creates, whole or not at all. It must not exist, or be empty.
// Names of files may have folders in them.
func Directory(out string, write func(create func(name string) (io.WriteCloser, error)) error) error {
	p, err := newPlace(out)
	if err != nil {
		return err
	}
	defer p.remove()
	err = write(func(name string) (io.WriteCloser, error) {
		path := p.in(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	})
	if err != nil {
		return hint.Default(fmt.Errorf("%s: %w", out, err), "choose another path with --out")
	}
	if err := syncAll(p.dir); err != nil {
		return hint.Default(fmt.Errorf("%s: %w", out, err), "choose another path with --out")
	}
	return p.publishOverEmpty()
}

// syncAll waits until the file system of a directory has all on disk: files of a profile are thousands, and waiting for
// each takes longer.
func syncAll(dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Syncfs(fd)
}

// publishOverEmpty makes the directory appear, in the place of an empty one if there is one.
func (p *place) publishOverEmpty() error {
	if info, err := os.Lstat(p.out); err != nil || !info.IsDir() {
		return p.publish()
	}
	err := unix.Rename(p.dir, p.out) // replaces an empty directory only
	switch {
	case errors.Is(err, fs.ErrExist), errors.Is(err, unix.ENOTEMPTY):
		return exists(p.out)
	case err != nil:
		return hint.With(&os.PathError{Op: "make", Path: p.out, Err: err}, "choose another path with --out")
	}
	return nil
}
