package section

import (
	"encoding/binary"
	"math"
)

// A Decoder takes sections apart. It has room for one at a time.
type Decoder struct {
	order    order
	restored []int // rows of each site, as the rows say it
	followed [MaxRows + 1]uint16
	values   [MaxMoves]uint64
	columns  [6][MaxMoves]uint64
	meetings meetings
	lanes    []Lane
}

// Calls makes b what the section of calls holds, of a process that counts so many events.
func (d *Decoder) Calls(s *Section, events int, b *Block) error {
	if err := d.Frame(s, events, b); err != nil {
		return err
	}
	if err := d.Ticks(s, b); err != nil {
		return err
	}
	return d.Counts(s, b)
}

// Frame makes b what the section holds, but for the ticks and the counts of its rows: Ticks and Counts of a section
// that has a frame have no error.
func (d *Decoder) Frame(s *Section, events int, b *Block) error {
	if err := d.Order(s, events, b); err != nil {
		return err
	}
	for _, read := range []func(*Section, *Block) error{d.collectives, d.marks, d.gaps} {
		if err := read(s, b); err != nil {
			return err
		}
	}
	if b.Rows == 0 {
		return nil
	}
	for k := -2; k < events; k++ { // Read has tested their packs
		number := uint8(colCounts + k)
		if k < 0 {
			number = []uint8{colBurst, colCall}[k+2]
		}
		if _, there, err := s.find(number, bySite); err != nil || !there {
			return corrupt("column %d is missing, or not by site", number)
		}
	}
	return nil
}

// Order makes b what the section says of its rows but for their ticks and counts: of which site each is, and what few
// of them have. Nothing else of b is set.
func (d *Decoder) Order(s *Section, events int, b *Block) error {
	if s.Kind != Calls {
		return corrupt("kind %d has no calls", s.Kind)
	}
	if events > MaxEvents {
		return corrupt("counts of %d events", events)
	}
	b.Empty()
	b.Ring, b.First, b.Origin, b.Chunk = s.Ring, s.First, s.Origin, s.Chunk
	b.Unfinished = s.Unfinished
	b.Grow(s.Rows, events)
	if err := d.sites(s, b); err != nil {
		return err
	}
	return d.sparse(s, b)
}

// Ticks gives the rows of a block that has their order their ticks.
func (d *Decoder) Ticks(s *Section, b *Block) error {
	if err := unsorted(d, s, colBurst, b.Burst[:b.Rows]); err != nil {
		return err
	}
	return unsorted(d, s, colCall, b.Call[:b.Rows])
}

// Counts gives the rows of a block that has their order their counts.
func (d *Decoder) Counts(s *Section, b *Block) error {
	for k := range b.Events {
		if err := unsorted(d, s, uint8(colCounts+k), b.Counts[k][:b.Rows]); err != nil {
			return err
		}
	}
	for _, x := range b.NotRead {
		b.Counts[x.Event][x.Row] = math.MinInt64
	}
	return nil
}

// Sorted gives the ticks of a block that has the order of its rows as the section has them, site by site, and the row
// of each. It is their room until the next block.
func (d *Decoder) Sorted(s *Section, b *Block) (rows []uint16, burst, call []uint64, err error) {
	burst, call = d.values[:b.Rows], d.columns[0][:b.Rows]
	if err = d.sorted(s, colBurst, burst); err == nil {
		err = d.sorted(s, colCall, call)
	}
	return d.order.rows[:b.Rows], burst, call, err
}

// readSites reads the sites of the rows, and how many rows each has.
func (s *Section) readSites() error {
	s.sites, s.counts = s.sites[:0], s.counts[:0]
	v, err := s.numbers(colSites)
	if err != nil {
		return err
	}
	left := s.Rows
	for v.more() {
		function, path, rows := v.next(), v.next(), v.next()
		if v.bad || function > math.MaxUint16 || path > math.MaxUint32 || rows == 0 || rows > uint64(left) {
			return corrupt("a site of function %d, path %d and %d rows", function, path, rows)
		}
		left -= int(rows)
		s.sites, s.counts = append(s.sites, Site{uint16(function), uint32(path)}), append(s.counts, int(rows))
	}
	if left != 0 {
		return corrupt("%d rows of no site", left)
	}
	return nil
}

