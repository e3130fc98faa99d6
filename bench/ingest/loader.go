package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"moriens/internal/rendezvous"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	messageBursts = 1024
	// window is how many messages of a node may wait for their acknowledgement.
	window = 1024
	// ranksOfNode send in turn over their node's stream.
	ranksOfNode = 8
)

// A loader sends bursts as the agents of nodes would.
type loader struct {
	nodes []*node
	wire  atomic.Int64 // bytes written to sockets, TLS's included
	every time.Duration
}

// A node is one stream.
type node struct {
	loader   *loader
	conn     *grpc.ClientConn
	meet     rendezvous.Rendezvous
	number   int
	messages int // of bursts, to send
	sequence uint64

	mu       sync.Mutex
	room     sync.Cond
	waiting  []pending // not acknowledged
	latency  []float64 // ms
	received error
}

type pending struct {
	sequence uint64
	sent     time.Time
}

func newLoader(meet rendezvous.Rendezvous, nodes, bursts, pace int) (*loader, error) {
	l := &loader{}
	messages := max(bursts/messageBursts/nodes, 1)
	if pace > 0 { // of a node, evenly
		l.every = time.Duration(float64(messageBursts*nodes) / float64(pace) * 1e9)
	}
	for i := range nodes {
		n := &node{loader: l, meet: meet, number: i, messages: messages}
		n.room.L = &n.mu
		var err error
		n.conn, err = grpc.NewClient(meet.Address, grpc.WithTransportCredentials(meet.ClientCredentials()), grpc.WithNoProxy(),
			grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
				return counted{conn, &l.wire}, err
			}))
		if err != nil {
			return nil, err
		}
		l.nodes = append(l.nodes, n)
	}
	return l, nil
}

// counted counts what is written.
type counted struct {
	net.Conn
	wire *atomic.Int64
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.wire.Add(int64(n))
	return n, err
}

func (l *loader) bursts() int { return len(l.nodes) * l.nodes[0].messages * messageBursts }

func (l *loader) latencies() (list []float64) {
	for _, n := range l.nodes {
		list = append(list, n.latency...)
	}
	return list
}

// send sends everything and returns when it is acknowledged.
func (l *loader) send() error {
	errs := make([]error, len(l.nodes))
	var all sync.WaitGroup
	for i, n := range l.nodes {
		all.Go(func() {
			if errs[i] = n.send(); errs[i] != nil {
				errs[i] = fmt.Errorf("node %d: %w", i, errs[i])
			}
			n.conn.Close()
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (n *node) send() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream, err := moriensv1.NewCollectorServiceClient(n.conn).Report(n.meet.ShowToken(ctx))
	if err != nil {
		return err
	}
	if err := stream.Send(hello(n.meet.Run, n.number)); err != nil {
		return reason(stream, err)
	}
	go n.receive(stream)
	jobs := newJob(n.number)
	for _, m := range jobs.definitions() {
		if err := n.post(stream, m); err != nil {
			return err
		}
	}
	// Nodes do not speak all at once.
	next := time.Now().Add(time.Duration(n.number) * n.loader.every / time.Duration(len(n.loader.nodes)))
	for i := range n.messages {
		if n.loader.every > 0 {
			time.Sleep(time.Until(next))
			next = next.Add(n.loader.every)
		}
		if err := n.post(stream, jobs.calls(i)); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.waiting) > 0 && n.received == nil {
		n.room.Wait()
	}
	return n.received
}

// post sends a message as soon as there is room for it in the window.
func (n *node) post(stream grpc.BidiStreamingClient[moriensv1.ReportRequest, moriensv1.ReportResponse], m *moriensv1.ReportRequest) error {
	n.mu.Lock()
	for len(n.waiting) >= window && n.received == nil {
		n.room.Wait()
	}
	err := n.received
	n.sequence++
	m.Sequence = n.sequence
	n.waiting = append(n.waiting, pending{n.sequence, time.Now()})
	n.mu.Unlock()
	if err != nil {
		return err
	}
	if err := stream.Send(m); err != nil {
		return reason(stream, err)
	}
	return nil
}

// reason is what the collector says where Send only knows that the stream has ended.
func reason(stream grpc.BidiStreamingClient[moriensv1.ReportRequest, moriensv1.ReportResponse], err error) error {
	if errors.Is(err, io.EOF) {
		if _, said := stream.Recv(); said != nil {
			return said
		}
	}
	return err
}

func (n *node) receive(stream grpc.BidiStreamingClient[moriensv1.ReportRequest, moriensv1.ReportResponse]) {
	for {
		response, err := stream.Recv()
		now := time.Now()
		n.mu.Lock()
		if err != nil {
			n.received = err
		} else {
			for len(n.waiting) > 0 && n.waiting[0].sequence <= response.Acknowledged {
				n.latency = append(n.latency, now.Sub(n.waiting[0].sent).Seconds()*1000)
				n.waiting = n.waiting[1:]
			}
		}
		n.room.Broadcast()
		n.mu.Unlock()
		if err != nil {
			return
		}
	}
}
