package rendezvous

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// post has a notice in a directory of its own, and what is logged of it.
func post(t *testing.T) (dir string, n *Notice, logged *bytes.Buffer) {
	t.Helper()
	dir, logged = t.TempDir(), new(bytes.Buffer)
	n, err := Post(dir, sound, slog.New(slog.NewTextHandler(logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return dir, n, logged
}

// pass lets the notice look twice.
func pass() { time.Sleep(2*lookEvery + lookEvery/2); synctest.Wait() }

// A rendezvous that is removed under its collector is there again, as often as that happens, until the collector takes
// it down itself.
func TestNoticeIsPutUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, n, logged := post(t)
		for range 3 {
			if err := os.Remove(filepath.Join(dir, File)); err != nil {
				t.Fatal(err)
			}
			pass()
			if got, err := Read(dir); !got.Equal(sound) || err != nil {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		if said := strings.Count(logged.String(), "written again"); said != 3 {
			t.Errorf("said %d times:\n%s", said, logged)
		}
		if err := n.Remove(); err != nil {
			t.Error(err)
		}
		pass()
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("%v are left", entries)
		}
	})
}

// Where there was no room for it a rendezvous is put up later, in the place of that of a collector that was killed.
func TestPostLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, old := t.TempDir(), sound
		old.Address = "127.0.0.1:2"
		if err := Write(dir, old); err != nil {
			t.Fatal(err)
		}
		n := PostLater(dir, sound, slog.New(slog.DiscardHandler))
		pass()
		if got, err := Read(dir); !got.Equal(sound) || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
		if err := n.Remove(); err != nil {
			t.Error(err)
		}
	})
}

// What is in its place is kept: the rendezvous of another run, or some other file. That is reported once.
func TestNoticeReplacesNothing(t *testing.T) {
	other := sound
	other.Run = "fedcba9876543210"
	for name, put := range map[string]func(dir string) error{
		"another run's": func(dir string) error { return Write(dir, other) },
		"no rendezvous": func(dir string) error { return os.WriteFile(filepath.Join(dir, File), []byte("mine"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, n, logged := post(t)
				path := filepath.Join(dir, File)
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				if err := put(dir); err != nil {
					t.Fatal(err)
				}
				before, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				pass()
				pass()
				if err := n.Remove(); err != nil {
					t.Error(err)
				}
				if after, err := os.ReadFile(path); !bytes.Equal(before, after) || err != nil {
					t.Errorf("%s became %s, %v", before, after, err)
				}
				if said := strings.Count(logged.String(), "level=ERROR"); said != 1 {
					t.Errorf("said %d times:\n%s", said, logged)
				}
			})
		})
	}
}

// A copy in its place, as a backup that was put back, is as good.
func TestNoticeCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, n, logged := post(t)
		if err := Write(dir, sound); err != nil {
			t.Fatal(err)
		}
		pass()
		if logged.Len() > 0 {
			t.Errorf("said\n%s", logged)
		}
		if err := n.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(filepath.Join(dir, File)); err == nil {
			t.Error("it is still there")
		}
	})
}

// Where the directory itself is gone no file is made; a notice after Leave is unchanged.
func TestNoticeWithoutDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, n, logged := post(t)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		pass()
		if _, err := os.Lstat(dir); err == nil || strings.Count(logged.String(), "is missing, and cannot be written") != 1 {
			t.Errorf("%v, said\n%s", err, logged)
		}
		if err := n.Remove(); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		dir, n, _ := post(t)
		n.Leave()
		if got, err := Read(dir); !got.Equal(sound) || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
