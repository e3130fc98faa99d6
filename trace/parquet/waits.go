package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"

	pq "github.com/parquet-go/parquet-go"

	"moriens/trace"
	"moriens/trace/table"
)

// Kinds of rows of waits.parquet: docs/format/waits.md.
const (
	WaitsWait  = "wait"  // calls of a thread and call path that waited, by kind
	WaitsCause = "cause" // what a thread did for longer than those that had to wait for it
	WaitsPath  = "path"  // what the critical path has of a thread
	WaitsLink  = "link"  // waits of a thread for another in messages
)

// What a thread did.
const (
	WaitsComputing = "computing" // bursts of a cluster, or in none
	WaitsMPI       = "MPI"       // residual in calls
	WaitsOutside   = "outside"   // before the thread's first record, or not recorded: paused, lost
)

// A WaitsRow is one row. Which fields mean anything depends on its kind; the others are null in the file.
type WaitsRow struct {
	Kind                string
	World, Rank, Thread int32
	CallPath            string // of wait the call's; of cause and path that of the call, or the one that ends the burst
	Iterations          int32  // index of a phase of iterations, -1 = none; of wait
	Wait                string // trace.WaitKind; of wait

	What    string // of cause and path: computing, MPI or outside
	Cluster int32  // of cause and path, of computing: a label of bursts

	ForWorld, ForRank, ForThread int32 // of link: who was waited for

	Count                 int64 // of wait and link calls that waited, of cause direct waits
	WaitNS, ResidualNS    int64 // of wait; WaitNS of link too
	LongestNS             int64 // of wait: of one call
	ChargedNS, DirectNS   int64 // of cause
	MoreNS                int64 // of cause: by how much it took longer than on the ranks that waited, sum of direct waits
	PathNS                int64 // of path
	ComputingNS, MPINS    int64 // of link: what of the waits is charged to what the other did,
	OutsideNS, HandedOnNS int64 // and to those for whom it waited itself

	// What of WaitNS, ChargedNS, DirectNS and PathNS lies within the stretch main.
	MainWaitNS, MainChargedNS, MainDirectNS, MainPathNS int64
}

func (r *WaitsRow) is(kinds ...string) bool { return slices.Contains(kinds, r.Kind) }

// ofWhat says that a row is of what a thread did.
func (r *WaitsRow) ofWhat() bool { return r.is(WaitsCause, WaitsPath) }

