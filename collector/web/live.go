package web

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"moriens/collector/health"
	"moriens/collector/live"
	"moriens/trace/page"
)

// LivePath is where a run in progress is reported continuously, PackPath where a page asks for its data at first.
const (
	LivePath = "/live"
	PackPath = "/pack"
)

const (
	// sendEvery is how often viewers get the state of the run, lookEvery how often its stage is checked for a change,
	// which they get at once.
	sendEvery = time.Second
	lookEvery = 200 * time.Millisecond
	// sendTimeout is how long one of them may take to read it.
	sendTimeout = 10 * time.Second
)

// A Live is the data of an event "page": docs/format/live.md.
type Live struct {
	Health   health.Page  `json:"health"`
	Profile  live.Profile `json:"profile"`
	Clusters []Cluster    `json:"clusters"`
	Counters []string     `json:"counters"`
	Points   []live.Burst `json:"points"`
	Overhead []Cost       `json:"overhead"`
}

// A Cost is one of what measuring takes.
type Cost struct {
	What  string   `json:"what"`
	Value *float64 `json:"value"` // nil = not known
	Unit  string   `json:"unit"`  // "s", "ns", "share" of one core (0–1) or "bytes"
	Most  float64  `json:"most"`  // that it should take; 0 = nothing is said of that
	Why   string   `json:"why"`   // it is not known
}

// A Cluster is a provisional cluster.
type Cluster struct {
	ID      int32   `json:"id"`
	Colour  string  `json:"colour"`
	Bursts  int64   `json:"bursts"`
	Seconds float64 `json:"seconds"`
	Before  string  `json:"before"` // MPI functions round its bursts; empty where all bursts are clustered together
	After   string  `json:"after"`
}

// An End is the data of the event "end".
type End struct {
	Directory string `json:"directory"` // where the results are; empty = nowhere
	Error     string `json:"error"`     // empty where they are whole
	Hint      string `json:"hint"`
}

func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	s.viewer.Write(w) // a client that does not read it to its end has left
}

// pack is that of a run without any data yet: the rest arrives as it happens.
func (s *Server) pack(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/octet-stream")
	z := gzip.NewWriter(w)
	if err := page.Write(z, page.Live, page.Source{}, page.LimitsOf(page.Live)); err == nil {
		z.Close()
	}
}

// live reports how the run is until it has ended, or until who asked has left.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	to := http.NewResponseController(w)
	send := func(event string, data any) error {
		text, err := json.Marshal(data)
		if err != nil {
			return err
		}
		if err := to.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text); err != nil {
			return err
		}
		return to.Flush()
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var sent string
	var sentAt time.Time
	for {
		end := s.config.End()
		if stage := s.config.Stage(); stage != sent || end != nil || time.Since(sentAt) >= sendEvery {
			sent, sentAt = stage, time.Now()
			if err := send("page", s.config.Live()); err != nil {
				return // it has left
			}
		}
		if end != nil {
			if send("end", end) != nil {
				s.config.Log.Debug("the browser disconnected before the end")
			}
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}
