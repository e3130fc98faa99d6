package perfettotest

import (
	"fmt"
	"slices"
	"strings"

	"moriens/trace"
)

// wanted is what the trace of a run has to hold, by category.
type wanted struct {
	run   *trace.Run
	names []string
	lines map[string][]string
}

func wantedOf(run *trace.Run) map[string][]string {
	w := wanted{run, run.Names(), make(map[string][]string)}
	for i := range run.Threads {
		th := &run.Threads[i]
		name := nameOf(run, th)
		w.bursts(name, th)
		w.calls(name, th)
		w.marks(name, th)
		w.waits(name, th)
		w.dropped(name, th)
	}
	for i, x := range run.Windows {
		notes := map[string]any{"why": x.Why.String(), "reason": x.Reason, "threads": int64(len(x.Threads))}
		if x.Phase >= 0 {
			notes["phase"] = int64(x.Phase)
		}
		w.add("window", ": window %d: %v %d-%d %s", i, x.Why, x.BeginNS, x.EndNS, notesText(notes))
	}
	for _, c := range run.Communicators {
		ranks := strings.Trim(fmt.Sprint(c.Ranks), "[]")
		w.add("communicator", ": %s %d 0 %s", c.Kind(), c.ID, notesText(map[string]any{"world": int64(c.World), "id": c.ID, "kind": c.Kind(), "ranks": ranks}))
	}
	for _, c := range run.Clusters {
		notes := map[string]any{
			"id": int64(c.ID), "bursts": int64(c.Bursts), "time_ns": c.TimeNS, "share": c.Share, "mean_ns": c.MeanNS, "std_ns": c.StdNS,
		}
		if c.VariantOf != 0 {
			notes["variant_of"] = int64(c.VariantOf)
		}
		if c.Score != 0 {
			notes["score"] = c.Score
		}
		if c.Rare {
			notes["rare"] = true
		}
		w.add("cluster", ": cluster %d 0 %s", c.ID, notesText(notes))
	}
	return w.lines
}

func (w *wanted) add(category, format string, args ...any) {
	w.lines[category] = append(w.lines[category], fmt.Sprintf(format, args...))
}

func (w *wanted) bursts(name string, th *trace.Thread) {
	b := &th.Bursts
	for k := range b.StartNS {
		notes := map[string]any{
			"cluster": int64(b.Cluster[k]), "duration_ns": b.DurationNS[k],
			"call_path_before": w.names[b.Before[k]], "call_path_after": w.names[b.After[k]],
		}
		if kind := b.Kinds()[k]; kind != b.Cluster[k] {
			notes["kind"] = int64(kind)
		}
		for c, counter := range w.run.Counters {
			if v := b.Counters[c][k]; v != trace.NoCount {
				notes[counter.Name] = v
			}
		}
		if b.Phase != nil && b.Phase[k] >= 0 {
			notes["phase"] = w.run.MarkNames[th.Phases[b.Phase[k]].Name]
		}
		if b.Weight != nil && b.Weight[k] != 1 {
			notes["weight"] = b.Weight[k]
		}
		cluster := map[int32]string{-3: "missing data", -2: "filtered", -1: "noise", 0: "burst"}[b.Cluster[k]]
		if cluster == "" {
			cluster = fmt.Sprintf("cluster %d", b.Cluster[k])
		}
		w.add("burst", "%s: %s %d-%d %s", name, cluster, b.StartNS[k], b.StartNS[k]+b.DurationNS[k], notesText(notes))
	}
}

