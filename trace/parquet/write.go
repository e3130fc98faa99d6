package parquet

import (
	"fmt"
	"io"
	"strconv"

	pq "github.com/parquet-go/parquet-go"

	"moriens/trace"
)

// Write writes every burst of the run and returns their number.
func Write(w io.Writer, run *trace.Run) (rows int64, err error) {
	schema, err := schemaOf(run.Counters)
	if err != nil {
		return 0, err
	}
	options := []pq.WriterOption{
		schema, pq.Compression(codec), pq.CreatedBy("moriens", "", ""),
		pq.KeyValueMetadata(keyFormat, strconv.Itoa(FormatVersion)),
		pq.KeyValueMetadata(keyUnit+"start_ns", unitTime),
		pq.KeyValueMetadata(keyUnit+"duration_ns", unitTime),
		pq.SortingWriterConfig(pq.SortingColumns(
			pq.Ascending("world"), pq.Ascending("rank"), pq.Ascending("thread"), pq.Ascending("start_ns"))),
		pq.SkipPageBounds("call_path_before"), pq.SkipPageBounds("call_path_after"), pq.SkipPageBounds("nodes"),
	}
	for _, c := range run.Counters {
		if c.Unit != "" {
			options = append(options, pq.KeyValueMetadata(keyUnit+columnOf(c.Name), c.Unit))
		}
	}
	out := pq.NewGenericWriter[any](w, options...)
	b := newBatch(run, out)
	for i := range run.Threads {
		if err := b.thread(i); err != nil {
			return b.rows, fmt.Errorf("%s: %w", run.Threads[i].Name(), err)
		}
	}
	return b.rows, out.Close()
}

// A batch carries some rows of one thread, column by column.
type batch struct {
	run     *trace.Run
	out     *pq.GenericWriter[any]
	columns []*pq.ColumnWriter
	values  []pq.Value
	paths   []pq.Value // by call path
	names   []pq.Value // by mark name
	nodes   []pq.Value // by lineage
	rows    int64
	inGroup int
}

func newBatch(run *trace.Run, out *pq.GenericWriter[any]) *batch {
	b := &batch{run: run, out: out, columns: out.ColumnWriters(), values: make([]pq.Value, rowsPerBatch)}
	for _, name := range run.Names() {
		b.paths = append(b.paths, pq.ByteArrayValue([]byte(name)))
	}
	for _, name := range run.MarkNames {
		b.names = append(b.names, pq.ByteArrayValue([]byte(name)))
	}
	for _, nodes := range run.Lineages {
		b.nodes = append(b.nodes, pq.ByteArrayValue([]byte(nodes)))
	}
	return b
}

func (b *batch) thread(i int) error {
	t := &b.run.Threads[i]
	n := t.Bursts.Len()
	if err := check(b.run, i); err != nil {
		return err
	}
	for from := 0; from < n; {
		to := min(n, from+rowsPerBatch, from+rowsPerGroup-b.inGroup)
		if err := b.write(t, from, to); err != nil {
			return err
		}
		b.rows += int64(to - from)
		b.inGroup += to - from
		from = to
		if b.inGroup == rowsPerGroup {
			b.inGroup = 0
			if err := b.out.Flush(); err != nil {
				return err
			}
			b.columns = b.out.ColumnWriters()
		}
	}
	return nil
}

