package collector

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"moriens/collector/journal"
	"moriens/internal/mpix"
)

// A collector that was killed at the end may have written that the run has ended where the others had not yet: when
// these resume, as many or fewer, all know it.
func TestEndInOneJournal(t *testing.T) {
	const collectors = 3
	for ended := range collectors {
		for _, again := range []int{collectors, 2, 1} {
			t.Run(fmt.Sprintf("in that of %d, %d go on", ended, again), func(t *testing.T) {
				config := Config{Journal: filepath.Join(t.TempDir(), "journal"), Run: "0123456789abcdef", Log: slog.New(slog.DiscardHandler)}
				opened(t, config, collectors, func(rank int, j *journal.Journal) {
					if j.End() != nil {
						t.Errorf("collector %d: the run ended before it began", rank)
					}
					if rank == ended {
						if _, err := j.Finish(t.Context(), nil, "a test"); err != nil {
							t.Error(err)
						}
					}
				})
				opened(t, config, again, func(rank int, j *journal.Journal) {
					if by := j.End().GetEndedBy(); by != "a test" {
						t.Errorf("collector %d: ended by %q", rank, by)
					}
				})
			})
		}
	}
}

// opened opens the journals of so many collectors, has each do something with its own, and closes them.
func opened(t *testing.T, config Config, collectors int, do func(rank int, j *journal.Journal)) {
	t.Helper()
	team := mpix.Local(collectors)
	together(collectors, func(i int) {
		j, _, err := openJournals(team[i], config)
		if err != nil {
			t.Error(err)
			return
		}
		do(i, j)
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}
