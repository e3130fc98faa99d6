package pairing

import (
	"moriens/internal/hint"
	"moriens/trace"
	"moriens/trace/rundir"
)

// spans are, by pair, what its messages took from the entry of the send to the end of the receive, in ns.
type spans map[[2]int32]int64

// keptEverything is what a manifest says of a run directory that keeps all calls and messages.
const keptEverything = "everything"

// readSpans adds up the messages of a run directory that keeps all of them; nil: it does not.
func readSpans(dir string, m *rundir.Manifest, n *numbering) (spans, error) {
	if m.Kept.How != keptEverything {
		return nil, nil
	}
	run, _, _, err := rundir.Read(dir)
	if err != nil {
		return nil, hint.Default(err, rundir.AdviseDamage)
	}
	return spansOf(run, n), nil
}

func spansOf(run *trace.Run, n *numbering) spans {
	s := make(spans)
	for i := range run.Messages {
		m := &run.Messages[i]
		from, to := &run.Threads[m.From], &run.Threads[m.To]
		a, b := n.of(int32(from.World), int32(from.Rank)), n.of(int32(to.World), int32(to.Rank))
		if a >= 0 && b >= 0 && a != b {
			s[[2]int32{min(a, b), max(a, b)}] += max(0, m.PhysicalRecvNS-m.SendNS)
		}
	}
	return s
}
