// Package web serves the state of the run to browsers and monitoring: as a page that follows the run, as JSON and as
// Prometheus text.
//
// It is read-only. Its data is the user's own, so that every request has to show a token, which gives access to nothing
// else. On the loopback it speaks HTTP; where others could listen, TLS with the run's certificate.
package web

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"moriens/collector/admission"
	"moriens/collector/health"
	"moriens/internal/webguard"
	"moriens/trace/page"
	"moriens/viewer"
)

// MetricsPath is where the metrics are served.
const MetricsPath = "/metrics"

const (
	headerTimeout = 5 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 60 * time.Second
	maxHeader     = 16 << 10
)

// Config says where to listen and what to serve.
type Config struct {
	Listen    string // host:port
	Token     string
	TLS       *tls.Config // the run's certificate
	Admission *admission.Control
	Page      func() health.Page
	Live      func() Live   // what the page shows
	Stage     func() string // changes with whatever must be sent at once
	End       func() *End   // nil during the run
	Log       *slog.Logger
}

// A Server serves the pages from Start to Close.
type Server struct {
	config   Config
	listener net.Listener
	scheme   string
	viewer   viewer.Page
	http     http.Server
	endGrace time.Duration // how long viewers may take to receive the end
	done     sync.WaitGroup
}

type connKey struct{}

// Start begins to listen.
func Start(config Config) (*Server, error) {
	listener, err := net.Listen("tcp", config.Listen)
	if err != nil {
		return nil, fmt.Errorf("page at %s: %w", config.Listen, err)
	}
	s := &Server{config: config, listener: listener, scheme: "http", endGrace: sendTimeout, viewer: viewer.Page{Title: "moriens – a run in progress", Mode: string(page.Live)}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET "+PackPath, s.pack)
	mux.HandleFunc("GET "+LivePath, s.live)
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
	watched := config.Admission.Listen(listener)
	if !s.onLoopback() {
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

// onLoopback reports whether only this host's users can connect: they need no HTTPS.
func (s *Server) onLoopback() bool { return s.listener.Addr().(*net.TCPAddr).IP.IsLoopback() }

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// URL is its address, where it is reached under hostPort.
func (s *Server) URL(hostPort string) string { return s.scheme + "://" + hostPort }

// Close stops listening, sends viewers how the run has ended, if Config.End says so, and ends what else is under way.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), s.endGrace)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.config.Log.Debug("a page did not receive the end of the run", "error", err)
	}
	s.http.Close()
	s.done.Wait()
}

// guard lets requests pass that show the token.
func (s *Server) guard(next http.Handler) http.Handler {
	conn := func(r *http.Request) *admission.Conn { return r.Context().Value(connKey{}).(*admission.Conn) }
	return webguard.Guard{
		Token: s.config.Token, Loopback: s.onLoopback(), Policy: s.viewer.Policy(), Advice: "moriens status DIR --url prints the right address",
		Passed: func(r *http.Request) { conn(r).Trust() },
		Refused: func(r *http.Request, err error) {
			cause := admission.PageToken
			if errors.Is(err, webguard.ErrHost) {
				cause = admission.PageHost
			}
			conn(r).Refuse(cause, err)
		},
	}.Handler(next)
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
