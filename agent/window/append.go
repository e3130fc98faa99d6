package window

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"moriens/internal/anchor"
	"moriens/internal/section"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Move is a transfer of a call.
type Move struct {
	Ring  uint64 // of the call that posted it
	Epoch uint32 // of its ordinal
	Lane  section.Lane
	section.Transfer
}

// Rows is a section of calls.
type Rows struct {
	Ring, First uint64
	Section     []byte
}

// A Transaction is what the agent has read since the one before.
type Transaction struct {
	Number   uint64                     // they grow
	Messages []*moriensv1.ReportRequest // that describe processes
	Blocks   []*section.Block           // of calls: those of a ring in the order of rows
	Moves    []Move
	Rows     []Rows // where all detail is kept
}

// A record is sections of one chunk of a process. On disk the number of the transaction, the process and the chunk go
// before them.
type record struct {
	log      logKey
	of       chunkKey
	from, to int // in Store.bytes
}

const recordHead = 3 * 8

// appended is what the latest transaction has added, so that it can be undone.
type appended struct {
	pending
	number uint64 // of the transaction before it
	cuts   []cut
	rings  map[*ring]noted // as they were noted before it
	chunks []chunkKey      // one offset each
}

// A cut is where a log ended.
type cut struct {
	log    logKey
	offset int64
}

// Append takes a transaction; one that is there already changes nothing. It returns sections of moves, for the
// collector: those by which clocks are compared (anchor.ID.Compared), and those of collectives. The caller still owns
// the blocks. What cannot be held, because the disk or the bound is reached, is counted as evicted, and the ranks'
// next windows are held again. After an error nothing of it is held, and it may be tried again: the disk has no room
// to say which windows there are. Of rings that are not known nothing is held.
func (s *Store) Append(t Transaction) (moves []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.Number <= s.last {
		return nil, nil
	}
	s.latest = appended{number: s.last}
	s.compact()
	if err := s.take(t.Messages, t.Blocks); err != nil {
		s.fail(err)
		t.Moves, t.Rows = nil, nil
	}
	if err := s.write(&t); err != nil {
		if !s.lost {
			s.lost = true
			s.config.Log.Warn("windows in full detail are lost: they cannot be written", "error", err)
		}
		s.lose(&t)
	}
	if err := s.noteTransaction(t.Number); err != nil {
		return nil, errors.Join(err, s.undo())
	}
	if !s.config.Whole {
		moves = s.forCollector(t.Moves)
	}
	return moves, nil
}

// A group is moves of one ring in one chunk and epoch.
type group struct {
	ring  *ring
	chunk chunk
	epoch uint32
	spans []span // of the transaction's moves
}

// A span is moves that follow each other.
type span struct{ from, to int }

// add adds a move to a group's spans.
func (g *group) add(i int) {
	if n := len(g.spans); n > 0 && g.spans[n-1].to == i {
		g.spans[n-1].to++
		return
	}
	g.spans = append(g.spans, span{i, i + 1})
}

// grouped puts moves of windows that are kept together.
func (s *Store) grouped(moves []Move) (groups []*group) {
	var now *group
	var w anchor.ID
	var r *ring
	keep := false
	first, behind := uint64(1), uint64(0) // rows of r that are of w
	for i := range moves {
		m := &moves[i]
		if r == nil || r.id != m.Ring || m.Row < first || m.Row >= behind {
			if r == nil || r.id != m.Ring {
				r = s.rings[m.Ring]
				if r == nil {
					s.fail(fmt.Errorf("windows: moves of ring %016x, which is not known", m.Ring))
					continue
				}
			}
			w, first, behind = r.stretch(m.Row)
			keep, now = s.retained(key{r.process.id, w}), nil
		}
		if !keep {
			continue
		}
		if c := chunkOf(w); now == nil || now.epoch != m.Epoch {
			k := slices.IndexFunc(groups, func(g *group) bool { return g.ring == r && g.chunk == c && g.epoch == m.Epoch })
			if k < 0 {
				k = len(groups)
				groups = append(groups, &group{ring: r, chunk: c, epoch: m.Epoch})
			}
			now = groups[k]
		}
		now.add(i)
	}
	return groups
}

