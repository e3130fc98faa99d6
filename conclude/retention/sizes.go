package retention

import (
	"slices"

	"moriens/conclude/carry"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// exactRows is how many rows a run may have so that its size as a whole is measured: a third of a second's writing.
// That of a longer one is estimated from as many.
const exactRows = 1 << 18

// leastExtra is how many bytes a part of all rows may always have.
const leastExtra = 16 << 10

// sizes are what rows take in the files that hold detail.
type sizes struct {
	PerRow   float64 // a call or a burst, with the messages that go with them
	Full     int64   // of all rows, with what the files have besides
	Measured bool    // the size of the whole was, else of a part
}

// bursts is how many bursts, with a call each, take so many bytes; 1 at least.
func (s *sizes) bursts(bytes int64) int {
	if s.PerRow == 0 {
		return 1
	}
	return int(max(1, min(float64(bytes)/(2*s.PerRow), 1<<30)))
}

// part is a part of all rows, but leastExtra at least.
func (s *sizes) part(of float64) int64 { return max(leastExtra, int64(of*float64(s.Full))) }

// rowsOf counts calls and bursts.
func rowsOf(run *trace.Run) int64 { return int64(run.Bursts() + run.Calls()) }

// measure finds out the size of rows by writing all of them, or those in the middle of all threads, to nowhere. Where
// threads are known as totals only, those that are here show what their rows would take.
func measure(run *trace.Run, owners team.Threads, sums *Sums) (sizes, error) {
	rows, err := sum(owners, rowsOf(run))
	if err != nil {
		return sizes{}, err
	}
	all, elsewhere := rows, int64(0)
	if sums != nil { // and what is here has its transfers
		all = max(rows, sums.records())
	} else if elsewhere, err = bytesElsewhere(run, owners, rows); err != nil {
		return sizes{}, err
	}
	has, err := rundir.HasOf(run).Shared(owners)
	if err != nil {
		return sizes{}, err
	}
	nothing, err := carry.Run(owners, run.Cut([]trace.Window{}, make([][]trace.Span, len(run.Threads))))
	if err != nil {
		return sizes{}, err
	}
	some, part := run, rows
	if rows > exactRows {
		if some, err = middleOf(run, owners, float64(exactRows)/float64(rows)); err != nil {
			return sizes{}, err
		}
		if part, err = sum(owners, rowsOf(some)); err != nil {
			return sizes{}, err
		}
	}
	if some, err = carry.Run(owners, some); err != nil {
		return sizes{}, err
	}
	return team.First(owners, func() (sizes, error) {
		none, err := rundir.DetailBytes(has, nothing, nothing)
		if err != nil {
			return sizes{}, err
		}
		bytes, err := rundir.DetailBytes(has, some, some)
		if err != nil || part == 0 {
			return sizes{Full: none + elsewhere, Measured: elsewhere == 0}, err
		}
		s := sizes{PerRow: float64(bytes-none) / float64(part), Full: bytes, Measured: all <= part}
		if !s.Measured {
			s.Full = none + int64(s.PerRow*float64(all))
		}
		if elsewhere > 0 {
			s.Full, s.Measured = s.Full+elsewhere, false
			s.PerRow += float64(elsewhere) / float64(rows)
		}
		return s, nil
	})
}

// sum adds up what the members have.
func sum(t team.Team, own int64) (int64, error) {
	n := []int64{own}
	err := t.AllReduce(n, team.Sum)
	return n[0], err
}

// middleOf cuts a run to a part of each thread's bursts, 0 to 1, from the middle: its begin is seldom like the rest.
func middleOf(run *trace.Run, owners team.Threads, part float64) (*trace.Run, error) {
	return partOf(run, owners, (1-part)/2, (1+part)/2)
}

// partOf cuts a run to each thread's bursts from one part of them to another, 0 to 1.
func partOf(run *trace.Run, owners team.Threads, from, to float64) (*trace.Run, error) {
	windows := []trace.Window{{Phase: -1, Why: trace.Fallback}}
	times := make([][]int64, len(run.Threads))
	for i := range run.Threads {
		t := &run.Threads[i]
		n := float64(t.Bursts.Len())
		beginNS, endNS := stretch{int32(from * n), int32(to * n)}.time(t)
		times[i] = []int64{beginNS, endNS}
	}
	times, err := team.ByThread(owners, times)
	if err != nil {
		return nil, err
	}
	kept := make([][]trace.Span, len(run.Threads))
	for i, time := range times {
		kept[i] = []trace.Span{{BeginNS: time[0], EndNS: time[1]}}
		windows[0].Threads = append(windows[0].Threads, i)
		windows[0].EndNS = max(windows[0].EndNS, time[1])
	}
	return run.Cut(windows, kept), nil
}

// bytesElsewhere is about what the transfers of a run, of so many rows, take in files that are not among those of its
// threads, because they were kept on the nodes. It is estimated from those that are: at the beginning of the run they
// all are.
func bytesElsewhere(run *trace.Run, owners team.Threads, rows int64) (int64, error) {
	if run.Traffic == nil {
		return 0, nil
	}
	here, err := sum(owners, transfersOf(run))
	if err != nil {
		return 0, err
	}
	missing := -here
	for i := range run.Traffic.Ranks {
		for _, x := range run.Traffic.Ranks[i].Sites {
			missing += x.Count
		}
	}
	begin := run
	if rows > exactRows {
		if begin, err = partOf(run, owners, 0, float64(exactRows)/float64(rows)); err != nil {
			return 0, err
		}
	}
	counted, err := sum(owners, transfersOf(begin))
	if err != nil || missing <= 0 || counted == 0 {
		return 0, err
	}
	if begin, err = carry.Run(owners, begin); err != nil {
		return 0, err
	}
	return team.First(owners, func() (int64, error) {
		bare := *begin
		bare.Messages, bare.Threads = nil, slices.Clone(begin.Threads)
		for i := range bare.Threads {
			bare.Threads[i].Transfers = trace.Transfers{}
		}
		has := rundir.HasOf(begin)
		with, err := rundir.DetailBytes(has, begin, begin)
		if err != nil {
			return 0, err
		}
		without, err := rundir.DetailBytes(has, &bare, &bare)
		if err != nil {
			return 0, err
		}
		return int64(float64(with-without) / float64(counted) * float64(missing)), nil
	})
}

// transfersOf counts those of all threads.
func transfersOf(run *trace.Run) int64 {
	n := int64(0)
	for i := range run.Threads {
		n += int64(run.Threads[i].Transfers.Len())
	}
	return n
}
