package measure

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moriens/internal/hint"
	"moriens/internal/rendezvous"
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
	os.Remove(meetingPath(folder, "r"))
	if err := os.Symlink("/etc/passwd", meetingPath(folder, "r")); err != nil {
		t.Fatal(err)
	}
	if _, err := readMeeting(folder, "r"); err == nil {
		t.Error("a link was followed")
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

// What is wrong with where a collector is looked for is said with what to do.
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
