package rundir

import (
	"strings"
	"time"

	"moriens/trace"
)

// Versions of the files; one grows when a field changes its meaning.
const (
	ManifestFormat  = 1
	ClustersFormat  = 2
	StructureFormat = 2
)

// A Manifest is manifest.json. docs/format/manifest.md gives each field's unit.
type Manifest struct {
	Format  int      `json:"format"`
	Moriens Program  `json:"moriens"`
	Run     string   `json:"run"`
	Trace   string   `json:"trace,omitempty"` // the file that was analysed, where no job was measured
	Command []string `json:"command"`
	// Of a trace that was analysed: what applications it has, and what was made of its records. nil where a job was
	// measured.
	Applications []Application `json:"applications,omitempty"`
	Reading      *Reading      `json:"reading,omitempty"`
	ExitStatus   int           `json:"exit_status"`
	Started      time.Time     `json:"started"`
	Ended        time.Time     `json:"ended"`
	EndedBy      string        `json:"ended_by,omitempty"` // what ended the run before its ranks did

	// Complete says that nothing is missing that the ranks did; else Incomplete says what is, a sentence each, what
	// matters most first.
	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete"`
	timeless   []string // those for which times of ranks are not all of their times

	Empty       string   `json:"empty,omitempty"`       // why there is no burst
	Unclustered string   `json:"unclustered,omitempty"` // why the bursts are in no cluster, where the analysis failed
	Notes       []string `json:"notes"`

	Ranks    int              `json:"ranks"`
	MPI      MPI              `json:"mpi"`
	MPICalls map[string]int64 `json:"mpi_calls"`
	Bursts   int              `json:"bursts"`
	Dropped  int64            `json:"dropped"`
	Seconds  Number           `json:"seconds"`
	Score    Number           `json:"score"` // that of Clusters

	Worlds   []World   `json:"worlds"`
	Hosts    []Host    `json:"hosts"`
	Agents   []Agent   `json:"agents"`
	Overhead *Overhead `json:"overhead,omitempty"` // nil where a trace was analysed
	Clocks   []Clock   `json:"clocks"`
	Speed    []Speed   `json:"speed,omitempty"` // by thread; nil = not compared
	Order    Order     `json:"order"`
	Counters []Counter `json:"counters"`
	Phases   []Phase   `json:"phases"`
	// PhaseFunctions are the functions that were asked for as phases; nil = none.
	PhaseFunctions []PhaseFunction `json:"phase_functions,omitempty"`
	Events         []Event         `json:"events"`
	Paused         Paused          `json:"paused"`
	Losses         Losses          `json:"losses"`

	Messages      Messages       `json:"messages"`
	Communicators []Communicator `json:"communicators"`

	ComputingSeconds Number            `json:"computing_seconds"`
	Filtered         Filtered          `json:"filtered"`
	StageSeconds     map[string]Number `json:"stage_seconds"`
	Kept             Kept              `json:"kept"`
	Reduction        Reduction         `json:"reduction"`
	Cells            *Cells            `json:"cells,omitempty"`      // nil = the bursts of all ranks were received
	Scheduling       *Scheduling       `json:"scheduling,omitempty"` // nil = no agent has reported
	Files            []File            `json:"files"`

	// What the measurement knows of ranks without a record, which Describe puts into Worlds: the worlds of which no rank
	// has reported anything, behind those of the run, and why the ranks of all of them have none.
	Unseen []World   `json:"-"`
	Absent []Absence `json:"-"`
}

// A Program is the moriens that wrote the directory.
type Program struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
}

// An MPI names an MPI library.
type MPI struct {
	Library string `json:"library"`
	Version string `json:"version"`
}

// String returns library and version as people say them: "Open MPI 4.1.4".
func (m MPI) String() string { return strings.TrimSpace(m.Library + " " + m.Version) }