// sites reads of which site each row is, and orders them by it.
func (d *Decoder) sites(s *Section, b *Block) error {
	b.Sites = append(b.Sites, s.sites...)
	sites := b.Site[:b.Rows]
	if len(b.Sites) > 1 {
		coded, err := s.packs(colSite, d.values[:])
		if err != nil {
			return err
		}
		d.restored = append(d.restored[:0], s.counts...)
		if len(coded) != b.Rows || !restoreSites(coded, d.followed[:len(b.Sites)+1], d.restored, sites) {
			return corrupt("the sites of %d rows", b.Rows)
		}
		for i, n := range d.restored {
			if n != s.counts[i] {
				return corrupt("site %d has %d rows, not %d", i, n, s.counts[i])
			}
		}
	} else {
		clear(sites)
	}
	d.order.of(sites, s.counts)
	return nil
}

// unsorted reads a column of the rows' values, which is in the order of their sites.
func unsorted[T uint64 | int64](d *Decoder, s *Section, number uint8, values []T) error {
	sorted := d.values[:len(values)]
	if err := d.sorted(s, number, sorted); err != nil {
		return err
	}
	rows := d.order.rows[:len(values)]
	for i, x := range sorted {
		values[rows[i]] = T(x)
	}
	return nil
}

// sorted reads a column of the rows' values in the order of their sites.
func (d *Decoder) sorted(s *Section, number uint8, values []uint64) error {
	c, there, err := s.find(number, bySite)
	if err != nil {
		return err
	}
	if !there && len(values) > 0 {
		return corrupt("column %d is missing", number)
	}
	at, ok := c.from, true
	for _, n := range d.order.groups {
		if at, ok = readPacks(s.bytes, at, c.to, values[:n]); !ok {
			return corrupt("the packs of column %d", number)
		}
		values = values[n:]
	}
	if at != c.to {
		return corrupt("%d bytes too many in column %d", c.to-at, number)
	}
	return nil
}

// packs reads a column of packs; none where it is missing.
func (s *Section) packs(number uint8, room []uint64) ([]uint64, error) {
	c, there, err := s.find(number, asPacks)
	if err != nil || !there {
		return nil, err
	}
	n, size := binary.Uvarint(s.bytes[c.from:c.to])
	if size <= 0 || n > uint64(len(room)) {
		return nil, corrupt("column %d of %d values", number, n)
	}
	v := room[:n]
	if at, ok := readPacks(s.bytes, c.from+size, c.to, v); !ok || at != c.to {
		return nil, corrupt("the packs of column %d", number)
	}
	return v, nil
}

// A stream is the varints of a column.
type stream struct {
	bytes []byte
	bad   bool
}

func (s *Section) numbers(number uint8) (stream, error) {
	c, _, err := s.find(number, asNumber)
	return stream{bytes: s.bytes[c.from:c.to]}, err
}

func (v *stream) more() bool { return len(v.bytes) > 0 && !v.bad }

// next is the next number; 0 where there is none, which is bad.
func (v *stream) next() uint64 {
	x, n := binary.Uvarint(v.bytes)
	if n <= 0 {
		v.bad = true
		return 0
	}
	v.bytes = v.bytes[n:]
	return x
}

// byte is the next byte.
func (v *stream) byte() byte {
	if len(v.bytes) == 0 {
		v.bad = true
		return 0
	}
	x := v.bytes[0]
	v.bytes = v.bytes[1:]
	return x
}

// ascending reads rows of the block.
func (s *Section) ascending(number uint8, room []uint32) ([]uint32, error) {
	v, err := s.numbers(number)
	if err != nil {
		return room, err
	}
	row := uint64(0)
	for v.more() {
		step := v.next()
		if row += step; v.bad || step == 0 && len(room) > 0 || step > MaxRows || row >= uint64(s.Rows) {
			return room, corrupt("column %d: row %d of %d", number, row, s.Rows)
		}
		room = append(room, uint32(row))
	}
	return room, nil
}

// sparse reads the columns of some rows.
func (d *Decoder) sparse(s *Section, b *Block) (err error) {
	for _, x := range []struct {
		number uint8
		rows   *[]uint32
	}{{colNoBurst, &b.NoBurst}, {colPaused, &b.Paused}, {colNoCounts, &b.NoCounts}, {colPollsRow, &b.PollsRow}} {
		if *x.rows, err = s.ascending(x.number, *x.rows); err != nil {
			return err
		}
	}
	v, err := s.numbers(colPolls)
	if err != nil {
		return err
	}
	for v.more() {
		b.Polls = append(b.Polls, v.next())
	}
	if v.bad || len(b.Polls) != len(b.PollsRow) {
		return corrupt("%d runs of polls have %d numbers", len(b.PollsRow), len(b.Polls))
	}
	if v, err = s.numbers(colNotRead); err != nil {
		return err
	}
	row := uint64(0)
	for v.more() {
		step, event := v.next(), v.byte()
		if row += step; v.bad || step > MaxRows || row >= uint64(s.Rows) || int(event) >= b.Events {
			return corrupt("count %d of row %d is not read", event, row)
		}
		b.NotRead = append(b.NotRead, NotRead{uint32(row), event})
	}
	return nil
}

