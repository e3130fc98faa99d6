package health

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The page of several collectors has the sums of all counts, every agent, and each collector by itself; what cannot be
// added is the first one's.
func TestMerge(t *testing.T) {
	page := func(host string, n uint64) Page {
		return Page{
			Run: "r", Stage: Collecting, Host: host, PID: int(n), Seconds: float64(n),
			Agents: []Agent{{Host: host + "b", Ranks: int(n)}, {Host: host + "a"}},
			Ranks:  Ranks{Recorded: int(10 * n), Running: int(4 * n), Ended: int(3 * n), Died: int(2 * n), Left: int(n)},
			Calls:  n, Bursts: 2 * n, Transfers: 3 * n, BurstsPerSecond: float64(n),
			Clusters: Clusters{Count: int(n)},
			Losses: Losses{
				RecordsDropped: n, CallsAbandoned: n, CallsUnrecorded: n, BatchesResent: n, BatchesDuplicate: n, MessagesRefused: n, RanksDied: n, RanksUnrecorded: n,
			},
			Refused: map[string]uint64{"crowd": n, host: n}, Memory: Memory{HeapBytes: n, ResidentBytes: 2 * n}, CPU: float64(n), Redirected: n,
			Journal: &Journal{Bytes: n, CutBytes: n, Pending: n, Syncs: n, SyncSeconds: float64(n), SlowestSync: float64(n), Error: host},
		}
	}
	first := page("x", 1)
	alone := page("x", 1)
	first.Merge([]Page{page("w", 2), page("y", 4)})
	want := page("x", 7)
	want.PID, want.Seconds, want.Clusters.Count = 1, 1, 1
	want.Agents = []Agent{{Host: "wa"}, {Host: "wb", Ranks: 2}, {Host: "xa"}, {Host: "xb", Ranks: 1}, {Host: "ya"}, {Host: "yb", Ranks: 4}}
	want.Refused = map[string]uint64{"crowd": 7, "x": 1, "w": 2, "y": 4}
	want.Journal.SlowestSync = 4
	for i, p := range []Page{alone, page("w", 2), page("y", 4)} {
		want.Members = append(want.Members, Member{
			Member: i, Host: p.Host, PID: p.PID, Agents: 2, Ranks: p.Ranks.Recorded, Bursts: p.Bursts, BurstsPerSecond: p.BurstsPerSecond, Redirected: p.Redirected,
			Memory: p.Memory, CPU: p.CPU, Journal: p.Journal,
		})
	}
	if d := cmp.Diff(want, first, cmp.Comparer(time.Time.Equal)); d != "" {
		t.Error(d)
	}

	silent := page("z", 3)
	silent.CPU = 0
	if alone.Merge([]Page{silent}); alone.CPU != 0 {
		t.Errorf("%v s of which a part is not known", alone.CPU)
	}
}