// encode makes records of what a transaction has of windows that are kept.
func (s *Store) encode(t *Transaction) {
	s.records, s.bytes = s.records[:0], s.bytes[:0]
	for _, g := range s.grouped(t.Moves) {
		s.beginRecord(t.Number, chunkKey{g.ring.process.id, g.chunk}, s.level(g.chunk))
		s.bytes = s.encodeGroup(s.bytes, g, t.Moves)
		s.records[len(s.records)-1].to = len(s.bytes)
	}
	for _, rows := range t.Rows {
		s.addRows(t.Number, rows)
	}
}

// encodeGroup appends the sections of a group's moves.
func (s *Store) encodeGroup(dst []byte, g *group, moves []Move) []byte {
	b := &s.block
	b.Empty()
	for _, x := range g.spans {
		for i := x.from; i < x.to; i++ {
			m := &moves[i]
			if len(b.Transfers) == section.MaxMoves {
				dst = s.encoder.Moves(dst, b)
				b.Empty()
			}
			if len(b.Transfers) == 0 {
				b.Ring, b.Epoch, b.Chunk, b.First = g.ring.id, g.epoch, uint64(g.chunk), m.Row
			}
			s.gatherer.Add(b, m.Lane, m.Transfer)
		}
	}
	return s.encoder.Moves(dst, b)
}

func (s *Store) beginRecord(number uint64, of chunkKey, level int) {
	from := len(s.bytes)
	s.bytes = binary.LittleEndian.AppendUint64(s.bytes, number)
	s.bytes = binary.LittleEndian.AppendUint64(s.bytes, of.process)
	s.bytes = binary.LittleEndian.AppendUint64(s.bytes, uint64(of.chunk))
	s.records = append(s.records, record{log: logKey{s.rankAt(level), level}, of: of, from: from})
}

// rankAt is the rank of the log that takes what is kept of a level: the first one that is not evicted.
func (s *Store) rankAt(level int) class {
	for rank := ordinary; rank < pinned; rank++ {
		if !s.evicted(logKey{rank, level}) {
			return rank
		}
	}
	return pinned
}

// Cuts learns in which windows calls are, and returns where the chunks of a ring begin: of rows from ≤ row ≤ behind,
// the last one is behind.
func (s *Store) Cuts(messages []*moriensv1.ReportRequest, blocks []*section.Block) func(ring, from, behind uint64) []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.take(messages, blocks); err != nil {
		s.fail(err)
	}
	return func(ring, from, behind uint64) (rows []uint64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		r := s.rings[ring]
		if r == nil {
			return []uint64{behind}
		}
		w, _, next := r.stretch(from)
		for next < behind {
			before := w
			row := next
			if w, _, next = r.stretch(row); chunkOf(w) != chunkOf(before) {
				rows = append(rows, row)
			}
		}
		return append(rows, behind)
	}
}

// addRows makes a record of rows, if one of their windows is kept: they are of one chunk.
func (s *Store) addRows(number uint64, rows Rows) {
	r := s.rings[rows.Ring]
	if r == nil || !slices.ContainsFunc(r.restOfChunk(rows.First), func(w anchor.ID) bool { return s.retained(key{r.process.id, w}) }) {
		return
	}
	w, _, _ := r.stretch(rows.First)
	c := chunkOf(w)
	s.beginRecord(number, chunkKey{r.process.id, c}, levelOf(c.hash(s.config.Run)))
	s.bytes = append(s.bytes, rows.Section...)
	s.records[len(s.records)-1].to = len(s.bytes)
}

// restOfChunk are the windows of a row and of those behind it that are of one chunk.
func (r *ring) restOfChunk(row uint64) (list []anchor.ID) {
	w, _, behind := r.stretch(row)
	for c := chunkOf(w); chunkOf(w) == c; w, _, behind = r.stretch(behind) {
		if list = append(list, w); behind == math.MaxUint64 {
			break
		}
	}
	return list
}

// errBound is why something is not kept for which there is no room.
var errBound = errors.New("there is no room below the bound of the spool")