// A World is one MPI_COMM_WORLD.
type World struct {
	Executable    string       `json:"executable"`
	MPI           MPI          `json:"mpi"`
	Size          int          `json:"size"`
	RanksRecorded int          `json:"ranks_recorded"`
	MissingRanks  []int        `json:"missing_ranks"`
	Unrecorded    []Unrecorded `json:"unrecorded"` // the same ranks, and why; all counts of it come to those
	Seconds       Number       `json:"seconds"`
	Unseen        bool         `json:"unseen,omitempty"` // no rank has reported anything, and no other file has it
}

// An Unrecorded is how many ranks of a world have no record for one reason.
type Unrecorded struct {
	Ranks  int    `json:"ranks"`
	List   []int  `json:"list"` // those of them that are known by their number
	Host   string `json:"host"` // empty = not known
	Reason string `json:"reason"`
	Died   bool   `json:"died,omitempty"` // before there was anything to record: nothing that they did is missing
}

// A Host is a node and how many ranks ran there.
type Host struct {
	Name  string `json:"name"`
	CPUs  int    `json:"cpus"`
	Ranks int    `json:"ranks"`
}

// A Clock says how the times of a host were taken, how they were brought to the run's time, and how far they may be
// from it.
type Clock struct {
	Host          string `json:"host"`
	Source        string `json:"source"`
	Clock         int    `json:"clock"` // hosts with one number share one clock
	How           string `json:"how"`   // one of the constants
	OffsetNS      int64  `json:"offset_ns"`
	DriftPPM      Number `json:"drift_ppm"`
	UncertaintyNS Number `json:"uncertainty_ns"` // NaN or Inf: not known
	Bends         int    `json:"bends"`
	Exchanges     int    `json:"exchanges"`
	Bounds        int    `json:"bounds"`
	ReadingNS     int64  `json:"reading_ns"`
}

// A Speed says how many times as long as the others a thread takes for everything.
type Speed struct {
	ThreadName
	Factor Number `json:"factor"`
}

// How the clock of a host was brought to the run's time.
const (
	ClockReference = "reference" // it is the run's time
	ClockExchange  = "exchange"  // by exchanges of its agent with the collector
	ClockMessages  = "messages"  // and by messages and collectives
	ClockOneWay    = "one way"   // nothing bounds it from the other side
	ClockOwn       = "own"       // nothing ties it to the reference: its own time stands
)

// Order says what was moved so that nothing returns before what it waited for was sent.
type Order struct {
	CallsMoved   int   `json:"calls_moved"`
	LargestNS    int64 `json:"largest_ns"`
	TotalNS      int64 `json:"total_ns"`
	OffNS        int64 `json:"off_ns"`
	Unordered    int   `json:"unordered"`
	Contradicted int   `json:"contradicted"`
	Refused      int   `json:"refused"`
}

// A Counter is one measured counter.
type Counter struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

