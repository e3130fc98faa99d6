package profiling

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"moriens/app/pairing"
	"moriens/app/question"
	"moriens/app/waiting"
	"moriens/internal/files"
	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// A By is what a profile is listed by.
type By string

// What it may be listed by.
const (
	ByCall       By = "call"      // function of MPI, cluster
	ByCallPath   By = "callpath"  // call path, cluster
	ByFunctions  By = "function"  // function of the program, of MPI, cluster
	ByPhase      By = "phase"     // the program and its phases, each with what is directly in it
	ByInstance   By = "instance"  // the instances of a phase
	ByIteration  By = "iteration" // iterations that were found
	ByCluster    By = "cluster"   // kind of computation; with its variants as a tree
	ByLoop       By = "loop"      // loops of the program's structure; as a tree with what is directly in each
	ByRank       By = "rank"
	ByNode       By = "node"
	byWhatSuits  By = ""
	metricTime      = "time"
	metricCalls     = "calls"
	metricBytes     = "bytes"
	metricLate      = "late"
	metricIPC       = "ipc"
	instructions    = "PAPI_TOT_INS"
	cycles          = "PAPI_TOT_CYC"
)

// A Sort is what rows are in order of.
type Sort string

// What they may be in order of: by figures descending.
const (
	SortInclusive Sort = "inclusive"
	SortExclusive Sort = "exclusive"
	SortCalls     Sort = "calls"
	SortName      Sort = "name"
)

// A Question is what is asked of a run directory.
type Question struct {
	Dir    string
	By     By       // empty: phases if the program has any, else calls
	In     *Pattern // of which phases, or for ByInstance the one whose instances they are; nil: all, the only one
	Found  int      // for ByIteration: which of the phases of iterations, from 0; -1: the longest
	Ranks  pairing.RankList
	Metric string // time, calls, bytes, late, ipc, a counter; for ByInstance and ByIteration time or time:WHAT
	Stat   Stat
	Sort   Sort // empty: what suits
	Nested bool // as a tree
	Depth  int  // of a tree; 0: all
	Top    int  // rows of text, phases of --by phase; 0: all, -1: as many as suit
}

// An Answer is a table, or a series.
type Answer struct {
	Question
	*Source
	Table  *Table
	Series *Series
	Notes  []string // what is not in the figures, or not known, each a sentence without a full stop
}

// Ask reads what a run directory has.
func Ask(q Question) (*Answer, error) {
	s, err := Open(q.Dir)
	if err != nil {
		return nil, err
	}
	a := &Answer{Question: q, Source: s}
	if err := a.answer(); err != nil {
		return nil, fmt.Errorf("%s: %w", q.Dir, err)
	}
	return a, nil
}

