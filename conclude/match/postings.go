package match

// Postings are the sends and receives of the processes that one member of a team has.
type Postings struct {
	streams         map[Stream]*sides
	open            map[open]Gap           // when there were postings that fit many streams
	wildcards       map[wildcard][]Posting // receives that have ended, and of which MPI returned no status
	sends, receives int64
	unpaired        Unpaired
}

// NewPostings returns none.
func NewPostings() *Postings {
	return &Postings{
		streams: make(map[Stream]*sides), open: make(map[open]Gap), wildcards: make(map[wildcard][]Posting), unpaired: make(Unpaired),
	}
}

// An open is postings without a known end or peer that fit many streams: what they took or sent, if anything, was not
// seen.
type open struct {
	process   int32
	comm      uint64
	peer, tag int32 // of peer the process; -1 any
	receive   bool
}

// A wildcard is receives of one process in one communicator that asked for the same.
type wildcard struct {
	process   int32
	comm      uint64
	peer, tag int32 // -1 any
}

func (w wildcard) fits(key Stream) bool {
	return key.To == w.process && key.Comm == w.comm && key.Channel < 0 && (w.peer < 0 || w.peer == key.From) && (w.tag < 0 || w.tag == key.Tag)
}

// overlaps says whether both can have taken messages of one stream.
func (w wildcard) overlaps(o wildcard) bool {
	either := func(a, b int32) bool { return a < 0 || b < 0 || a == b }
	return w.comm == o.comm && either(w.process, o.process) && either(w.peer, o.peer) && either(w.tag, o.tag)
}

// A Transfer is a posting of one of this member's processes, and where it belongs.
type Transfer struct {
	Posting
	Process, Peer int32 // Peer is -1 where it is not known
	Comm          uint64
	Tag           int32 // -1 where it is not known
	Channel       int64 // of partitioned messages; -1
	Send          bool
}

// Add takes in a transfer of a process with these gaps.
func (p *Postings) Add(x Transfer, gap Gap) {
	p.count(x.Send)
	if x.Peer < 0 || x.Tag < 0 || x.DoneRow < 0 && (!x.Send || gap != NoGap) {
		if x.AtMost && x.DoneRow >= 0 {
			key := wildcard{x.Process, x.Comm, x.Peer, x.Tag}
			p.wildcards[key] = append(p.wildcards[key], x.Posting)
			return
		}
		p.leaveOpen(open{x.Process, x.Comm, x.Peer, x.Tag, !x.Send}, &x.Posting)
		p.unpaired.add(Unended, x.Send, 1)
		return
	}
	key := Stream{x.Comm, x.Process, x.Peer, x.Tag, x.Channel}
	if !x.Send {
		key.From, key.To = x.Peer, x.Process
	}
	s := p.of(key)
	if x.Send {
		s.sends = append(s.sends, x.Posting)
	} else {
		s.receives = append(s.receives, x.Posting)
	}
}

// AddUnpaired counts a transfer that belongs to no stream.
func (p *Postings) AddUnpaired(why Reason, send bool) {
	p.count(send)
	p.unpaired.add(why, send, 1)
}

func (p *Postings) count(send bool) {
	if send {
		p.sends++
	} else {
		p.receives++
	}
}

func (p *Postings) of(key Stream) *sides {
	s := p.streams[key]
	if s == nil {
		s = new(sides)
		p.streams[key] = s
	}
	return s
}

// leaveOpen remembers when there was a posting of which it is not known what it took or sent.
func (p *Postings) leaveOpen(key open, o *Posting) {
	was, there := p.open[key]
	if !there {
		was = NoGap
	}
	p.open[key] = was.Union(Gap{o.StartNS, o.EndNS})
}

// gapOf is the time from the first to the last gap of one side of a stream.
func (p *Postings) gapOf(processes []Process, key Stream, receive bool) Gap {
	process, peer := key.From, key.To
	if receive {
		process, peer = key.To, key.From
	}
	gap := processes[process].Gap
	for _, o := range [...]open{
		{process, key.Comm, peer, key.Tag, receive}, {process, key.Comm, -1, key.Tag, receive},
		{process, key.Comm, peer, -1, receive}, {process, key.Comm, -1, -1, receive},
	} {
		if at, there := p.open[o]; there {
			gap = gap.Union(at)
		}
	}
	return gap
}
