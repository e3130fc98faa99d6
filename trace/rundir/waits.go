package rundir

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/internal/mpicall"
	"moriens/trace"
	"moriens/trace/parquet"
)

// WaitsFile and WaitsTableFile have who waited for whom, and why.
const (
	WaitsFile      = "waits.json"
	WaitsTableFile = "waits.parquet"
)

// WaitsFormat is the version of both files.
const WaitsFormat = 1

// What waits were computed from.
const (
	WaitsFull        = "full"        // collectives and all messages
	WaitsCollectives = "collectives" // collectives: messages are known in some windows at most
)

// Waits are waits.json, and what `moriens waits --json` prints: how long calls waited, who caused it, and the critical
// path. Times are seconds, sums over all threads that called MPI unless they say otherwise; null: not known.
type Waits struct {
	Format   int         `json:"format"`
	WholeRun *WaitsTable `json:"whole_run"`     // null: not known, why says why
	Main     *WaitsTable `json:"main"`          // the same of the stretch main; null where whole_run is, and where main is all of the run, or nearly
	Windows  *WaitsTable `json:"windows"`       // the same of what is kept in full detail; null where whole_run is of basis full
	Why      []string    `json:"why,omitempty"` // what is not known or marked, each a sentence without a full stop
}

// WaitsWithoutMessages is why where a trace has calls that send, and no messages.
const WaitsWithoutMessages = "the trace has no messages, though ranks send some: waits for them are in the residual"

// WaitsOfCollectives is why where the table of the whole run is of basis collectives.
const WaitsOfCollectives = "of the whole run collectives alone are known: messages are in the windows that are kept in full detail"

// The parts of a run that waits are known of, beside its windows: main, from the latest exit of MPI_Init to the
// earliest entry of MPI_Finalize, and all of it.
const (
	WithinMain = "main"
	WithinRun  = "run"
)

// Within is the table of a part of the run: of main that of the run where there is no other; nil: not known.
func (w *Waits) Within(part string) *WaitsTable {
	if part == WithinMain && w.Main != nil {
		return w.Main
	}
	return w.WholeRun
}

// Outside is how many seconds of waits lie outside of main, where main has a table.
func (w *Waits) Outside() Number {
	if w.Main == nil {
		return 0
	}
	return max(0, w.WholeRun.Waiting-w.Main.Waiting)
}

// A WaitsTable is the waits of a run, of main, or of its windows.
type WaitsTable struct {
	Basis     string `json:"basis"`            // full or collectives
	Marked    bool   `json:"marked,omitempty"` // clocks do not agree well enough to trust all of it
	Ranks     int    `json:"ranks"`
	Locations int    `json:"locations"` // threads that called MPI

	Begin       Number `json:"begin_seconds"`       // of what this is about, after the begin of the run
	End         Number `json:"end_seconds"`         // likewise; of windows from the first one's begin to the last one's end
	Seconds     Number `json:"seconds"`             // elapsed: the length of the critical path
	MPI         Number `json:"mpi_seconds"`         // in MPI: waiting, residual and what is not explained
	Waiting     Number `json:"wait_seconds"`        // the sum of kinds, and of causes
	Residual    Number `json:"residual_seconds"`    // in MPI without waiting: the library, its trees, progress, noise, transfers
	Uncertain   Number `json:"uncertain_seconds"`   // looks like waits, but is shorter than the clock uncertainty between two hosts; part of the residual
	Unexplained Number `json:"unexplained_seconds"` // of the waits: their cause lies before what is kept

	Kinds       []WaitsKind     `json:"kinds"`      // by seconds, descending, like all lists below
	CallPaths   []WaitsCallPath `json:"call_paths"` // of calls that waited
	Causes      []WaitsCause    `json:"causes"`     // the largest; causes_total says how many there are: waits.parquet has all
	CausesTotal int             `json:"causes_total"`
	Clusters    []WaitsCluster  `json:"clusters"`
	Others      []WaitsOther    `json:"others"`  // what costs something beside clusters
	ByRank      []WaitsRank     `json:"by_rank"` // the largest by caused + waiting; ranks says how many there are: waits.parquet has all
	Links       []WaitsLink     `json:"links"`   // of messages, the largest; links_total says how many there are
	LinksTotal  int             `json:"links_total"`
	Path        WaitsPath       `json:"critical_path"`

	NotExplained     []WaitsNotExplained `json:"not_explained"`                 // calls that may have waited for others, but not for whom
	Contradictions   int64               `json:"contradictions"`                // calls that ended before what they waited for: clocks or records are wrong
	Incomplete       int64               `json:"collectives_incomplete"`        // collectives of which not all members are known: their waits are lower bounds
	NotSynchronising int64               `json:"collectives_not_synchronising"` // of which a member left before the last one entered it, though all could wait for all
	OneSided         int64               `json:"messages_one_sided"`            // messages of which one side alone is known: their waits are residual
	Eager            []WaitsEager        `json:"eager"`                         // up to which size sends do not wait for their receivers, as far as was seen
}

