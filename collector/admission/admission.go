// Package admission is the collector's admission control: it accepts clients that show the run's token and refuses all
// others, which can use only a bounded share of memory and file descriptors.
//
// A connection that is accepted by a Control's listener is a stranger. It becomes trusted with the first stream that
// shows the token. A stranger that does not do so in time is closed. Where there are too many strangers the oldest is
// closed, so that a flood of silent connections cannot keep out an agent, which shows its token within milliseconds.
// Refusals are counted by cause; the first of each cause is logged.
package admission

import (
	"container/list"
	"errors"
	"log/slog"
	"maps"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A Cause is the reason for a refusal.
type Cause string

// The causes.
const (
	Handshake Cause = "handshake"        // it left, or did not speak our protocol, before it had shown a token
	Silent    Cause = "silent"           // it did not show a token in time
	Crowd     Cause = "crowd"            // too many had not shown a token: the oldest went
	OtherUser Cause = "other_user"       // of a Unix socket
	Token     Cause = "wrong_token"      // or none
	PageToken Cause = "wrong_page_token" // a page was asked for with a wrong one, or none
	PageHost  Cause = "wrong_page_host"  // a page of the loopback was asked for under another name
	OtherRun  Cause = "other_run"        // the token is right, but the agent is another run's
	OtherMode Cause = "other_mode"       // the agent keeps its bursts as micro-cells, or does not, or others, unlike the run's others
	NoHello   Cause = "no_hello"         // a stream that does not say whose it is
	Malformed Cause = "malformed"        // a message that cannot be decoded
	Oversize  Cause = "oversize"         // a message that is too long
	Sequence  Cause = "out_of_order"     // a message that does not follow the one before it
)

const (
	// patience is how long a stranger may take to show its token.
	patience = 10 * time.Second
	// maxStrangers is how many may be at it at a time: more than the nodes of a job that all start at once. One that has
	// got as far as it can without a token holds some 80 KiB.
	maxStrangers = 1024
)

// A Control accepts and counts connections. All methods may be called concurrently.
type Control struct {
	log      *slog.Logger
	stream   func() // is called for each refused stream
	patience time.Duration
	limit    int

	mu        sync.Mutex
	strangers list.List // of *Conn, the oldest first
	refused   map[Cause]uint64
	closed    bool
}

// New returns a Control, which calls stream for every refusal of a stream. Strangers get at most a quarter of the
// descriptors that this process may have.
func New(stream func(), log *slog.Logger) *Control {
	g := &Control{log: log, stream: stream, patience: patience, limit: maxStrangers, refused: make(map[Cause]uint64)}
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		g.limit = int(max(1, min(uint64(g.limit), files.Cur/4)))
	}
	return g
}

// Refused returns the number of refusals by cause.
func (g *Control) Refused() map[Cause]uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.refused)
}

// Refuse counts a refusal, and logs it if it is the first of its cause.
func (g *Control) Refuse(cause Cause, from string, err error) {
	g.mu.Lock()
	g.refused[cause]++
	first := g.refused[cause] == 1
	g.mu.Unlock()
	switch cause {
	case Handshake, Silent, Crowd, OtherUser, PageToken, PageHost: // there never was a stream
	default:
		g.stream()
	}
	if first {
		g.log.Warn("rejected; further ones of this cause are only counted", "cause", cause, "from", from, "error", err)
	}
}

// Close closes the connections that have not shown a token, which would keep the server waiting, and counts no more:
// what is closed from now on is closed from this side.
func (g *Control) Close() {
	g.mu.Lock()
	g.closed = true
	var strangers []*Conn
	for e := g.strangers.Front(); e != nil; e = e.Next() {
		strangers = append(strangers, e.Value.(*Conn))
	}
	g.mu.Unlock()
	for _, c := range strangers {
		c.Close()
	}
}

// Listen returns a listener whose connections have to become trusted.
func (g *Control) Listen(l net.Listener) net.Listener { return &listener{l, g} }

type listener struct {
	net.Listener
	control *Control
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.control.admit(conn), nil
}

// A Conn is a connection that a Control has accepted.
type Conn struct {
	net.Conn
	control *Control
	place   *list.Element // among the strangers; nil when it is none any more
	counted bool          // as refused
	timer   *time.Timer
}

// NetConn returns the connection itself.
func (c *Conn) NetConn() net.Conn { return c.Conn }

func (g *Control) admit(conn net.Conn) *Conn {
	c := &Conn{Conn: conn, control: g}
	g.mu.Lock()
	var oldest *Conn
	if g.strangers.Len() >= g.limit {
		oldest = g.strangers.Front().Value.(*Conn)
	}
	c.place = g.strangers.PushBack(c)
	c.timer = time.AfterFunc(g.patience, func() { c.expel(Silent, errors.New("no token in time")) })
	closed := g.closed
	g.mu.Unlock()
	if closed {
		c.Close()
	}
	if oldest != nil {
		oldest.expel(Crowd, errors.New("too many connections without a token"))
	}
	return c
}

// Trust marks the connection as one that has shown the token.
func (c *Conn) Trust() {
	c.control.mu.Lock()
	defer c.control.mu.Unlock()
	c.forget()
}

// forget removes it from the strangers, with control.mu held.
func (c *Conn) forget() {
	c.timer.Stop()
	if c.place != nil {
		c.control.strangers.Remove(c.place)
		c.place = nil
	}
}

// Refuse counts the connection as refused, once, whatever follows. It remains a stranger: it may still
// read the answer, until its time is up.
func (c *Conn) Refuse(cause Cause, err error) {
	c.control.mu.Lock()
	counted := c.counted || c.control.closed
	c.counted = true
	c.control.mu.Unlock()
	if !counted {
		c.control.Refuse(cause, c.RemoteAddr().String(), err)
	}
}

// expel closes the connection if it is still a stranger.
func (c *Conn) expel(cause Cause, err error) {
	c.control.mu.Lock()
	stranger := c.place != nil
	c.forget()
	c.control.mu.Unlock()
	if !stranger {
		return
	}
	c.Refuse(cause, err)
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		tcp.SetLinger(0) // a crowd's connections must not remain in the kernel either
	}
	c.Conn.Close()
}

// Close closes the connection. Where it is a stranger still, it went before it had shown a token.
func (c *Conn) Close() error {
	c.control.mu.Lock()
	stranger := c.place != nil
	c.forget()
	c.control.mu.Unlock()
	if stranger {
		c.Refuse(Handshake, errors.New("it disconnected before it had sent a token"))
	}
	return c.Conn.Close()
}