// write appends what is kept of a transaction to its logs, all or nothing.
func (s *Store) write(t *Transaction) error {
	for any := true; any; {
		if s.encode(t); len(s.records) == 0 {
			return nil
		}
		need := int64(len(s.bytes) + len(s.records)*frameBytes)
		for _, r := range s.records {
			if s.logs[r.log] == nil {
				need += segment.Start // at most: several may begin a log together
			}
		}
		var err error
		if any, err = s.makeRoom(need); err != nil {
			return err
		}
	}
	slices.SortStableFunc(s.records, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.log.rank, b.log.rank), cmp.Compare(a.log.level, b.log.level))
	})
	for records := s.records; len(records) > 0; {
		n := 1
		for n < len(records) && records[n].log == records[0].log {
			n++
		}
		if err := s.writeTo(records[:n]); err != nil {
			return errors.Join(err, s.takeBack())
		}
		records = records[n:]
	}
	return nil
}

// frameBytes is what a record takes in its log beside its bytes.
const frameBytes = 8

// writeTo appends records of one log.
func (s *Store) writeTo(records []record) error {
	log, err := s.log(records[0].log)
	if err != nil {
		return err
	}
	bodies := make([][]byte, len(records))
	for i, r := range records {
		bodies[i] = s.bytes[r.from:r.to]
	}
	offset := log.End().Offset
	if _, err := log.Append(bodies...); err != nil {
		return err
	}
	s.latest.cuts = append(s.latest.cuts, cut{records[0].log, offset})
	for i, r := range records {
		s.index(r.of, r.log.rank, offset)
		s.latest.chunks = append(s.latest.chunks, r.of)
		offset += int64(frameBytes + len(bodies[i]))
	}
	return nil
}

// index notes where a record of a chunk begins.
func (s *Store) index(of chunkKey, rank class, offset int64) {
	h := s.chunks[of]
	if h == nil {
		h = &held{rank: rank}
		s.chunks[of] = h
	}
	h.offsets = append(h.offsets, offset)
}

// takeBack removes what the latest transaction has written.
func (s *Store) takeBack() (err error) {
	for _, c := range s.latest.cuts {
		if log := s.logs[c.log]; log != nil { // it was not damaged
			err = errors.Join(err, log.CutAt(c.offset))
		}
	}
	for _, of := range s.latest.chunks {
		h := s.chunks[of]
		if h == nil {
			continue
		}
		if h.offsets = h.offsets[:len(h.offsets)-1]; len(h.offsets) == 0 {
			delete(s.chunks, of)
		}
	}
	s.latest.cuts, s.latest.chunks = nil, nil
	return err
}

// lose counts the windows of which something could not be written.
func (s *Store) lose(t *Transaction) {
	p := &s.pending
	tear := func(k key) {
		if s.retained(k) {
			s.torn[k], p.torn[k] = true, true
			p.evicted++
			s.stats.EvictedWindows++
		}
	}
	for _, g := range s.grouped(t.Moves) {
		for _, x := range g.spans {
			for _, m := range t.Moves[x.from:x.to] {
				w, _, _ := g.ring.stretch(m.Row)
				tear(key{g.ring.process.id, w})
			}
		}
	}
	for _, rows := range t.Rows {
		if r := s.rings[rows.Ring]; r != nil {
			for _, w := range r.restOfChunk(rows.First) {
				tear(key{r.process.id, w})
			}
		}
	}
	p.bytes += uint64(len(s.bytes))
	s.stats.EvictedBytes += uint64(len(s.bytes))
}

// noteTransaction writes down where the rings and the logs stand behind a transaction, with what was learned since
// the one before.
func (s *Store) noteTransaction(number uint64) error {
	p := &s.pending
	n := &moriensv1.WindowState{
		Transaction: number, Definitions: p.definitions, Unusual: uint64(len(p.unusual)), EvictedWindows: p.evicted, EvictedBytes: p.bytes,
		Marks: s.foundUnusual(),
	}
	for k := range p.torn {
		n.Marks = append(n.Marks, &moriensv1.WindowMark{Process: k.process, Window: uint64(k.window)})
	}
	for _, c := range s.latest.cuts {
		n.Logs = append(n.Logs, s.describe(c.log))
	}
	for r := range p.touched {
		n.Tracks = append(n.Tracks, r.track())
		if r.noted.edges < len(r.edges) {
			n.Edges = append(n.Edges, edgesOf(r.id, r.edges[r.noted.edges:]))
		}
	}
	if err := s.writeState(n); err != nil {
		return err
	}
	s.latest.rings = make(map[*ring]noted, len(n.Tracks))
	for _, t := range n.Tracks {
		r := s.rings[t.Ring]
		s.latest.rings[r] = r.noted
		r.noted = noted{len(r.edges), t}
	}
	s.latest.pending, s.pending = *p, newPending()
	s.last = number
	return nil
}

