package faults

import (
	"io"
	"net"
	"sync"

	"moriens/internal/rendezvous"
)

// A proxy stands between agents and the collector, wherever that is now, and can break their connections.
type proxy struct {
	listener net.Listener
	dir      string // run directory
	mu       sync.Mutex
	open     map[net.Conn]bool
}

// startProxy listens for agents and writes, into a directory for them, a rendezvous that leads here.
func startProxy(meet rendezvous.Rendezvous, dir, agents string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, dir: dir, open: make(map[net.Conn]bool)}
	go p.serve()
	meet.Address = listener.Addr().String()
	return p, rendezvous.Write(agents, meet)
}

func (p *proxy) serve() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		meet, err := rendezvous.Read(p.dir)
		var onward net.Conn
		if err == nil {
			onward, err = net.Dial("tcp", meet.Address)
		}
		if err != nil { // there is no collector just now
			conn.Close()
			continue
		}
		p.mu.Lock()
		p.open[conn], p.open[onward] = true, true
		p.mu.Unlock()
		go p.pass(conn, onward)
		go p.pass(onward, conn)
	}
}

func (p *proxy) pass(to, from net.Conn) {
	io.Copy(to, from)
	to.Close()
	from.Close()
	p.mu.Lock()
	delete(p.open, to)
	delete(p.open, from)
	p.mu.Unlock()
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		conn.Close()
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.cut()
}