// collectives reads their columns.
func (d *Decoder) collectives(s *Section, b *Block) error {
	n := 0
	for k := range d.columns {
		v, err := s.packs(uint8(colMeetRow+k), d.columns[k][:])
		if err != nil {
			return err
		}
		if k > 0 && len(v) != n || len(v) > MaxRows {
			return corrupt("%d collectives in column %d", len(v), colMeetRow+k)
		}
		n = len(v)
	}
	d.meetings.begin(len(b.Sites))
	v, row := &d.columns, uint64(0)
	for i := range n {
		if row += v[0][i]; v[0][i] > MaxRows || row >= uint64(b.Rows) {
			return corrupt("a collective in row %d of %d", row, b.Rows)
		}
		before := &d.meetings.bySite[b.Site[row]]
		comm, root := int64(before.Comm)+unzigzag(v[1][i]), int64(before.Root)+unzigzag(v[5][i])
		if comm < 0 || comm > math.MaxUint32 || root < math.MinInt32 || root > math.MaxInt32 {
			return corrupt("a collective with root %d on communicator %d", root, comm)
		}
		next := d.meetings.next(uint32(comm))
		c := Collective{
			Row: uint32(row), Comm: uint32(comm), Root: int32(root), Ordinal: *next + uint64(unzigzag(v[2][i])),
			Sent: before.Sent + uint64(unzigzag(v[3][i])), Received: before.Received + uint64(unzigzag(v[4][i])),
		}
		*before, *next = c, c.Ordinal+1
		b.Collectives = append(b.Collectives, c)
	}
	return nil
}

// marks reads their columns.
func (d *Decoder) marks(s *Section, b *Block) error {
	first, err := s.numbers(colMarkFirst)
	if err != nil {
		return err
	}
	var columns [4][]uint64
	for k := range columns {
		if columns[k], err = s.packs(uint8(colMarkTicks+k), d.columns[k][:]); err != nil {
			return err
		}
	}
	ticks, what, name, value := columns[0], columns[1], columns[2], columns[3]
	if len(what) != len(ticks) || len(name) != len(ticks) || len(ticks) > MaxRows {
		return corrupt("marks in columns of %d, %d and %d", len(ticks), len(what), len(name))
	}
	if len(ticks) == 0 {
		if len(value) > 0 {
			return corrupt("%d values of no marks", len(value))
		}
		return nil
	}
	b.FirstMark = first.next()
	now := b.Origin
	for i := range ticks {
		now += uint64(unzigzag(ticks[i]))
		m := Mark{Ticks: now, What: MarkKind(what[i]), Name: uint32(name[i])}
		if what[i] < uint64(BeginPhase) || what[i] > uint64(Event) || name[i] > math.MaxUint32 {
			return corrupt("a mark of kind %d with name %d", what[i], name[i])
		}
		if m.What == Event {
			if len(value) == 0 {
				return corrupt("an event has no value")
			}
			m.Value, value = unzigzag(value[0]), value[1:]
		}
		b.Marks = append(b.Marks, m)
	}
	if first.bad || len(value) > 0 {
		return corrupt("%d values too many of marks", len(value))
	}
	return d.markCounts(s, b)
}

// markCounts reads what had been counted at some of the marks.
func (d *Decoder) markCounts(s *Section, b *Block) error {
	list, err := s.numbers(colMarkCounted)
	if err != nil {
		return err
	}
	counted, at := 0, uint64(0)
	for ; list.more(); counted++ {
		step := list.next()
		if at += step; list.bad || step == 0 && counted > 0 || step > MaxRows || at >= uint64(len(b.Marks)) || b.Marks[at].What == Event {
			return corrupt("counts at mark %d of %d", at, len(b.Marks))
		}
		b.Marks[at].Counted = true
	}
	for k := range MaxEvents {
		v, err := s.packs(uint8(colMarkCounts+k), d.values[:])
		if err != nil {
			return err
		}
		if len(v) == 0 && (k > 0 || counted == 0) {
			break
		}
		if len(v) != counted {
			return corrupt("%d counts at %d marks", len(v), counted)
		}
		b.addMarkEvent()
		for _, x := range v {
			b.MarkCounts[k] = append(b.MarkCounts[k], unzigzag(x))
		}
	}
	return nil
}

