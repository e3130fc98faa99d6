package cells

import (
	"fmt"

	"moriens/analysis/sequence"
	moriensv1 "moriens/proto/moriens/v1"
)

// wantedTogether is how many segments are looked for at a time.
const wantedTogether = 256

// want answers with sequences of the latest labelling.
func (k *Store) want(ask *moriensv1.CellsWant, to *reply) error {
	if len(ask.High) != len(ask.Segment) || len(ask.Low) != len(ask.Segment) {
		return fmt.Errorf("cells: %d segments with hashes of %d and %d", len(ask.Segment), len(ask.High), len(ask.Low))
	}
	segments := make([]wanted, 0, len(ask.Segment))
	at := uint64(0)
	for i, d := range ask.Segment {
		if at += d; at < d {
			return fmt.Errorf("cells: segment %d behind one that is %d less", at, d)
		}
		if n := len(segments); n == 0 || segments[n-1].segment != at {
			segments = append(segments, wanted{segment: at})
		}
		w := &segments[len(segments)-1]
		w.hashes = append(w.hashes, sequence.Hash{ask.High[i], ask.Low[i]})
	}
	l := &k.labels
	walkers := make([]*walker, workersFor(wantedTogether))
	message := new(moriensv1.CellsSequences)
	for len(segments) > 0 {
		n := min(wantedTogether, len(segments))
		each(n, len(walkers), func(worker, i int) {
			if walkers[worker] == nil {
				walkers[worker] = newWalker(l.labels, l.whole)
			}
			segments[i].find(l, walkers[worker])
		})
		for _, w := range segments[:n] {
			for i, labels := range w.found {
				if len(labels) == 0 {
					return fmt.Errorf("cells: there is no sequence %016x%016x in segment %d of the latest labelling", w.hashes[i][0], w.hashes[i][1], w.segment)
				}
				var err error
				if message, err = to.sequence(message, labels); err != nil {
					return err
				}
			}
		}
		segments = segments[n:]
	}
	return to.sequences(message)
}

// wanted are sequences of one segment.
type wanted struct {
	segment uint64
	hashes  []sequence.Hash
	found   [][]int32 // their labels; nil = there is none
}

// find looks for the sequences in all rings, until it has them.
func (w *wanted) find(l *labelling, by *walker) {
	w.found = make([][]int32, len(w.hashes))
	at := make(map[sequence.Hash][]int, len(w.hashes))
	for i, h := range w.hashes {
		at[h] = append(at[h], i)
	}
	for _, v := range l.views {
		if len(at) == 0 {
			return
		}
		by.begin(v)
		labels := by.find(w.segment)
		if len(labels) == 0 {
			continue
		}
		h := sequence.HashOf(labels)
		for _, i := range at[h] {
			w.found[i] = labels
		}
		delete(at, h)
	}
}

// sequence adds one to the message at hand. A full message is sent, and the runs continue in the next.
func (r *reply) sequence(m *moriensv1.CellsSequences, labels []int32) (*moriensv1.CellsSequences, error) {
	runs := uint32(0)
	for i, label := range labels {
		if i == 0 || label != labels[i-1] {
			runs++
		}
	}
	m.Runs = append(m.Runs, runs)
	for len(labels) > 0 {
		n := 1
		for n < len(labels) && labels[n] == labels[0] {
			n++
		}
		if len(m.Label)+len(m.Runs) >= partBytes/(10+5) {
			if err := r.sequences(m); err != nil {
				return nil, err
			}
			m = new(moriensv1.CellsSequences)
		}
		m.Label, m.Length = append(m.Label, labels[0]), append(m.Length, uint32(n))
		labels = labels[n:]
	}
	return m, nil
}

func (r *reply) sequences(m *moriensv1.CellsSequences) error {
	return r.send(&moriensv1.CellsAnswer{Body: &moriensv1.CellsAnswer_Sequences{Sequences: m}})
}
