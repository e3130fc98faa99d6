package rundir

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/trace"
)

// whole is a run of two ranks, both recorded.
func whole() *trace.Run {
	return &trace.Run{CallPaths: []trace.CallPath{{}}, Worlds: []trace.World{{Size: 2}}, Threads: []trace.Thread{{}, {Rank: 1}}}
}

// Every rank without a record is in one group of its world, with the reason where somebody has reported one.
func TestUnrecorded(t *testing.T) {
	const full, gone = "no space left on device", "the agent could not start"
	for _, tt := range []struct {
		name   string
		size   int
		record []int // ranks that have one
		absent []Absence
		want   []Unrecorded
	}{
		{"all recorded", 2, []int{0, 1}, nil, nil},
		{"no report", 4, []int{1, 3}, nil, []Unrecorded{{2, []int{0, 2}, "", nothingReported, false}}},
		{"some reported", 5, []int{1}, []Absence{{0, 4, "b", full, false}, {0, 0, "a", full, false}, {0, 2, "b", full, false}}, []Unrecorded{
			{2, []int{2, 4}, "b", full, false}, {1, []int{3}, "", nothingReported, false}, {1, []int{0}, "a", full, false},
		}},
		{"one reason after another on a host", 3, []int{0}, []Absence{{0, 1, "a", full, false}, {0, 2, "a", gone, false}}, []Unrecorded{{1, []int{1}, "a", full, false}, {1, []int{2}, "a", gone, false}}},
		{"reported twice", 2, []int{0}, []Absence{{0, 1, "a", full, false}, {0, 1, "a", gone, false}}, []Unrecorded{{1, []int{1}, "a", full, false}}},
		{"reported: a rank that has a record, and one that cannot exist", 2, []int{0, 1}, []Absence{{0, 1, "a", full, false}, {0, 7, "a", full, false}}, nil},
		{"reported of another world", 2, []int{0}, []Absence{{1, 1, "a", full, false}}, []Unrecorded{{1, []int{1}, "", nothingReported, false}}},
		{"a rank without its number", 3, []int{0}, []Absence{{0, -1, "a", full, false}}, []Unrecorded{{1, []int{}, "", nothingReported, false}, {1, []int{}, "a", full, false}}},
		{"more without numbers than are missing", 2, []int{0}, []Absence{{0, -1, "a", full, false}, {0, -1, "a", full, false}}, []Unrecorded{{1, []int{}, "a", full, false}}},
		{"none recorded", 2, nil, []Absence{{0, 0, "a", full, false}, {0, 1, "a", full, false}}, []Unrecorded{{2, []int{0, 1}, "a", full, false}}},
		{"died first", 3, []int{0}, []Absence{{0, 1, "a", gone, true}, {0, 2, "a", gone, false}}, []Unrecorded{{1, []int{1}, "a", gone, true}, {1, []int{2}, "a", gone, false}}},
		{"all others died first", 3, []int{0}, []Absence{{0, 1, "a", gone, true}, {0, 2, "a", gone, true}}, []Unrecorded{{2, []int{1, 2}, "a", gone, true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := &trace.Run{CallPaths: []trace.CallPath{{}}, Worlds: []trace.World{{Size: tt.size}}}
			for _, rank := range tt.record {
				run.Threads = append(run.Threads, trace.Thread{Rank: rank})
			}
			m := &Manifest{Absent: tt.absent}
			m.Describe(run)
			m.Describe(run) // as the end of a run does several times
			w := m.Worlds[0]
			if d := cmp.Diff(tt.want, w.Unrecorded); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			sum := 0
			for _, u := range w.Unrecorded {
				sum += u.Ranks
			}
			if sum != w.Size-w.RanksRecorded || sum != m.Losses.RanksMissing {
				t.Errorf("%d ranks in groups, of %d there are %d recorded", sum, w.Size, w.RanksRecorded)
			}
			if m.Complete == (sum > 0) || m.Unmeasured() != (sum > m.DiedFirst()) {
				t.Errorf("complete %v, unmeasured %v, %d died first: %q", m.Complete, m.Unmeasured(), m.DiedFirst(), m.Incomplete)
			}
		})
	}
}

// Whatever is missing of what ranks did makes a run incomplete, is said in one sentence, and what is not, is not. Ranks
// without a record, and an analysis that failed, are more than that: they count as not measured.
func TestComplete(t *testing.T) {
	lost := func(set func(*Losses)) func(*Manifest) { return func(m *Manifest) { set(&m.Losses) } }
	for _, tt := range []struct {
		name       string
		set        func(*Manifest)
		want       string // the sentence; empty: complete
		unmeasured bool
	}{
		{"nothing", func(m *Manifest) {}, "", false},
		{"no clusters", func(m *Manifest) { m.Unclustered = "out of time" }, "the bursts are in no cluster: out of time", true},
		{"ended early", func(m *Manifest) { m.EndedBy, m.Losses.RanksLeft = "SIGTERM", 2 }, "the run was ended by SIGTERM; 2 ranks continued unmeasured", false},
		{"outlived", lost(func(l *Losses) { l.RanksLeft = 1 }), "1 rank still ran when the job had ended and continued unmeasured", false},
		{"agents", lost(func(l *Losses) {
			l.AgentsUnfinished, l.RanksDied = []string{"a", "b", "c", "d", "e", "f"}, []RankDied{{CutOff: true}, {Rank: 1}}
		}), "6 agents did not finish, on a, b, c, d and 2 more hosts: 1 rank cut off", false},
		{"cut off", lost(func(l *Losses) { l.RanksDied = []RankDied{{CutOff: true}} }), "1 rank cut off: the end was not received", false},
		{"died", lost(func(l *Losses) { l.RanksDied = []RankDied{{How: "killed"}} }), "", false},
		{"dropped", lost(func(l *Losses) { l.RecordsDropped = 3 }), "3 records of MPI calls and marks dropped: the ring buffer in shared memory was full", false},
		{"spool", lost(func(l *Losses) { l.RecordsDropped, l.SpoolFullSeconds, l.SpoolFullDropped = 3, 12.5, 2 }),
			"3 records of MPI calls and marks dropped: the ring buffer in shared memory was full, 2 records of them because the spool was full", false},
		{"unkept", lost(func(l *Losses) { l.RecordsUnkept = 3 }), "3 records of MPI calls and marks left in the ring buffers: the spool was full until the end", false},
		{"threads", lost(func(l *Losses) { l.ThreadsUnrecorded, l.CallsUnrecorded = 1, 20 }), "1 thread could not record: 20 MPI calls", false},
		{"unreadable", lost(func(l *Losses) { l.FilesUnreadable = 2 }), "2 files with records cannot be read", false},
		{"figures", lost(func(l *Losses) { l.FiguresDamaged = 1 }), "1 figure kept by ranks damaged and left out", false},
		{"hidden", lost(func(l *Losses) { l.Hidden = []string{"libtool.so answers MPI_Barrier itself"} }), "libtool.so answers MPI_Barrier itself", false},
		{"refused", lost(func(l *Losses) { l.MessagesRefused = 1 }), "1 message of agents refused: calls are missing", false},
		{"transfers", lost(func(l *Losses) { l.TransfersLost = 5 }), "5 transfers known as totals only", false},
		{"requests", func(m *Manifest) { m.Messages.Requests.Unfollowed = 5 }, "5 requests not tracked: too many were pending at once", false},
		{"late", func(m *Manifest) { m.Messages.Requests.Late = 5 }, "5 events of requests read too late for ordering", false},
		{"call paths", lost(func(l *Losses) { l.CallPathsLost = 1 }), "1 call path without a name: the table was full", false},
		{"communicators", lost(func(l *Losses) { l.CommunicatorsLost = 1 }), "1 communicator without a name: the table was full", false},
		{"marks", lost(func(l *Losses) { l.MarksNameless = 1 }), "1 mark without a name: the table was full", false},
		{"lines", lost(func(l *Losses) { l.LinesSkipped = 1 }), "1 malformed line of the trace skipped", false},
		{"lines, of a hundred", func(m *Manifest) {
			m.Trace, m.Losses.LinesSkipped, m.Reading = "a.prv", 1, &Reading{LeftOutShare: .01, LeftOut: []LeftOut{{Malformed, 1, 7}}}
		}, "1 malformed line of the trace skipped", false},
		{"lines, more than one of a hundred", func(m *Manifest) {
			m.Trace, m.Losses.LinesSkipped, m.Reading = "a.prv", 1, &Reading{LeftOutShare: .0101, LeftOut: []LeftOut{{Malformed, 1, 7}}}
		}, "1 malformed line of the trace skipped", true},
		{"records", func(m *Manifest) {
			m.Trace, m.Reading = "a.prv", &Reading{LeftOutShare: .5, LeftOut: []LeftOut{{"too late", 3, 7}}}
		}, "3 records of the trace left out: too late", true},
		{"few records", func(m *Manifest) {
			m.Trace, m.Reading = "a.prv", &Reading{LeftOutShare: .005, LeftOut: []LeftOut{{"too late", 3, 7}}}
		}, "", false},
		{"time", func(m *Manifest) {
			m.Trace, m.Reading = "a.prv", &Reading{MissingShare: .02, Missing: []UnrecordedTime{{"tracing was disabled", 2, 1.5, 1, .25, 3, 1}}}
		}, "tracing was disabled for 1.50 s of the threads' time, in 2 stretches, the longest 1.00 s from 250 ms on in rank 3 thread 1", true},
		{"little time", func(m *Manifest) {
			m.Trace, m.Reading = "a.prv", &Reading{MissingShare: .002, Missing: []UnrecordedTime{{"tracing was disabled", 1, 1.5, 1.5, 0, 0, 0}}}
		}, "", false},
		{"cells", func(m *Manifest) { m.Cells = &Cells{Unanswered: []string{"n1: why"}} }, "1 agent did not report its ranks' bursts", false},
		{"cells lost", func(m *Manifest) { m.Cells = &Cells{LostBursts: 7} }, "7 bursts lost when an agent was restarted", false},
		{"analysis", func(m *Manifest) { m.Reduction.Missing = []string{"no structure: out of time"} }, "no structure: out of time", false},
		{"given up", func(m *Manifest) {
			m.Reduction.Missing = []string{"no structure: out of time"}
			m.Reduction.GivenUp = m.Reduction.Missing
		}, "no structure: out of time", true},
		{"on the way", lost(func(l *Losses) {
			l.BatchesResent, l.BatchesDuplicate, l.CollectorRestarts, l.JournalBytesCut, l.WindowsEvicted = 1, 1, 1, 1, 1
		}), "", false},
		{"the program's", func(m *Manifest) {
			l := &m.Losses
			l.CallsAbandoned, l.MarksInsideCalls, l.PhaseEndsUnmatched, l.PhasesUnfinished, l.PhasesTooDeep, l.CountersUnavailable = 1, 1, 1, 1, 1, []string{"PAPI_FP_OPS"}
			m.Messages.Requests.Open = 1
		}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := new(Manifest)
			tt.set(m)
			m.Describe(whole())
			var want []string
			if tt.want != "" {
				want = []string{tt.want}
			}
			if d := cmp.Diff(want, m.Incomplete); d != "" || m.Complete != (tt.want == "") || m.Unmeasured() != tt.unmeasured {
				t.Errorf("complete %v, unmeasured %v, -want +got:\n%s", m.Complete, m.Unmeasured(), d)
			}
		})
	}
}

