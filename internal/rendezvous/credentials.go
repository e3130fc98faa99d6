package rendezvous

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// tokenKey is the metadata key under which an agent shows its token.
const tokenKey = "moriens-token"

// ServerTLS makes a certificate for this run and returns the server's credentials and its fingerprint.
func ServerTLS() (credentials.TransportCredentials, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, "", fmt.Errorf("make a serial number: %w", err)
	}
	now := time.Now()
	template := x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "moriens collector"},
		NotBefore:    now.Add(-24 * time.Hour), // nodes' clocks differ
		NotAfter:     now.Add(366 * 24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return nil, "", fmt.Errorf("make a certificate: %w", err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		MinVersion:   tls.VersionTLS13,
	}
	return credentials.NewTLS(config), fingerprint(der), nil
}

// ClientCredentials returns what an agent dials with: on TCP, TLS to exactly the certificate that r
// names; on a Unix socket, none.
func (r Rendezvous) ClientCredentials() credentials.TransportCredentials {
	if r.Unix() {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13,
		// There is no authority to ask: the certificate itself is pinned by its fingerprint.
		InsecureSkipVerify: true,
		VerifyPeerCertificate: func(certs [][]byte, _ [][]*x509.Certificate) error {
			if len(certs) == 0 || !same(fingerprint(certs[0]), r.Fingerprint) {
				return errors.New("the collector's certificate is not the one in " + File)
			}
			return nil
		},
	})
}

// ShowToken adds r's token to what goes out with ctx.
func (r Rendezvous) ShowToken(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, tokenKey, r.Token)
}

// CheckToken returns a gRPC error unless what came in with ctx holds the token.
func (r Rendezvous) CheckToken(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	got := md.Get(tokenKey)
	if len(got) != 1 || !same(got[0], r.Token) {
		return status.Error(codes.Unauthenticated, "wrong token")
	}
	return nil
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
