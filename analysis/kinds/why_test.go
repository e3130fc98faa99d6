package kinds

import "testing"

func TestReasons(t *testing.T) {
	for _, tt := range []struct {
		reason Reason
		want   string
	}{
		{Reason{}, "the only kind of its group"},
		{Reason{By: BySurroundings}, "separated by the bursts before and after it, or by its ranks"},
		{Reason{By: Unjudged}, "density alone"},
		{Reason{By: ByTurns}, "separate from 5: they alternate"},
		{Reason{By: ByCalls, Foretold: 1}, "separate from 5: between other MPI calls"},
		{Reason{By: ByInstructions, Foretold: 1}, "separate from 5: different instruction counts"},
		{Reason{By: ByOrder, Foretold: .934}, "separate from 5: predicted to 93 %"},
		{Reason{By: ByDensity, Foretold: .1, Distance: .3}, "separate from 5: both are large and narrow, 35 % apart; predicted to 10 %"},
		{Reason{By: ByChance, Foretold: .12}, "variant of 3, in place of 5: predicted to 12 %"},
		{Reason{By: ByChance, Foretold: .12, Pool: true, Few: true}, "variant of 3, in place of 5: predicted to 12 %; slow bursts, each assigned to the kind that its position predicts"},
		{Reason{By: ByChance, Foretold: .3, Everywhere: true}, "variant of 3, in place of 5: predicted to 30 %, but ranks share cores, and each occurs wherever the other does"},
		{Reason{By: ByChance, Foretold: .4, Few: true}, "variant of 3, in place of 5: predicted to 40 %; fewer than 25 bursts need 50 %"},
	} {
		if got := tt.reason.Text("3", "5"); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.reason, got, tt.want)
		}
	}
	chance := Reason{By: ByChance, Foretold: .12}
	if got := chance.Text("3", "3"); got != "variant of 3: predicted to 12 %" {
		t.Errorf("in place of its kind: %q", got)
	}
}

// The evaluation reports for each leaf which other it is distinguished from, or in whose place it comes, and why.
func TestWhyTheJudgeSays(t *testing.T) {
	random := drawn(t)
	m := newMade(random, 1)
	// Leaves 0 and 1 in turn, 2 in place of 1 by chance.
	v, _ := m.judged(2, 4, 600, 3, func(_, i int) (int32, float64) {
		switch {
		case i%2 == 0:
			return 0, 10
		case random.IntN(5) == 0:
			return 2, 10.4
		}
		return 1, 10.15
	})
	if w := v.Why[0]; w.By != ByOrder || w.Other != 1 || w.Foretold < apartByOrder {
		t.Errorf("leaf 0: %+v", w)
	}
	if w := v.Why[1]; w.By != ByOrder || w.Other != 0 {
		t.Errorf("leaf 1: %+v", w)
	}
	if w := v.Why[2]; w.By != ByChance || w.Other != 1 || w.Foretold >= apartByOrder || !w.Pool {
		t.Errorf("leaf 2: %+v", w)
	}
	if len(v.Joins) != 1 || v.Joins[0].From != 2 || v.Joins[0].To != 1 || v.Joins[0].Reason != v.Why[2] {
		t.Errorf("joins %+v", v.Joins)
	}
}
