package measure

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"moriens/agent/ring"
	"moriens/collector"
	"moriens/conclude"
	"moriens/internal/hint"
	"moriens/trace/rundir"
)

// What the user can do follows from the cause.
func TestAdvice(t *testing.T) {
	at := func(err error) error { return &fs.PathError{Op: "mkdir", Path: "/run", Err: err} }
	_, ringErr := ring.NewDirectory(filepath.Join(t.TempDir(), "missing", "rings")).Claim()
	for _, c := range []struct{ name, advice, want string }{
		{"full", hint.Of(noRunDir(at(syscall.ENOSPC))), "free space"},
		{"not writable", hint.Of(noRunDir(at(syscall.EACCES))), "writable directory"},
		{"read-only", hint.Of(noRunDir(at(syscall.EROFS))), "writable directory"},
		{"another cause", hint.Of(noRunDir(at(syscall.ENOTDIR))), "all nodes share"},
		{"rings", hint.Of(spoolHint(ringErr)), "--shm"},
		{"spool", hint.Of(spoolHint(at(syscall.EACCES))), "--spool"},
		{"the job failed", adviseEmpty(&conclude.Job{Command: []string{"mpirun"}, ExitStatus: 1}), "status 1"},
		{"the job succeeded", adviseEmpty(&conclude.Job{Command: []string{"mpirun"}}), "LD_PRELOAD"},
		{"no room to start", startAdvice(at(syscall.ENOSPC), "run", "--http"), "free space"},
		{"no address", startAdvice(fmt.Errorf("listen"), "run", "--http"), "--http"},
	} {
		if !strings.Contains(c.advice, c.want) {
			t.Errorf("%s: %q, want %s", c.name, c.advice, c.want)
		}
	}
}

// The directory of a run whose collector has ended without results is one, and how to get them is said.
func TestStatusOfUnfinishedRun(t *testing.T) {
	dir := t.TempDir()
	c, err := collector.Start(collector.Config{Journal: filepath.Join(dir, rundir.JournalDir), Run: "run1", Listen: "127.0.0.1:0", Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	stopped(c)
	if _, err := os.Stat(filepath.Join(dir, rundir.JournalDir)); err != nil {
		t.Fatal(err)
	}
	if _, err := finished(dir); err == nil || !strings.Contains(err.Error(), "unfinished run") || !strings.Contains(hint.Of(err), "moriens collect --out "+dir) {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}
