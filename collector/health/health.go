// Package health is what can be said of a run in progress: the page that `moriens status`, the JSON page and the
// metrics are made of. It is data only; the collector fills it in.
package health

import "time"

// FormatVersion is the version of the page; it grows when a field changes its meaning.
const FormatVersion = 1

// Path is where the page is served.
const Path = "/health"

// Stages of a run, in their order.
const (
	Collecting = "collecting" // agents send, or are waited for
	Finishing  = "finishing"  // the run has been ended; agents send what is left
	Analysing  = "analysing"  // nothing more is taken
	Done       = "done"       // the results are written
)

// A Page is the state of a run. docs/format/health.md gives each field's unit.
type Page struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of moriens
	Run     string    `json:"run"`
	Stage   string    `json:"stage"`
	Host    string    `json:"host"` // of the collector
	PID     int       `json:"pid"`
	Started time.Time `json:"started"` // the collector
	Seconds float64   `json:"seconds"` // since then

	Agents    []Agent `json:"agents"`
	Ranks     Ranks   `json:"ranks"`
	Calls     uint64  `json:"mpi_calls"`
	Bursts    uint64  `json:"bursts"`
	Transfers uint64  `json:"transfers"`
	// BurstsPerSecond came in lately: over the last ten seconds, or since the start.
	BurstsPerSecond float64 `json:"bursts_per_second"`

	Clusters Clusters `json:"clusters"`
	Losses   Losses   `json:"losses"`
	// Refused says how often somebody was turned away, by cause.
	Refused map[string]uint64 `json:"refused"`
	Memory  Memory            `json:"memory"`
	Journal *Journal          `json:"journal"` // null: this collector keeps none
}

// An Agent is one node of the run.
type Agent struct {
	Host      string  `json:"host"`
	Connected bool    `json:"connected"`
	Done      bool    `json:"done"`         // everything of it came
	Away      float64 `json:"away_seconds"` // since its stream ended; 0 while it has one
	Ranks     int     `json:"ranks"`
	Resent    uint64  `json:"batches_resent"` // known when it is done
}

// Ranks are the MPI processes that have come.
type Ranks struct {
	Recorded int `json:"recorded"`
	Running  int `json:"running"`
	Ended    int `json:"ended"` // by MPI_Finalize
	Died     int `json:"died"`  // without
	Left     int `json:"left"`  // they went on when their agent left them
}

// Clusters are those of the bursts that have come, as far as they are clustered.
type Clusters struct {
	Count     int     `json:"count"`
	Bursts    int     `json:"bursts"`          // that were clustered
	Explained float64 `json:"explained_share"` // of their computing time, in clusters
	Largest   []Large `json:"largest"`         // by time
}

// A Large is one of the clusters with the most time.
type Large struct {
	ID      int32   `json:"id"`
	Bursts  int64   `json:"bursts"`
	Seconds float64 `json:"seconds"`
}

// Losses count what is not in what came, by cause.
type Losses struct {
	RecordsDropped   uint64 `json:"records_dropped"`
	CallsAbandoned   uint64 `json:"calls_abandoned"`
	CallsUnrecorded  uint64 `json:"calls_unrecorded"`
	BatchesResent    uint64 `json:"batches_resent"`
	BatchesDuplicate uint64 `json:"batches_duplicate"`
	MessagesRefused  uint64 `json:"messages_refused"`
	RanksDied        uint64 `json:"ranks_died"`
	RanksUnrecorded  uint64 `json:"ranks_unrecorded"`
}

// Memory is what the collector's process uses.
type Memory struct {
	HeapBytes     uint64 `json:"heap_bytes"`
	ResidentBytes uint64 `json:"resident_bytes"` // 0 = not known
}

// A Journal is the state of the collector's journal.
type Journal struct {
	Bytes       uint64  `json:"bytes"`
	CutBytes    uint64  `json:"cut_bytes"` // torn off its end when it was taken up again
	Pending     uint64  `json:"pending"`   // messages that came and are not acknowledged yet
	Syncs       uint64  `json:"syncs"`
	SyncSeconds float64 `json:"sync_seconds"` // of all of them
	SlowestSync float64 `json:"slowest_sync"` // seconds
	Error       string  `json:"error"`        // why it does not grow now; empty = it does
}

// Connected counts the agents that have a stream, and Finished those of which everything came.
func (p *Page) Connected() (connected, finished int) {
	for _, a := range p.Agents {
		switch {
		case a.Done:
			finished++
		case a.Connected:
			connected++
		}
	}
	return connected, finished
}
