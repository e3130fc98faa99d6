package rebuild

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/phase"
	"moriens/collector/store"
	"moriens/conclude/agenttest"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// Phases that a program begins and never ends make no more phases than may lie in each other; those beyond are counted,
// and so are ends that fit none of them. Agents form the same phases.
func TestDepthOfPhasesIsBounded(t *testing.T) {
	if trace.MostPhaseDepth != phase.MostDepth {
		t.Fatalf("%d and %d", trace.MostPhaseDepth, phase.MostDepth)
	}
	const begins = 5000
	s := store.New()
	f := agenttest.New(t, s, 1, "n1")
	f.Clock(1000, 1000)
	f.Process(&moriensv1.Process{Process: 1, Size: 1, World: "w", Clock: moriensv1.Clock_CLOCK_TSC})
	for name, text := range []string{"a", "b", "c"} {
		f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_MarkName{MarkName: &moriensv1.MarkName{Process: 1, Name: 1 + uint32(name), Text: text}}})
	}
	f.Ring(&moriensv1.Ring{Ring: 11, Process: 1})
	var marks []section.Mark
	for i := range begins {
		marks = append(marks, section.Mark{Ticks: 2000 + uint64(i), What: section.BeginPhase, Name: 1 + uint32(i%2)})
	}
	mark := func(ticks uint64, what section.MarkKind, name uint32) {
		marks = append(marks, section.Mark{Ticks: ticks, What: what, Name: name})
	}
	mark(8000, section.EndPhase, 3) // unknown
	mark(8001, section.EndPhase, 2) // of one too deep
	mark(8002, section.BeginPhase, 3)
	mark(8003, section.EndPhase, 1) // and what is in it
	for from := 0; from < len(marks); from += 1000 {
		f.Rows(&sectiontest.Rows{Ring: 11, FirstMark: uint64(from), Origin: marks[from].Ticks, Marks: marks[from:min(from+1000, len(marks))]})
	}
	f.Clock(1_001_000, 1_001_000)

	r, _ := rebuiltAll(t, s.Freeze())
	got := r.Run.Threads[0].Phases
	if len(got) != phase.MostDepth || slices.ContainsFunc(got, func(p trace.Phase) bool {
		return !p.Unfinished || p.EndNS != got[0].EndNS || int(p.Depth) >= phase.MostDepth
	}) {
		t.Errorf("%d phases", len(got))
	}
	if d := cmp.Diff(Unbalanced{Ends: 1, Unfinished: begins - 1, Deep: begins - phase.MostDepth + 1}, r.Marks); d != "" {
		t.Error(d)
	}
	// The same marks in the agent's stream, a stretch at a time.
	var stream phase.Stream
	stream.Begin(got[0].BeginNS)
	number := func(name uint32) uint32 { return got[(name+1)%2].Name }
	for from := 0; from < len(marks); from += 700 {
		var list []phase.Mark
		for _, m := range marks[from:min(from+700, len(marks))] {
			name := m.Name
			if name < 3 {
				name = number(name)
			} else {
				name = 99
			}
			list = append(list, phase.Mark{NS: got[0].BeginNS + int64(m.Ticks) - 2000, Name: name, End: m.What == section.EndPhase})
		}
		x := stream.Stretch(list, list[len(list)-1].NS)
		for i, in := range x.Intervals {
			if p := got[i]; in.Name != p.Name || in.Depth != p.Depth || i == len(x.Intervals)-1 && from == 0 && in.BeginNS != p.BeginNS {
				t.Fatalf("phase %d: %+v, of the agent %+v", i, p, in)
			}
		}
		if _, err := stream.Take(x, new(phase.Records)); err != nil {
			t.Fatal(err)
		}
	}
	sums, _ := stream.Close()
	if len(sums) != 1+len(got) {
		t.Errorf("%d sums of the agent, %d phases", len(sums), len(got))
	}
}
