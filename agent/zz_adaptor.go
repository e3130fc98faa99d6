package agent

import (
	"slices"

	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// messagesOf is what a block was made of.
func messagesOf(b *section.Block) (list []*moriensv1.ReportRequest) {
	if b.Rows > 0 {
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Calls{Calls: callsOf(b)}})
	}
	if len(b.Collectives) > 0 {
		x, last := &moriensv1.Collectives{Ring: b.Ring}, uint64(0)
		for _, c := range b.Collectives {
			row := b.First + uint64(c.Row)
			x.Row, last = append(x.Row, int64(row-last)), row
			x.Comm, x.Ordinal, x.Root = append(x.Comm, c.Comm), append(x.Ordinal, c.Ordinal), append(x.Root, c.Root)
			x.Sent, x.Received = append(x.Sent, c.Sent), append(x.Received, c.Received)
		}
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Collectives{Collectives: x}})
	}
	if len(b.Marks) > 0 {
		x, last := &moriensv1.Marks{Ring: b.Ring, First: b.FirstMark, OriginTicks: b.Marks[0].Ticks}, b.Marks[0].Ticks
		for _, m := range b.Marks {
			x.Ticks, last = append(x.Ticks, m.Ticks-last), m.Ticks
			x.What, x.Name = append(x.What, moriensv1.Marks_What(m.What)), append(x.Name, m.Name)
			if m.What == section.Event {
				x.Value = append(x.Value, m.Value)
			}
		}
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Marks{Marks: x}})
	}
	if len(b.GapsBefore)+len(b.GapsInside) > 0 {
		x := &moriensv1.Gaps{Ring: b.Ring, Before: slices.Clone(b.GapsBefore), Inside: slices.Clone(b.GapsInside)}
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Gaps{Gaps: x}})
	}
	return list
}

func callsOf(b *section.Block) *moriensv1.Calls {
	c := &moriensv1.Calls{
		Ring: b.Ring, First: b.First, OriginTicks: b.Origin, BurstTicks: slices.Clone(b.Burst[:b.Rows]), CallTicks: slices.Clone(b.Call[:b.Rows]),
		NoBurst: slices.Clone(b.NoBurst), Unfinished: b.Unfinished, PollsRow: slices.Clone(b.PollsRow), Polls: slices.Clone(b.Polls),
		NoCounts: slices.Clone(b.NoCounts), Paused: slices.Clone(b.Paused),
	}
	for _, site := range b.Site[:b.Rows] {
		c.Function, c.Path = append(c.Function, uint32(b.Sites[site].Function)), append(c.Path, b.Sites[site].Path)
	}
	for k := range b.Events {
		c.Counts = append(c.Counts, &moriensv1.Counts{Value: section.Without(b.Counts[k][:b.Rows], b.NoCounts)})
	}
	return c
}
