package levels

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/program"
	"moriens/internal/team"
	"moriens/trace"
)

// moveMessages has calls move the messages of a run of which nothing else says what calls moved: a trace that was read.
// A message belongs to the calls that posted it. It is collective.
func moveMessages(run *trace.Run, owners team.Threads, in *program.Input) error {
	only, err := OnlyMessages(run, owners)
	if err != nil {
		return err
	}
	if !only {
		gaps, err := team.Any(owners, slices.ContainsFunc(run.Threads, func(t trace.Thread) bool { return isGappy(&t) }))
		in.AllMoved = !gaps && !in.Sampled
		return err
	}
	threads := in.Threads
	type key struct {
		thread     int
		path       uint32
		from       bool
		peer       int32
		otherWorld bool
	}
	at := make(map[key]*program.Moved)
	add := func(thread, peer int, ns int64, from bool, bytes int64) {
		if !owners.Mine(thread) {
			return
		}
		call, exact := slices.BinarySearch(run.Threads[thread].Calls.EnterNS, ns)
		if !exact {
			call--
		}
		c := &run.Threads[thread].Calls
		if call < 0 || ns > c.ExitNS[call] {
			return // it was posted in a call of which there is no record
		}
		k := key{thread, c.Path[call], from, int32(run.Threads[peer].Rank), run.Threads[peer].World != run.Threads[thread].World}
		m := at[k]
		if m == nil {
			m = &program.Moved{Path: k.path, From: from, World: !k.otherWorld, Peer: k.peer, Root: -1, Least: math.MaxInt64}
			at[k] = m
		}
		m.Count++
		m.Bytes += bytes
		m.Least, m.Most = min(m.Least, bytes), max(m.Most, bytes)
	}
	for i := range run.Messages {
		m := &run.Messages[i]
		add(m.From, m.To, m.SendNS, false, m.Bytes)
		add(m.To, m.From, m.RecvNS, true, m.Bytes)
	}
	keys := make([]key, 0, len(at))
	for k := range at {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.path, b.path), cmp.Compare(btoi(a.from), btoi(b.from)), cmp.Compare(btoi(a.otherWorld), btoi(b.otherWorld)), cmp.Compare(a.peer, b.peer))
	})
	for _, k := range keys {
		threads[k.thread].Moved = append(threads[k.thread].Moved, *at[k])
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// isGappy reports whether there is no record of some of a thread's time, in which it may have called MPI.
func isGappy(t *trace.Thread) bool {
	gap := false
	t.Dropped(func(int64, int64) { gap = gap || len(t.Kept) > 0 })
	return gap
}
