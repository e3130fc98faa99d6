// Package ingest is the collector's side of the agents' streams: it lets in who shows the run's token,
// hands each message to the store and acknowledges what the store holds.
package ingest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"moriens/collector/store"
	"moriens/internal/rendezvous"
	moriensv1 "moriens/proto/moriens/v1"
)

// maxMessageBytes bounds one message. An agent's largest, 4,096 calls, takes less than 0.2 MiB.
const maxMessageBytes = 4 << 20

// keepaliveMin is how often an agent may ask whether we are there; gRPC's default is 5 minutes.
const keepaliveMin = 10 * time.Second

// A Server takes the agents' streams.
type Server struct {
	moriensv1.UnimplementedCollectorServiceServer
	meet  rendezvous.Rendezvous
	store *store.Store
	clock Clock
	log   *slog.Logger
}

// Register adds the service to a gRPC server made with Options.
func Register(g *grpc.Server, meet rendezvous.Rendezvous, s *store.Store, clock Clock, log *slog.Logger) {
	moriensv1.RegisterCollectorServiceServer(g, &Server{meet: meet, store: s, clock: clock, log: log})
}

// Options are what the gRPC server of this service has to be made with.
func Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMin}),
		grpc.InitialWindowSize(4 << 20), grpc.InitialConnWindowSize(16 << 20),
	}
}

// Report serves one stream of one agent.
func (s *Server) Report(stream grpc.BidiStreamingServer[moriensv1.ReportRequest, moriensv1.ReportResponse]) error {
	if err := s.meet.CheckToken(stream.Context()); err != nil {
		s.refuse("stream refused", err)
		return err
	}
	m, err := stream.Recv()
	if err != nil {
		return err
	}
	hello := m.GetHello()
	switch {
	case hello == nil:
		err = status.Error(codes.InvalidArgument, "a stream starts with hello")
	case hello.Run != s.meet.Run:
		err = status.Error(codes.PermissionDenied, "an agent of another run")
	}
	if err != nil {
		s.refuse("stream refused", err)
		return err
	}
	agent, held, err := s.store.Greet(hello)
	if err != nil {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	defer s.store.Leave(agent)
	log := s.log.With("agent", hello.Host)
	log.Info("agent connected", "held", held)

	ctx, cancel := context.WithCancel(stream.Context())
	acks := newAcks(held, s.clock)
	sent := make(chan error, 1)
	go func() { sent <- acks.send(ctx, stream) }()
	err = s.receive(stream, agent, acks)
	if errors.Is(err, io.EOF) {
		err = nil
		acks.close() // a last acknowledgement still goes out
	} else {
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

func (s *Server) receive(stream grpc.BidiStreamingServer[moriensv1.ReportRequest, moriensv1.ReportResponse], agent *store.Agent, acks *acks) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		if p := m.GetClockProbe(); p != nil {
			acks.probe(p)
			continue
		}
		held, err := s.store.Apply(agent, m)
		var content *store.ContentError
		switch {
		case errors.Is(err, store.ErrFrozen):
			return status.Error(codes.FailedPrecondition, err.Error())
		case errors.As(err, &content):
			s.log.Error("message refused", "agent", agent.Hello.Host, "error", err)
		case err != nil:
			return status.Error(codes.InvalidArgument, err.Error())
		}
		acks.set(held)
	}
}

func (s *Server) refuse(what string, err error) {
	s.store.Refuse()
	s.log.Warn(what, "error", err)
}
