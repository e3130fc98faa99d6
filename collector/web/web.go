// Package web is the collector's side for browsers and monitoring: how the run is, as JSON and as Prometheus text.
//
// It only tells; nothing can be changed by it. What it tells is the user's own, so that every request has to show a
// token, which opens nothing else. On the loopback it speaks HTTP; where others could listen, TLS with the run's
// certificate.
package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"moriens/collector/gate"
	"moriens/collector/health"
)

// MetricsPath is where the metrics are served.
const MetricsPath = "/metrics"

const (
	headerTimeout = 5 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 60 * time.Second
	maxHeader     = 16 << 10
)

// Config says where to listen and what to tell.
type Config struct {
	Listen string // host:port
	Token  string
	TLS    *tls.Config // the run's certificate
	Gate   *gate.Gate
	Page   func() health.Page
	Log    *slog.Logger
}

// A Server serves the pages from Start to Close.
type Server struct {
	config   Config
	listener net.Listener
	scheme   string
	http     http.Server
	done     sync.WaitGroup
}

type connKey struct{}

// Start begins to listen.
func Start(config Config) (*Server, error) {
	listener, err := net.Listen("tcp", config.Listen)
	if err != nil {
		return nil, fmt.Errorf("page at %s: %w", config.Listen, err)
	}
	s := &Server{config: config, listener: listener, scheme: "http"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+health.Path, s.health)
	mux.Handle("GET "+MetricsPath, metrics(config.Page))
	s.http = http.Server{
		Handler:           s.guard(mux),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(config.Log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if secured, ok := c.(*tls.Conn); ok {
				c = secured.NetConn()
			}
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	watched := config.Gate.Listen(listener)
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		s.scheme = "https"
		watched = tls.NewListener(watched, config.TLS)
	}
	s.done.Go(func() {
		if err := s.http.Serve(watched); err != nil && !errors.Is(err, http.ErrServerClosed) {
			config.Log.Error("the page stopped listening", "error", err)
		}
	})
	return s, nil
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// URL is its address, where it is reached under hostPort.
func (s *Server) URL(hostPort string) string { return s.scheme + "://" + hostPort }

// Close stops listening and ends what is under way.
func (s *Server) Close() {
	s.http.Close()
	s.done.Wait()
}

// guard lets requests pass that show the token, as the parameter token or as a bearer.
func (s *Server) guard(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(s.config.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Referrer-Policy", "no-referrer") // the address holds the token
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
		shown, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !isBearer {
			shown = r.URL.Query().Get("token")
		}
		// Of the hashes, which have one length: comparing in constant time needs that.
		got := sha256.Sum256([]byte(shown))
		conn := r.Context().Value(connKey{}).(*gate.Conn)
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			conn.Refuse(gate.PageToken, errors.New("a page was asked for without the right token"))
			header.Set("WWW-Authenticate", "Bearer")
			http.Error(w, "wrong token: moriens status DIR --url prints the right address", http.StatusUnauthorized)
			return
		}
		conn.Trust()
		next.ServeHTTP(w, r)
	})
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	page, err := json.MarshalIndent(s.config.Page(), "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(page, '\n'))
}
