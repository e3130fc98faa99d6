package retention

import (
	"slices"

	"moriens/conclude/carry"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// bytesElsewhere is about what the transfers of a run, of so many rows, take in files that are not among those of its threads, because they have stayed on the nodes. It is
// estimated from those that are: at the beginning of the run they all are.
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
	moved, err := sum(owners, transfersOf(begin))
	if err != nil || missing <= 0 || moved == 0 {
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
		return int64(float64(with-without) / float64(moved) * float64(missing)), nil
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