// waitsColumns are all columns, in their order; short leaves out times within main that are all of a time.
func waitsColumns(short bool) []column[WaitsRow] {
	text := func(name string, has func(*WaitsRow) bool, field func(*WaitsRow) *string) column[WaitsRow] {
		return textColumn(name, &pq.RLEDictionary, has, field)
	}
	waits := func(r *WaitsRow) bool { return r.is(WaitsWait) }
	causes := func(r *WaitsRow) bool { return r.is(WaitsCause) }
	links := func(r *WaitsRow) bool { return r.is(WaitsLink) }
	return []column[WaitsRow]{
		text(columnOfKind, nil, func(r *WaitsRow) *string { return &r.Kind }),
		ascending(int32Column("world", nil, func(r *WaitsRow) *int32 { return &r.World })),
		ascending(int32Column("rank", nil, func(r *WaitsRow) *int32 { return &r.Rank })),
		ascending(int32Column("thread", nil, func(r *WaitsRow) *int32 { return &r.Thread })),
		text("call_path", func(r *WaitsRow) bool { return !links(r) }, func(r *WaitsRow) *string { return &r.CallPath }),
		int32Column("iterations", func(r *WaitsRow) bool { return waits(r) && r.Iterations >= 0 }, func(r *WaitsRow) *int32 { return &r.Iterations }),
		text("wait", waits, func(r *WaitsRow) *string { return &r.Wait }),
		text("what", (*WaitsRow).ofWhat, func(r *WaitsRow) *string { return &r.What }),
		int32Column("cluster", func(r *WaitsRow) bool { return r.ofWhat() && r.What == WaitsComputing }, func(r *WaitsRow) *int32 { return &r.Cluster }),
		ascending(int32Column("for_world", links, func(r *WaitsRow) *int32 { return &r.ForWorld })),
		ascending(int32Column("for_rank", links, func(r *WaitsRow) *int32 { return &r.ForRank })),
		ascending(int32Column("for_thread", links, func(r *WaitsRow) *int32 { return &r.ForThread })),
		int64Column("count", "", func(r *WaitsRow) bool { return !r.is(WaitsPath) }, func(r *WaitsRow) *int64 { return &r.Count }),
		int64Column("wait_ns", unitTime, func(r *WaitsRow) bool { return r.is(WaitsWait, WaitsLink) }, func(r *WaitsRow) *int64 { return &r.WaitNS }),
		int64Column("residual_ns", unitTime, waits, func(r *WaitsRow) *int64 { return &r.ResidualNS }),
		int64Column("longest_ns", unitTime, waits, func(r *WaitsRow) *int64 { return &r.LongestNS }),
		int64Column("charged_ns", unitTime, causes, func(r *WaitsRow) *int64 { return &r.ChargedNS }),
		int64Column("more_ns", unitTime, causes, func(r *WaitsRow) *int64 { return &r.MoreNS }),
		int64Column("path_ns", unitTime, func(r *WaitsRow) bool { return r.is(WaitsPath) }, func(r *WaitsRow) *int64 { return &r.PathNS }),
		int64Column("computing_ns", unitTime, links, func(r *WaitsRow) *int64 { return &r.ComputingNS }),
		int64Column("mpi_ns", unitTime, links, func(r *WaitsRow) *int64 { return &r.MPINS }),
		int64Column("outside_ns", unitTime, links, func(r *WaitsRow) *int64 { return &r.OutsideNS }),
		handedOnColumn(),
		mainColumn("main_wait_ns", short, func(r *WaitsRow) (main, all *int64) { return &r.MainWaitNS, &r.WaitNS }, WaitsWait, WaitsLink),
		mainColumn("main_charged_ns", short, func(r *WaitsRow) (main, all *int64) { return &r.MainChargedNS, &r.ChargedNS }, WaitsCause),
		mainColumn("main_direct_ns", short, func(r *WaitsRow) (main, all *int64) { return &r.MainDirectNS, &r.DirectNS }, WaitsCause),
		mainColumn("main_path_ns", short, func(r *WaitsRow) (main, all *int64) { return &r.MainPathNS, &r.PathNS }, WaitsPath),
	}
}

// allInMain stands for a time that is not in its column, until it is known of which all lies within main.
const allInMain = -1

// mainColumn has what of a time lies within main; short has null where all of it does, as nearly always: the same time
// twice takes room.
func mainColumn(name string, short bool, of func(r *WaitsRow) (main, all *int64), kinds ...string) column[WaitsRow] {
	has := func(r *WaitsRow) bool {
		main, all := of(r)
		return r.is(kinds...) && (!short || *main != *all)
	}
	return late(int64Column(name, unitTime, has, func(r *WaitsRow) *int64 {
		main, _ := of(r)
		return main
	}))
}

// settleMain fills in what is null because all of a time lies within main.
func (r *WaitsRow) settleMain() {
	settle := func(main *int64, all int64) {
		if *main == allInMain {
			*main = all
		}
	}
	settle(&r.MainWaitNS, r.WaitNS)
	settle(&r.MainChargedNS, r.ChargedNS)
	settle(&r.MainDirectNS, r.DirectNS)
	settle(&r.MainPathNS, r.PathNS)
}

// handedOnColumn has, of a cause, what is charged to it and not direct: mostly 0, which takes less room than the same
// time twice.
func handedOnColumn() column[WaitsRow] {
	c := int64Column("handed_on_ns", unitTime, func(r *WaitsRow) bool { return r.is(WaitsCause, WaitsLink) }, func(r *WaitsRow) *int64 { return &r.HandedOnNS })
	get := c.get
	c.get = func(r *WaitsRow) pq.Value {
		if r.Kind == WaitsCause {
			return pq.Int64Value(r.ChargedNS - r.DirectNS)
		}
		return get(r)
	}
	c.then = func(r *WaitsRow) {
		if r.Kind == WaitsCause {
			r.DirectNS, r.HandedOnNS = r.ChargedNS-r.HandedOnNS, 0
		}
	}
	return c
}