// A WaitsKind is all waits of one kind.
type WaitsKind struct {
	Kind    string `json:"kind"` // trace.WaitKind
	Count   int64  `json:"count"`
	Seconds Number `json:"seconds"`
	Longest Number `json:"longest_seconds"`
}

// A WaitsCallPath is the waits of one kind at one call path.
type WaitsCallPath struct {
	CallPath string `json:"call_path"`
	Kind     string `json:"kind"`
	Count    int64  `json:"count"`
	Seconds  Number `json:"seconds"`
	Residual Number `json:"residual_seconds"` // of these calls
}

// What a cause is.
const (
	CauseComputing = parquet.WaitsComputing // bursts of a cluster, or in none
	CauseMPI       = parquet.WaitsMPI       // residual in calls
	CauseOutside   = parquet.WaitsOutside   // before the thread's first record, or not recorded: paused, lost
)

// A WaitsCause is what one thread did for longer than those that had to wait for it.
type WaitsCause struct {
	ThreadName
	What string `json:"what"` // computing, MPI or outside
	// Of computing the cluster that stands for the kind of computation; null: in none.
	Cluster  *int32  `json:"cluster"`
	Variants []int32 `json:"variants,omitempty"` // the clusters of that kind that it is in; none: that one alone
	CallPath string  `json:"call_path"`          // of computing the call that ends the burst, of MPI the call
	Seconds  Number  `json:"seconds"`            // waits charged to it
	Direct   Number  `json:"direct_seconds"`     // of those, waits of others for this very rank; the rest was handed on by ranks that waited for it
	Share    Number  `json:"share"`              // of all waits
	Waits    int64   `json:"waits"`              // direct ones
	More     Number  `json:"more_seconds"`       // by how much it took longer than on the rank that waited, mean of the direct waits
}

// VariantsOf are the Variants of what clusters of a kind have a part in.
func VariantsOf(kind int32, clusters map[int32]bool) []int32 {
	if len(clusters) == 1 && clusters[kind] {
		return nil
	}
	return slices.Sorted(maps.Keys(clusters))
}

// A WaitsCluster is what a cluster costs.
type WaitsCluster struct {
	Cluster   int32  `json:"cluster"`
	Kind      int32  `json:"kind"`      // the cluster that stands for its kind of computation
	Locations int64  `json:"locations"` // how many have bursts of the kind; 0: not known
	Caused    Number `json:"caused_seconds"`
	Path      Number `json:"path_seconds"`
	PathShare Number `json:"path_share"`
	Imbalance Number `json:"path_imbalance_seconds"` // on the path, less the mean over the locations: what balance could save to a first order
}

// A WaitsOther is what costs something beside clusters: computing in bursts of no cluster, MPI, outside.
type WaitsOther struct {
	What      string `json:"what"`
	Caused    Number `json:"caused_seconds"`
	Path      Number `json:"path_seconds"`
	PathShare Number `json:"path_share"`
}

// A WaitsRank is what a thread waits, and what it makes others wait.
type WaitsRank struct {
	ThreadName
	Waiting Number `json:"wait_seconds"`
	Caused  Number `json:"caused_seconds"`
	Direct  Number `json:"direct_seconds"`
	Path    Number `json:"path_seconds"`
}

// A WaitsLink is the waits of one rank for another in messages.
type WaitsLink struct {
	Waiting   ThreadName `json:"waiting"` // who waits
	For       ThreadName `json:"for"`
	Count     int64      `json:"count"`
	Seconds   Number     `json:"seconds"`
	Computing Number     `json:"computing_seconds"` // what of it is charged to computing of the other,
	MPI       Number     `json:"mpi_seconds"`       // to its residual in MPI,
	Outside   Number     `json:"outside_seconds"`   // to what was not recorded,
	HandedOn  Number     `json:"handed_on_seconds"` // and to those for whom it waited itself
}

