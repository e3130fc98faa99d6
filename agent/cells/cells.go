// Package cells keeps the bursts of a node's ranks as sequences of micro-cells, for runs with more bursts than a
// collector can hold.
//
// In comes what a node's agent has read, transaction by transaction: blocks of calls and collectives, in ticks, and the
// messages that describe the processes. The package forms the same bursts as the collector would. Each burst becomes
// the number of a unit: the bursts between the same two call paths, where these count, that lie in one micro-cell of
// the burst space. On request of the collector come out: the units with their sums (a survey); the places of the bursts
// of some units (a split); and, by labels that the collector gives to units, hashes and counts of the sequences of
// labels between anchors (internal/anchor), the sequences themselves, and exact sums by call path. A Store writes no
// file and never talks to other nodes. docs/design/scale.md explains why this suffices.
//
// The duration of a burst is its ticks times the length of a tick, by the node's clock samples at the time. The end of
// a run knows the clock's rate better, by some 10^-5, so that a burst near the edge of a cell may be put into the
// neighbouring one. Results do not depend on that: label, sums and sequence follow the unit.
package cells

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"moriens/analysis/cell"
	"moriens/analysis/grouping"
	"moriens/analysis/moment"
	"moriens/analysis/space"
	moriensv1 "moriens/proto/moriens/v1"
)

// memoryShare is what part of the node's memory the points of bursts may take by default.
const memoryShare = 128

// Config says what micro-cells are.
type Config struct {
	Dims []space.Dim // as grouping.Options.Choose takes them, by the events of the first process; nil: what it finds best
	By   grouping.By // likewise; ByAuto: what it finds best
	// Side is that of a micro-cell, in units of the coordinates. 0: such that an Eps can be as low as the resolution:
	// resolution / (4·√dimensions).
	Side float64
	// Resolution is the smallest Eps that may be wanted, where there is no side. 0: the default resolution of the
	// dimensions.
	Resolution float64
	// Kinds makes a side of 0 the one with which kinds are the same as where all bursts are in one place:
	// grouping.MostSide.
	Kinds bool
	MinNS int64 // bursts shorter than this are in no unit
	// PointsMax is how many bytes the points of bursts may take, which splits need. 0: 1/128 of the node's memory.
	PointsMax int64
	Log       *slog.Logger
}

// A Store has the bursts of one node. Its methods may be called concurrently.
type Store struct {
	config Config

	asking    sync.Mutex // held while an answer is made; taken before mu
	labels    labelling
	work      *teamwork // the latest; nil = there was none, or labels were given since
	surveyed  surveyed
	uncertain bool // an answer broke off, and what it has reported is not known: the next survey reports everything

	mu sync.Mutex // guards what follows
	// From the first process on: the dimensions, and how bursts are split by call paths.
	dims  []space.Dim
	by    grouping.By
	side  float64
	cells *cell.Set // of no cells: it knows the key of a point

	processes     map[uint64]*process
	order         []*process // in order of arrival
	rings         []*ring    // likewise; their numbers in points
	byID          map[uint64]*ring
	clocks        map[moriensv1.Clock]*clock
	communicators map[uint32]allRanks // those of all ranks
	counters      []string            // events of all processes, in order of arrival
	groups        groups
	units         units
	points        pointsHeld
	tally         tally
	pendingRows   int // that wait for a clock's rate
	columns       columns
}

// allRanks is a communicator of all ranks.
type allRanks struct {
	id   uint64 // the same at all agents
	size int64
}

// A tally counts all bursts, in units or not.
type tally struct {
	bursts, missing, short, lost uint64
	total, missingNS, shortNS    moment.Exact
	refused                      uint64 // messages and blocks
	outside                      uint64 // bursts, of the missing ones
}

// Stats say what a Store holds and has lost.
type Stats struct {
	Units       int    // places of units that were split included
	Bursts      uint64 // in units or not
	Lost        uint64 // bursts
	Refused     uint64 // messages and blocks that were not what they seem
	Bytes       int64  // of memory, points included
	PointsBytes int64
	Forgotten   int // units of which points were given up, because there was no room
}

// leastSide is the least side of which there are cells for all logarithms of what is measured: those of 64-bit numbers
// are below 44, and cells are numbered with 32 bits.
const leastSide = 44. / math.MaxInt32