// Where ranks have left files and none can be read, as those of another version of the library, no world is known, but
// they are unmeasured all the same. Where they have left none, no rank is known.
func TestNoRankCanBeRead(t *testing.T) {
	for files := range 2 {
		m := &Manifest{Empty: "why", Losses: Losses{FilesUnreadable: files}}
		m.Describe(&trace.Run{CallPaths: []trace.CallPath{{}}})
		if m.Complete || m.Unmeasured() != (files > 0) {
			t.Errorf("%d files cannot be read: complete %v, unmeasured %v: %q", files, m.Complete, m.Unmeasured(), m.Incomplete)
		}
	}
}

// A loss that is counted in the manifest but in no sentence would not be reported to the user. A new field has to be
// listed here, or in a sentence.
func TestEveryLossIsJudged(t *testing.T) {
	harmless := []string{
		"BatchesResent", "BatchesDuplicate", "CollectorRestarts", "JournalBytesCut", // nothing is lost
		"WindowsEvicted", "SpoolEvictedBytes", // of what would be left out; what should be kept is in reduction.missing
		"CallsAbandoned", "MarksInsideCalls", "PhaseEndsUnmatched", "PhasesUnfinished", "PhasesTooDeep", "CountersUnavailable", // the program's, or the machine's
		"RanksMissing", "RanksUnrecorded", // in worlds, with their reasons
		"SpoolFullSeconds", "SpoolFullDropped", // with RecordsDropped
		"CallsUnrecorded", // with ThreadsUnrecorded
		"RanksDied",       // where cut off
	}
	fields := reflect.TypeFor[Losses]()
	for i := range fields.NumField() {
		f := fields.Field(i)
		if slices.Contains(harmless, f.Name) {
			continue
		}
		m := new(Manifest)
		switch v := reflect.ValueOf(&m.Losses).Elem().Field(i); v.Kind() {
		case reflect.Slice:
			v.Set(reflect.MakeSlice(f.Type, 1, 1))
		default:
			v.SetInt(1)
		}
		m.Describe(whole())
		if m.Complete {
			t.Errorf("with %s the run is complete", f.Name)
		}
	}
}

