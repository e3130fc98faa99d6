package console

import (
	"strings"
	"testing"
	"unicode/utf8"

	"moriens/trace"
	"moriens/trace/rundir"
)

// In the summary a warning keeps its consequence.
func TestWarned(t *testing.T) {
	const end = "; medians, spreads, waiting times and kinds with few bursts are unreliable; order and number of calls, bytes and iterations are correct"
	for text, want := range map[string]string{
		"warning: 4 ranks share 2 cores: 59 % of runnable time off the core (285,169 involuntary switches)" + end:                                                                          "warning: 4 ranks share 2 cores: 59 % of runnable time off the core; times are unreliable",
		"warning: host a lost 30 % of its cores' time to other virtual machines" + end:                                                                                                     "warning: host a lost 30 % of its cores' time to other virtual machines; times are unreliable",
		"warning: 128 ranks share 64 cores of node0123456789 (and 3 hosts like it), and 300 of 512 ranks share their cores with other processes: 20 % of runnable time off the core" + end: "warning: 128 ranks share 64 cores of node0123456789 …; times are unreliable",
		"warning: 1 of 2 ranks shares its core with other processes: 23 % of runnable time off the core (1,234 involuntary switches)" + end:                                                "warning: 1 of 2 ranks shares its core with other processes: 23 % off core; times are unreliable",
		"warning: short": "warning: short",
	} {
		if got := warned(text); got != want || utf8.RuneCountInString(got) > lineWidth {
			t.Errorf("%s\n%s, want\n%s", text, got, want)
		}
	}
}

// A warning that makes all times doubtful is printed before them, and once.
func TestWarningComesFirst(t *testing.T) {
	const shared = "8 ranks share 2 cores: 31 % of runnable time off the core; medians, spreads, waiting times and kinds with few bursts are unreliable; order and number of calls, bytes and iterations are correct"
	m := &rundir.Manifest{Scheduling: &rundir.Scheduling{Overcommitted: true, Warning: shared}, Notes: []string{shared, "another"}, Incomplete: []string{"a rank is missing"}}
	var b strings.Builder
	if err := Long(&b, &Results{Run: &trace.Run{}, Manifest: m, Clusters: new(rundir.Clusters), Dir: "dir"}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if lines[2] != "incomplete: a rank is missing" || lines[3] != "warning: "+shared || strings.Count(b.String(), shared) != 1 || !strings.Contains(b.String(), "note: another\n") {
		t.Error(b.String())
	}
	m.Incomplete = nil
	b.Reset()
	if err := Long(&b, &Results{Run: &trace.Run{}, Manifest: m, Clusters: new(rundir.Clusters), Dir: "dir"}); err != nil || !strings.HasPrefix(strings.Split(b.String(), "\n")[2], "warning: ") {
		t.Errorf("error %v\n%s", err, b.String())
	}
	m.Scheduling = &rundir.Scheduling{}
	b.Reset()
	if err := Long(&b, &Results{Run: &trace.Run{}, Manifest: m, Clusters: new(rundir.Clusters), Dir: "dir"}); err != nil || strings.Contains(b.String(), "warning") {
		t.Errorf("error %v\n%s", err, b.String())
	}
}