// WriteWaits writes every row.
func WriteWaits(w io.Writer, rows []WaitsRow) error {
	for i := range rows {
		if err := rows[i].check(); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	columns := waitsColumns(true)
	var names []string // whose bounds take more room than the little that they spare
	for _, c := range columns {
		names = append(names, c.name)
	}
	return writeColumns(w, "waits", columns, rows, names...)
}

// ScanWaits hands out the rows that WriteWaits wrote, some at a time; each call overwrites those of the call before.
// Columns of a later version are left out.
func ScanWaits(in io.ReaderAt, bytes int64, give func(rows []WaitsRow) error) error {
	empty := func(rows []WaitsRow) {
		for k := range rows {
			rows[k] = WaitsRow{Iterations: -1, MainWaitNS: allInMain, MainChargedNS: allInMain, MainDirectNS: allInMain, MainPathNS: allInMain}
		}
	}
	return withFile(in, bytes, func(f *pq.File) error {
		return scanColumns(f, waitsColumns(true), nil, empty, func(rows []WaitsRow) error {
			for k := range rows {
				rows[k].settleMain()
				if err := rows[k].check(); err != nil {
					return err
				}
			}
			return give(rows)
		})
	})
}

// ReadWaits reads what WriteWaits wrote.
func ReadWaits(in io.ReaderAt, bytes int64) (rows []WaitsRow, err error) {
	err = ScanWaits(in, bytes, func(batch []WaitsRow) error {
		rows = append(rows, batch...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// WaitsTable is the table of rows that scan hands out, with the columns of waits.parquet, of which those within main
// always have a time.
func WaitsTable(scan func(give func(rows []WaitsRow) error) error) table.Table {
	columns := waitsColumns(false)
	t := table.Table{Name: "waits"}
	texts := make([]bool, len(columns))
	for i, c := range columns {
		kind := c.node.Type().Kind()
		x := table.Column{Name: c.name, Optional: c.has != nil, Few: kind != pq.Int64}
		if texts[i] = kind == pq.ByteArray; texts[i] {
			x.Kind = table.Text
		}
		t.Columns = append(t.Columns, x)
	}
	t.Rows = func(s table.Sink) error {
		return scan(func(rows []WaitsRow) error {
			for k := range rows {
				for i, c := range columns {
					switch {
					case c.has != nil && !c.has(&rows[k]):
						s.Null()
					case texts[i]:
						s.Text(string(c.get(&rows[k]).ByteArray()))
					default:
						s.Int(c.get(&rows[k]).Int64())
					}
				}
				if err := s.End(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return t
}

// check refuses what no row says.
func (r *WaitsRow) check() error {
	if !r.is(WaitsWait, WaitsCause, WaitsPath, WaitsLink) {
		return fmt.Errorf("there is no kind of rows %q", r.Kind)
	}
	if _, known := trace.ParseWaitKind(r.Wait); r.Kind == WaitsWait && !known {
		return fmt.Errorf("there is no kind of waits %q", r.Wait)
	}
	if r.ofWhat() && r.What != WaitsComputing && r.What != WaitsMPI && r.What != WaitsOutside {
		return fmt.Errorf("there is no cause %q", r.What)
	}
	if min(r.World, r.Rank, r.Thread, r.ForWorld, r.ForRank, r.ForThread) < 0 {
		return errors.New("a thread below 0")
	}
	if min(r.Count, r.WaitNS, r.ResidualNS, r.ChargedNS, r.DirectNS, r.MoreNS, r.PathNS, r.ComputingNS, r.MPINS, r.OutsideNS, r.HandedOnNS, r.MainWaitNS, r.MainChargedNS, r.MainDirectNS, r.MainPathNS) < 0 {
		return errors.New("a time or number below 0")
	}
	if r.DirectNS > r.ChargedNS || r.MainDirectNS > r.MainChargedNS {
		return errors.New("more direct waits than waits")
	}
	if r.MainWaitNS > r.WaitNS || r.MainChargedNS > r.ChargedNS || r.MainDirectNS > r.DirectNS || r.MainPathNS > r.PathNS {
		return errors.New("more time within main than at all")
	}
	return nil
}