// gaps reads rows of the ring.
func (d *Decoder) gaps(s *Section, b *Block) error {
	for _, x := range []struct {
		number uint8
		rows   *[]uint64
	}{{colGapsBefore, &b.GapsBefore}, {colGapsInside, &b.GapsInside}} {
		v, err := s.numbers(x.number)
		if err != nil {
			return err
		}
		for v.more() {
			*x.rows = append(*x.rows, b.First+uint64(unzigzag(v.next())))
		}
		if v.bad {
			return corrupt("column %d", x.number)
		}
	}
	return nil
}

// Moves makes b what the section of moves holds. Its rows are not there.
func (d *Decoder) Moves(s *Section, b *Block) error {
	if s.Kind != Moves {
		return corrupt("kind %d has no moves", s.Kind)
	}
	b.Empty()
	b.Ring, b.First, b.Chunk = s.Ring, s.Origin, s.Chunk
	if err := d.readLanes(s, b); err != nil {
		return err
	}
	for k := range colOrdinal - colLane + 1 {
		v, err := s.packs(uint8(colLane+k), d.columns[k][:])
		if err != nil {
			return err
		}
		if len(v) != s.Rows {
			return corrupt("column %d of %d transfers, not %d", colLane+k, len(v), s.Rows)
		}
	}
	d.lanes = append(d.lanes[:0], b.Lanes...)
	v, row := &d.columns, b.First
	for i := range s.Rows {
		if v[0][i] >= uint64(len(d.lanes)) {
			return corrupt("lane %d of %d", v[0][i], len(d.lanes))
		}
		lane := &d.lanes[v[0][i]]
		row += uint64(unzigzag(v[1][i]))
		lane.Bytes += uint64(unzigzag(v[3][i]))
		x := Transfer{Lane: uint16(v[0][i]), Row: row, Done: unzigzag(v[2][i]), Bytes: lane.Bytes, Ordinal: lane.Ordinal + 1 + uint64(unzigzag(v[4][i]))}
		if x.Ordinal != 0 {
			lane.Ordinal = x.Ordinal
		}
		if row < s.First {
			return corrupt("row %d before %d", row, s.First)
		}
		b.Transfers = append(b.Transfers, x)
	}
	return d.rare(s, b)
}

func (d *Decoder) readLanes(s *Section, b *Block) error {
	v, err := s.numbers(colLanes)
	if err != nil {
		return err
	}
	for v.more() {
		l := Lane{Kind: MoveKind(v.byte())}
		comm, peer, tag := v.next(), unzigzag(v.next()), unzigzag(v.next())
		l.Comm, l.Peer, l.Tag, l.Ordinal, l.Bytes = uint32(comm), int32(peer), int32(tag), v.next(), v.next()
		if v.bad || comm > math.MaxUint32 || int64(l.Peer) != peer || int64(l.Tag) != tag || len(b.Lanes) == MaxMoves {
			return corrupt("lane %d: kind %d, communicator %d, peer %d, tag %d", len(b.Lanes), l.Kind, comm, peer, tag)
		}
		b.Lanes = append(b.Lanes, l)
	}
	if v, err = s.numbers(colEpoch); err == nil && v.more() {
		epoch := v.next()
		if v.bad || epoch > math.MaxUint32 {
			return corrupt("epoch %d", epoch)
		}
		b.Epoch = uint32(epoch)
	}
	return err
}

// rare reads the columns of few transfers.
func (d *Decoder) rare(s *Section, b *Block) error {
	for _, x := range []struct {
		number uint8
		add    func(v *stream, x *Transfer)
	}{
		{colElsewhere, func(v *stream, x *Transfer) {
			if len(v.bytes) < 8 {
				v.bad = true
				return
			}
			x.Ring, v.bytes = binary.LittleEndian.Uint64(v.bytes), v.bytes[8:]
		}},
		{colPartitioned, func(v *stream, x *Transfer) {
			channel := v.next()
			v.bad = v.bad || channel > math.MaxUint32
			x.Channel = uint32(channel)
		}},
		{colUntold, func(_ *stream, x *Transfer) { x.Untold = true }},
	} {
		v, err := s.numbers(x.number)
		if err != nil {
			return err
		}
		at := uint64(0)
		for first := true; v.more(); first = false {
			step := v.next()
			if at += step; step == 0 && !first || step > MaxMoves || at >= uint64(len(b.Transfers)) {
				return corrupt("column %d: transfer %d of %d", x.number, at, len(b.Transfers))
			}
			x.add(&v, &b.Transfers[at])
		}
		if v.bad {
			return corrupt("column %d", x.number)
		}
	}
	return nil
}
