package console

import (
	"strings"
	"testing"

	"moriens/collector/health"
	"moriens/trace/rundir"
)

// A spool without room is a loss with a name, during the run and in its summary, with its cost and what to do.
func TestSpoolWithoutRoom(t *testing.T) {
	m := &rundir.Manifest{Losses: rundir.Losses{RecordsDropped: 7000, SpoolFullSeconds: 12.5, SpoolFullDropped: 7000, RecordsUnkept: 42}}
	const want = "7,000 MPI calls dropped: ring buffer full; the spool was full for 12.5 s, 7,000 MPI calls dropped in that time; 42 MPI calls or marks left in the ring buffers: spool full"
	if got := losses(m); got != want {
		t.Errorf("losses: %s", got)
	}
	var all []string
	for _, x := range Troubles(m, "") {
		all = append(all, x.Text+" / "+x.Hint)
	}
	text := strings.Join(all, "\n")
	for _, part := range []string{"the spool was full for 12.5 s", "--spool-max", "42 MPI call"} {
		if !strings.Contains(text, part) {
			t.Errorf("troubles lack %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "MORIENS_RING") {
		t.Errorf("a larger ring would not have helped:\n%s", text)
	}
	if got := losses(&rundir.Manifest{Losses: rundir.Losses{SpoolFullSeconds: .2}}); got != "none" {
		t.Errorf("a moment without room: %s", got)
	}

	p := &health.Page{
		Agents: []health.Agent{{Host: "n1", Connected: true, Spool: &health.Spool{Full: true, FullSeconds: 65, Dropped: 7000, Error: "no space left on device"}}},
		Losses: health.Losses{SpoolFullSeconds: 65, SpoolFullDropped: 7000},
	}
	var b strings.Builder
	if err := Progress(&b, p); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"spools full for 1m5s, MPI calls and marks dropped in that time: 7,000", "not reading, spool full (1m5s in total): no space left on device"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("the status lacks %q:\n%s", part, b.String())
		}
	}
}
