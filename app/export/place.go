package export

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"moriens/internal/hint"
	"moriens/internal/units"
)

// A place is where an export is written: a directory beside the final one, on the same file system.
type place struct {
	out string
	dir string
}

func newPlace(out string) (*place, error) {
	out = filepath.Clean(out)
	p := &place{out: out, dir: filepath.Join(filepath.Dir(out), fmt.Sprintf(".%s.%d.partial", filepath.Base(out), os.Getpid()))}
	if err := os.Mkdir(p.dir, 0o777); err != nil {
		return nil, hint.With(err, "name a writable path with --out")
	}
	return p, nil
}

func (p *place) in(name string) string { return filepath.Join(p.dir, name) }

// remove removes what was not published.
func (p *place) remove() { os.RemoveAll(p.dir) }

// publish makes the directory appear.
func (p *place) publish() error { return move(p.dir, p.out) }

// publishFiles makes the files appear, the last of them last. If one fails, none is kept.
func (p *place) publishFiles(files []*file) error {
	for i, f := range files {
		if err := move(p.in(f.name), filepath.Join(filepath.Dir(p.out), f.name)); err != nil {
			for _, done := range files[:i] {
				os.Remove(filepath.Join(filepath.Dir(p.out), done.name))
			}
			return err
		}
	}
	return nil
}

// move renames without replacing anything.
func move(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // not on all file systems
		if _, statErr := os.Lstat(to); statErr == nil {
			return exists(to)
		}
		err = os.Rename(from, to)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return exists(to)
	case err != nil:
		return hint.With(&os.PathError{Op: "make", Path: to, Err: err}, "choose another path with --out")
	}
	return nil
}

// write writes a file whole, compressed where its name ends in .gz.
func (c *Config) write(ctx context.Context, path string, f *file) (err error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := &watched{ctx: ctx, out: out, show: func(bytes int64) {
		c.Status.Show(fmt.Sprintf("moriens: writing %s, %v", f.name, units.Bytes(bytes)))
	}}
	buffer := bufio.NewWriterSize(w, 1<<18)
	if err := compressed(buffer, strings.HasSuffix(f.name, ".gz"), f.write); err != nil {
		return err
	}
	if err := buffer.Flush(); err != nil {
		return err
	}
	f.bytes = w.bytes
	if err := out.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

func compressed(w io.Writer, gz bool, write func(io.Writer) error) error {
	if !gz {
		return write(w)
	}
	z := gzip.NewWriter(w)
	if err := write(z); err != nil {
		return err
	}
	return z.Close()
}

// watched counts what is written, shows it now and then, and refuses it when ctx has ended.
type watched struct {
	ctx   context.Context
	out   io.Writer
	show  func(bytes int64)
	bytes int64
	shown time.Time
}

func (w *watched) Write(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, hint.With(context.Cause(w.ctx), "no files remain")
	}
	n, err := w.out.Write(p)
	w.bytes += int64(n)
	if now := time.Now(); now.Sub(w.shown) > 200*time.Millisecond {
		w.shown = now
		w.show(w.bytes)
	}
	return n, err
}
