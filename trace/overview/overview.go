// Package overview draws a whole run on a grid of threads by time bins, small enough to keep for any run: what each
// thread did when, and how much time all of them spent in each cluster, in MPI and elsewhere.
//
// A trace.Run comes in, in nanoseconds. Out comes a compressed pack (trace/pack): docs/format/overview.md.
//
// The same run gives the same bytes, with any number of processors.
package overview

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"moriens/internal/team"
	"moriens/trace"
)

// Codes say what there is in a cell; a cluster has Cluster + its ID.
const (
	Nothing  = 0 // not recorded: before and after a thread's calls, or while recording was paused
	MPI      = 1
	Noise    = 2
	Filtered = 3 // and what nothing has clustered
	Missing  = 4
	Cluster  = 5 // + ID; by itself: clusters that have no code of their own
	Lost     = math.MaxUint16
)

// DefaultBytes is about how many bytes an overview takes, at most, where there is room for it.
const DefaultBytes = 300_000

// MaxClusters have codes of their own: those with the most time.
const MaxClusters = 250

const (
	maxRows, leastRows = 1024, 64
	maxBins, leastBins = 1000, 250
	// A cell takes about so many bytes in the file.
	cellBytes = .6
	// Waits of all threads and the critical path take about so many of a bin.
	binBytes = 8
	// shareStep is the step in which shares are written: what lies between costs bytes and is not seen.
	shareStep = 17
)

// An Overview is a grid of cells. Each shows one of what is in it, chosen so that along a row everything has the part
// of the cells that it has of the time.
type Overview struct {
	BeginNS int64 // 0, but of a part
	EndNS   int64
	Bins    int
	Rows    [][2]int  // first and last thread of each, as indices into Run.Threads
	Codes   []int     // of the columns of Profile
	Cell    []uint16  // code by row and bin
	Share   []uint8   // of the cell's time that its code has: 255 = all
	Profile []float32 // seconds by bin and code, summed over all threads
	Wait    []uint8   // by row and bin: the kind of wait that the cell's time in MPI shows, 0 = none; nil: no wait is known
	Waiting []uint8   // by bin and kind of wait: of the time of all threads in MPI, 255 = all; the first, without waiting, is what remains; nil as Wait
	Path    Path
}

// A Path is the critical path: by bin, the PathRows rows on whose threads it is for most of the bin, in their order. It
// is empty where the path is not known.
type Path struct {
	Row   []uint16
	Share []uint8 // of the bin's time: 255 = all, 0 = there are no more rows
}

// PathRows is how many rows Path has of a bin, at most: its time on others is what is missing of all shares.
const PathRows = 4

// codeOf is the code of a label, or of InMPI, in a run in which so many clusters have one.
func codeOf(label int32, clusters int) int {
	switch {
	case label == InMPI:
		return MPI
	case label > 0 && int(label) <= clusters:
		return Cluster + int(label)
	case label > 0:
		return Cluster
	case label == trace.LabelNoise:
		return Noise
	case label == trace.LabelMissing:
		return Missing
	}
	return Filtered
}

// Groups puts threads into at most so many groups of neighbours, all of one size but the last, which may be smaller.
func Groups(threads, most int) [][2]int {
	groups := [][2]int{}
	size := max(1, (threads+most-1)/most)
	for first := 0; first < threads; first += size {
		groups = append(groups, [2]int{first, min(first+size, threads) - 1})
	}
	return groups
}

// rowsOf puts threads into rows. Where most threads are known as totals only, each of the few others has a row of its
// own, apart from those around it.
func rowsOf(run *trace.Run, most int) [][2]int {
	rows := [][2]int{}
	for i := range run.Threads {
		if n := len(rows); n > 0 && run.Threads[i].Untimed() && run.Threads[i-1].Untimed() {
			rows[n-1][1] = i
			continue
		}
		rows = append(rows, [2]int{i, i})
	}
	if len(rows) > most {
		return Groups(len(run.Threads), most)
	}
	return rows
}

// Of draws a run, whose threads are all here, on as fine a grid as takes about so many bytes in a file.
func Of(run *trace.Run, bytes int) *Overview {
	o, _ := Shared(run, team.Threads{}, bytes) // there is no other member that could fail
	return o
}

// Shared is Of where several members have the threads. It is collective, and returns the same to all.
func Shared(run *trace.Run, owners team.Threads, bytes int) (*Overview, error) {
	has, err := hasOf(run, owners)
	if err != nil {
		return nil, err
	}
	rows := rowsOf(run, min(maxRows, max(leastRows, int(float64(bytes)/cellBytes)/leastBins)))
	bin := cellBytes * float64(max(len(rows), 1))
	if has.waits || has.path {
		bin += binBytes
	}
	return on(run, owners, has, rows, min(maxBins, max(leastBins, int(float64(bytes)/bin))))
}

// A has is what there is of a run, on some thread.
type has struct{ lost, waits, path bool }

// hasOf is collective.
func hasOf(run *trace.Run, owners team.Threads) (h has, err error) {
	for i := range run.Threads {
		t := &run.Threads[i]
		h.lost, h.waits, h.path = h.lost || len(t.Lost) > 0, h.waits || t.Waits.Len() > 0, h.path || len(t.Critical) > 0
	}
	for _, there := range []*bool{&h.lost, &h.waits, &h.path} {
		if *there, err = team.Any(owners, *there); err != nil {
			return has{}, err
		}
	}
	return h, nil
}

