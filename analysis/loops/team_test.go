package loops

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
)

// However the threads are distributed, all members of a team get the structure that one process gets, summed up and
// blurred parts included.
func TestTeam(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOfN(rapid.Uint32Range(0, 5), 1, 12)
		bodies := rapid.SliceOfN(body, 1, 3).Draw(t, "bodies")
		threads := make([]Thread, rapid.IntRange(0, 6).Draw(t, "threads"))
		for i := range threads {
			var symbols []uint32
			for range rapid.IntRange(0, 60).Draw(t, "rounds") {
				symbols = append(symbols, rapid.SampledFrom(bodies).Draw(t, "body")...)
			}
			if i > 0 && rapid.Bool().Draw(t, "as another") {
				symbols = threads[rapid.IntRange(0, i-1).Draw(t, "which")].Symbols
			}
			threads[i] = thread(symbols)
			for k := range threads[i].DurationNS {
				threads[i].DurationNS[k] += int64(i * k)
			}
		}
		o := Options{Items: rapid.SampledFrom([]int{0, 1, 200}).Draw(t, "items"), Ratio: rapid.IntRange(0, 2).Draw(t, "ratio")}
		if rapid.Bool().Draw(t, "coarse") {
			o.Coarse = []uint32{0, 0, 1, 1, 2, 2}
		}
		want, err := Compress(threads, o)
		if err != nil {
			t.Fatal(err)
		}
		members := rapid.Int32Range(2, 5).Draw(t, "members")
		of := rapid.SliceOfN(rapid.Int32Range(0, members-1), len(threads), len(threads)).Draw(t, "owners")
		all, err := mpixtest.Run(int(members), func(m team.Team) (*Structure, error) {
			own := make([]Thread, len(threads))
			for i := range own {
				if int(of[i]) == m.Rank() {
					own[i] = threads[i]
				}
			}
			o := o
			o.Team = team.Threads{Team: m, Of: of}
			return Compress(own, o)
		})
		if err != nil {
			t.Fatal(err)
		}
		for rank, got := range all {
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("member %d of %d, threads at %v: %+v, want %+v", rank, members, of, got, want)
			}
		}
	})
}
