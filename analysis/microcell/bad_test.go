package microcell_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/analysis/moment"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
)

// A bad source answers as it likes.
type badSource struct {
	*memory
	score func() (*sequence.Score, error)
	split func(places [][]microcell.Unit) ([][]microcell.Unit, error)
}

func (s *badSource) Score(labels []int32, count int) (*sequence.Score, error) {
	if s.score != nil {
		return s.score()
	}
	return s.memory.Score(labels, count)
}

func (s *badSource) Split(units []int32) ([][]microcell.Unit, error) {
	places, err := s.memory.Split(units)
	if err != nil || s.split == nil {
		return places, err
	}
	return s.split(places)
}

func TestBadSources(t *testing.T) {
	change := func(f func(u *microcell.Unit)) *badSource {
		return &badSource{split: func(places [][]microcell.Unit) ([][]microcell.Unit, error) {
			f(&places[0][0])
			return places, nil
		}}
	}
	for _, c := range []struct {
		want   string
		source *badSource
	}{
		{"no sequences today", &badSource{score: func() (*sequence.Score, error) { return nil, errors.New("no sequences today") }}},
		{"no score of 2 labels", &badSource{score: func() (*sequence.Score, error) { return &sequence.Score{}, nil }}},
		{"no score of 2 labels", &badSource{score: func() (*sequence.Score, error) { return nil, nil }}},
		{"no places today", &badSource{split: func([][]microcell.Unit) ([][]microcell.Unit, error) { return nil, errors.New("no places today") }}},
		{"2 units were asked for, 1 answered", &badSource{split: func(p [][]microcell.Unit) ([][]microcell.Unit, error) { return p[:1], nil }}},
		{"unit 0 has 2 bursts of 200 ns, its places 1 of 100 ns", &badSource{split: func(p [][]microcell.Unit) ([][]microcell.Unit, error) {
			p[0] = p[0][:1]
			return p, nil
		}}},
		{"its places 0 of 0 ns", &badSource{split: func(p [][]microcell.Unit) ([][]microcell.Unit, error) {
			p[0] = []microcell.Unit{}
			return p, nil
		}}},
		{"has 2 bursts and 1 durations", change(func(u *microcell.Unit) { u.Cell.Count++ })},
		{"place: false", change(func(u *microcell.Unit) { u.Place = false })},
		{"is from 0 to 1", change(func(u *microcell.Unit) { u.Cell.Hi[0] = 1 })},
		{"a place at 5", change(func(u *microcell.Unit) { u.Cell.Lo[0], u.Cell.Hi[0] = 5, 5 })},
		{"is of group 1 of 1", change(func(u *microcell.Unit) { u.Group = 1 })},
		{"they differ in counters", change(func(u *microcell.Unit) { u.Counters[0] = moment.Exact{} })},
	} {
		b, o := byA(100, 0, 2, 11, 12)
		o.Fixed = &grouping.Density{Eps: 10, MinPts: 2}
		s, m := summed(t, b, o, 2.5, nil)
		c.source.memory = m
		if _, err := microcell.Compute(s, c.source, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want it to say %q", err, c.want)
		}
	}
}

func TestBadInput(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(s *microcell.Set, o *grouping.Options)
	}{
		{"0 dimensions", func(s *microcell.Set, o *grouping.Options) { s.Dims = nil }},
		{"side 0", func(s *microcell.Set, o *grouping.Options) { s.Side = 0 }},
		{"side NaN", func(s *microcell.Set, o *grouping.Options) { s.Side = math.NaN() }},
		{"side +Inf", func(s *microcell.Set, o *grouping.Options) { s.Side = math.Inf(1) }},
		{"have the dimensions [A:lin]: want these, not [A:log]", func(s *microcell.Set, o *grouping.Options) {
			o.Dims = []space.Dim{{Num: "A", Scale: space.Log}}
		}},
		{"the same from the first burst on", func(s *microcell.Set, o *grouping.Options) { o.Normalise = true }},
		{"the same from the first burst on", func(s *microcell.Set, o *grouping.Options) { o.Strict = true }},
		{"the range A=1..2", func(s *microcell.Set, o *grouping.Options) {
			o.Filter.Ranges = []space.Range{{Num: "A", Min: 1, Max: 2}}
		}},
		{"minimal duration -1", func(s *microcell.Set, o *grouping.Options) { o.Filter.MinNS = -1 }},
		{"want one of them", func(s *microcell.Set, o *grouping.Options) { o.Filter.MinNS, o.Filter.Auto = 1, true }},
		{"MinPts -1", func(s *microcell.Set, o *grouping.Options) { o.MinPts = -1 }},
		{"no way 2", func(s *microcell.Set, o *grouping.Options) { o.By = grouping.ByAuto }},
		{"are of 1 groups by call paths", func(s *microcell.Set, o *grouping.Options) { s.Groups[0].After = 3 }},
		{"as one before it", func(s *microcell.Set, o *grouping.Options) { s.Groups = append(s.Groups, s.Groups[0]) }},
		{"-1 threads", func(s *microcell.Set, o *grouping.Options) { s.Threads = -1 }},
		{"5 bursts of 0 ns are set aside, of all 4", func(s *microcell.Set, o *grouping.Options) { s.Missing.Bursts = 5 }},
		{"0 bursts of 401 ns are set aside", func(s *microcell.Set, o *grouping.Options) { s.Short.TimeNS = 401 }},
		{"unit 1 has 2 bursts of 200 ns, which are more than all", func(s *microcell.Set, o *grouping.Options) { s.Bursts-- }},
		{"unit 1 has 2 bursts of 200 ns, which are more than all", func(s *microcell.Set, o *grouping.Options) { s.TimeNS-- }},
		{"unit 0 is of group 7 of 1", func(s *microcell.Set, o *grouping.Options) { s.Units[0].Group = 7 }},
		{"unit 0 has -1 bursts", func(s *microcell.Set, o *grouping.Options) { s.Units[0].Cell.Count = -1 }},
		{"unit 0 lasts over 292 years", func(s *microcell.Set, o *grouping.Options) { s.Units[0].Duration.Total[1] = 1 }},
		{"unit 0 has 0 counters: want 1", func(s *microcell.Set, o *grouping.Options) { s.Units[0].Counters = nil }},
		{"unit 0 has A of 3 bursts, and 2 bursts", func(s *microcell.Set, o *grouping.Options) { s.Units[0].Counters[0].N = 3 }},
		{"unit 0 is from 0 to NaN in dimension A:lin", func(s *microcell.Set, o *grouping.Options) { s.Units[0].Cell.Hi[0] = math.NaN() }},
		{"unit 0 is from -Inf to 2", func(s *microcell.Set, o *grouping.Options) { s.Units[0].Cell.Lo[0] = math.Inf(-1) }},
		{"unit 0 is from 0 to 2", func(s *microcell.Set, o *grouping.Options) { s.Units[0].Place = true }},
	} {
		b, o := byA(100, 0, 2, 11, 12)
		s, m := summed(t, b, o, 2.5, nil)
		c.change(&s, &o)
		if _, err := microcell.Compute(s, m, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want it to say %q", err, c.want)
		}
	}
	b, o := byA(100, 0, 2)
	s, _ := summed(t, b, o, 2.5, nil)
	if _, err := microcell.Compute(s, nil, o); err == nil || !strings.Contains(err.Error(), "no source") {
		t.Errorf("%v without a source", err)
	}
}