// New returns an empty Store. A side that is not positive, or too small for logarithms, and dimensions that have no
// default resolution with a side of 0 are errors.
func New(config Config) (*Store, error) {
	if !(config.Side >= 0 && config.Side <= math.MaxFloat64 && config.Resolution >= 0 && config.Resolution <= math.MaxFloat64) || config.MinNS < 0 || config.PointsMax < 0 {
		return nil, fmt.Errorf("cells: side %v, resolution %v, shortest duration %d ns, %d bytes of points: want numbers ≥ 0",
			config.Side, config.Resolution, config.MinNS, config.PointsMax)
	}
	if config.Side > 0 && config.Side < leastSide && (config.Dims == nil || slices.ContainsFunc(config.Dims, func(d space.Dim) bool { return d.Scale == space.Log })) {
		return nil, fmt.Errorf("cells: side %v of logarithmic dimensions: want at least %.3g, so that there are cells for all that can be measured", config.Side, leastSide)
	}
	if config.By > grouping.ByAuto {
		return nil, fmt.Errorf("cells: no way %d to split bursts", config.By)
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.PointsMax == 0 {
		var info unix.Sysinfo_t
		if err := unix.Sysinfo(&info); err != nil {
			return nil, fmt.Errorf("cells: how much memory there is: %w", err)
		}
		config.PointsMax = int64(uint64(info.Totalram) * uint64(info.Unit) / memoryShare)
	}
	k := &Store{
		config: config, processes: make(map[uint64]*process), byID: make(map[uint64]*ring), clocks: make(map[moriensv1.Clock]*clock),
		communicators: make(map[uint32]allRanks), groups: newGroups(), points: pointsHeld{most: config.PointsMax},
		// No two lives of an agent have surveys of one number.
		surveyed: surveyed{before: rand.Uint64N(1<<62) + 1},
	}
	k.surveyed.latest = k.surveyed.before
	if config.Dims != nil {
		if _, err := config.cells(config.Dims); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// cells returns a set of cells for dimensions.
func (c *Config) cells(dims []space.Dim) (*cell.Set, error) {
	side := c.Side
	switch {
	case side > 0:
	case !c.Kinds:
		side = cmp.Or(c.Resolution, grouping.DefaultResolution(dims)) / (4 * math.Sqrt(float64(len(dims))))
	case !slices.ContainsFunc(dims, grouping.Plain):
		side = grouping.MostSide(dims, c.Resolution)
	}
	if side == 0 {
		return nil, fmt.Errorf("cells: dimensions %s have no default resolution: want a side", specOf(dims))
	}
	return cell.NewSet(len(dims), side)
}

// choose finds the dimensions by the events of the first process.
func (k *Store) choose(events []string) error {
	chosen, notes := grouping.Options{Dims: k.config.Dims, By: k.config.By}.Choose(events)
	set, err := k.config.cells(chosen.Dims)
	if err != nil {
		return err
	}
	for _, note := range notes {
		k.config.Log.Warn("micro-cells: " + note)
	}
	k.dims, k.by, k.side, k.cells = chosen.Dims, chosen.By, set.Side(), set
	k.units = newUnits(len(k.dims))
	k.columns.choose(k.dims)
	return nil
}

// Spec says how units are made: only units of one Spec can be put together. What depends on the first process is "auto"
// before it.
func (k *Store) Spec() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.spec()
}

func (k *Store) spec() string {
	dims, by, side := "auto", "auto", "auto"
	if k.cells != nil {
		dims, by, side = specOf(k.dims), k.by.String(), fmt.Sprint(k.side)
	}
	return strings.Join([]string{"dims=" + dims, "by=" + by, "side=" + side, "min=" + time.Duration(k.config.MinNS).String()}, " ")
}

// Lost counts bursts that were known before the agent was started again and of which nothing is left.
func (k *Store) Lost(bursts uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tally.lost += bursts
}

// Stats returns the counts so far.
func (k *Store) Stats() Stats {
	k.mu.Lock()
	defer k.mu.Unlock()
	return Stats{
		Units: k.units.len(), Bursts: k.tally.bursts, Lost: k.tally.lost, Refused: k.tally.refused,
		Bytes: k.bytes(), PointsBytes: k.points.bytes, Forgotten: k.points.forgotten,
	}
}

// bytes is what all that is kept takes of memory.
func (k *Store) bytes() int64 {
	bytes := k.units.bytes() + k.points.bytes
	for _, r := range k.rings {
		bytes += r.bytes()
	}
	return bytes
}

func specOf(dims []space.Dim) string {
	list := make([]string, len(dims))
	for j, d := range dims {
		list[j] = d.String()
	}
	return strings.Join(list, ",")
}
