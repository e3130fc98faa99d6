// Package ingest is the collector's side of the agents' streams: it passes each message to the store and the journal,
// and acknowledges what is safe on disk. Streams that arrive here have shown the run's token (collector/admission).
package ingest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"moriens/collector/admission"
	"moriens/collector/journal"
	"moriens/collector/store"
	"moriens/collector/windows"
	_ "moriens/internal/wire" // agents may compress
	moriensv1 "moriens/proto/moriens/v1"
)

// maxMessageBytes bounds one message. An agent's largest have 1 MiB of sections and one more, of 0.5 MiB at most.
const maxMessageBytes = 4 << 20

// A Server takes the agents' streams.
type Server struct {
	moriensv1.UnimplementedCollectorServiceServer
	Config
	run   string
	store *store.Store
}

// A Place says to which collector of the run an agent belongs; nil: to this one.
type Place func(*moriensv1.Hello) *moriensv1.Redirect

// A Mode says why an agent cannot be taken that keeps its bursts, or does not, as others do; nil: it can.
type Mode func(*moriensv1.Hello) error

// A Config is what the service works with.
type Config struct {
	Journal   *journal.Journal   // of the run; its store holds what the agents send
	Windows   *windows.Requester // through it agents are asked for windows
	Clock     Clock              // the collector's, to which the agents' are compared
	Admission *admission.Control // counts what is refused
	Finish    <-chan struct{}    // closed: the agents have to end
	Linger    Linger             // how long agents keep running after they are done
	Place     Place              // which agents belong here; nil: all
	Mode      Mode               // which agents are not as the others are; nil: none
	Stir      func()             // called when an agent has come, is done or has left
	Log       *slog.Logger
}

// Register adds the service of a journal's run to a gRPC server made with Options.
func Register(g *grpc.Server, c Config) {
	moriensv1.RegisterCollectorServiceServer(g, &Server{Config: c, run: c.Journal.Begin().Run, store: c.Journal.Store()})
}

// Options are what the gRPC server of this service has to be made with.
func Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.InitialWindowSize(4 << 20), grpc.InitialConnWindowSize(16 << 20),
	}
}

// Report serves one stream of one agent.
func (s *Server) Report(stream grpc.BidiStreamingServer[moriensv1.ReportRequest, moriensv1.ReportResponse]) error {
	m, _, err := s.receive(stream)
	if err != nil {
		return err
	}
	hello := m.GetHello()
	switch {
	case hello == nil:
		return s.refuse(stream.Context(), admission.NoHello, status.Error(codes.InvalidArgument, "a stream starts with hello"))
	case hello.Run != s.run:
		return s.refuse(stream.Context(), admission.OtherRun, status.Error(codes.PermissionDenied, "an agent of another run"))
	}
	if s.Place != nil {
		if to := s.Place(hello); to != nil {
			return sendOn(to)
		}
	}
	if s.Mode != nil {
		if err := s.Mode(hello); err != nil {
			return s.refuse(stream.Context(), admission.OtherMode, status.Error(codes.FailedPrecondition, err.Error()))
		}
	}
	var agent *store.Agent
	acks := newAcks(func() (uint64, uint32, error) {
		ticks, err := s.Clock()
		if err != nil {
			return 0, 0, err
		}
		return ticks, s.Journal.Clock(agent), nil
	}, s.Finish, s.Linger)
	acks.ended = s.Stir
	if agent, err = s.Journal.Greet(hello, func(held uint64) { acks.set(held, 0) }); err != nil {
		return over(err)
	}
	s.Stir()
	defer func() {
		s.store.Leave(agent)
		s.Stir()
	}()
	log := s.Log.With("agent", hello.Host)
	log.Info("agent connected", "held", s.store.Held(agent))

	ctx, cancel := context.WithCancel(stream.Context())
	line := s.Windows.Join(hello.Agent, acks.wake)
	defer line.Leave()
	sent := make(chan error, 1)
	go func() { sent <- acks.send(ctx, line.Ask, stream) }()
	err = s.take(stream, agent, acks, line)
	if errors.Is(err, io.EOF) {
		err = nil
		s.Journal.Barrier(acks.close) // a last acknowledgement still goes out
	} else {
		s.store.Cut(agent)
		cancel()
	}
	ackErr := <-sent
	cancel()
	if err == nil {
		err = ackErr
	}
	log.Info("agent disconnected", "error", err)
	return err
}

