package conclude

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/moment"
	"moriens/analysis/profile"
	"moriens/analysis/represent"
	"moriens/collector/store"
	"moriens/conclude/retention"
	"moriens/internal/mpicall"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/rundir"
)

// ringSums are the sums of a ring.
type ringSums struct {
	rows []profile.Row // with the store's numbers of call paths, and counters in the order of the micro-cells'; Thread is 0
	// By class of MPI calls, and by kind, of which the first is none, as ranks are compared.
	callNS  [represent.OtherCalls + 1]int64
	kindNS  map[int32]int64
	records int64 // rows of calls
}

// takeSums takes a part of an agent's sums.
func (a *account) takeSums(agent uint64, m *moriensv1.CellsSums) error {
	counters, bursts := len(a.set.Counters), 0
	for i, ring := range m.Ring {
		r := a.frozen.Ring(ring)
		if r == nil || r.Process.Agent.Hello.Agent != agent {
			return fmt.Errorf("sums of ring %016x, which is not one of the agent's", ring)
		}
		s := a.sums[ring]
		if s == nil {
			s = &ringSums{kindNS: make(map[int32]int64)}
			a.sums[ring] = s
		}
		row := profile.Row{
			Key: profile.Key{
				Kind: profile.Computation, Path: a.frozen.Number(r.Process.Info.Process, m.Function[i], m.Path[i]), Cluster: m.Label[i], OfKind: m.Kind[i], Phase: -1,
			},
			Count: whole(m.Count[i]),
			Time:  sumOf(m.Records[i], whole(m.TotalNs[i]), m.SquaresHigh[i], m.SquaresLow[i], whole(m.MinNs[i]), whole(m.MaxNs[i])),
		}
		if m.Call[i] {
			row.Kind, row.Cluster, row.OfKind = profile.MPI, 0, 0
			s.callNS[retention.CallClass(mpicall.ID(m.Function[i]).String())] += row.Time.Total
			s.records += row.Time.N
		} else {
			s.kindNS[max(row.OfKind, 0)] += row.Time.Total
			for k := bursts * counters; k < (bursts+1)*counters; k++ {
				row.Counters = append(row.Counters, profile.Counter{
					Sum:     sumOf(m.Read[k], m.Counter[k], m.CounterSquaresHigh[k], m.CounterSquaresLow[k], m.CounterMin[k], m.CounterMax[k]),
					Missing: max(row.Count-whole(m.Read[k]), 0),
				})
			}
			bursts++
		}
		s.rows = append(s.rows, row)
	}
	return nil
}