// Losses counts by cause what is not in the result.
type Losses struct {
	RecordsDropped      int64      `json:"records_dropped"`
	CallsAbandoned      int64      `json:"calls_abandoned"`
	BatchesResent       int64      `json:"batches_resent"`
	BatchesDuplicate    int64      `json:"batches_duplicate"`
	MessagesRefused     int64      `json:"messages_refused"`
	CollectorRestarts   int        `json:"collector_restarts"`
	JournalBytesCut     int64      `json:"journal_bytes_cut"`
	RanksDied           []RankDied `json:"ranks_died"`
	RanksMissing        int        `json:"ranks_missing"`
	RanksUnrecorded     int        `json:"ranks_unrecorded"`
	RanksLeft           int        `json:"ranks_left"`
	Hidden              []string   `json:"hidden_by_tools"` // which calls other tools have made past the library
	AgentsUnfinished    []string   `json:"agents_unfinished"`
	FilesUnreadable     int        `json:"files_unreadable"`
	ThreadsUnrecorded   int64      `json:"threads_unrecorded"`
	CallsUnrecorded     int64      `json:"calls_unrecorded"`
	CallPathsLost       int64      `json:"call_paths_lost"`
	CommunicatorsLost   int64      `json:"communicators_lost"`
	MarksNameless       int64      `json:"marks_nameless"`
	WindowsEvicted      int64      `json:"windows_evicted"`
	SpoolEvictedBytes   int64      `json:"spool_evicted_bytes"`
	SpoolFullSeconds    Number     `json:"spool_full_seconds"`
	SpoolFullDropped    int64      `json:"spool_full_dropped"`
	RecordsUnkept       int64      `json:"records_unkept"`
	TransfersLost       int64      `json:"transfers_lost"`
	MarksInsideCalls    int64      `json:"marks_inside_calls"`
	PhaseEndsUnmatched  int64      `json:"phase_ends_unmatched"`
	PhasesUnfinished    int64      `json:"phases_unfinished"`
	PhasesTooDeep       int64      `json:"phases_too_deep"`
	CountersUnavailable []string   `json:"counters_unavailable"`
	LinesSkipped        int        `json:"lines_skipped"`
	FiguresDamaged      int64      `json:"figures_damaged"` // of those above, which count as 0
}

// A RankDied is a rank that ended without MPI_Finalize, or whose end is not known.
type RankDied struct {
	World int    `json:"world"`
	Rank  int    `json:"rank"`
	How   string `json:"how"`
	// CutOff says that the collector did not receive all that it recorded.
	CutOff bool `json:"cut_off"`
}

// Filtered says which bursts were left out of the clustering: those that were too short, and those out of a range.
type Filtered struct {
	Bursts        int      `json:"bursts"`
	Share         Number   `json:"share"`
	MinDurationNS int64    `json:"min_duration_ns"`
	LongestNS     int64    `json:"longest_ns"`
	How           string   `json:"how"`    // of the limit of the duration
	Ranges        []string `json:"ranges"` // "QUANTITY=MIN..MAX"
}

// A File is one file of the directory.
type File struct {
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`
	Content string `json:"content"`
}

// Describe fills in what the run itself contains: ranks, MPI, calls, bursts, times, worlds, hosts, counters, phases,
// events, pauses, ranks missing and what else is, messages, communicators, computing time, the filtered bursts' number
// and share. It leaves alone what only the measurement knows.
func (m *Manifest) Describe(run *trace.Run) { m.describe(run, figuresOf(run)) }

func (m *Manifest) describe(run *trace.Run, f *figures) {
	m.Worlds = append(describeWorlds(run), m.unseen()...)
	m.explain()
	m.Hosts = describeHosts(run)
	m.Ranks, m.Seconds, m.Losses.RanksMissing = 0, 0, 0
	m.MPI = MPI{}
	for _, w := range m.Worlds {
		m.Ranks += w.Size
		m.Seconds = max(m.Seconds, w.Seconds)
		m.Losses.RanksMissing += len(w.MissingRanks)
		if m.MPI.Library == "" {
			m.MPI = w.MPI
		}
	}
	m.MPICalls = countCalls(run, f)
	if m.Overhead != nil {
		m.Overhead.share(m.MPICalls)
	}
	m.Counters = nil
	for _, c := range run.Counters {
		m.Counters = append(m.Counters, Counter(c))
	}
	describeMessages(&m.Messages, run, f)
	m.Communicators = describeCommunicators(run, f)
	m.Phases, m.Events = describePhases(run, f), describeEvents(run, f)
	m.Paused.describe(f)
	m.Bursts = f.Total.Bursts
	m.ComputingSeconds = seconds(f.Total.TimeNS)
	m.Filtered.Bursts = f.Total.Filtered
	m.Filtered.Share = share(f.Total.FilteredNS, f.Total.TimeNS)
	m.Filtered.LongestNS = f.Total.LongestFilteredNS
	m.assess()
}