// foundUnusual are the marks of windows that were found unusual since the last transaction, but for those that were
// gone.
func (s *Store) foundUnusual() (marks []*moriensv1.WindowMark) {
	for _, k := range s.pending.unusual {
		if s.marks[k].class != ordinary {
			marks = append(marks, &moriensv1.WindowMark{Process: k.process, Window: uint64(k.window), Why: moriensv1.Keep_WHY_UNUSUAL, Reason: whyUnusual})
		}
	}
	return marks
}

// noted is what the state log has of a ring.
type noted struct {
	edges int // how many of them
	track *moriensv1.WindowTrack
}

// Undo takes the latest transaction back, which the outbox could not keep. It recurs.
func (s *Store) Undo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.undo(); err != nil {
		s.fail(err)
	}
}

func (s *Store) undo() error {
	err := s.takeBack()
	l := &s.latest
	for r, noted := range l.rings {
		r.noted = noted
		s.pending.touched[r] = true
	}
	s.pending.evicted += l.evicted
	for _, p := range []*pending{&s.pending, &l.pending} { // there may be room when it recurs
		for k := range p.torn {
			delete(s.torn, k)
			s.pending.evicted--
			s.stats.EvictedWindows--
		}
		s.stats.EvictedBytes -= p.bytes
		p.bytes = 0
		clear(p.torn)
	}
	s.pending.definitions = slices.Concat(l.definitions, s.pending.definitions)
	s.pending.unusual = slices.Concat(l.unusual, s.pending.unusual)
	s.last = l.number
	s.latest = appended{number: l.number}
	return err
}

// forCollector are the sections of the moves of windows by which clocks are compared. Those that say which call
// completed a collective are among them, whatever their window: the collector has all collectives.
func (s *Store) forCollector(moves []Move) (bytes []byte) {
	var now group
	flush := func() {
		if len(now.spans) > 0 {
			bytes = s.encodeGroup(bytes, &now, moves)
		}
	}
	var r *ring
	is := false
	first, behind := uint64(1), uint64(0) // rows of r that are of one window
	for i := range moves {
		m := &moves[i]
		if r == nil || r.id != m.Ring || m.Row < first || m.Row >= behind {
			if r = s.rings[m.Ring]; r == nil {
				continue
			}
			var w anchor.ID
			w, first, behind = r.stretch(m.Row)
			is = w.Compared(s.config.Run)
		}
		if !is && m.Lane.Kind != section.MoveKind(moriensv1.Transfers_KIND_COLLECTIVE) {
			continue
		}
		if now.ring != r || now.epoch != m.Epoch {
			flush()
			now = group{ring: r, epoch: m.Epoch, spans: now.spans[:0]}
		}
		now.add(i)
	}
	flush()
	return bytes
}

func edgesOf(ring uint64, edges []edge) *moriensv1.WindowEdges {
	e := &moriensv1.WindowEdges{Ring: ring}
	for _, x := range edges {
		e.Row, e.Window = append(e.Row, x.row), append(e.Window, uint64(x.window))
	}
	return e
}

// writeState writes a record to the state log.
func (s *Store) writeState(n *moriensv1.WindowState) error {
	bytes, err := proto.Marshal(n)
	if err != nil {
		return err
	}
	_, err = s.state.Append(bytes)
	return err
}

// note writes down what a later run of the agent needs to know, and logs where that fails.
func (s *Store) note(n *moriensv1.WindowState) {
	if err := s.writeState(n); err != nil {
		s.fail(err)
	}
}
