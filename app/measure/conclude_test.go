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
	chunks map[*store.Ring][]store.Chunk
}

func hold(f store.Frozen) held {
	h := held{Frozen: f, chunks: make(map[*store.Ring][]store.Chunk)}
	for _, p := range f.Processes {
		for _, r := range p.Rings {
			h.chunks[r] = r.Chunks
		}
	}
	return h
}

// again gives the store back what an end has taken.
func (h held) again() store.Frozen {
	for r, chunks := range h.chunks {
		if r.Chunks == nil {
			r.Chunks = chunks
		}
	}
	return h.Frozen
}
