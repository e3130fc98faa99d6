// Package page makes the data that the viewer shows of a run: a pack (trace/pack) of its manifest, its clusters, and
// columns of bursts, calls, messages and sums.
//
// In come the contents of a run directory, in memory or as files, with times in nanoseconds. docs/format/page.md
// describes what goes out.
//
// Data that is too large for a page is thinned by fixed rules, which the page states. The package does not fail for a
// part that cannot be read: it leaves that out and reports why.
package page

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/overview"
	"moriens/trace/pack"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// FormatVersion is the version of the document.
const FormatVersion = 1

// A Mode says where a page is shown.
type Mode string

// Modes of a page.
const (
	Report Mode = "report" // a separate file
	View   Mode = "view"   // served from a run directory
	Live   Mode = "live"   // of a run in progress
)

// Limits are how much of each kind a page holds at most.
type Limits struct {
	Points, Calls, Messages, Critical, Rows, Pairs, PairSizes int
	Frames, Bars, Instances                                   int // of the profile: frames of a tree, parts of bars, points of series
}

// LimitsOf are those of a mode: a report is a file to send to others, a served page is read on the same machine.
func LimitsOf(m Mode) Limits {
	if m == Report {
		return Limits{Points: 60_000, Calls: 40_000, Messages: 20_000, Critical: 20_000, Rows: 1024, Pairs: 250_000, PairSizes: 100_000, Frames: 20_000, Bars: 250_000, Instances: 50_000}
	}
	return Limits{Points: MostOfView, Calls: MostOfView, Messages: 500_000, Critical: 500_000, Rows: 10_000, Pairs: 2_000_000, PairSizes: 1_000_000, Frames: 200_000, Bars: 2_000_000, Instances: 1_000_000}
}

// MostOfView is how many bursts, and how many calls, a served page holds if nobody says otherwise.
const MostOfView = 2_000_000

// A Source is what is known of a run. What is nil is not known; Problems says why, if it should be.
type Source struct {
	ManifestJSON, ClustersJSON json.RawMessage
	Manifest                   *rundir.Manifest
	Clusters                   *rundir.Clusters
	Detail                     *trace.Run // threads with the calls that are kept of them, messages, windows
	Rows                       *trace.Run // threads with the bursts of bursts.parquet
	Profile                    *parquet.Profile
	Instances                  []parquet.InstanceRow
	Overview                   *overview.Overview
	Efficiency                 *rundir.Efficiency
	Waits                      *rundir.Waits
	Pairs                      *Pairs
	ProgramJSON                json.RawMessage // program.json
	Problems                   []string
}

// A Document is the JSON of a pack.
type Document struct {
	Format     int                    `json:"format"`
	Mode       Mode                   `json:"mode"`
	Manifest   json.RawMessage        `json:"manifest"`
	Clusters   json.RawMessage        `json:"clusters"`
	Problems   []string               `json:"problems"`
	Resolution string                 `json:"resolution"`
	Threads    int                    `json:"threads"`
	Hosts      []string               `json:"hosts"`
	Counters   []rundir.Counter       `json:"counters"`
	Dimensions []Dimension            `json:"dimensions"`
	Paths      []Path                 `json:"paths"`
	Functions  []string               `json:"functions"`
	Nodes      []string               `json:"nodes"` // lineages of points
	Points     Points                 `json:"points"`
	Overview   *overview.Place        `json:"overview"`
	Groups     [][2]int               `json:"groups"`
	Detail     Detail                 `json:"detail"`
	Bins       bool                   `json:"bins"` // who serves the page has bins of what Detail leaves out
	Columns    map[string]pack.Column `json:"columns"`

	Efficiency *rundir.Efficiency `json:"efficiency"`
	Waits      *rundir.Waits      `json:"waits"`
	Pairs      *Pairs             `json:"pairs"`
	Profile    *Profile           `json:"profile"`

	Program       json.RawMessage `json:"program"`        // nil = not known
	ProgramJoined bool            `json:"program_joined"` // its numbers of call paths are those of Paths
}

// A Dimension is what a point can be drawn by.
type Dimension struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Scale  string `json:"scale"` // "log" or "lin"
	Column string `json:"column"`
}

// A Path is a call path.
type Path struct {
	Name     string `json:"name"`
	Function string `json:"function"`
}

// Points say which bursts are points.
type Points struct {
	Count int    `json:"count"`
	Of    int    `json:"of"` // bursts of the run
	How   string `json:"how"`
}

