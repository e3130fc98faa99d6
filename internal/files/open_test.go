package files

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	text := []byte("some text")
	if err := errors.Join(
		os.WriteFile(at("regular"), text, 0o600), os.Symlink("regular", at("link")), os.Mkdir(at("directory"), 0o700), syscall.Mkfifo(at("fifo"), 0o600),
		syscall.Mknod(at("socket"), syscall.S_IFSOCK|0o600, 0), os.Symlink("/dev/zero", at("device")), os.Symlink("fifo", at("linked")), os.Symlink("loop", at("loop")),
	); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"directory": "it is a directory, no regular file", "fifo": "it is a FIFO, no regular file", "linked": "it is a FIFO, no regular file",
		"socket": "it is a socket, no regular file", "device": "it is a device, no regular file",
	} {
		_, err := Open(at(name))
		if !errors.Is(err, ErrNotRegular) || err.Error() != "open "+at(name)+": "+want {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Dir(dir).Open(name); !errors.Is(err, ErrNotRegular) || err.Error() != "open "+name+": "+want {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := ReadFile(at(name), 100); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(at("absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(at("loop")); !errors.Is(err, syscall.ELOOP) {
		t.Error(err)
	}
	for _, name := range []string{"regular", "link"} {
		f, err := Open(at(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(struct {
			io.Reader
			io.ReaderAt
		}{f, f}, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := f.Stat(); err != nil || info.Size() != f.Size() || f.Name() != at(name) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"../x", "/etc/passwd", ""} {
		if _, err := Dir(dir).Open(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Dir(dir).Stat(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if info, err := Dir(dir).Stat("fifo"); err != nil || info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
}

// What follows the end that a file had is an error, and not read.
func TestGrown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.WriteFile(path, []byte("abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if string(b) != "abc" || !errors.Is(err, ErrGrown) || !strings.Contains(err.Error(), path) {
		t.Errorf("%q, %v", b, err)
	}
	p := make([]byte, 10)
	if n, err := f.ReadAt(p, 1); n != 2 || err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := f.ReadAt(p[:1], 3); n != 0 || err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if n, err := f.ReadAt(p[:2], 0); n != 0 || err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
}

// A file of /proc says that it holds nothing.
func TestNoSize(t *testing.T) {
	if _, err := ReadFile("/proc/self/status", 1<<20); !errors.Is(err, ErrGrown) {
		t.Error(err)
	}
}

// A file of a terabyte that takes no room on disk is refused by its size alone.
func TestMost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(path, 3); err != nil || string(b) != "abc" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := ReadFile(path, 2); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir(filepath.Dir(path)).ReadFile("file"); !errors.Is(err, ErrTooLarge) || !strings.HasPrefix(err.Error(), "read file: ") {
		t.Error(err)
	}
	for _, n := range []int{0, 1, 10, 11, 1000} {
		b, err := io.ReadAll(AtMost(bytes.NewReader(make([]byte, n)), 10))
		if len(b) != min(n, 10) || (n > 10) != errors.Is(err, ErrTooLarge) {
			t.Errorf("%d of %d bytes, %v", len(b), n, err)
		}
	}
}
