package cells

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/refine"
	"moriens/analysis/sequence"
	moriensv1 "moriens/proto/moriens/v1"
)

// Score gives units labels, and aligns and scores the sequences that all threads have by these: microcell.Source. It
// sends the labels that differ from an agent's, and receives the hashes of all segments' sequences, and then those
// sequences that were in no labelling so far, each of one agent.
func (c *Coordinator) Score(ctx context.Context, labels []int32, count, workers int) (*sequence.Score, error) {
	sums, err := c.sums(labels, count)
	if err != nil {
		return nil, err
	}
	received := newPieces()
	if err := c.relabel(ctx, labels, c.whole, received); err != nil {
		return nil, err
	}
	pieces := received.sorted()
	if err := c.fetch(ctx, pieces, count); err != nil {
		return nil, err
	}
	list := make([]sequence.Piece, len(pieces))
	for i, p := range pieces {
		list[i] = sequence.Piece{Segment: p.segment, Labels: c.sequences.labels(p.hash, c.step), Threads: int(p.threads)}
	}
	c.sequences.forget(c.step)
	score, err := sequence.AlignPieces(list, int(received.threads), sums, false, workers)
	if err != nil {
		return nil, fmt.Errorf("collector/cells: %w", err)
	}
	return score, nil
}

// Label gives units the labels for Sums: clusters from 1 on, grouping.LabelNoise and grouping.LabelFiltered.
func (c *Coordinator) Label(ctx context.Context, labels []int32) error {
	if len(labels) != len(c.units) {
		return fmt.Errorf("collector/cells: %d labels for %d units", len(labels), len(c.units))
	}
	down := make([]int32, len(labels))
	for i, label := range labels {
		switch {
		case label == grouping.LabelFiltered:
			down[i] = refine.Absent
		case label == grouping.LabelNoise:
			down[i] = refine.Noise
		case label < 1:
			return fmt.Errorf("collector/cells: unit %d has label %d: want a cluster's from 1 on, %d or %d", i, label, grouping.LabelNoise, grouping.LabelFiltered)
		default:
			down[i] = label
		}
	}
	return c.relabel(ctx, down, true, newPieces()) // whole sequences: their hashes are not used, and are fewer
}

// sums are those of the labels.
func (c *Coordinator) sums(labels []int32, count int) ([]sequence.Sums, error) {
	if len(labels) != len(c.units) {
		return nil, fmt.Errorf("collector/cells: %d labels for %d units", len(labels), len(c.units))
	}
	sums := make([]sequence.Sums, count)
	for i, label := range labels {
		if label < refine.Absent || int(label) >= count {
			return nil, fmt.Errorf("collector/cells: unit %d has label %d: want one from %d to %d", i, label, refine.Absent, count-1)
		}
		if label != refine.Absent {
			sums[label].Bursts += int(c.units[i].Cell.Count)
			sums[label].TimeNS += int64(c.units[i].Duration.Total[0])
		}
	}
	return sums, nil
}

// relabel has all agents take labels, given by unit of the run, and receives the sequences that these make.
func (c *Coordinator) relabel(ctx context.Context, labels []int32, whole bool, received *pieces) error {
	if c.step == math.MaxUint32 {
		return errors.New("collector/cells: there are no more numbers for labellings")
	}
	c.step++
	return c.each(ctx, c.ids(), func(id uint64) error {
		n := c.nodes[id]
		own := n.labelsOf(labels)
		m := changes(n.labels, own, c.step, whole)
		for len(m.Unit) > askedMost {
			if err := c.relabelOne(ctx, id, firstOf(m), newPieces()); err != nil { // what it makes of some of the labels does not matter
				return err
			}
		}
		if err := c.relabelOne(ctx, id, m, received); err != nil {
			return err
		}
		n.labels = own
		return nil
	})
}

// relabelOne has an agent take labels, and receives its sequences.
func (c *Coordinator) relabelOne(ctx context.Context, id uint64, m *moriensv1.CellsRelabel, received *pieces) error {
	n := c.nodes[id]
	h := &hashAnswer{node: n, agent: id, whole: m.Whole, received: received}
	if err := c.ask(ctx, id, &moriensv1.CellsAsk{Taken: n.head.Survey, Body: &moriensv1.CellsAsk_Relabel{Relabel: m}}, h.take); err != nil {
		return err
	}
	return h.end()
}

// firstOf takes as many changes as one ask may have off others. Those are of whole sequences, whose hashes are fewest.
func firstOf(m *moriensv1.CellsRelabel) *moriensv1.CellsRelabel {
	first := &moriensv1.CellsRelabel{Step: m.Step, Begin: m.Begin, Unit: m.Unit[:askedMost], Label: m.Label[:askedMost], Whole: true}
	last := uint32(0)
	for _, difference := range first.Unit {
		last += difference
	}
	m.Begin, m.Unit, m.Label = false, m.Unit[askedMost:], m.Label[askedMost:]
	m.Unit[0] += last
	return first
}