// A Detail says how many calls, waits in them, messages, and parts of the critical path there are.
type Detail struct {
	Calls    int    `json:"calls"`
	Waits    int    `json:"waits"`
	Messages int    `json:"messages"`
	Critical int    `json:"critical"`
	LeftOut  string `json:"left_out"`
}

// A builder puts a page together.
type builder struct {
	source  Source
	limits  Limits
	doc     Document
	columns pack.Columns

	threads map[rundir.ThreadName]int
	classes []int32          // by thread, index into the manifest's, -1 = none
	paths   map[string]int32 // by name; nil where the run's own numbers are those of doc.Paths
	coarse  []string         // of Document.Resolution
}

// Write writes the pack of a source.
func Write(w io.Writer, m Mode, s Source, l Limits) error {
	b := &builder{source: s, limits: l, paths: make(map[string]int32)}
	b.doc = Document{
		Format: FormatVersion, Mode: m, Manifest: orNull(s.ManifestJSON), Clusters: orNull(s.ClustersJSON), Problems: append([]string{}, s.Problems...),
		Hosts: []string{}, Counters: []rundir.Counter{}, Paths: []Path{}, Functions: []string{}, Nodes: []string{}, Groups: [][2]int{},
	}
	b.listThreads()
	b.listCounters()
	b.listPaths()
	chosen := b.chooseDetail()
	b.addPoints(chosen)
	b.doc.Bins = m == View && b.doc.Detail.LeftOut != ""
	b.addCalls(chosen)
	b.addMessages(chosen)
	b.addCritical(chosen)
	b.addOverview()
	b.addRanks()
	b.addEfficiency()
	b.doc.Waits = b.source.Waits
	b.addPairs()
	if err := b.addProfile(); err != nil {
		return err
	}
	b.addProgram()
	b.doc.Resolution = strings.Join(b.coarse, " ")
	b.doc.Columns = b.columns.Places
	return pack.Write(w, b.doc, &b.columns)
}

func orNull(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage("null")
	}
	return text
}

// listPaths takes all call paths with the numbers that they have in the run, where all that is known of it has the
// same. Else they are numbered by their names.
func (b *builder) listPaths() {
	var names []string
	for _, run := range []*trace.Run{b.source.Detail, b.source.Rows} {
		if run == nil || len(run.CallPaths) == 0 {
			continue
		}
		its := run.Names()
		if names != nil && !slices.Equal(names, its) {
			b.doc.Paths = []Path{}
			return
		}
		if names == nil {
			for i, name := range its {
				b.doc.Paths = append(b.doc.Paths, Path{name, run.CallPaths[i].Function})
			}
		}
		names = its
	}
	if names != nil {
		b.paths = nil
	}
}

// path numbers a call path by its name.
func (b *builder) path(name, function string) int32 {
	if name == "" || name == unknownPath {
		return -1
	}
	i, known := b.paths[name]
	if !known {
		i = int32(len(b.doc.Paths))
		b.paths[name] = i
		b.doc.Paths = append(b.doc.Paths, Path{name, function})
	}
	return i
}

// unknownPath is the name of call path 0.
const unknownPath = "?"

// pathsOf numbers all call paths of a run.
func (b *builder) pathsOf(run *trace.Run) []int32 {
	numbers := make([]int32, len(run.CallPaths))
	if b.paths == nil {
		for i := range numbers {
			if numbers[i] = int32(i); i == 0 {
				numbers[i] = -1 // unknown
			}
		}
		return numbers
	}
	for i, name := range run.Names() {
		numbers[i] = b.path(name, run.CallPaths[i].Function)
	}
	return numbers
}

func (b *builder) listCounters() {
	switch s := &b.source; {
	case s.Rows != nil:
		for _, c := range s.Rows.Counters {
			b.doc.Counters = append(b.doc.Counters, rundir.Counter(c))
		}
	case s.Manifest != nil:
		b.doc.Counters = append(b.doc.Counters, s.Manifest.Counters...)
	}
}

func (b *builder) addOverview() {
	o, d := b.source.Overview, b.source.Detail
	if o == nil && d != nil && d.Windows == nil && len(d.Threads) > 0 {
		o = overview.Of(d, overview.DefaultBytes) // of a directory that holds everything
	}
	if o == nil {
		return
	}
	place := o.Place()
	b.doc.Overview = &place
	o.AddTo(&b.columns)
	if len(o.Rows) < b.doc.Threads {
		b.coarse = append(b.coarse, fmt.Sprintf("A row of the timeline stands for %s threads.", units.Integer(o.Rows[0][1]-o.Rows[0][0]+1)))
	}
}
