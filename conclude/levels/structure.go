package levels

import (
	"moriens/analysis/loops"
	"moriens/internal/team"
	"moriens/trace"
)

// Structure is level 2 of a run whose bursts have the symbols of table. Where clusters make a thread's sequence too
// large it is kept by its calls.
func Structure(run *trace.Run, owners team.Threads, table *Table, threadsAtWork int) (*loops.Structure, error) {
	threads := make([]loops.Thread, len(run.Threads))
	each(run, threadsAtWork, func(i int) {
		t := &run.Threads[i]
		b := &t.Bursts
		threads[i] = loops.Thread{Symbols: table.Threads[i], DurationNS: b.DurationNS, GapNS: make([]int64, b.Len())}
		for k, start := range b.StartNS {
			next := t.EndNS
			if k+1 < b.Len() {
				next = b.StartNS[k+1]
			}
			threads[i].GapNS[k] = max(0, next-start-b.DurationNS[k])
		}
	})
	calls, _ := table.calls()
	return loops.Compress(threads, loops.Options{Coarse: calls, Workers: threadsAtWork, Team: owners})
}
