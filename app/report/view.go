package report

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"moriens/internal/hint"
	"moriens/internal/webguard"
	"moriens/trace"
	"moriens/trace/page"
	"moriens/viewer"
)

// A ViewConfig says what to show, and where.
type ViewConfig struct {
	Dir     string
	Listen  string // address of the loopback, port 0 for any
	Token   string
	Browser bool // open it in one, where there is one
	Most    int  // bursts, and calls, that the page holds; 0 = page.MostOfView
	Stdout  io.Writer
	Notify  func(text string) // what the user should know
	Log     *slog.Logger
}

// ErrNotLoopback is for addresses that others could reach.
var ErrNotLoopback = errors.New("not a loopback address")

const headerTimeout = 5 * time.Second

// View serves the page of a run directory until ctx ends.
func View(ctx context.Context, c ViewConfig) error {
	s, err := open(c.Dir)
	if err != nil {
		return err
	}
	for _, p := range s.Problems {
		c.Notify("left out: " + p)
	}
	limits := page.LimitsOf(page.View)
	if c.Most > 0 {
		limits.Points, limits.Calls = c.Most, c.Most
	}
	data, err := packed(s, limits)
	if err != nil {
		return fmt.Errorf("run directory %s: %w", c.Dir, err)
	}
	listener, err := listenLoopback(c.Listen)
	if err != nil {
		return hint.With(err, "name a loopback address of this host with --listen, for example 127.0.0.1:0")
	}
	p := viewer.Page{Title: title(s.Manifest), Mode: string(page.View)}
	guard := webguard.Guard{
		Token: c.Token, Loopback: true, Policy: p.Policy(), Advice: "open the address that moriens view printed",
		Passed: func(*http.Request) {}, Refused: func(r *http.Request, err error) { c.Log.Warn("rejected", "host", r.Host, "error", err) },
	}
	server := http.Server{
		Handler: guard.Handler(handler(&p, data, s.Detail)), ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	url := fmt.Sprintf("http://%s/?token=%s", listener.Addr(), c.Token)
	if _, err := fmt.Fprintln(c.Stdout, url); err != nil {
		listener.Close()
		return err
	}
	if c.Browser {
		defer browse(url, c.Log)()
	}
	c.Notify("serving until Ctrl-C")
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// packed is a run's data as they are sent.
func packed(s page.Source, l page.Limits) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed) // it goes no further than this machine
	if err != nil {
		return nil, err
	}
	if err := page.Write(z, page.View, s, l); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// handler serves the page, its data, and bins of the run's detail, if there is any.
func handler(p *viewer.Page, data []byte, detail *trace.Run) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		p.Write(w) // a client that does not read it to its end has left
	})
	mux.HandleFunc("GET /pack", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(data)
	})
	if detail != nil && len(detail.Threads) > 0 {
		mux.Handle("GET "+binsPath, &binner{run: detail})
	}
	return mux
}

// listenLoopback listens where only this host's users can connect.
func listenLoopback(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("%s: %w", address, ErrNotLoopback), l.Close())
	}
	return l, nil
}

// browse opens an address in the user's browser, if there is a screen for one. The address holds the token, and all
// users of this machine see the arguments of its programs. So the browser gets a file, which only the user can read,
// that redirects there. done removes it.
func browse(url string, log *slog.Logger) (done func()) {
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return func() {}
	}
	open, err := exec.LookPath("xdg-open")
	if err != nil {
		return func() {}
	}
	file, err := os.CreateTemp("", "moriens-view-*.html") // 0600
	if err != nil {
		log.Warn("no browser", "error", err)
		return func() {}
	}
	_, err = fmt.Fprintf(file, "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n", html.EscapeString(url))
	if err = errors.Join(err, file.Close()); err == nil {
		err = exec.Command(open, file.Name()).Start() // what it starts outlives it, and says much on the terminal
	}
	if err != nil {
		log.Warn("no browser", "error", err)
	}
	return func() {
		if err := os.Remove(file.Name()); err != nil {
			log.Warn("the file that opened the browser is left", "error", err)
		}
	}
}
