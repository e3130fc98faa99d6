package measure

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Sockets of runs that were killed go, those of others stay.
func TestSweepSockets(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "sweep-") // a socket's address is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	listen := func(name string) *net.UnixListener {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name, socketName), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false) // as where the process is killed
		return l
	}
	lives, died, other := listen(socketPrefix+"1"), listen(socketPrefix+"2"), listen("other-3")
	defer lives.Close()
	died.Close()
	other.Close()
	if n := sweepSockets(dir); n != 1 {
		t.Errorf("%d removed", n)
	}
	for name, stays := range map[string]bool{socketPrefix + "1": true, socketPrefix + "2": false, "other-3": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := sweepSockets(filepath.Join(dir, "none")); n != 0 {
		t.Errorf("%d removed where nothing is", n)
	}
}
