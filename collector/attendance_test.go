package collector

import (
	"log/slog"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"moriens/collector/journal"
	moriensv1 "moriens/proto/moriens/v1"
)

// A run is not over at the moment at which its first agent comes.
func TestFirstAgentIsWaitedFor(t *testing.T) {
	work := t.TempDir()
	for i := range 50 {
		j, err := journal.Open(filepath.Join(work, strconv.Itoa(i)), journal.Run{Run: "a"}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		c := &Collector{journal: j, store: j.Store(), grace: time.Hour}
		came := make(chan error, 1)
		go func() {
			_, _, err := c.store.Greet(&moriensv1.Hello{Agent: 1})
			came <- err
		}()
		over := false
		for waiting := true; waiting; {
			over = over || c.alone()
			select {
			case err = <-came:
				waiting = false
			default:
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil || over || c.alone() {
			t.Fatalf("in try %d the run was over when its first agent had come: %v", i, err)
		}
	}
}
