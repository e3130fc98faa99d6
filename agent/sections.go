package agent

import (
	"moriens/agent/window"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// sectionBytes is from how many bytes on sections begin another message.
const sectionBytes = 1 << 20

// cuts are the rows of a ring at which another section begins, and the one behind the last of them.
type cuts func(ring, first, behind uint64) []uint64

// A packer makes sections of blocks.
type packer struct {
	encoder section.Encoder
	part    section.Block
	bytes   []byte        // of the latest sections
	rows    []window.Rows // each of them, or a copy that bytes has outgrown
}

// packed is what a transaction has for the collector: sections, which are valid until the next transaction is packed,
// behind what defines what they name, before what names their rows.
type packed struct {
	before, behind []*moriensv1.ReportRequest
	rows           []window.Rows // the sections
	bytes          []byte        // all of them, one after the other
}

// messages are those for the collector: where bursts stay on the node, without sections.
func (p *packed) messages(stay bool, moves []byte) []*moriensv1.ReportRequest {
	list := p.before
	if !stay {
		list = appendSections(appendSections(list, p.bytes), moves)
	}
	return append(list, p.behind...)
}

// appendSections appends messages of sections.
func appendSections(list []*moriensv1.ReportRequest, bytes []byte) []*moriensv1.ReportRequest {
	for len(bytes) > 0 {
		to := 0
		for to < len(bytes) && to <= sectionBytes {
			n, err := section.Length(bytes[to:])
			if err != nil { // that is for the collector to say
				n = len(bytes) - to
			}
			to += n
		}
		list = append(list, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Sections{Sections: bytes[:to]}})
		bytes = bytes[to:]
	}
	return list
}

// pack makes sections of blocks, and sorts the messages of their transaction. Cuts, unless it is nil, says at which
// rows another section begins.
func (p *packer) pack(messages []*moriensv1.ReportRequest, blocks []*section.Block, cuts cuts) (x packed) {
	for _, m := range messages {
		if follows(m) {
			x.behind = append(x.behind, m)
		} else {
			x.before = append(x.before, m)
		}
	}
	p.bytes, p.rows = p.bytes[:0], p.rows[:0]
	for _, b := range blocks {
		if cuts == nil || b.Rows == 0 {
			p.encode(b)
			continue
		}
		p.cut(b, cuts(b.Ring, b.First, b.First+uint64(b.Rows)))
	}
	x.rows, x.bytes = p.rows, p.bytes
	return x
}

// follows reports whether a message may name rows of its transaction.
func follows(m *moriensv1.ReportRequest) bool {
	switch m.Body.(type) {
	case *moriensv1.ReportRequest_RingEnd, *moriensv1.ReportRequest_Sums, *moriensv1.ReportRequest_TransfersEnd, *moriensv1.ReportRequest_ProcessEnd,
		*moriensv1.ReportRequest_Done:
		return true
	}
	return false
}

func (p *packer) encode(b *section.Block) {
	from := len(p.bytes)
	p.bytes = p.encoder.Calls(p.bytes, b)
	p.rows = append(p.rows, window.Rows{Ring: b.Ring, First: b.First, Section: p.bytes[from:]})
}

// cut makes sections of parts of a block, each up to one of the rows. Gaps are in the last one; marks in the one that
// has their time, so that no mark comes behind rows that follow it, and those of windows that are gone are gone, too.
func (p *packer) cut(b *section.Block, behind []uint64) {
	if len(behind) == 1 {
		p.encode(b)
		return
	}
	from, marks, counted, ticks := 0, 0, 0, b.Origin
	for i, row := range behind {
		to := int(row - b.First)
		b.Part(&p.part, from, to)
		for ; from < to; from++ {
			ticks += b.Burst[from] + b.Call[from]
		}
		first := marks
		for marks < len(b.Marks) && b.Marks[marks].Ticks < ticks {
			marks++
		}
		if i == len(behind)-1 {
			marks = len(b.Marks)
			p.part.GapsBefore, p.part.GapsInside = append(p.part.GapsBefore, b.GapsBefore...), append(p.part.GapsInside, b.GapsInside...)
		}
		p.part.FirstMark = b.FirstMark + uint64(first)
		counted += b.PartOfMarks(&p.part, first, marks, counted)
		p.encode(&p.part)
	}
}