func (w *wanted) calls(name string, th *trace.Thread) {
	for k := range th.Calls.EnterNS {
		notes := map[string]any{"call_path": w.names[th.Calls.Path[k]]}
		if th.Calls.Unfinished && k == th.Calls.Len()-1 {
			notes["unfinished"] = true
		}
		if th.Calls.Count != nil && th.Calls.Count[k] != 1 {
			notes["calls"] = th.Calls.Count[k]
		}
		if moves := w.moves(th, k); len(moves) == 1 {
			for key, v := range moves[0] {
				notes[key] = v
			}
		} else if len(moves) > 1 {
			notes["transfers"] = moves
		}
		if j := slices.Index(th.Collectives.Call, uint32(k)); j >= 0 {
			c := &th.Collectives
			notes["sent_bytes"], notes["received_bytes"] = c.Sent[j], c.Received[j]
			if c.Comm[j] >= 0 {
				notes["communicator"] = w.run.Communicators[c.Comm[j]].ID
			}
			if c.Root[j] != -1 {
				notes["root"] = int64(c.Root[j])
			}
		}
		function := w.run.CallPaths[th.Calls.Path[k]].Function
		if function == "" {
			function = "unknown MPI call"
		}
		w.add("mpi", "%s: %s %d-%d %s", name, function, th.Calls.EnterNS[k], th.Calls.ExitNS[k], notesText(notes))
	}
}

// moves are the transfers of a call.
func (w *wanted) moves(th *trace.Thread, call int) []map[string]any {
	var moves []map[string]any
	x := &th.Transfers
	for j := range x.Call {
		if int(x.Call[j]) != call {
			continue
		}
		m := map[string]any{"bytes": x.Bytes[j], "kind": [...]string{"", "send", "receive", "put", "get", "write", "read"}[x.Kind[j]]}
		if x.Peer[j] >= 0 {
			m["peer"] = int64(x.Peer[j])
			if x.PeerWorld != nil && int(x.PeerWorld[j]) != th.World {
				m["peer_world"] = int64(x.PeerWorld[j])
			}
		}
		if x.Tag[j] != -1 {
			m["tag"] = int64(x.Tag[j])
		}
		if c := x.Comm[j]; c >= 0 {
			m["communicator"] = w.run.Communicators[c].ID
		}
		moves = append(moves, m)
	}
	return moves
}

// marks are phases, events and pauses.
func (w *wanted) marks(name string, th *trace.Thread) {
	for _, p := range th.Phases {
		notes := map[string]any{}
		if p.Unfinished {
			notes["unfinished"] = true
		}
		w.add("phase", "%s: %s %d-%d %s", name, w.run.MarkNames[p.Name], p.BeginNS, p.EndNS, notesText(notes))
	}
	for _, e := range th.Events {
		w.add("event", "%s: %s %d %s", name, w.run.MarkNames[e.Name], e.TimeNS, notesText(map[string]any{"value": e.Value}))
	}
	for _, p := range th.Pauses {
		w.add("pause", "%s: paused %d-%d ", name, p.BeginNS, p.EndNS)
	}
}

// waits are those of calls, and the critical path.
func (w *wanted) waits(name string, th *trace.Thread) {
	for k, call := range th.Waits.Call {
		enter := th.Calls.EnterNS[call]
		notes := map[string]any{"wait_ns": th.Waits.UntilNS[k] - enter}
		if i := th.Waits.For[k]; i >= 0 {
			who := &w.run.Threads[i]
			notes["for_rank"] = int64(who.Rank)
			notes["for"] = strings.TrimSuffix(nameOf(w.run, who), " thread 0")
			if who.World != th.World {
				notes["for_world"] = int64(who.World)
			}
			if who.Thread != 0 {
				notes["for_thread"] = int64(who.Thread)
			}
		}
		w.add("wait", "%s: waits: %v %d-%d %s", name, th.Waits.Kind[k], enter, th.Waits.UntilNS[k], notesText(notes))
	}
	for _, s := range th.Critical {
		w.add("critical path", "%s: critical path %d-%d ", name, s.BeginNS, s.EndNS)
	}
}

// dropped is what lies between windows.
func (w *wanted) dropped(name string, th *trace.Thread) {
	if w.run.Windows == nil {
		return
	}
	from := th.BeginNS
	for _, s := range append(slices.Clone(th.Kept), trace.Span{BeginNS: th.EndNS, EndNS: th.EndNS}) {
		if s.BeginNS > from {
			w.add("dropped", "%s: dropped %d-%d ", name, from, s.BeginNS)
		}
		from = s.EndNS
	}
}