// changes are those from labels that an agent has, nil where it has none, to others, or all that are not 0 where these
// are fewer.
func changes(before, after []int32, step uint32, whole bool) *moriensv1.CellsRelabel {
	changed, set := 0, 0
	for i, label := range after {
		if i >= len(before) && label != 0 || i < len(before) && label != before[i] {
			changed++
		}
		if label != 0 {
			set++
		}
	}
	m := &moriensv1.CellsRelabel{Step: step, Whole: whole, Begin: before == nil || set < changed}
	last := 0
	for i, label := range after {
		was := int32(0)
		if !m.Begin && i < len(before) {
			was = before[i]
		}
		if label == was {
			continue
		}
		m.Unit = append(m.Unit, uint32(i-last))
		m.Label = append(m.Label, label)
		last = i
	}
	return m
}

// A hashAnswer is of one agent's answer to a labelling.
type hashAnswer struct {
	node      *node
	agent     uint64
	whole     bool
	received  *pieces
	begun     bool
	sequences uint64 // of the node
	// The latest piece, and how many threads those of its segment have.
	latest  pieceKey
	some    bool
	threads uint64
}

func (h *hashAnswer) take(a *moriensv1.CellsAnswer) error {
	m := a.GetHashes()
	if m == nil {
		return fmt.Errorf("labels are answered by %T", a.Body)
	}
	n := len(m.Segment)
	if len(m.High) != n || len(m.Low) != n || len(m.Threads) != n {
		return fmt.Errorf("columns of hashes with %d, %d, %d and %d entries: want one length", n, len(m.High), len(m.Low), len(m.Threads))
	}
	if !h.begun {
		if h.sequences = uint64(m.Sequences); h.sequences > h.node.threads {
			return fmt.Errorf("%d sequences of %d threads", h.sequences, h.node.threads)
		}
		h.begun = true
	}
	segment := uint64(0)
	for i, difference := range m.Segment {
		segment += difference
		if segment > math.MaxInt32 || h.whole && segment > 0 {
			return fmt.Errorf("a sequence of segment %d", segment)
		}
		if err := h.piece(pieceKey{segment, sequence.Hash{m.High[i], m.Low[i]}}, uint64(m.Threads[i])); err != nil {
			return fmt.Errorf("segment %d: %w", segment, err)
		}
	}
	h.received.add(h.agent, m)
	return nil
}

func (h *hashAnswer) piece(key pieceKey, threads uint64) error {
	if h.some && comparePieceKeys(h.latest, key) >= 0 {
		return errors.New("hashes are not in their order")
	}
	if !h.some || key.segment != h.latest.segment {
		h.threads = 0
	}
	if threads == 0 || threads > h.sequences-h.threads {
		return fmt.Errorf("a sequence of %d threads, and those before it are of %d of %d", threads, h.threads, h.sequences)
	}
	h.threads += threads
	h.latest, h.some = key, true
	return nil
}

// end reports whether the answer was whole, and counts its threads.
func (h *hashAnswer) end() error {
	if !h.begun {
		return errors.New("labels without an answer")
	}
	h.received.count(h.sequences)
	return nil
}

// fetch asks for the sequences of pieces that are not known, each of one agent.
func (c *Coordinator) fetch(ctx context.Context, all []piece, count int) error {
	wanted := make(map[uint64][]piece) // by agent, by segment
	asked := make(map[sequence.Hash]bool)
	for _, p := range all {
		if !asked[p.hash] && !c.sequences.has(p.hash) {
			asked[p.hash] = true
			wanted[p.agent] = append(wanted[p.agent], p)
		}
	}
	var ids []uint64
	for id := range wanted {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return c.each(ctx, ids, func(id uint64) error {
		for some := range slices.Chunk(wanted[id], askedMost) {
			if err := c.fetchOne(ctx, id, some, count); err != nil {
				return err
			}
		}
		return nil
	})
}

// fetchOne asks an agent for sequences.
func (c *Coordinator) fetchOne(ctx context.Context, id uint64, wanted []piece, count int) error {
	n := c.nodes[id]
	want := &moriensv1.CellsWant{}
	last := uint64(0)
	for _, p := range wanted {
		want.Segment = append(want.Segment, p.segment-last)
		want.High, want.Low = append(want.High, p.hash[0]), append(want.Low, p.hash[1])
		last = p.segment
	}
	r := &reading{wanted: wanted, count: count, most: n.head.Bursts, known: &c.sequences}
	if err := c.ask(ctx, id, &moriensv1.CellsAsk{Taken: n.head.Survey, Body: &moriensv1.CellsAsk_Want{Want: want}}, r.take); err != nil {
		return err
	}
	return r.end()
}
