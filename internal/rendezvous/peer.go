package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/credentials"
)

// ErrOtherUser is the reason why a Unix socket is not used: the process at its other end belongs to another user.
var ErrOtherUser = errors.New("the process at the other end of the socket belongs to another user")

// PeerCredentials are for Unix sockets, for both of their ends: the kernel reports whose process is at the other one,
// and it has to be this user's. Nothing is encrypted, as there is no network between them.
func PeerCredentials() credentials.TransportCredentials { return peerCredentials{} }

type peerCredentials struct{}

// peerInfo is what is known of a peer that passed.
type peerInfo struct{ credentials.CommonAuthInfo }

// AuthType names how the peer was checked.
func (peerInfo) AuthType() string { return "peer" }

func (peerCredentials) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return checkPeer(conn)
}

func (peerCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return checkPeer(conn)
}

func (peerCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "peer"}
}

func (peerCredentials) Clone() credentials.TransportCredentials { return peerCredentials{} }

func (peerCredentials) OverrideServerName(string) error { return nil }

func checkPeer(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	uid, err := peerUser(conn)
	if err == nil && uid != os.Geteuid() {
		err = fmt.Errorf("%w: %d, this is %d", ErrOtherUser, uid, os.Geteuid())
	}
	if err != nil {
		return nil, nil, err // who called closes the connection
	}
	return conn, peerInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}, nil
}

// peerUser returns the effective user of the connected or listening process.
func peerUser(conn net.Conn) (int, error) {
	wrapped, ok := conn.(interface{ NetConn() net.Conn })
	if ok {
		conn = wrapped.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return 0, fmt.Errorf("%T has no peer to ask for", conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var (
		peer    *unix.Ucred
		peerErr error
	)
	if err := raw.Control(func(fd uintptr) {
		peer, peerErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if peerErr != nil {
		return 0, fmt.Errorf("identify the peer of the socket: %w", peerErr)
	}
	return int(peer.Uid), nil
}
