package cells

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/moment"
	"moriens/analysis/phase"
)

// Names that an agent distinguishes and that have one text here are one phase: side by side their sums add up, and what
// lies in another one is part of its instance, also beyond the next.
func TestPhasesOfOneName(t *testing.T) {
	const text, other = 5, 6
	sum := func(n, each int64) (s moment.Sum) {
		for range n {
			s.Add(each)
		}
		return s
	}
	// The program has the paths ?(1), ?(1)/?(2), ?(1)/?(2)/other, ?(3).
	own := &ringPhases{
		paths: []phase.Node{{Parent: 0, Name: text}, {Parent: 1, Name: text}, {Parent: 2, Name: other}, {Parent: 0, Name: text}},
		sums: []phase.Sum{
			{Path: 0, Intervals: 1, ExclusiveNS: 100, Instances: sum(1, 1000)},
			{Path: 1, Intervals: 2, ExclusiveNS: 300, Instances: sum(2, 350)},
			{Path: 2, Intervals: 4, ExclusiveNS: 150, Instances: sum(4, 100)},
			{Path: 3, Intervals: 1, ExclusiveNS: 250, Instances: sum(1, 250)},
			{Path: 4, Intervals: 2, ExclusiveNS: 200, Instances: sum(2, 100)},
		},
		idle: []phase.Idle{{Path: 1, PausedNS: 3, PausedParts: 1}, {Path: 2, UnrecordedNS: 5, UnrecordedParts: 2}, {Path: 4, PausedNS: 4, PausedParts: 1}},
	}
	_, to := phase.Unite([][]phase.Node{own.paths})
	sums, idle := own.united(to[0])
	whole := sum(2, 350)
	whole.Merge(sum(2, 100))
	if d := cmp.Diff([]phase.Sum{
		{Path: 0, Intervals: 1, ExclusiveNS: 100, Instances: sum(1, 1000)},
		{Path: 1, Intervals: 2 + 4 + 2, ExclusiveNS: 300 + 150 + 200, Instances: whole},
		{Path: 2, Intervals: 1, ExclusiveNS: 250, Instances: sum(1, 250)},
	}, sums); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]phase.Idle{{Path: 1, PausedNS: 7, PausedParts: 2, UnrecordedNS: 5, UnrecordedParts: 2}}, idle); d != "" {
		t.Error(d)
	}
}