// Of many ranks, hosts and missing things a few are named, and the others counted.
func TestIncompleteIsShort(t *testing.T) {
	m := new(Manifest)
	for rank := range 1000 {
		m.Absent = append(m.Absent, Absence{Rank: rank, Host: fmt.Sprintf("n%03d", rank/10), Reason: "no space left on device"})
		m.Reduction.Missing = append(m.Reduction.Missing, fmt.Sprint("window ", rank))
	}
	m.Describe(&trace.Run{CallPaths: []trace.CallPath{{}}, Worlds: []trace.World{{Size: 1002}}})
	want := []string{
		"1000 of 1002 ranks not recorded on n000, n001, n002, n003 and 96 more hosts: no space left on device",
		"2 of 1002 ranks not recorded: " + nothingReported,
	}
	if d := cmp.Diff(want, m.Incomplete[:2]); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if last := m.Incomplete[len(m.Incomplete)-1]; len(m.Incomplete) != 11 || !strings.HasPrefix(last, "992 more parts of the analysis") {
		t.Errorf("%d sentences, the last %q", len(m.Incomplete), last)
	}
}

// Nothing is missing of ranks that died by themselves but what no call has ended: their efficiency is a bound.
func TestDeaths(t *testing.T) {
	m := &Manifest{Worlds: []World{{Size: 4}}}
	if text := m.Deaths(); text != "" {
		t.Errorf("of none: %s", text)
	}
	m.Losses.RanksDied = []RankDied{{Rank: 3, How: "lost its node", CutOff: true}, {Rank: 1, How: "MPI_Abort"}}
	if want := "1 rank died (rank 1: MPI_Abort): what it computed after its last MPI call is not known"; m.Deaths() != want {
		t.Errorf("%q, want %q", m.Deaths(), want)
	}
	m.Worlds = append(m.Worlds, World{Size: 1})
	m.Losses.RanksDied = append(m.Losses.RanksDied, RankDied{World: 1, How: "killed"})
	want := "2 ranks died (world 0 rank 1: MPI_Abort, and 1 more): what they computed after their last MPI calls is not known"
	if m.Deaths() != want {
		t.Errorf("%q, want %q", m.Deaths(), want)
	}
	m.assess()
	if slices.Contains(m.Incomplete, want) || !slices.Contains(m.timeless, want) {
		t.Errorf("incomplete %q, of times %q", m.Incomplete, m.timeless)
	}
}
