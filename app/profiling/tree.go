package profiling

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"moriens/app/pairing"
	"moriens/app/question"
	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// Tree makes the tree of the profile in a shape, of all ranks or those of a list: of each thread its time and calls,
// all counters, and the bytes that calls sent and received. Time of a phase that no row explains is its own; bytes of
// which no phase is known are the program's, if phases are nodes.
//
// Where call paths are known of classes of ranks alone and nodes depend on them, the values are of classes.
//
// The file is read once for the nodes, and again each time that values are handed out.
func (s *Source) Tree(shape Shape, ranks pairing.RankList) (*calltree.Tree, error) {
	var t *calltree.Tree
	if shape.Calls == ByLoops {
		if err := s.readLoops(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Dir, err)
		}
	}
	err := s.within(&shape, func() (err error) {
		t, err = s.tree(shape, ranks)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Dir, err)
	}
	return t, nil
}

// within answers in a shape. What is no path from the outermost phase on may be one anywhere.
func (s *Source) within(shape *Shape, answer func() error) error {
	if shape.In != nil && s.Format < 2 {
		return question.Lacking(again, "%s has no paths of phases: an earlier version of moriens wrote it", rundir.ProfileFile)
	}
	err := answer()
	if in := shape.In; errors.As(err, new(noPhaseError)) {
		shape.In = in.anywhere()
		if other := answer(); !errors.As(other, new(noPhaseError)) {
			return other
		}
	}
	return err
}

func (s *Source) tree(shape Shape, ranks pairing.RankList) (*calltree.Tree, error) {
	b := newBuilder(s, shape)
	columns := s.exportedColumns()
	t := &calltree.Tree{Title: titleOf(s.Manifest), Facts: factsOf(s.Manifest)}
	of := ofThreads
	if b.byClass() {
		of = ofClasses
	}
	labels := &walk{b: b, ranks: ranks, columns: columns, labels: true, of: of, give: func(v *threadValues) error {
		t.Threads = append(t.Threads, v.thread)
		return nil
	}}
	if err := labels.run(func() { t.Threads = nil }); err != nil {
		return nil, err
	}
	if err := checkRanks(ranks, labels.seen); err != nil {
		return nil, err
	}
	if err := s.checkIn(shape, b); err != nil {
		return nil, err
	}
	if of == ofClasses {
		t.Ranks = labels.chosenRanks()
		t.Facts = append(t.Facts, calltree.Fact{Name: "values", Value: "sums of classes of ranks"})
	}
	t.Nodes = b.nodes
	for _, c := range columns {
		t.Metrics = append(t.Metrics, c.Metric)
	}
	b.frozen = true
	t.Each = func(give func(thread int, v *calltree.Values) error) error {
		thread := 0
		w := &walk{b: b, ranks: ranks, columns: columns, of: of, more: labels.more}
		if labels.gathered != nil {
			w.gathered = newGathering()
		}
		w.give = func(v *threadValues) error {
			if thread == len(t.Threads) || t.Threads[thread] != v.thread {
				return errChanged
			}
			n := len(t.Nodes)
			v.own(w.phased)
			out := &calltree.Values{NS: v.columns[atNS][:n], Calls: v.columns[atCalls][:n]}
			for _, c := range v.columns[atOthers:] {
				out.Metrics = append(out.Metrics, c[:n])
			}
			thread++
			return give(thread-1, out)
		}
		if err := w.run(func() {}); err != nil {
			return fmt.Errorf("%s: %w", s.Dir, err)
		}
		return nil
	}
	return t, nil
}

// own gives phases the time that none of the rows in them explains, and returns how much that is, and how much more
// than their time the rows of others have: both are 0 in what moriens writes.
func (v *threadValues) own(phased bool) (lacking, beyond int64) {
	if !phased {
		return 0, 0
	}
	for _, node := range v.touched {
		if rest := v.columns[atRest][node]; rest > 0 {
			v.columns[atNS][node] = plus(v.columns[atNS][node], rest)
			lacking = plus(lacking, rest)
		} else {
			beyond = plus(beyond, -rest)
		}
	}
	return lacking, beyond
}

// exportedColumns are those of exports.
func (s *Source) exportedColumns() []Column {
	var list []Column
	for i := range s.Counters {
		list = append(list, s.counterColumn(i))
	}
	return append(list,
		Column{Metric: calltree.Metric{Name: "sent_bytes", Unit: unitBytes}, needs: []string{"sent_bytes"}, moved: true, of: func(r *parquet.ProfileRow) int64 { return r.SentBytes }},
		Column{Metric: calltree.Metric{Name: "received_bytes", Unit: unitBytes}, needs: []string{"received_bytes"}, moved: true, of: func(r *parquet.ProfileRow) int64 { return r.ReceivedBytes }},
	)
}

func (s *Source) counterColumn(i int) Column {
	c := s.Counters[i]
	return Column{Metric: calltree.Metric{Name: c.Name, Unit: c.Unit}, needs: []string{c.Name + ".sum"}, of: ofBursts(func(r *parquet.ProfileRow) int64 { return r.Counters[i].Sum })}
}

// ofBursts is 0 for other rows, which have no counters.
func ofBursts(of func(r *parquet.ProfileRow) int64) func(r *parquet.ProfileRow) int64 {
	return func(r *parquet.ProfileRow) int64 {
		if kind, _ := r.OfClass(); kind != parquet.ProfileComputation {
			return 0
		}
		return of(r)
	}
}

const unitBytes = "bytes"

// checkRanks refuses a list of which a part is of no rank.
func checkRanks(ranks pairing.RankList, seen [][2]int) error {
	if ranks == nil {
		return nil
	}
	slices.SortFunc(seen, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	seen = slices.Compact(seen)
	list := make([]pairing.Rank, len(seen))
	for i, r := range seen {
		list[i] = pairing.Rank{World: r[0], Rank: r[1]}
	}
	if _, err := ranks.Of(list); err != nil {
		return question.Misuse(fmt.Sprintf("the profile has %d ranks", len(list)), "%w", err)
	}
	return nil
}

// programOf is what was run.
func programOf(m *rundir.Manifest) string {
	var list []string
	for i := range m.Worlds {
		if name := trace.ProgramName(m.Worlds[i].Executable); name != "" && name != "." && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return cmp.Or(strings.Join(list, ", "), "program")
}

func titleOf(m *rundir.Manifest) string {
	return cmp.Or(strings.Join(m.Command, " "), m.Trace, programOf(m))
}

// factsOf describe the run.
func factsOf(m *rundir.Manifest) (list []calltree.Fact) {
	add := func(name, value string) {
		if value != "" {
			list = append(list, calltree.Fact{Name: name, Value: value})
		}
	}
	add("program", programOf(m))
	add("command", strings.Join(m.Command, " "))
	add("trace", m.Trace)
	add("run", m.Run)
	if !m.Started.IsZero() {
		add("started", m.Started.UTC().Format("2006-01-02T15:04:05Z"))
	}
	add("ranks", strconv.Itoa(m.Ranks))
	var hosts []string
	for i := range m.Hosts {
		hosts = append(hosts, m.Hosts[i].Name)
	}
	add("hosts", strings.Join(hosts, ", "))
	add("MPI", m.MPI.String())
	add("seconds", strconv.FormatFloat(float64(m.Seconds), 'f', -1, 64))
	add("moriens", m.Moriens.Version)
	if !m.Complete {
		add("incomplete", strings.Join(m.Incomplete, "; "))
	}
	return list
}