func check(run *trace.Run, i int) error {
	t, u := &run.Threads[i], &t0
	if i > 0 {
		u = &run.Threads[i-1]
	}
	if t.World < u.World || t.World == u.World && (t.Rank < u.Rank || t.Rank == u.Rank && t.Thread < u.Thread) {
		return fmt.Errorf("threads are not in order")
	}
	b := &t.Bursts
	n := b.Len()
	same := len(b.DurationNS) == n && len(b.Before) == n && len(b.After) == n && len(b.Cluster) == n && len(b.Kinds()) == n &&
		(b.Weight == nil || len(b.Weight) == n) && (b.Phase == nil || len(b.Phase) == n) && (b.Lineage == nil || len(b.Lineage) == n) && len(b.Counters) == len(run.Counters)
	for k := range b.Counters {
		same = same && len(b.Counters[k]) == n
	}
	if !same {
		return fmt.Errorf("columns of the bursts differ in length")
	}
	for k := range n {
		if k > 0 && b.StartNS[k] < b.StartNS[k-1] {
			return fmt.Errorf("burst %d: starts before the burst before it", k)
		}
		if int(b.Before[k]) >= len(run.CallPaths) || int(b.After[k]) >= len(run.CallPaths) {
			return fmt.Errorf("burst %d: no call path %d or %d", k, b.Before[k], b.After[k])
		}
		if b.Lineage != nil && int(b.Lineage[k]) >= max(len(run.Lineages), 1) {
			return fmt.Errorf("burst %d: no lineage %d", k, b.Lineage[k])
		}
	}
	return nil
}

var t0 trace.Thread

func (b *batch) write(t *trace.Thread, from, to int) error {
	bursts := &t.Bursts
	values := b.values[:to-from]
	put := func(column int, value func(k int) pq.Value) error {
		for i := range values {
			values[i] = value(from + i)
		}
		_, err := b.columns[column].WriteRowValues(values)
		return err
	}
	constant := func(n int) func(int) pq.Value {
		v := pq.Int32Value(int32(n))
		return func(int) pq.Value { return v }
	}
	weight, kinds := pq.DoubleValue(1), bursts.Kinds()
	for column, value := range [firstCounter]func(int) pq.Value{
		columnWorld:    constant(t.World),
		columnRank:     constant(t.Rank),
		columnThread:   constant(t.Thread),
		columnStart:    func(k int) pq.Value { return pq.Int64Value(bursts.StartNS[k]) },
		columnDuration: func(k int) pq.Value { return pq.Int64Value(bursts.DurationNS[k]) },
		columnCluster:  func(k int) pq.Value { return pq.Int32Value(bursts.Cluster[k]) },
		columnKind:     func(k int) pq.Value { return pq.Int32Value(kinds[k]) },
		columnWeight: func(k int) pq.Value {
			if bursts.Weight == nil {
				return weight
			}
			return pq.DoubleValue(bursts.Weight[k])
		},
		columnBefore: func(k int) pq.Value { return b.paths[bursts.Before[k]] },
		columnAfter:  func(k int) pq.Value { return b.paths[bursts.After[k]] },
		columnPhase: func(k int) pq.Value {
			if bursts.Phase == nil || bursts.Phase[k] < 0 {
				return pq.NullValue().Level(0, 0, columnPhase)
			}
			return b.names[t.Phases[bursts.Phase[k]].Name].Level(0, 1, columnPhase)
		},
		columnNodes: func(k int) pq.Value {
			if bursts.Lineage == nil || bursts.Lineage[k] == 0 {
				return pq.NullValue().Level(0, 0, columnNodes)
			}
			return b.nodes[bursts.Lineage[k]].Level(0, 1, columnNodes)
		},
		columnPathBefore: func(k int) pq.Value { return pq.Int32Value(int32(bursts.Before[k])) },
		columnPathAfter:  func(k int) pq.Value { return pq.Int32Value(int32(bursts.After[k])) },
	} {
		if err := put(column, value); err != nil {
			return fmt.Errorf("column %s: %w", leading[column], err)
		}
	}
	for c, counts := range bursts.Counters {
		column := firstCounter + c
		err := put(column, func(k int) pq.Value {
			if counts[k] == trace.NoCount {
				return pq.NullValue().Level(0, 0, column)
			}
			return pq.Int64Value(counts[k]).Level(0, 1, column)
		})
		if err != nil {
			return fmt.Errorf("column %s: %w", b.run.Counters[c].Name, err)
		}
	}
	return nil
}
