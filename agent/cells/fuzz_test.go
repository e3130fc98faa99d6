package cells_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// FuzzAnswer sends any request that can arrive over the network: there is an answer, which ends, and reports errors.
func FuzzAnswer(f *testing.F) {
	for _, ask := range []*moriensv1.CellsAsk{
		{Body: &moriensv1.CellsAsk_Survey{Survey: &moriensv1.CellsSurvey{After: 1}}},
		{Body: &moriensv1.CellsAsk_Split{Split: &moriensv1.CellsSplit{Unit: []uint32{0, 1}}}},
		{Body: &moriensv1.CellsAsk_Relabel{Relabel: &moriensv1.CellsRelabel{Step: 1, Begin: true, Unit: []uint32{1}, Label: []int32{7}, Whole: true}}},
		{Body: &moriensv1.CellsAsk_Want{Want: &moriensv1.CellsWant{Segment: []uint64{0, 2}, High: []uint64{1, 2}, Low: []uint64{3, 4}}}},
		{Body: &moriensv1.CellsAsk_Sum{Sum: &moriensv1.CellsSum{}}},
		{Body: &moriensv1.CellsAsk_Team{Team: &moriensv1.CellsTeam{Run: 3, Begin: &moriensv1.CellsBegin{
			Rank: 1, Size: 2, Owner: []uint32{1}, Owned: []uint32{1}, Ring: []uint64{2}, Thread: []uint32{0}, Group: []int32{0}, Bursts: []uint64{5}, Before: []uint32{0}, After: []uint32{0}, Anchors: true,
		}}}},
		{Body: &moriensv1.CellsAsk_Team{Team: &moriensv1.CellsTeam{Run: 3, Step: 1, Given: []byte{1, 2, 3, 4, 5, 6, 7, 8}}}},
		{Body: &moriensv1.CellsAsk_Rows{Rows: &moriensv1.CellsRows{Ring: 2}}},
		{},
	} {
		text, err := proto.Marshal(ask)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		k := newStore(t, cells.Config{By: grouping.ByNone})
		k.Add(one("X"), nil)
		x := met(rows(2, 0, 100, 101, 5000, 100, 9000), section.Collective{Row: 1, Comm: 1}, section.Collective{Row: 3, Comm: 1, Ordinal: 4})
		x.Counts = [][]int64{{1, 2, 3, 4, 5}}
		k.Add(nil, blocks(x))
		c := &coordinator{t: t, store: k, sites: unnamed}
		c.take()
		for _, text := range [][]byte{first, second} {
			ask := new(moriensv1.CellsAsk)
			if proto.Unmarshal(text, ask) != nil {
				continue
			}
			parts, _ := c.ask(ask)
			for _, part := range parts {
				if s := part.GetSurveyed(); s != nil {
					c.survey = s.Survey
				}
			}
		}
		c.survey = 0
		c.take()
		sum := uint64(0)
		for _, u := range c.units {
			sum += u.count
		}
		if sum != 5 || c.about.Bursts != 5 {
			t.Errorf("%d bursts in units of %d, want 5", sum, c.about.Bursts)
		}
	})
}
