package waits

import (
	"fmt"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// Lanes are what Local makes and Merge completes.
type Lanes struct {
	run     *Run
	codes   codes
	meaning meaning
	list    []lane
	located []located
}

// Local makes lanes of the threads that this member has, and finds the calls of its messages. Columns that do not fit
// each other are errors that name the thread.
func Local(run *Run, owners team.Threads) (*Lanes, error) {
	for i := range run.Threads {
		if err := run.Threads[i].check(run); err != nil {
			return nil, fmt.Errorf("waits: thread %d: %w", i, err)
		}
	}
	for i := range run.Messages {
		if err := run.check(run.Message(i), owners); err != nil {
			return nil, fmt.Errorf("waits: message %d: %w", i, err)
		}
	}
	codes, err := newCodes(max(1, len(run.Functions)), run.Clusters)
	if err != nil {
		return nil, fmt.Errorf("waits: %w", err)
	}
	countOrdinals(run.Threads)
	x := &Lanes{run: run, codes: codes, meaning: meaningOf(run.Functions), list: make([]lane, len(run.Threads))}
	for i := range x.list {
		x.list[i].Thread = &run.Threads[i]
	}
	each(x.list, run.Workers, func(i int) {
		if owners.Mine(i) {
			x.list[i] = newLane(&run.Threads[i], run.DurationNS, codes.of)
			x.meaning.count(&x.list[i], run)
		}
	})
	x.located = locate(run, x.list, &x.meaning, owners.Mine)
	return x, nil
}

// check says whether the threads of a message are there, and the call that completed its send, if that is of this
// member.
func (r *Run) check(m Message, owners team.Threads) error {
	threads := int32(len(r.Threads))
	switch {
	case min(m.From, m.To) < 0 || max(m.From, m.To) >= threads:
		return fmt.Errorf("it goes from thread %d to %d of %d", m.From, m.To, threads)
	case owners.Mine(int(m.From)) && int(m.Sent) >= len(r.Threads[m.From].EnterNS):
		return fmt.Errorf("call %d of %d completed its send", m.Sent, len(r.Threads[m.From].EnterNS))
	}
	return nil
}

// each does work for all threads.
func each(lanes []lane, threadsAtWork int, work func(i int)) {
	sizes := make([]int, len(lanes))
	for i := range sizes {
		sizes[i] = lanes[i].calls() + 1
	}
	workers.Every(sizes, threadsAtWork, work)
}
