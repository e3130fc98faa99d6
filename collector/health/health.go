// Package health describes the state of a run in progress: the data behind `moriens status`, the JSON page and the
// metrics. It is data only; the collector fills it in.
package health

import (
	"cmp"
	"slices"
	"time"
)

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
	// BurstsPerSecond arrived recently: over the last ten seconds, or since the start.
	BurstsPerSecond float64 `json:"bursts_per_second"`

	// Cells are those that agents keep their bursts as; null: bursts are sent.
	Cells *Cells `json:"cells"`

	Efficiency *Efficiency `json:"efficiency"`
	Waiting    *Waiting    `json:"waiting"` // null: no rank is known to be in a call for a second

	Clusters Clusters `json:"clusters"`
	Losses   Losses   `json:"losses"`
	// Refused counts the rejected connections, by cause.
	Refused map[string]uint64 `json:"refused"`
	Memory  Memory            `json:"memory"`
	CPU     float64           `json:"cpu_seconds"` // of the collector's process until the run ended, of all its lives; 0 = not known
	Journal *Journal          `json:"journal"`     // null: this collector keeps none
	// Analysis is how far that is: empty until it begins.
	Analysis []Step `json:"analysis"`
	// Redirected counts agents that asked one collector of the run and belong to another.
	Redirected uint64 `json:"redirected,omitempty"`
	// Members are the collectors of a run that has several, by rank; all other counts are of all of them.
	Members []Member `json:"members,omitempty"`
}

// Cells are bursts that are kept on their nodes, as the latest survey of all agents has reported them.
type Cells struct {
	Surveyed  bool    `json:"surveyed"`       // there was a survey
	Age       float64 `json:"age_seconds"`    // since then
	Units     int     `json:"units"`          // micro-cells, apart for each pair of call paths where these count
	Bursts    uint64  `json:"bursts"`         // in units or not
	Seconds   float64 `json:"burst_seconds"`  // computing time of all of them
	Agents    int     `json:"agents"`         // that have reported
	Silent    int     `json:"silent_agents"`  // that were left out of the latest survey
	Lost      uint64  `json:"lost_bursts"`    // that agents knew before they were started again, and of which nothing is left
	Outside   uint64  `json:"outside_bursts"` // that no cell can hold, and that count as lacking data
	HeldBytes uint64  `json:"held_bytes"`     // of the nodes' memory
	Error     string  `json:"error"`          // why the latest survey failed; empty = it did not
}

// A Member is one of several collectors.
type Member struct {
	Member          int      `json:"member"`
	Host            string   `json:"host"`
	PID             int      `json:"pid"`
	Agents          int      `json:"agents"`
	Ranks           int      `json:"ranks"`
	Bursts          uint64   `json:"bursts"`
	BurstsPerSecond float64  `json:"bursts_per_second"`
	Redirected      uint64   `json:"redirected"`
	Memory          Memory   `json:"memory"`
	CPU             float64  `json:"cpu_seconds"`
	Journal         *Journal `json:"journal"` // null: it keeps none
}

// A Step is a stage of the analysis that has begun.
type Step struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Ended   bool    `json:"ended"`
	GivenUp bool    `json:"given_up"` // it was not over in its time
}

// An Agent is one node of the run.
type Agent struct {
	Host      string  `json:"host"`
	Connected bool    `json:"connected"`
	Done      bool    `json:"done"`         // everything of it arrived
	Away      float64 `json:"away_seconds"` // since its stream ended; 0 while it has one
	Ranks     int     `json:"ranks"`
	Resent    uint64  `json:"batches_resent"` // known when it is done
	CPU       float64 `json:"cpu_seconds"`    // of its process, as it last reported; 0 = it has not
	Shared    bool    `json:"shared"`         // it is in the collector's process, of which that is the time
	Spool     *Spool  `json:"spool"`          // null: its spool has not lacked room for seconds
	Lost      float64 `json:"lost_share"`     // of the time in which its ranks could run, to other processes; 0 = nothing, or not known
}

// A Spool is where what an agent's ranks have recorded waits for the collector. While it has no room nothing is read of
// them.
type Spool struct {
	Full        bool    `json:"full"` // now
	FullSeconds float64 `json:"full_seconds"`
	Dropped     uint64  `json:"dropped"` // calls and marks for which the rings had no room in that time
	Unkept      uint64  `json:"unkept"`  // calls and marks that are left in the rings of an agent that had to end
	Error       string  `json:"error"`   // why nothing can be written; empty = what waits for the collector takes all that may be taken
}

// Ranks are the MPI processes that have arrived.
type Ranks struct {
	Recorded int `json:"recorded"`
	Running  int `json:"running"`
	Ended    int `json:"ended"` // by MPI_Finalize
	Died     int `json:"died"`  // without
	Left     int `json:"left"`  // they went on when their agent left them
}

// Clusters are those of the bursts that have arrived, as far as they are clustered.
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

