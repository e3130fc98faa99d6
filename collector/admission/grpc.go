package admission

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"moriens/internal/rendezvous"
)

const (
	// maxStreams bounds the streams of one connection. An agent has one, status and finish too.
	maxStreams = 16
	// maxHeaderBytes bounds what a stream says before its messages: the token, and what gRPC adds.
	maxHeaderBytes = 16 << 10
	// keepaliveMin is how often an agent may ask whether we are there; gRPC's default is 5 minutes.
	keepaliveMin = 10 * time.Second
	// keepaliveTime is how long a node may be silent before it is asked, and then before it is given up.
	keepaliveTime = 20 * time.Second
)

// ServerOptions are what a gRPC server behind this Control has to be made with. inner is how its connections are
// secured.
func (g *Control) ServerOptions(meet rendezvous.Rendezvous, inner credentials.TransportCredentials) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(watched{inner}),
		grpc.ConnectionTimeout(g.patience),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMin}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTime}),
		// Before anything of a stream is read or kept, whatever service it asks for.
		grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
			conn, err := connOf(ctx), meet.CheckToken(info.Header)
			if err != nil {
				conn.Refuse(Token, err)
				return ctx, err
			}
			conn.Trust()
			return ctx, nil
		}),
	}
}

// watched reports the outcome of handshakes to the Control, and to streams which connection they belong to.
type watched struct {
	credentials.TransportCredentials
}

type seal struct {
	credentials.AuthInfo
	conn *Conn
}

// GetCommonAuthInfo says how well the connection is secured.
func (s seal) GetCommonAuthInfo() credentials.CommonAuthInfo {
	if info, ok := s.AuthInfo.(interface {
		GetCommonAuthInfo() credentials.CommonAuthInfo
	}); ok {
		return info.GetCommonAuthInfo()
	}
	return credentials.CommonAuthInfo{}
}

func (w watched) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := w.TransportCredentials.ServerHandshake(raw)
	conn := raw.(*Conn) // the server listens through this Control
	switch {
	case errors.Is(err, rendezvous.ErrOtherUser):
		conn.Refuse(OtherUser, err)
	case err != nil:
		conn.Refuse(Handshake, err)
	}
	if err != nil {
		return nil, nil, err
	}
	return secured, seal{info, conn}, nil
}

func (w watched) Clone() credentials.TransportCredentials {
	return watched{w.TransportCredentials.Clone()}
}

// connOf returns the connection of a stream.
func connOf(ctx context.Context) *Conn {
	from, _ := peer.FromContext(ctx)
	return from.AuthInfo.(seal).conn
}
