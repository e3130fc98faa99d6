package phase_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"moriens/analysis/phase"
)

// However the time of a thread is cut into stretches, a Stream has the paths, sums and cuts that the thread has as a
// whole.
func TestStreamIsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := func(name string) int64 {
			return int64(rapid.SampledFrom([]int{0, 1, 2, 5, 30}).Draw(t, name))
		}
		begin := length("begin")
		now := begin
		var whole phase.Records
		var ends []int64 // of calls, where stretches may end, and how many bursts and pauses lie before
		var bursts, pauses []int
		for range rapid.IntRange(0, 12).Draw(t, "calls") {
			from := now
			now += length("before")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0: // not recorded
			case 1:
				whole.Pauses = append(whole.Pauses, phase.Span{BeginNS: from, EndNS: now})
			default:
				whole.StartNS, whole.DurationNS = append(whole.StartNS, from), append(whole.DurationNS, now-from)
			}
			whole.EnterNS = append(whole.EnterNS, now)
			now += 1 + length("call") // what has no length at the end of a stretch lies before the marks there
			whole.ExitNS = append(whole.ExitNS, now)
			ends, bursts, pauses = append(ends, now), append(bursts, len(whole.StartNS)), append(pauses, len(whole.Pauses))
		}
		now += length("rest")
		var marks []phase.Mark
		at := begin
		for range rapid.IntRange(0, 20).Draw(t, "marks") {
			if at += length("to the mark"); at > now {
				break
			}
			marks = append(marks, phase.Mark{NS: at, Name: uint32(rapid.IntRange(1, 3).Draw(t, "name")), End: rapid.Bool().Draw(t, "end")})
		}
		var all phase.Stream
		all.Begin(begin)
		intervals := all.Stretch(marks, now).Intervals
		line, err := phase.Lay(begin, now, intervals)
		if err != nil {
			t.Fatal(err)
		}
		want := line.Locate(intervals, &whole, nil)

		var s phase.Stream
		s.Begin(begin)
		got := phase.Located{CallPath: []int32{}, BurstPath: []int32{}}
		take := func(r *phase.Records, endNS int64) {
			n := 0
			for n < len(marks) && marks[n].NS <= endNS {
				n++
			}
			l, err := s.Take(s.Stretch(marks[:n], endNS), r)
			if err != nil {
				t.Fatal(err)
			}
			marks = marks[n:]
			for _, list := range []struct{ to, from *[]phase.Cut }{{&got.Calls, &l.Calls}, {&got.Bursts, &l.Bursts}} {
				first := int32(len(got.CallPath))
				if list.to == &got.Bursts {
					first = int32(len(got.BurstPath))
				}
				for _, c := range *list.from {
					c.Record += first
					*list.to = append(*list.to, c)
				}
			}
			got.CallPath, got.BurstPath = append(got.CallPath, l.CallPath...), append(got.BurstPath, l.BurstPath...)
			if rapid.Bool().Draw(t, "asked") { // a copy that ends here changes nothing
				s.Clone().Close()
			}
		}
		from, fromBurst, fromPause := 0, 0, 0
		for i, endNS := range ends {
			if rapid.Bool().Draw(t, "on") {
				continue
			}
			take(&phase.Records{
				EnterNS: whole.EnterNS[from : i+1], ExitNS: whole.ExitNS[from : i+1], StartNS: whole.StartNS[fromBurst:bursts[i]], DurationNS: whole.DurationNS[fromBurst:bursts[i]],
				Pauses: whole.Pauses[fromPause:pauses[i]],
			}, endNS)
			from, fromBurst, fromPause = i+1, bursts[i], pauses[i]
		}
		take(&phase.Records{
			EnterNS: whole.EnterNS[from:], ExitNS: whole.ExitNS[from:], StartNS: whole.StartNS[fromBurst:], DurationNS: whole.DurationNS[fromBurst:], Pauses: whole.Pauses[fromPause:],
		}, now)
		sums, idle := s.Close()
		if d := cmp.Diff(line.Sums(), sums); d != "" {
			t.Fatalf("sums (-whole +stretches):\n%s", d)
		}
		got.Idle = idle
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("located (-whole +stretches):\n%s", d)
		}
	})
}
