package measure

import (
	"testing"

	"moriens/analysis/grouping"
	"moriens/collector/store"
	"moriens/conclude"
	"moriens/conclude/retention"
	"moriens/internal/stage"
)

// concludeAll ends a run and keeps all of it, however long it takes.
func concludeAll(t testing.TB, f store.Frozen, j conclude.Job, o grouping.Options) (*conclude.Result, error) {
	t.Helper()
	return conclude.Conclude(t.Context(), conclude.End{Frozen: f, Job: j, Options: o, Keep: retention.Options{All: true}, Stages: stage.New(0)})
}

// A held run is frozen and can be ended several times, as none is but in tests: its end takes the calls out of the
// store.
type held struct {
	store.Frozen
	rings []heldRing
}

type heldRing struct {
	*store.Ring
	chunks      []store.Chunk
	collectives []store.Collectives
}

func hold(f store.Frozen) held {
	h := held{Frozen: f}
	for _, p := range f.Processes {
		for _, r := range p.Rings {
			h.rings = append(h.rings, heldRing{r, r.Chunks, r.Collectives})
		}
	}
	return h
}

// again gives the store back what an end has taken.
func (h held) again() store.Frozen {
	for _, r := range h.rings {
		if r.Chunks == nil {
			r.Chunks = r.chunks
		}
		if r.Collectives == nil {
			r.Collectives = r.collectives
		}
	}
	return h.Frozen
}