// on draws a run, which has these things, on a grid. It is collective.
func on(run *trace.Run, owners team.Threads, has has, rows [][2]int, bins int) (*Overview, error) {
	o := &Overview{EndNS: max(run.DurationNS, 1), Rows: rows, Bins: bins}
	clusters := min(len(run.Clusters), MaxClusters)
	for code := range Cluster + 1 + clusters {
		o.Codes = append(o.Codes, code)
	}
	o.Cell, o.Share = make([]uint16, len(o.Rows)*o.Bins), make([]uint8, len(o.Rows)*o.Bins)
	d := &drawing{Overview: o, run: run, owners: owners, clusters: clusters}
	if has.lost {
		o.Codes = append(o.Codes, Lost)
	}
	d.stride = len(o.Codes)
	if has.waits {
		d.stride += trace.WaitKinds
		o.Wait = make([]uint8, len(o.Cell))
	}
	if has.path {
		d.onPath = make([]uint8, len(o.Cell))
		d.stride++
	}
	others, err := d.exchange()
	if err != nil {
		return nil, err
	}
	total := make([]int64, o.Bins*d.stride)
	var mu sync.Mutex
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(o.Rows)) {
		wg.Go(func() {
			sums := make([]int64, len(total))
			for row := int(taken.Add(1)) - 1; row < len(o.Rows); row = int(taken.Add(1)) - 1 {
				if !d.mine(row) {
					continue
				}
				d.add(row, sums)
				for _, x := range others[row] {
					sums[x.at] += x.ns
				}
				d.draw(row, sums)
				mu.Lock()
				for i, ns := range sums {
					total[i] += ns
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := d.collect(total); err != nil {
		return nil, err
	}
	o.Profile = make([]float32, 0, o.Bins*len(o.Codes))
	for bin := range o.Bins {
		for _, ns := range total[bin*d.stride:][:len(o.Codes)] {
			o.Profile = append(o.Profile, float32(float64(ns)/1e9))
		}
		if o.Wait == nil {
			continue
		}
		mpiNS := total[bin*d.stride+MPI]
		o.Waiting = append(o.Waiting, 0)
		for _, ns := range total[bin*d.stride+len(o.Codes)+1:][:trace.WaitKinds-1] {
			o.Waiting = append(o.Waiting, uint8(math.Round(float64(ns)/float64(max(mpiNS, 1))*math.MaxUint8)))
		}
	}
	d.tracePath()
	return o, nil
}

// tracePath fills in Path.
func (d *drawing) tracePath() {
	if d.onPath == nil {
		return
	}
	d.Path = Path{make([]uint16, d.Bins*PathRows), make([]uint8, d.Bins*PathRows)}
	var rows []int
	for bin := range d.Bins {
		share := func(row int) uint8 { return d.onPath[row*d.Bins+bin] }
		rows = rows[:0]
		for row := range d.Rows {
			if share(row) > 0 {
				rows = append(rows, row)
			}
		}
		slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(share(b), share(a)) })
		rows = rows[:min(len(rows), PathRows)]
		slices.Sort(rows)
		for i, row := range rows {
			d.Path.Row[bin*PathRows+i], d.Path.Share[bin*PathRows+i] = uint16(row), share(row)
		}
	}
}

// shareOf is a part of a time in 255ths, in steps, no less than one if there is something; 0 of nothing.
func shareOf(ns, of int64) uint8 {
	if ns <= 0 || of <= 0 {
		return 0
	}
	return uint8(max(1, math.Round(min(1, float64(ns)/float64(of))*math.MaxUint8/shareStep)) * shareStep)
}

// draw fills in a row from its nanoseconds by bin and code, to which it adds what is in nothing.
func (d *drawing) draw(row int, sums []int64) {
	o, codes := d.Overview, len(d.Codes)
	bins := Bins{o.Bins, o.EndNS}
	rows := o.Rows[row]
	kinds := 0
	if o.Wait != nil {
		kinds = trace.WaitKinds
	}
	owed, owedWaits := make([]int64, codes), make([]int64, kinds)
	for bin := range o.Bins {
		in := sums[bin*d.stride:][:codes]
		waits := sums[bin*d.stride:][codes : codes+kinds]
		if d.onPath != nil {
			d.onPath[row*o.Bins+bin] = shareOf(sums[(bin+1)*d.stride-1], bins.Edge(bin+1)-bins.Edge(bin))
		}
		recorded := int64(0)
		for _, ns := range in {
			recorded += ns
		}
		in[Nothing] = max(0, (bins.Edge(bin+1)-bins.Edge(bin))*int64(rows[1]-rows[0]+1)-recorded)
		all := recorded + in[Nothing]
		if all == 0 {
			continue // bins shorter than a nanosecond
		}
		at := row*o.Bins + bin
		chosen := most(owed, in)
		owed[chosen] -= all
		if len(waits) > 0 {
			// The time in MPI, too, is divided between its cells.
			waits[0] = in[MPI]
			for _, ns := range waits[1:] {
				waits[0] -= ns
			}
			kind := most(owedWaits, waits)
			if chosen == MPI && kind >= 0 {
				owedWaits[kind] -= all
				o.Wait[at] = uint8(kind)
			}
		}
		o.Cell[at] = uint16(o.Codes[chosen])
		o.Share[at] = shareOf(in[chosen], all)
	}
}

// most adds what there is of each part to what it is owed, and returns the one of those there that is owed most; -1:
// nothing is there.
func most(owed, in []int64) int {
	chosen := -1
	for i, ns := range in {
		owed[i] += ns
		if ns > 0 && (chosen < 0 || owed[i] > owed[chosen]) {
			chosen = i
		}
	}
	return chosen
}
