package sums

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/testenv"
	moriensv1 "moriens/proto/moriens/v1"
)

// What is packed is there again, by key, with all its figures.
func TestPack(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 1))
	if Pack(nil).Rows() != nil || len(Pack(nil).Message().A) != 0 {
		t.Error("nothing is something")
	}
	for range 100 {
		var rows []Row
		for i := range 1 + random.IntN(300) {
			r := Row{Key: Key{moriensv1.Sums_WHAT_SITE, 1 + moriensv1.Transfers_Kind(random.IntN(6)), random.Uint32(), int32(random.Uint32())}, Count: 1 + random.Uint64()>>1, Bytes: random.Uint64()}
			if i%2 == 0 {
				r.What, r.Blocked, r.Longest, r.First = moriensv1.Sums_WHAT_PEER, random.Uint64(), random.Uint64(), random.Uint64()
			}
			rows = append(rows, r)
		}
		want := slices.Clone(rows)
		slices.SortStableFunc(want, func(a, b Row) int { return a.Key.compare(b.Key) })
		packed := Pack(rows)
		if d := cmp.Diff(want, packed.Rows()); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
		if again, err := Decode(packed.Message()); err != nil || !slices.Equal(again, want) {
			t.Fatalf("the message has others: %v", err)
		}
	}
}