// A WaitsPath is the critical path: what the run did from its end back to its begin, at each wait on the thread that
// was waited for. Its parts add up to the elapsed time. It is that of the whole run: of windows it is not known.
type WaitsPath struct {
	Seconds    Number          `json:"seconds"`
	Changes    int             `json:"changes"`      // how often it goes from one thread to another
	Parts      []WaitsPathPart `json:"parts"`        // the largest
	PartsTotal int             `json:"parts_total"`  // how many there are: waits.parquet has all
	Rest       Number          `json:"rest_seconds"` // of those that are not listed
	Ranks      []WaitsPathRank `json:"ranks"`        // the largest
}

// A WaitsPathPart is what the path has of a cluster and call path.
type WaitsPathPart struct {
	What     string  `json:"what"`
	Cluster  *int32  `json:"cluster"`            // as in causes
	Variants []int32 `json:"variants,omitempty"` // likewise
	CallPath string  `json:"call_path"`
	Seconds  Number  `json:"seconds"`
	Share    Number  `json:"share"`
}

// Messages says that it is time in calls that may wait for messages.
func (p *WaitsPathPart) Messages() bool {
	if p.What != CauseMPI {
		return false
	}
	name, _, _ := strings.Cut(p.CallPath, "@")
	id, _ := mpicall.ByName(name)
	switch id.Class() {
	case mpicall.PointToPoint, mpicall.Completion, mpicall.Partitioned, mpicall.Buffer:
		return true
	}
	return p.CallPath == ""
}

// A WaitsPathRank is what the path has of a thread.
type WaitsPathRank struct {
	ThreadName
	Seconds Number `json:"seconds"`
	Share   Number `json:"share"`
}

// A WaitsNotExplained is time in calls of which it is not recorded for whom they wait.
type WaitsNotExplained struct {
	What    string `json:"what"` // neighbourhood collectives, one-sided synchronisation, input and output, …
	Calls   int64  `json:"calls"`
	Seconds Number `json:"seconds"`
}

// A WaitsEager is the largest message between ranks of one host, or of two, that was sent without waiting for its
// receive; null: none was seen.
type WaitsEager struct {
	SameNode bool   `json:"same_node"`
	Bytes    *int64 `json:"bytes"`
}

// WaitsShare is a share with the decimals of the file.
func WaitsShare(x float64) Number { return Rounded(x, 7) }

// Write writes the file.
func (w *Waits) Write(to io.Writer) error {
	w.WholeRun.fillEmpty()
	w.Main.fillEmpty()
	w.Windows.fillEmpty()
	return writeJSON(to, w)
}

// fillEmpty makes lists that are nil empty ones.
func (t *WaitsTable) fillEmpty() {
	if t == nil {
		return
	}
	some(&t.Kinds)
	some(&t.CallPaths)
	some(&t.Causes)
	some(&t.Clusters)
	some(&t.Others)
	some(&t.ByRank)
	some(&t.Links)
	some(&t.Path.Parts)
	some(&t.Path.Ranks)
	some(&t.NotExplained)
	some(&t.Eager)
}

// ReadWaits reads waits.json of a run directory, and refuses figures that cannot be.
func ReadWaits(dir string) (*Waits, error) {
	w := new(Waits)
	if err := readJSON(files.Dir(dir), WaitsFile, WaitsFormat, w); err != nil {
		return nil, err
	}
	if !w.plausible() {
		return nil, hint.With(fmt.Errorf("%s has figures that cannot be", WaitsFile), AdviseDamage)
	}
	return w, nil
}

func (w *Waits) plausible() bool {
	for _, t := range []*WaitsTable{w.WholeRun, w.Main} {
		if t != nil && math.IsNaN(float64(t.Path.Seconds)) {
			return false
		}
	}
	return w.WholeRun.plausible() && w.Main.plausible() && w.Windows.plausible() && (w.Main == nil || w.WholeRun != nil)
}

