package rebuild

import (
	"moriens/analysis/clock"
	"moriens/conclude/match"
)

// causesOf is collective. The times of the calls are still those of their nodes. What bounds the clocks is known at
// some member, not always at that of the threads.
func causesOf(u *unpacked, c *communicators, pairs []match.Pair) (causes, error) {
	t := new(clock.Traffic)
	for _, p := range pairs {
		t.Messages = append(t.Messages, clock.Message{Send: clockPlace(p.Send), Recv: clockPlace(p.Done)})
	}
	of, functions := functionsOf(u.run.CallPaths)
	r := u.roomFor(func(i int) int { return collectivesOf(u.Rings[i]) })
	allKeys, allEntries := make([]operation, r.rows()), make([]participant, r.rows())
	keys := make([][]operation, len(u.Rings))
	entries := make([][]participant, len(u.Rings))
	u.each(func(thread int) {
		keys[thread], entries[thread] = partOf(allKeys, r, thread)[:0], partOf(allEntries, r, thread)[:0]
		for k := range u.Rings[thread].Collectives {
			for key, p := range operations(collectiveRows{u, c, thread, &u.Rings[thread].Collectives[k]}, of, functions) {
				keys[thread], entries[thread] = append(keys[thread], key), append(entries[thread], p)
			}
		}
	})
	if u.Team.Size() == 1 {
		for _, participants := range together(keys, entries) {
			if m, ok := collective(participants, functions); ok {
				t.Collectives = append(t.Collectives, m)
			}
		}
		return causes{t, known{t, u.clockThreads()}}, nil
	}
	k := newMeetings(u.Team, u.clockThreads())
	k.messages(pairs)
	list, err := k.meet(keys, entries, functions)
	t.Collectives = list
	return causes{t, known{&k.traffic, k.threads}}, err
}
