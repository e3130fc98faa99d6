package console

import (
	"strings"
	"testing"

	"moriens/collector/health"
	"moriens/trace"
	"moriens/trace/rundir"
)

// Line 2 of the summary says what is missing, what matters most first; a complete run has none.
func TestSummaryIncomplete(t *testing.T) {
	run := &trace.Run{CallPaths: []trace.CallPath{{}}, Worlds: []trace.World{{Executable: "/opt/app", Size: 2}}, Threads: []trace.Thread{{}, {Rank: 1}}}
	for _, tt := range []struct {
		name   string
		absent int // ranks
		losses rundir.Losses
		want   string // after the first line
	}{
		{"complete", 0, rundir.Losses{}, "\n"},
		{"one thing", 0, rundir.Losses{RecordsDropped: 3}, "incomplete: 3 records of MPI calls and marks dropped: the ring buffer in shared memory was full\n\n"},
		{"many things", 1, rundir.Losses{RecordsDropped: 3, MessagesRefused: 1, CallPathsLost: 1},
			"incomplete: 1 of 2 ranks not recorded on n1: full; 3 records of MPI calls and marks dropped: the ring buffer in shared memory was full; 1 message of agents refused: calls are missing; and 1 more in manifest.json\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &rundir.Manifest{Losses: tt.losses, Absent: []rundir.Absence{{Rank: 1, Host: "n1", Reason: "full"}}}
			of := *run
			of.Threads = of.Threads[:2-tt.absent]
			m.Describe(&of)
			m.Empty = "no table"
			var b strings.Builder
			if err := Long(&b, &Results{Run: &of, Manifest: m, Clusters: new(rundir.Clusters), Dir: "dir"}); err != nil {
				t.Fatal(err)
			}
			_, after, _ := strings.Cut(strings.TrimPrefix(b.String(), "\n"), "\n")
			if !strings.HasPrefix(after, tt.want) {
				t.Errorf("want %q behind the first line:\n%s", tt.want, b.String())
			}
		})
	}
}

// While a run is in progress its state says which ranks go unrecorded, and why.
func TestProgressUnrecorded(t *testing.T) {
	var b strings.Builder
	err := Progress(&b, &health.Page{Losses: health.Losses{RanksUnrecorded: 3, FilesUnreadable: 1, Unrecorded: []health.Unrecorded{
		{Ranks: 2, Host: "n0", Reason: "no space left on device"}, {Ranks: 1, Host: "n1", Reason: "the agent there could not start"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"losses      ranks that could not record: 3; files of ranks that cannot be read: 1\n",
		"unrecorded  2 ranks on n0: no space left on device\nunrecorded  1 rank on n1: the agent there could not start\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