func (a *Answer) answer() error {
	if a.By == byWhatSuits {
		a.By = ByCall
		if a.Format >= 2 && len(a.Manifest.Phases) > 0 {
			a.By = ByPhase
		}
	}
	a.Stat = Stat(orElse(string(a.Stat), string(Sum)))
	a.Metric = orElse(a.Metric, metricTime)
	if err := a.check(); err != nil {
		return err
	}
	if a.Sort == "" {
		a.Sort = SortExclusive
		if a.By == ByRank || a.By == ByNode {
			a.Sort = SortName
		}
		if a.Nested || a.By == ByPhase || a.By == ByFunctions || a.By == ByLoop {
			a.Sort = SortInclusive
		}
	}
	if a.By == ByInstance || a.By == ByIteration {
		return a.readSeries()
	}
	shape := Shape{In: a.In}
	switch a.By {
	case ByCall, ByRank, ByNode:
		shape.Calls = ByFunction
	case ByPhase:
		shape.Phases, shape.Calls = true, ByFunction
	case ByCluster:
		shape.Calls, shape.Variants = Together, a.Nested
	case ByLoop:
		shape.Calls = ByLoops
		if err := a.readLoops(); err != nil {
			return err
		}
	case ByCallPath:
		shape.Calls = ByPath
		if a.Nested {
			shape.Calls = ByFrames
		}
	}
	return a.within(&shape, func() error { return a.tabulate(shape) })
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// check refuses what no directory has an answer to, and what this one has none to.
func (a *Answer) check() error {
	series := a.By == ByInstance || a.By == ByIteration
	listed := a.By == ByRank || a.By == ByNode
	switch {
	case a.Format < 2 && (a.By == ByPhase || series):
		return question.Lacking(again, "%s has no paths and instances of phases: an earlier version of moriens wrote it", rundir.ProfileFile)
	case a.Nested && a.By != ByCallPath && a.By != ByPhase && a.By != ByCluster && a.By != ByLoop:
		return question.Misuse("--by callpath, phase, loop or cluster with --tree", "--by %s has no tree", a.By)
	case a.Depth > 0 && !a.Nested && a.By != ByLoop:
		return question.Misuse("add --tree", "--depth limits a tree")
	case listed && a.Stat != Sum:
		return question.Misuse("leave out --stat, or list by call, callpath, function, phase, loop or cluster", "--stat %s is over ranks, --by %s lists them", a.Stat, a.By)
	case a.By == ByIteration && a.In != nil:
		return question.Misuse("leave out --in; --iterations N chooses the loop", "--in chooses phases of the program, --by iteration lists iterations of loops that were found")
	case a.By != ByIteration && a.Found >= 0:
		return question.Misuse("add --by iteration", "--iterations chooses which of the loops that were found")
	case series && a.Sort != "":
		return question.Misuse("leave out --sort; --top N shows the N longest", "--by %s lists in the order of time", a.By)
	case a.Metric == metricTime:
		return nil
	case series && strings.HasPrefix(a.Metric, metricTime+":"):
		return nil
	case series:
		return question.Misuse("--metric time, or time:WHAT for a function of MPI or a cluster: time:MPI_Waitall, time:cluster 3", "%q is not known by instance", a.Metric)
	case strings.HasPrefix(a.Metric, metricTime+":"):
		return question.Misuse("--by instance and --by iteration take it; --by call lists all functions and clusters", "--metric %s is of instances", a.Metric)
	case a.Metric == metricLate && (a.By == ByPhase || a.By == ByCluster || a.In != nil):
		return question.Misuse("--by call, callpath, function, loop, rank or node, without --in", "late times are known by call path, not by phase or cluster")
	case a.Metric == metricIPC:
		if a.counter(instructions) < 0 || a.counter(cycles) < 0 {
			return question.Misuse("measure with --events PAPI_TOT_INS,PAPI_TOT_CYC (docs/counters.md)", "instructions per cycle are not known: the run has not counted both")
		}
		return nil
	case slices.Contains([]string{metricCalls, metricBytes, metricLate}, a.Metric), a.counter(a.Metric) >= 0:
		return nil
	}
	known := strings.Join(a.metrics(), ", ")
	if a.Metric == strings.ToUpper(a.Metric) || strings.Contains(a.Metric, "::") {
		return question.Misuse("measure with --events "+a.Metric+" (docs/counters.md), or give one of: "+known, "the run has not counted %s", a.Metric)
	}
	return question.Misuse("give one of: "+known, "there is no metric %q", a.Metric)
}

// metrics are those that there are.
func (a *Answer) metrics() []string {
	list := []string{metricTime, metricCalls, metricBytes, metricLate}
	if a.counter(instructions) >= 0 && a.counter(cycles) >= 0 {
		list = append(list, metricIPC)
	}
	for _, c := range a.Counters {
		list = append(list, c.Name)
	}
	return list
}

func (s *Source) counter(name string) int {
	return slices.IndexFunc(s.Counters, func(c trace.Counter) bool { return c.Name == name })
}

// columns are those of the metric, besides time and calls.
func (a *Answer) columns() []Column {
	switch a.Metric {
	case metricTime:
		return nil
	case metricCalls:
		return []Column{{Metric: calltree.Metric{Name: metricCalls}, of: func(r *parquet.ProfileRow) int64 {
			if kind, _ := r.OfClass(); kind != parquet.ProfileMPI {
				return 0
			}
			return r.Count
		}}}
	case metricBytes:
		return []Column{{
			Metric: calltree.Metric{Name: metricBytes, Unit: unitBytes}, needs: []string{"sent_bytes", "received_bytes"}, moved: true,
			of: func(r *parquet.ProfileRow) int64 { return plus(max(r.SentBytes, 0), max(r.ReceivedBytes, 0)) },
		}}
	case metricLate:
		return []Column{{Metric: calltree.Metric{Name: metricLate, Unit: "ns"}}}
	case metricIPC:
		// A row counts if both counters have the same bursts.
		i, k := a.counter(instructions), a.counter(cycles)
		of := func(c int) Column {
			return Column{Metric: calltree.Metric{Name: a.Counters[c].Name}, needs: []string{a.Counters[i].Name + ".sum", a.Counters[i].Name + ".missing", a.Counters[k].Name + ".sum", a.Counters[k].Name + ".missing"}, of: ofBursts(func(r *parquet.ProfileRow) int64 {
				if r.Counters[i].Missing != r.Counters[k].Missing {
					return 0
				}
				return r.Counters[c].Sum
			})}
		}
		return []Column{of(i), of(k)}
	}
	i := a.counter(a.Metric)
	missing := Column{Metric: calltree.Metric{Name: "missing"}, needs: []string{a.Counters[i].Name + ".missing"}, of: ofBursts(func(r *parquet.ProfileRow) int64 { return r.Counters[i].Missing })}
	return []Column{a.counterColumn(i), missing}
}

// late reads waits for late senders and receivers, by thread.
func (a *Answer) late(b *builder) (map[calltree.Thread][]moved, error) {
	waits, err := waiting.Read(a.Source.Dir, a.Manifest)
	if err != nil {
		return nil, err
	}
	const advice = "measure with --keep-bursts all, which knows the messages of the whole run (docs/waits.md)"
	if waits.WholeRun == nil || waits.WholeRun.Basis != rundir.WaitsFull {
		return nil, question.Misuse(advice, "waits for late senders and receivers are not known of the whole run")
	}
	more := make(map[calltree.Thread][]moved)
	err = withFile(a.Source.Dir, rundir.WaitsTableFile, func(f *files.File) error {
		return parquet.ScanWaits(f, f.Size(), func(rows []parquet.WaitsRow) error {
			for i := range rows {
				r := &rows[i]
				if r.Kind != parquet.WaitsWait || a.Ranks != nil && !a.Ranks.Has(int(r.World), int(r.Rank)) {
					continue
				}
				switch kind, _ := trace.ParseWaitKind(r.Wait); kind {
				case trace.LateSender, trace.WrongOrder, trace.LateReceiver:
					t := calltree.Thread{World: r.World, Rank: r.Rank, Thread: r.Thread}
					more[t] = append(more[t], moved{b.call(r.CallPath), []int64{r.WaitNS}})
				}
			}
			return nil
		})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, question.Lacking(rundir.AdviseDamage, "it has no %s beside %s", rundir.WaitsTableFile, rundir.WaitsFile)
	}
	return more, err
}
