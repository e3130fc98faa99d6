//go:build !quick

package rendezvous

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"moriens/internal/testenv"
)

const nobody = 65534

// asNobody runs what another user would do, on a thread that ends with it.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	testenv.NeedRoot(t)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is not root any more
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody)
		if errno != 0 {
			done <- errno
			return
		}
		do()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// openDir is a directory that others can enter, and even write to.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "moriens-open-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sockets are addresses of Unix sockets that other users can connect to: a file that all may enter, and none at all, as
// `moriens run` has.
func sockets(t *testing.T) []string {
	return []string{filepath.Join(openDir(t), "s"), strings.TrimPrefix(NewSocket(), "unix:")}
}

func TestPeerOfThisUser(t *testing.T) {
	for _, path := range sockets(t) {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		client, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := PeerCredentials().ClientHandshake(context.Background(), "", client); err != nil {
			t.Errorf("client: %v", err)
		}
		if _, _, err := PeerCredentials().ServerHandshake(server); err != nil {
			t.Errorf("server: %v", err)
		}
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	conn, err := net.Dial("tcp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := PeerCredentials().ClientHandshake(context.Background(), "", conn); err == nil {
		t.Error("a TCP connection passed")
	}
}

// A process that connects to our socket must be of our user, even where the socket's directory lets others in.
func TestOtherUserConnects(t *testing.T) {
	for _, path := range sockets(t) {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if filepath.IsAbs(path) {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		var dialErr error
		asNobody(t, func() { _, dialErr = net.Dial("unix", path) })
		if dialErr != nil {
			t.Fatal(dialErr)
		}
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := PeerCredentials().ServerHandshake(server); !errors.Is(err, ErrOtherUser) {
			t.Errorf("another user's connection: %v", err)
		}
	}
}

// Whom we connect to has to be us: another user may have put a socket in the place of ours to learn the token.
func TestOtherUserListens(t *testing.T) {
	for _, path := range sockets(t) {
		var l net.Listener
		var err error
		asNobody(t, func() { l, err = net.Listen("unix", path) })
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		client, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := PeerCredentials().ClientHandshake(context.Background(), "", client); !errors.Is(err, ErrOtherUser) {
			t.Errorf("another user's socket: %v", err)
		}
	}
}

func TestReadOfAnotherUser(t *testing.T) {
	testenv.NeedRoot(t)
	dir := t.TempDir()
	if err := Write(dir, sound); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(dir, File), nobody, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
		t.Errorf("Read: %v", err)
	}
}

// Neither a link to a rendezvous nor a pipe is one, and a pipe does not block the reader.
func TestReadOfNoFile(t *testing.T) {
	elsewhere := t.TempDir()
	if err := Write(elsewhere, sound); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(path string) error{
		"a link":      func(path string) error { return os.Symlink(filepath.Join(elsewhere, File), path) },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		dir := t.TempDir()
		if err := put(filepath.Join(dir, File)); err != nil {
			t.Fatal(err)
		}
		result := make(chan error, 1)
		go func() {
			_, err := Read(dir)
			result <- err
		}()
		select {
		case err := <-result:
			if err == nil || !strings.Contains(err.Error(), "not a rendezvous file") {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s: Read waits", name)
		}
	}
}

// FuzzRead reads any file as a rendezvous: what passes can be dialled and is itself when it is written again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"run":"0123456789abcdef","address":"h:1","fingerprint":"` + strings.Repeat("a", 64) + `","token":"t"}`))
	f.Add([]byte(`{"run":"0123456789abcdef","address":"unix:/tmp/s","token":"t","host":"n1","command":"run","page":"http://127.0.0.1:1","page_token":"x"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, File)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Read(dir)
		if err != nil {
			return
		}
		if !runID.MatchString(r.Run) || r.Address == "" || r.Token == "" || !r.Unix() && len(r.Fingerprint) != 64 {
			t.Errorf("%q passed as %+v", data, r)
		}
		if err := Write(dir, r); err != nil {
			t.Fatal(err)
		}
		if again, err := Read(dir); !again.Equal(r) || err != nil {
			t.Errorf("%+v became %+v, %v", r, again, err)
		}
	})
}
