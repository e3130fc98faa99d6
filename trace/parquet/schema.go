// Package parquet writes the bursts of a trace.Run to a Parquet file and reads them back: one row a burst, sorted by
// world, rank, thread and start, times in nanoseconds since the run's time 0. docs/format/bursts.md lists the columns.
//
// Rows pass in batches of columns: memory holds one row group. The package never sorts; a run out of order is refused.
package parquet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"

	"moriens/trace"
)

// FormatVersion is the value of the file's metadata key "moriens.format"; that of a profile is ProfileFormat.
const FormatVersion = 1

// ProfileFormat is the newest format of profile.parquet.
const ProfileFormat = 2

const (
	rowsPerGroup = 1 << 18
	rowsPerBatch = 1 << 11
	keyFormat    = "moriens.format"
	keyUnit      = "moriens.unit." // + column
	unitTime     = "ns"
)

// codec is one that readers in a browser have built in.
var codec compress.Codec = &pq.Snappy

// The columns before and after those of the counters.
var leading = []string{"world", "rank", "thread", "start_ns", "duration_ns", "cluster", "kind", "weight", "call_path_before", "call_path_after", "phase", "nodes", "path_before", "path_after"}

// Places in leading.
const (
	columnWorld = iota
	columnRank
	columnThread
	columnStart
	columnDuration
	columnCluster
	columnKind
	columnWeight
	columnBefore
	columnAfter
	columnPhase
	columnNodes
	columnPathBefore
	columnPathAfter
	firstCounter
)

// A record is a parquet.Group whose columns keep an order of their own; a Group's are sorted by name.
type record struct {
	pq.Group
	order []string
}

func (r record) Fields() []pq.Field {
	fields := r.Group.Fields()
	slices.SortFunc(fields, func(a, b pq.Field) int {
		return slices.Index(r.order, a.Name()) - slices.Index(r.order, b.Name())
	})
	return fields
}

// counterPrefix sets a counter apart that is called like a column of leading, however many prefixes it has already.
const counterPrefix = "counter."

func columnOf(counter string) string {
	if likeLeading(counter) {
		return counterPrefix + counter
	}
	return counter
}

func counterOf(column string) string {
	if name, cut := strings.CutPrefix(column, counterPrefix); cut && likeLeading(name) {
		return name
	}
	return column
}

func likeLeading(name string) bool {
	for strings.HasPrefix(name, counterPrefix) {
		name = name[len(counterPrefix):]
	}
	return slices.Contains(leading, name)
}

var errNoName = errors.New("a counter without a name")

func schemaOf(counters []trace.Counter) (*pq.Schema, error) {
	as := func(n pq.Node, e encoding.Encoding) pq.Node { return pq.Encoded(n, e) }
	rank := func() pq.Node { return as(pq.Int(32), &pq.RLEDictionary) }
	path := func() pq.Node { return as(pq.String(), &pq.RLEDictionary) }
	r := record{
		Group: pq.Group{
			"world": rank(), "rank": rank(), "thread": rank(), "cluster": rank(), "kind": rank(),
			"start_ns":         as(pq.Int(64), &pq.DeltaBinaryPacked),
			"duration_ns":      as(pq.Int(64), &pq.DeltaBinaryPacked),
			"weight":           as(pq.Leaf(pq.DoubleType), &pq.RLEDictionary),
			"call_path_before": path(), "call_path_after": path(), "phase": pq.Optional(path()), "nodes": pq.Optional(path()),
			"path_before": rank(), "path_after": rank(),
		},
		order: slices.Clone(leading),
	}
	for _, c := range counters {
		if c.Name == "" {
			return nil, errNoName
		}
		name := columnOf(c.Name)
		if _, ok := r.Group[name]; ok {
			return nil, fmt.Errorf("two columns are named %q", name)
		}
		r.Group[name] = pq.Optional(as(pq.Int(64), &pq.DeltaBinaryPacked))
		r.order = append(r.order, name)
	}
	return pq.NewSchema("burst", r), nil
}