// whole is a number as far as it can be one of rows.
func whole(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

func sumOf(n uint64, total int64, high, low uint64, least, largest int64) moment.Sum {
	return moment.Sum{N: whole(n), Total: total, Squares: moment.Wide{High: high, Low: low}, Min: least, Max: largest}
}

// sumClasses are the classes of the threads of a lineup.
type sumClasses struct {
	*represent.Classes
	of []int // threads of the lineup that they are of, ascending: those whose sums came
}

// classify groups the threads by their sums.
func (a *account) classify() {
	var threads []retention.ThreadSum
	var of []int
	var names []string
	clusters := 1
	if a.result != nil {
		clusters += len(a.result.Clusters)
	}
	for i, r := range a.lineup.rings {
		s := a.sums[r.Info.Ring]
		if s == nil {
			continue
		}
		t := retention.ThreadSum{ClusterNS: make([]int64, clusters), CallNS: s.callNS}
		for label, ns := range s.kindNS {
			if int(label) >= clusters {
				a.missing = append(a.missing, fmt.Sprintf("ranks are not distinguished: sums of cluster %d, of %d", label, clusters-1))
				return
			}
			t.ClusterNS[label] += ns
		}
		t.Sent, t.Received = sentBy(r.Process)
		threads, of, names = append(threads, t), append(of, i), append(names, a.lineup.names[i])
	}
	found, err := retention.ClassifySums(threads, clusters, a.result != nil && a.result.Labels == nil, func(thread int) string { return names[thread] }, a.end.Keep)
	if err != nil {
		a.missing = append(a.missing, fmt.Sprintf("ranks are not distinguished: %v", err))
		return
	}
	if len(of) > 0 {
		a.classes = &sumClasses{found, of}
	}
}

// sentBy is how many bytes each thread of a process has sent and received, as the process tells, whose threads share them evenly.
func sentBy(p *store.Process) (sent, received int64) {
	for _, x := range p.Traffic.Sites {
		share := whole(x.Bytes) / int64(max(len(threadsOf(p)), 1))
		if transferKinds[x.Kind].Outgoing() {
			sent += share
		} else {
			received += share
		}
	}
	return sent, received
}

// mostRecords bounds the MPI calls of the ranks that are fetched: they take about 100 bytes each while the run is concluded.
const mostRecords = 50_000_000

// choose is which processes are fetched: those of the exemplars, then those of the outliers, as far as there is room for their calls; all where everything is to stay. Where ranks are
// not told apart it is the first one.
func (a *account) choose() (list []*store.Process) {
	rings := a.lineup.rings
	if !a.end.Keep.All {
		rings = nil
		if a.classes != nil {
			for i := range a.classes.Classes.Classes {
				rings = append(rings, a.lineup.rings[a.classes.of[a.classes.Classes.Classes[i].Exemplar]])
			}
			for _, o := range a.classes.Outliers {
				rings = append(rings, a.lineup.rings[a.classes.of[o.Thread]])
			}
		} else if len(a.lineup.rings) > 0 {
			rings = a.lineup.rings[:1]
		}
	}
	room, left := int64(mostRecords), 0
	for _, r := range rings {
		p := r.Process
		if slices.Contains(list, p) {
			continue
		}
		records := int64(0)
		for _, o := range p.Rings {
			if s := a.sums[o.Info.Ring]; s != nil {
				records += s.records
			}
		}
		if records > room {
			left++
			continue
		}
		room -= records
		list = append(list, p)
	}
	if left > 0 {
		a.notes = append(a.notes, fmt.Sprintf("kept as totals only for lack of space: %s that would have been kept in detail; for those in detail at most %d MPI calls are fetched",
			units.Count(left, "rank"), mostRecords))
	}
	return list
}

// silentReason is of the class of threads whose sums did not come.
const silentReason = "%s is the first of %d without sums"

// threadClasses are the classes of a history's threads. Those of which nothing is known are one of their own.
func (a *account) threadClasses(h *history) *represent.Classes {
	if a.classes == nil {
		return nil
	}
	to := make([]int32, len(a.classes.of)) // threads of the run
	known := make([]bool, len(h.run.Threads))
	for i, thread := range a.classes.of {
		to[i] = int32(h.threadOf[a.lineup.rings[thread]])
		known[to[i]] = true
	}
	c := &represent.Classes{Of: make([]int32, len(h.run.Threads)), Method: a.classes.Method}
	for i := range a.classes.Classes.Classes {
		x := a.classes.Classes.Classes[i]
		x.Threads, x.Exemplar = slices.Clone(x.Threads), int(to[x.Exemplar])
		for k, thread := range x.Threads {
			x.Threads[k] = to[thread]
			c.Of[to[thread]] = int32(i)
		}
		slices.Sort(x.Threads)
		c.Classes = append(c.Classes, x)
	}
	for _, o := range a.classes.Outliers {
		o.Thread = int(to[o.Thread])
		c.Outliers = append(c.Outliers, o)
	}
	var silent []int32
	for i, is := range known {
		if !is {
			silent = append(silent, int32(i))
			c.Of[i] = int32(len(c.Classes))
		}
	}
	if len(silent) > 0 {
		name := rundir.NameOf(&h.run.Threads[silent[0]]).Short(len(h.run.Worlds) > 1)
		c.Classes = append(c.Classes, represent.Class{
			Threads: silent, Exemplar: int(silent[0]), Reason: fmt.Sprintf(silentReason, name, len(silent)), Profile: "not known",
		})
	}
	return c
}

// rows are the sums as rows of a history's profile.
func (a *account) rows(h *history) (rows []profile.Row) {
	places := make([]int, len(h.run.Counters)) // of the run's counters among those of the micro-cells
	for k, c := range h.run.Counters {
		places[k] = -1
		if a.set != nil {
			places[k] = slices.Index(a.set.Counters, c.Name)
		}
	}
	for ring, s := range a.sums {
		thread, there := h.threadOf[a.frozen.Ring(ring)]
		if !there {
			continue
		}
		for _, r := range s.rows {
			r.Thread, r.Path = int32(thread), a.frozen.Path(r.Path)
			its := r.Counters
			r.Counters = nil
			for _, place := range places {
				switch {
				case r.Kind == profile.MPI:
				case place < 0:
					r.Counters = append(r.Counters, profile.Counter{Missing: r.Count})
				default:
					r.Counters = append(r.Counters, its[place])
				}
			}
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b profile.Row) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.OfKind, b.OfKind))
	})
	return mergeRows(rows)
}

// mergeRows makes one of rows that follow each other and have one key: call paths that are not known have one number.
func mergeRows(rows []profile.Row) []profile.Row {
	var out []profile.Row
	for _, r := range rows {
		if n := len(out); n == 0 || out[n-1].Key != r.Key {
			out = append(out, r)
			continue
		}
		to := &out[len(out)-1]
		to.Count += r.Count
		to.Time.Merge(r.Time)
		for k := range to.Counters {
			to.Counters[k].Merge(r.Counters[k].Sum)
			to.Counters[k].Missing += r.Counters[k].Missing
		}
	}
	return out
}