// plausible says that the figures of a table can be: those are there that every run has, times are no less than 0,
// shares are 0 to 1, and words are those of the format. Windows have no critical path.
func (t *WaitsTable) plausible() bool {
	if t == nil {
		return true
	}
	f := waitsFigures{right: true}
	f.word(t.Basis == WaitsFull || t.Basis == WaitsCollectives)
	f.known(t.Begin, t.End, t.Seconds, t.MPI, t.Waiting, t.Residual)
	f.times(t.Uncertain, t.Unexplained, t.Path.Seconds, t.Path.Rest)
	f.counts(int64(t.Ranks)-1, int64(t.Locations)-1, int64(t.CausesTotal), int64(t.LinksTotal), int64(t.Path.Changes), t.Contradictions, t.Incomplete, t.NotSynchronising, t.OneSided)
	for _, x := range t.Kinds {
		f.kind(x.Kind)
		f.counts(x.Count)
		f.times(x.Seconds, x.Longest)
	}
	for _, x := range t.CallPaths {
		f.kind(x.Kind)
		f.counts(x.Count)
		f.times(x.Seconds, x.Residual)
	}
	for _, x := range t.Causes {
		f.what(x.What)
		f.thread(x.ThreadName)
		f.counts(x.Waits)
		f.times(x.Seconds, x.Direct, x.More)
		f.shares(x.Share)
	}
	for _, x := range t.Clusters {
		f.counts(x.Locations)
		f.times(x.Caused, x.Path)
		f.shares(x.PathShare)
	}
	for _, x := range t.Others {
		f.what(x.What)
		f.times(x.Caused, x.Path)
		f.shares(x.PathShare)
	}
	for _, x := range t.ByRank {
		f.thread(x.ThreadName)
		f.times(x.Waiting, x.Caused, x.Direct, x.Path)
	}
	for _, x := range t.Links {
		f.thread(x.Waiting)
		f.thread(x.For)
		f.counts(x.Count)
		f.times(x.Seconds, x.Computing, x.MPI, x.Outside, x.HandedOn)
	}
	for _, x := range t.Path.Parts {
		f.what(x.What)
		f.times(x.Seconds)
		f.shares(x.Share)
	}
	for _, x := range t.Path.Ranks {
		f.thread(x.ThreadName)
		f.times(x.Seconds)
		f.shares(x.Share)
	}
	for _, x := range t.NotExplained {
		f.counts(x.Calls)
		f.times(x.Seconds)
	}
	for _, x := range t.Eager {
		f.counts(orZero(x.Bytes))
	}
	return f.right
}

// waitsFigures says whether all figures that it was asked about can be.
type waitsFigures struct{ right bool }

func (f *waitsFigures) word(known bool) { f.right = f.right && known }

func (f *waitsFigures) kind(word string) {
	_, known := trace.ParseWaitKind(word)
	f.word(known)
}

func (f *waitsFigures) what(word string) {
	f.word(word == CauseComputing || word == CauseMPI || word == CauseOutside)
}

func (f *waitsFigures) thread(n ThreadName) { f.word(min(n.World, n.Rank, n.Thread) >= 0) }

func (f *waitsFigures) counts(list ...int64) {
	for _, n := range list {
		f.word(n >= 0)
	}
}

// times are seconds; null is one that is not known.
func (f *waitsFigures) times(list ...Number) {
	const longest = 1e12
	for _, x := range list {
		f.word(!(x < 0 || x > longest))
	}
}

func (f *waitsFigures) known(list ...Number) {
	f.times(list...)
	for _, x := range list {
		f.word(!math.IsNaN(float64(x)))
	}
}

func (f *waitsFigures) shares(list ...Number) {
	for _, x := range list {
		f.word(!(x < 0 || x > 1+1e-9))
	}
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// WaitsLists is what `moriens waits --by --json` prints: lists of a table, complete.
type WaitsLists struct {
	Format    int              `json:"format"`
	Of        string           `json:"of"`               // whole_run, main or windows
	Within    string           `json:"within,omitempty"` // main or run; absent: windows
	By        string           `json:"by"`               // cluster, callpath, rank or kind
	Basis     string           `json:"basis"`
	Kinds     *[]WaitsKind     `json:"kinds,omitempty"`      // by kind
	CallPaths *[]WaitsCallPath `json:"call_paths,omitempty"` // by kind and by callpath
	Causes    *[]WaitsCause    `json:"causes,omitempty"`     // by callpath
	Clusters  *[]WaitsCluster  `json:"clusters,omitempty"`   // by cluster
	Others    *[]WaitsOther    `json:"others,omitempty"`     // by cluster
	ByRank    *[]WaitsRank     `json:"by_rank,omitempty"`    // by rank
}

// Write writes it like the files of a run directory.
func (l *WaitsLists) Write(w io.Writer) error { return writeJSON(w, l) }
