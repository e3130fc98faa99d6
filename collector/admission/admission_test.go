package admission

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// host is a Control with a listener on which the test accepts.
type host struct {
	*Control
	t        *testing.T
	listener net.Listener
	log      bytes.Buffer
	streams  atomic.Int64
}

func newHost(t *testing.T, limit int, patience time.Duration) *host {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	d := &host{t: t}
	d.Control = New(func() { d.streams.Add(1) }, slog.New(slog.NewTextHandler(&d.log, nil)))
	d.limit, d.patience = limit, patience
	d.listener = d.Listen(l)
	return d
}

// connect connects once and returns both ends.
func (d *host) connect() (client net.Conn, server *Conn) {
	d.t.Helper()
	client, err := net.Dial("tcp", d.listener.Addr().String())
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { client.Close() })
	conn, err := d.listener.Accept()
	if err != nil {
		d.t.Fatal(err)
	}
	return client, conn.(*Conn)
}

// closed reports whether the other side closes the connection soon.
func closed(c net.Conn) bool {
	c.SetReadDeadline(time.Now().Add(2 * time.Minute))
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	return err != nil && !(errors.As(err, &timeout) && timeout.Timeout())
}

// open reports whether a byte gets through.
func open(client net.Conn, server *Conn) bool {
	if _, err := server.Write([]byte{1}); err != nil {
		return false
	}
	client.SetReadDeadline(time.Now().Add(2 * time.Minute))
	_, err := io.ReadFull(client, make([]byte, 1))
	return err == nil
}

func (d *host) expect(want map[Cause]uint64) {
	d.t.Helper()
	got := d.Refused()
	if len(got) != len(want) {
		d.t.Errorf("refused %v, want %v", got, want)
	}
	for cause, n := range want {
		if got[cause] != n {
			d.t.Errorf("refused %v, want %v", got, want)
		}
	}
}

// A connection that shows its token at the last moment is kept; one that does not is closed then and not before.
func TestSilentIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newHost(t, 10, patience)
		silent, silentServer := net.Pipe()
		d.admit(silentServer)
		trusted, trustedServer := net.Pipe()
		server := d.admit(trustedServer)
		time.Sleep(patience - time.Nanosecond)
		server.Trust()
		d.expect(nil)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		d.expect(map[Cause]uint64{Silent: 1})
		if !closed(silent) {
			t.Error("a silent connection is kept")
		}
		time.Sleep(patience)
		go server.Write([]byte{1})
		if _, err := trusted.Read(make([]byte, 1)); err != nil {
			t.Error("who is trusted goes")
		}
		server.Close()
		d.expect(map[Cause]uint64{Silent: 1})
		if d.strangers.Len() != 0 {
			t.Errorf("%d strangers", d.strangers.Len())
		}
	})
}

// In a crowd the oldest stranger goes; those who are trusted do not count.
func TestCrowd(t *testing.T) {
	d := newHost(t, 3, time.Hour)
	trusted, trustedServer := d.connect()
	trustedServer.Trust()
	var clients []net.Conn
	var servers []*Conn
	for range 5 {
		c, s := d.connect()
		clients, servers = append(clients, c), append(servers, s)
	}
	for i := range clients {
		if i < 2 && !closed(clients[i]) {
			t.Errorf("connection %d is kept", i)
		}
		if i >= 2 && !open(clients[i], servers[i]) {
			t.Errorf("connection %d goes", i)
		}
	}
	if !open(trusted, trustedServer) {
		t.Error("who is trusted goes")
	}
	d.expect(map[Cause]uint64{Crowd: 2})
	if d.streams.Load() != 0 {
		t.Error("a connection counts as a stream")
	}
}

func TestLeavesBeforeItsToken(t *testing.T) {
	d := newHost(t, 10, time.Hour)
	_, a := d.connect()
	a.Close()
	a.Close()
	_, b := d.connect()
	b.Refuse(Token, errors.New("wrong token")) // counted for that, and not again when it goes
	b.Close()
	d.expect(map[Cause]uint64{Handshake: 1, Token: 1})
	if d.streams.Load() != 1 {
		t.Errorf("%d streams", d.streams.Load())
	}
	stranger, _ := d.connect()
	d.Control.Close()
	late, _ := d.connect()
	if !closed(stranger) || !closed(late) {
		t.Error("an unauthenticated connection is kept after Close")
	}
	d.expect(map[Cause]uint64{Handshake: 1, Token: 1})
}

// A cause is logged once, however often it occurs.
func TestLoggedOnce(t *testing.T) {
	d := newHost(t, 10, time.Hour)
	for range 1000 {
		d.Refuse(Token, "1.2.3.4:5", errors.New("wrong token"))
		d.Refuse(Oversize, "1.2.3.4:5", errors.New("too long"))
	}
	if n := strings.Count(d.log.String(), "\n"); n != 2 {
		t.Errorf("%d lines:\n%s", n, d.log.String())
	}
	d.expect(map[Cause]uint64{Token: 1000, Oversize: 1000})
}
