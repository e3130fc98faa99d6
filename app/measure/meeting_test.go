package measure

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/internal/hint"
	"moriens/internal/rendezvous"
	"moriens/internal/testenv"
)

func TestMeeting(t *testing.T) {
	folder := t.TempDir()
	if _, err := readMeeting(folder, "r"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	first := meeting{Run: "r", Host: "a", Dir: "/d"}
	if err := writeMeeting(folder, first); err != nil {
		t.Fatal(err)
	}
	if err := writeMeeting(folder, meeting{Run: "r", Host: "b", Dir: "/e"}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second: %v", err)
	}
	if err := writeMeeting(folder, meeting{Run: "s", Host: "b", Dir: "/e"}); err != nil {
		t.Errorf("of another run: %v", err)
	}
	if m, err := readMeeting(folder, "r"); m != first || err != nil {
		t.Errorf("%+v, %v", m, err)
	}
	if info, err := os.Stat(meetingPath(folder, "r")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, run := range []string{"r", "r", "s"} {
		if err := removeMeeting(folder, run); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
	for _, bad := range []string{"", "hello", `{"run":"x","host":"a","dir":"/d"}`, `{"run":"r","host":"a","dir":"d"}`} {
		if err := os.WriteFile(meetingPath(folder, "r"), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readMeeting(folder, "r"); err == nil || !strings.Contains(err.Error(), meetingPath(folder, "r")) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Another user who has the meeting's name keeps no agents from each other, and what that one has made is left alone.
func TestMeetingOfAnotherUser(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"a file": func(path string) error {
			testenv.NeedRoot(t)
			return errors.Join(os.WriteFile(path, []byte(`{"run":"r","host":"x","dir":"/x"}`), 0o644), os.Chown(path, 65534, 65534))
		},
		"a link":      func(path string) error { return os.Symlink("/etc/passwd", path) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o755) },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o666) },
	} {
		folder := filepath.Join(t.TempDir(), "any[*]?")
		if err := errors.Join(os.Mkdir(folder, 0o755), take(meetingPath(folder, "r"))); err != nil {
			t.Fatal(err)
		}
		if m, err := readMeeting(folder, "r"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		first := meeting{Run: "r", Host: "a", Dir: "/d"}
		if err := writeMeeting(folder, first); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := writeMeeting(folder, meeting{Run: "r", Host: "b", Dir: "/e"}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: a second: %v", name, err)
		}
		if m, err := readMeeting(folder, "r"); m != first || err != nil {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		if err := removeMeeting(folder, "r"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(folder); len(left) != 1 || left[0].Name() != ".moriens-r" {
			t.Errorf("%s: left are %v", name, left)
		}
	}
}

// A directory that another user has made under the name of a run's is not that of the run, even if it is empty and open
// to all.
func TestRunDirectoryOfAnotherUser(t *testing.T) {
	testenv.NeedRoot(t)
	folder := t.TempDir()
	theirs := filepath.Join(folder, "moriens-4711")
	if err := errors.Join(os.Mkdir(theirs, 0o700), os.Chown(theirs, 65534, 65534), os.Chmod(theirs, 0o777)); err != nil {
		t.Fatal(err)
	}
	p := &preload{PreloadConfig: PreloadConfig{Near: folder, Job: "4711"}}
	if dir, err := p.makeDir(); dir != theirs+"-2" || err != nil {
		t.Errorf("%s, %v", dir, err)
	}
}

// TestMakeDir: a run directory is new, or the user's own empty one.
func TestMakeDir(t *testing.T) {
	near := t.TempDir()
	p := &preload{PreloadConfig: PreloadConfig{Near: near, Job: "12"}}
	make := func() string {
		t.Helper()
		dir, err := p.makeDir()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(near, dir)
		return name
	}
	for _, want := range []string{"moriens-12", "moriens-12-2", "moriens-12-3"} {
		if got := make(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	p.Dir = filepath.Join(near, "a", "b")
	if err := os.MkdirAll(p.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a/b", "a/b-2"} {
		if got := make(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	p.Dir, p.Job = "", ""
	if got, err := time.Parse("moriens-20060102-150405", make()); err != nil || time.Since(got).Abs() > 48*time.Hour {
		t.Errorf("%v, %v", got, err)
	}
	p.Dir = "/proc/run"
	if dir, err := p.makeDir(); err == nil {
		t.Errorf("made %s", dir)
	}
}

// A mistake in where a collector is looked for is reported with what to do.
func TestMeetCollectorHints(t *testing.T) {
	dir := t.TempDir()
	damaged, file := filepath.Join(dir, "damaged"), filepath.Join(dir, "file")
	if err := errors.Join(os.Mkdir(damaged, 0o700), os.WriteFile(filepath.Join(damaged, rendezvous.File), []byte("{"), 0o600), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "moriens collect --out", damaged: "do not change it", file: "name the run directory"} {
		if _, err := meetCollector(path, 0); !strings.Contains(hint.Of(err), want) {
			t.Errorf("%s: %v, hint: %s", path, err, hint.Of(err))
		}
	}
}