// Losses count what is not in what arrived, by cause.
type Losses struct {
	RecordsDropped   uint64 `json:"records_dropped"`
	CallsAbandoned   uint64 `json:"calls_abandoned"`
	CallsUnrecorded  uint64 `json:"calls_unrecorded"`
	BatchesResent    uint64 `json:"batches_resent"`
	BatchesDuplicate uint64 `json:"batches_duplicate"`
	MessagesRefused  uint64 `json:"messages_refused"`
	RanksDied        uint64 `json:"ranks_died"`
	RanksUnrecorded  uint64 `json:"ranks_unrecorded"`
	// Of agents whose spools had no room for seconds.
	SpoolFullSeconds float64 `json:"spool_full_seconds"` // sum over them
	SpoolFullDropped uint64  `json:"spool_full_dropped"` // calls and marks that their rings dropped in that time: of agents that are done they are among the dropped records
	RecordsUnkept    uint64  `json:"records_unkept"`     // calls and marks that were left in the rings
	// Unrecorded says why those could not record, and FilesUnreadable how many files ranks have left that cannot be read.
	Unrecorded      []Unrecorded `json:"unrecorded"`
	FilesUnreadable uint64       `json:"files_unreadable"`
}

// An Unrecorded is how many ranks of a host cannot record for one reason.
type Unrecorded struct {
	Ranks  int    `json:"ranks"`
	Host   string `json:"host"`
	Reason string `json:"reason"`
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
	Pending     uint64  `json:"pending"`   // messages that arrived and are not acknowledged yet
	Syncs       uint64  `json:"syncs"`
	SyncSeconds float64 `json:"sync_seconds"` // of all of them
	SlowestSync float64 `json:"slowest_sync"` // seconds
	Error       string  `json:"error"`        // why it does not grow now; empty = it does
}

// Connected counts the agents that have a stream, and Finished those of which everything arrived.
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

// member is what a page of one of several collectors reports of it.
func (p *Page) member(number int) Member {
	return Member{
		Member: number, Host: p.Host, PID: p.PID, Agents: len(p.Agents), Ranks: p.Ranks.Recorded, Bursts: p.Bursts,
		BurstsPerSecond: p.BurstsPerSecond, Redirected: p.Redirected, Memory: p.Memory, CPU: p.CPU, Journal: p.Journal,
	}
}

// Merge makes the page of the first of several collectors that of all of them. The others' pages are in the order of
// their ranks; clusters, stage and analysis are the first one's.
func (p *Page) Merge(others []Page) {
	p.Members = []Member{p.member(0)}
	known := p.CPU > 0
	if p.Journal != nil {
		sum := *p.Journal
		p.Journal = &sum
	}
	for i := range others {
		o := &others[i]
		p.Members = append(p.Members, o.member(i+1))
		p.Agents = append(p.Agents, o.Agents...)
		p.Ranks.add(o.Ranks)
		p.Calls += o.Calls
		p.Bursts += o.Bursts
		p.Transfers += o.Transfers
		p.BurstsPerSecond += o.BurstsPerSecond
		p.Losses.add(o.Losses)
		for cause, n := range o.Refused {
			p.Refused[cause] += n
		}
		p.Memory.HeapBytes += o.Memory.HeapBytes
		p.Memory.ResidentBytes += o.Memory.ResidentBytes
		p.CPU += o.CPU
		known = known && o.CPU > 0
		p.Redirected += o.Redirected
		if p.Journal != nil && o.Journal != nil {
			p.Journal.add(o.Journal)
		}
	}
	if !known {
		p.CPU = 0
	}
	slices.SortStableFunc(p.Agents, func(a, b Agent) int { return cmp.Compare(a.Host, b.Host) })
}

func (r *Ranks) add(o Ranks) {
	r.Recorded += o.Recorded
	r.Running += o.Running
	r.Ended += o.Ended
	r.Died += o.Died
	r.Left += o.Left
}

func (l *Losses) add(o Losses) {
	l.RecordsDropped += o.RecordsDropped
	l.CallsAbandoned += o.CallsAbandoned
	l.CallsUnrecorded += o.CallsUnrecorded
	l.BatchesResent += o.BatchesResent
	l.BatchesDuplicate += o.BatchesDuplicate
	l.MessagesRefused += o.MessagesRefused
	l.RanksDied += o.RanksDied
	l.RanksUnrecorded += o.RanksUnrecorded
	l.SpoolFullSeconds += o.SpoolFullSeconds
	l.SpoolFullDropped += o.SpoolFullDropped
	l.RecordsUnkept += o.RecordsUnkept
	l.Unrecorded = append(l.Unrecorded, o.Unrecorded...)
	l.FilesUnreadable += o.FilesUnreadable
}

func (j *Journal) add(o *Journal) {
	j.Bytes += o.Bytes
	j.CutBytes += o.CutBytes
	j.Pending += o.Pending
	j.Syncs += o.Syncs
	j.SyncSeconds += o.SyncSeconds
	j.SlowestSync = max(j.SlowestSync, o.SlowestSync)
	j.Error = cmp.Or(j.Error, o.Error)
}
