// Package testenv states what a test needs of the machine it runs on.
//
// A test whose needs are not met fails where the environment variable CI is set, because CI relies on it having run
// there; elsewhere it is skipped with the reason. Only tests import it.
package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Need requires every named program to be on PATH.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			Lacking(t, "no program "+program+" on PATH")
		}
	}
}

// NeedFile requires a file to exist, such as a header or a library of a package.
func NeedFile(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		Lacking(t, "no file "+path)
	}
}

// NeedLibrary requires a shared library, such as libunwind.so.8, in one of the places where systems keep them.
func NeedLibrary(t testing.TB, name string) {
	t.Helper()
	for _, dir := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/lib/*-linux-gnu", "/usr/lib/*-linux-gnu"} {
		if found, _ := filepath.Glob(filepath.Join(dir, name)); len(found) > 0 {
			return
		}
	}
	Lacking(t, "no library "+name)
}

// NeedRoot requires the test to run as root, for mounts.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Lacking(t, "not root")
	}
}

// Lacking ends the test: the machine lacks something that the test needs.
func Lacking(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s, and CI is set", what)
	}
	t.Skip(what)
}

// ProcessorTime is what all threads of the process have used so far: it holds on a machine that has other work too.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// RealTrace returns the path of a real trace, which lies beside the repository and not in it, or skips.
func RealTrace(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(filepath.Dir(dir), "shared", "traces", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the real traces are not here: %v", err)
	}
	return path
}
