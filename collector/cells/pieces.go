package cells

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"moriens/analysis/sequence"
	"moriens/internal/mix"
	moriensv1 "moriens/proto/moriens/v1"
)

// A pieceKey says what some threads do in a segment.
type pieceKey struct {
	segment uint64
	hash    sequence.Hash
}

func comparePieceKeys(x, y pieceKey) int {
	return cmp.Or(cmp.Compare(x.segment, y.segment), cmp.Compare(x.hash[0], y.hash[0]), cmp.Compare(x.hash[1], y.hash[1]))
}

// A piece is that, how many threads of all agents do it, and an agent that has some of them.
type piece struct {
	pieceKey
	threads int64
	agent   uint64
}

// shards share out the segments, so that several agents' answers are taken at a time.
const shards = 64

// pieces are those of a labelling, of all agents.
type pieces struct {
	shards [shards]struct {
		mu     sync.Mutex
		pieces map[pieceKey]*piece
	}
	mu      sync.Mutex
	threads uint64 // of all agents, with a burst
}

func newPieces() *pieces {
	p := new(pieces)
	for i := range p.shards {
		p.shards[i].pieces = make(map[pieceKey]*piece)
	}
	return p
}

func (p *pieces) count(threads uint64) {
	p.mu.Lock()
	p.threads += threads
	p.mu.Unlock()
}

// add adds what an agent says, which has been checked. Of several agents that have a sequence it is by chance, but
// always alike, whose it is.
func (p *pieces) add(agent uint64, m *moriensv1.CellsHashes) {
	segment := uint64(0)
	for i := 0; i < len(m.Segment); {
		segment += m.Segment[i]
		shard := &p.shards[segment%shards]
		shard.mu.Lock()
		for first := i; i < len(m.Segment) && (i == first || m.Segment[i] == 0); i++ {
			key := pieceKey{segment, sequence.Hash{m.High[i], m.Low[i]}}
			x := shard.pieces[key]
			if x == nil {
				x = &piece{pieceKey: key, agent: agent}
				shard.pieces[key] = x
			} else if lot(key, agent) < lot(key, x.agent) {
				x.agent = agent
			}
			x.threads += int64(m.Threads[i])
		}
		shard.mu.Unlock()
	}
}

func lot(key pieceKey, agent uint64) uint64 { return mix.Bits(key.hash[0] ^ mix.Bits(agent)) }

func (p *pieces) sorted() []piece {
	var list []piece
	for i := range p.shards {
		for _, x := range p.shards[i].pieces {
			list = append(list, *x)
		}
	}
	slices.SortFunc(list, func(x, y piece) int { return comparePieceKeys(x.pieceKey, y.pieceKey) })
	return list
}

// mostKnown is how many labels of sequences are remembered between labellings. What is forgotten is asked for again.
const mostKnown = 1 << 26

// known are sequences that agents have reported.
type known struct {
	mu        sync.Mutex
	sequences map[sequence.Hash]*remembered
	size      int // labels
}

type remembered struct {
	labels []int32
	step   uint32 // the latest labelling that had it
}

func newKnown() known { return known{sequences: make(map[sequence.Hash]*remembered)} }

func (k *known) has(h sequence.Hash) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sequences[h] != nil
}

func (k *known) put(h sequence.Hash, labels []int32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sequences[h] == nil {
		k.sequences[h] = &remembered{labels: labels}
		k.size += len(labels)
	}
}

// labels are those of a sequence that is known.
func (k *known) labels(h sequence.Hash, step uint32) []int32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	x := k.sequences[h]
	x.step = step
	return x.labels
}

// forget lets go of what the latest labelling had not, if there is too much.
func (k *known) forget(step uint32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.size <= mostKnown {
		return
	}
	for h, x := range k.sequences {
		if x.step != step {
			k.size -= len(x.labels)
			delete(k.sequences, h)
		}
	}
}

// longest is how many bursts a sequence can have: as labels they are 1 GiB.
const longest = 1 << 28

// A reading is of one agent's answer with sequences. Its columns continue from part to part, and so does a sequence.
type reading struct {
	wanted []piece // that are outstanding
	count  int     // of labels
	most   uint64  // bursts of the agent
	known  *known

	some   bool
	runs   uint32 // of the present sequence that are outstanding
	labels []int32
}

func (r *reading) take(a *moriensv1.CellsAnswer) error {
	m := a.GetSequences()
	if m == nil {
		return fmt.Errorf("wanted sequences are answered by %T", a.Body)
	}
	if len(m.Label) != len(m.Length) {
		return fmt.Errorf("%d labels of %d runs", len(m.Label), len(m.Length))
	}
	runs := m.Runs
	for i, label := range m.Label {
		for r.runs == 0 {
			if len(runs) == 0 {
				return errors.New("more runs than the sequences have")
			}
			if err := r.begin(runs[0]); err != nil {
				return err
			}
			runs = runs[1:]
		}
		if err := r.run(label, m.Length[i]); err != nil {
			return err
		}
	}
	for _, n := range runs {
		if r.runs > 0 {
			return errors.New("the runs of a sequence are missing")
		}
		if err := r.begin(n); err != nil {
			return err
		}
	}
	return nil
}

// begin ends the sequence before, and begins with the next.
func (r *reading) begin(runs uint32) error {
	if err := r.finish(); err != nil {
		return err
	}
	if len(r.wanted) == 0 {
		return errors.New("more sequences than were wanted")
	}
	r.some, r.runs, r.labels = true, runs, nil
	return nil
}

func (r *reading) run(label int32, length uint32) error {
	if label < 0 || int(label) >= r.count {
		return fmt.Errorf("a run of label %d: want one from 0 to %d", label, r.count-1)
	}
	if most := min(r.most, longest); length == 0 || uint64(len(r.labels))+uint64(length) > most {
		return fmt.Errorf("a run of %d bursts behind %d: want at most %d in all", length, len(r.labels), most)
	}
	for range length {
		r.labels = append(r.labels, label)
	}
	r.runs--
	return nil
}

// finish checks the sequence that was read.
func (r *reading) finish() error {
	if !r.some {
		return nil
	}
	if r.runs > 0 {
		return fmt.Errorf("%d runs of a sequence are missing", r.runs)
	}
	want := r.wanted[0].hash
	if h := sequence.HashOf(r.labels); h != want {
		return fmt.Errorf("a sequence with the hash %016x, %016x: want %016x, %016x", h[0], h[1], want[0], want[1])
	}
	r.known.put(want, slices.Clip(r.labels))
	r.wanted, r.some = r.wanted[1:], false
	return nil
}

func (r *reading) end() error {
	if err := r.finish(); err != nil {
		return err
	}
	if len(r.wanted) > 0 {
		return fmt.Errorf("%d of the wanted sequences are missing", len(r.wanted))
	}
	return nil
}
