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
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// tokenKey is the metadata key under which an agent shows its token.
const tokenKey = "moriens-token"

// A Certificate is what the collector of a run proves itself with.
type Certificate struct {
	DER []byte // X.509
	Key []byte // PKCS #8, DER
}

// NewCertificate makes a certificate for a run.
func NewCertificate() (Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Certificate{}, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Certificate{}, fmt.Errorf("make a serial number: %w", err)
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
		return Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Certificate{}, fmt.Errorf("encode a key: %w", err)
	}
	return Certificate{der, encoded}, nil
}

// ServerTLS returns what a server with this certificate listens with.
func (c Certificate) ServerTLS() (*tls.Config, error) {
	key, err := x509.ParsePKCS8PrivateKey(c.Key)
	if err != nil {
		return nil, fmt.Errorf("the certificate's key: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{c.DER}, PrivateKey: key}},
		MinVersion:   tls.VersionTLS13,
	}, nil
}

// Fingerprint is what the rendezvous names the certificate by.
func (c Certificate) Fingerprint() string { return fingerprint(c.DER) }

// ClientCredentials returns what an agent dials with: on TCP, TLS to exactly the certificate that r
// names; on a Unix socket, the proof that a process of this user listens there.
func (r Rendezvous) ClientCredentials() credentials.TransportCredentials {
	if r.Unix() {
		return PeerCredentials()
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

// CheckToken returns a gRPC error unless the metadata of a stream holds the token.
func (r Rendezvous) CheckToken(md metadata.MD) error {
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

// same compares in a time that does not depend on where two texts of one length differ.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
