package console

import (
	"strings"
	"testing"

	"moriens/collector/health"
)

func TestProgress(t *testing.T) {
	page := health.Page{
		Run: "r1", Stage: health.Collecting, Host: "n0", PID: 7, Seconds: 3661.5,
		Agents:   []health.Agent{{Host: "n0", Connected: true, Ranks: 2}, {Host: "n1", Away: 61}, {Host: "n2", Done: true, Ranks: 1, Lost: .31}},
		Ranks:    health.Ranks{Recorded: 3, Running: 2, Died: 1},
		Calls:    1500,
		Bursts:   1499,
		Clusters: health.Clusters{Count: 4, Bursts: 1400, Explained: .912}, BurstsPerSecond: 33.3,
		Losses:  health.Losses{RanksDied: 1, RecordsDropped: 5},
		Refused: map[string]uint64{"wrong_token": 2, "crowd": 3000},
		Memory:  health.Memory{HeapBytes: 1, ResidentBytes: 40e6},
	}
	const common = `moriens: run r1 · collecting for 1h1m1s on n0 (pid 7)

agents     3, 1 connected, 1 disconnected, 1 done
ranks      3, 2 running, 1 died
MPI calls  1,500
bursts     1,499, 33/s recently
clusters   4, with 91.2 % of the time (of 1,400 bursts)
losses     MPI calls dropped because the ring buffer was full: 5; ranks that died: 1
rejected   3,000 crowd, 2 wrong token
memory     38.1 MiB
`
	const hosts = `
host  agent                  ranks  lost to other processes
n0    connected                  2                    0.0 %
n1    disconnected for 1m1s      0                    0.0 %
n2    done                       1                   31.0 %
`
	journal := "journal    2.86 MiB, 1 message not yet acknowledged, 5.00 ms per sync, 10 B cut off at its end; cannot be written: disk full\n"
	const members = `
collector  host  agents  ranks  bursts    memory   journal
        0  n0         1      2   1,000  6.68 MiB      none
        1  n1         2      1     499  2.86 MiB  1.91 MiB
`
	collectors := []health.Member{
		{Host: "n0", Agents: 1, Ranks: 2, Bursts: 1000, Memory: health.Memory{HeapBytes: 7e6}},
		{Member: 1, Host: "n1", Agents: 2, Ranks: 1, Bursts: 499, Memory: health.Memory{ResidentBytes: 3e6}, Journal: &health.Journal{Bytes: 2e6}},
	}
	for _, tt := range []struct {
		journal *health.Journal
		members []health.Member
		want    string
	}{
		{nil, nil, common + hosts},
		{&health.Journal{Bytes: 3e6, Pending: 1, Syncs: 2, SyncSeconds: .01, CutBytes: 10, Error: "disk full"}, nil, common + journal + hosts},
		{nil, collectors, common + members + hosts},
	} {
		page.Journal, page.Members = tt.journal, tt.members
		var b strings.Builder
		if err := Progress(&b, &page); err != nil {
			t.Fatal(err)
		}
		if b.String() != tt.want {
			t.Errorf("printed:\n%swant:\n%s", b.String(), tt.want)
		}
	}
}

// Where bursts are kept on their nodes there is no message to the user that none arrived.
func TestProgressOfCells(t *testing.T) {
	for _, tt := range []struct {
		cells health.Cells
		want  []string
	}{
		{health.Cells{}, []string{"bursts are kept on their nodes, number not known yet\n"}},
		{health.Cells{Error: "no agent"}, []string{"on their nodes, number not known: no agent\n"}},
		{health.Cells{Surveyed: true, Age: 3, Units: 1, Bursts: 1499, Agents: 2}, []string{"bursts     1,499, ", "on their nodes, in 1 micro-cell, as of 3s ago\n"}},
		{
			health.Cells{Surveyed: true, Units: 1200, Bursts: 1499, Agents: 2, Silent: 1, Lost: 7, Outside: 2, Error: "later"},
			[]string{"in 1,200 micro-cells, as of 0s ago; 1 of 3 agents did not answer; 7 bursts lost; 2 bursts in no micro-cell; the latest survey failed: later\n"},
		},
	} {
		var b strings.Builder
		if err := Progress(&b, &health.Page{Calls: 12, Bursts: tt.cells.Bursts, Cells: &tt.cells}); err != nil {
			t.Fatal(err)
		}
		for _, want := range append(tt.want, "MPI calls  12 of threads that have ended\n", "clusters   at the end of the run: ") {
			if !strings.Contains(b.String(), want) {
				t.Errorf("no %q in\n%s", want, b.String())
			}
		}
	}
}