// over refuses what arrives after the end of the run.
func over(err error) error {
	refusal := status.New(codes.FailedPrecondition, err.Error())
	if !errors.Is(err, store.ErrFrozen) {
		return refusal.Err()
	}
	if detailed, detailErr := refusal.WithDetails(&moriensv1.RunOver{}); detailErr == nil {
		refusal = detailed
	}
	return refusal.Err()
}

// sendOn refuses an agent that belongs to another collector.
func sendOn(to *moriensv1.Redirect) error {
	refusal := status.Newf(codes.FailedPrecondition, "the agent belongs to collector %d of this run", to.Member)
	if detailed, err := refusal.WithDetails(to); err == nil {
		refusal = detailed
	}
	return refusal.Err()
}

func (s *Server) take(stream grpc.BidiStreamingServer[moriensv1.ReportRequest, moriensv1.ReportResponse], agent *store.Agent, acks *acks, line *windows.Line) error {
	for {
		m, record, err := s.receive(stream)
		if err != nil {
			return err
		}
		if p := m.GetClockProbe(); p != nil {
			acks.probe(p)
			continue
		}
		if p := m.GetSpool(); p != nil {
			s.takeSpool(agent, p)
			continue
		}
		if p := m.GetStanding(); p != nil {
			if err := s.store.Stand(agent, p, time.Now()); err != nil {
				s.Log.Error("message refused", "agent", agent.Hello.Host, "error", err)
				s.store.Refuse()
			}
			continue
		}
		if line.Take(m) {
			continue
		}
		if m.GetDone() != nil {
			acks.last()
		}
		bytes := len(record)
		err = s.Journal.Take(stream.Context(), agent, m, record, func(held uint64) { acks.set(held, bytes) })
		var content *store.ContentError
		switch {
		case errors.Is(err, store.ErrFrozen):
			return over(err)
		case errors.As(err, &content):
			s.Log.Error("message refused", "agent", agent.Hello.Host, "error", err)
		case stream.Context().Err() != nil:
			return stream.Context().Err()
		case err != nil:
			s.Admission.Refuse(admission.Sequence, agent.Hello.Host, err)
			return status.Error(codes.InvalidArgument, err.Error())
		}
	}
}

// takeSpool takes what an agent says of its spool, and has the log say what costs calls.
func (s *Server) takeSpool(agent *store.Agent, p *moriensv1.Spool) {
	was := s.store.Spool(agent, p)
	log := s.Log.With("agent", agent.Hello.Host, "seconds", time.Duration(p.FullNs).Seconds(), "dropped", p.Dropped)
	switch {
	case p.Unkept > 0:
		log.Error("an agent has ended with a full spool", "left in the ring buffers", p.Unkept, "ranks", p.UnkeptProcesses, "error", p.Error)
	case p.Full && !was.GetFull():
		log.Error("an agent's spool is full: it has stopped reading", "error", p.Error)
	case was.GetFull() && !p.Full:
		log.Warn("an agent's spool has space again")
	}
}

// countFault counts what ended a stream if it is the sender's fault: gRPC has these codes for what it cannot read. A
// connection that breaks has others.
func (s *Server) countFault(ctx context.Context, err error) {
	switch status.Code(err) {
	case codes.ResourceExhausted:
		s.refuse(ctx, admission.Oversize, err)
	case codes.Internal:
		s.refuse(ctx, admission.Malformed, err)
	}
}

func (s *Server) refuse(ctx context.Context, cause admission.Cause, err error) error {
	from := "unknown"
	if p, ok := peer.FromContext(ctx); ok {
		from = p.Addr.String()
	}
	s.Admission.Refuse(cause, from, err)
	return err
}
