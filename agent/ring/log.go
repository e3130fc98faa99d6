package ring

import (
	"math"
	"strings"
	"sync/atomic"
	"unsafe"

	"moriens/internal/shmabi"
)

// Module is an executable or library of a process.
type Module struct {
	ID      uint32 // from 1
	Path    string // valid UTF-8
	BuildID []byte // GNU build id, nil if it has none
}

// Path is a call path of a process, innermost frame first.
type Path struct {
	ID     uint32 // from 1
	Frames []Frame
}

// Frame is a return address, or a Place.
type Frame struct {
	Module uint32 // 0 = not in any module
	Place  uint32 // 0, or the number of a Place: it has no Module and no Offset
	Offset uint64 // from the module's load address
}

// Place is a line of a program that an interpreter runs. Texts are valid UTF-8.
type Place struct {
	Number         uint32 // from 1
	File, Function string
	Line           uint32 // from 1; 0 = unknown
}

// Log is what a process has defined.
type Log struct {
	Modules []Module
	Paths   []Path
	Notes   []string // lines for the user; valid UTF-8
	Unseen  []string // lines that say which calls are not recorded; valid UTF-8
	Comms   []Comm
	Names   []Name
	Places  []Place
}

// Comm is a communicator, a window or a file of a process: what has collective calls of its own.
type Comm struct {
	Number uint32  // from 1, in this process
	ID     uint64  // the same on all of its ranks, in both groups of an intercommunicator
	Rank   int     // of this process in it
	Size   int     // of its own group
	Peers  int     // ranks that a peer can be: Size, or that of the remote group
	Ranks  []Ranks // of the peers, in order; all of them, unless it is Cut

	Inter, Window, File bool
	Guessed             bool // its making was not seen: another of the same ranks may have the same ID
	Cut                 bool // there was no room for all of its ranks

	Origin *Origin // of one with ranks of several worlds, as far as that is known; else nil
}

// Origin says how ranks of several worlds were connected.
type Origin struct {
	How          OriginKind
	Parent       uint32 // Derived: the number of the Comm that it was made of, which comes before
	Key          uint64 // Derived: a hash that all of its ranks have alike
	Began, Ended uint64 // else: ticks of the call that brought them together, of Parent's MPI_Init
	Text         string // valid UTF-8: the launcher's name for the process that spawned, or the port; "" not known
}

// OriginKind is the call that brought worlds together.
type OriginKind uint32

// How worlds are connected. Two sides of one meeting have a kind each.
const (
	Derived   OriginKind = shmabi.OriginDerived // made of another such Comm
	Spawned   OriginKind = shmabi.OriginSpawned // by the ranks that called MPI_Comm_spawn
	Parent    OriginKind = shmabi.OriginParent  // of those that were spawned, with them
	Accepted  OriginKind = shmabi.OriginAccepted
	Connected OriginKind = shmabi.OriginConnected
	Joined    OriginKind = shmabi.OriginJoined
)

// Ranks are Count ranks of MPI_COMM_WORLD: First, First + Stride, …; First is -1 for ranks of another world.
type Ranks struct {
	First, Stride int32
	Count         uint32
}

// Name is the name of a phase or an event.
type Name struct {
	Number uint32 // from 1
	Text   string // valid UTF-8
}

// ReadLog decodes what the process has defined since the last call. A module and a place come before the first
// path that names them. After an error, which wraps ErrCorrupt, what is returned with it is good and
// nothing more can be decoded.
func (p *Process) ReadLog() (Log, error) { return p.ReadLogTo(math.MaxUint64) }

// LogRead is how many bytes of the log were decoded.
func (p *Process) LogRead() uint64 { return p.read }

// ReadLogTo is ReadLog up to what was LogRead for an earlier reader.
func (p *Process) ReadLogTo(end uint64) (log Log, err error) {
	if p.err == nil {
		p.guard(func() { p.decode(end, &log) })
	}
	return log, p.err
}

// decode adds the log's entries up to a byte that it has not decoded before, as far as they are sound.
func (p *Process) decode(end uint64, log *Log) {
	head := min(atomic.LoadUint64(&p.header.Log_head), end)
	if head < p.read || head > uint64(len(p.log)) {
		p.err = corrupt(p.name, "log of %d bytes, %d read, room for %d", head, p.read, len(p.log))
		return
	}
	for p.read < head {
		body := p.log[p.read:head]
		if len(body) < shmabi.LogEntryBytes {
			p.err = corrupt(p.name, "log entry at %d: %d bytes left", p.read, len(body))
			break
		}
		entry := *view[shmabi.LogEntry](body)
		if entry.Bytes < shmabi.LogEntryBytes || entry.Bytes%8 != 0 || uint64(entry.Bytes) > uint64(len(body)) {
			p.err = corrupt(p.name, "log entry at %d: %d bytes of %d", p.read, entry.Bytes, len(body))
			break
		}
		body = body[:entry.Bytes]
		ok := true
		switch entry.Kind {
		case shmabi.LogModuleKind:
			var m Module
			if m, ok = decodeModule(body, int(entry.Length)); ok {
				log.Modules = append(log.Modules, m)
			}
		case shmabi.LogPathKind:
			var path Path
			if path, ok = decodePath(body, int(entry.Length)); ok {
				log.Paths = append(log.Paths, path)
			}
		case shmabi.LogNoteKind, shmabi.LogUnseenKind:
			if ok = len(body) >= shmabi.LogEntryBytes+int(entry.Length); ok {
				lines := &log.Notes
				if entry.Kind == shmabi.LogUnseenKind {
					lines = &log.Unseen
				}
				*lines = append(*lines, strings.ToValidUTF8(string(body[shmabi.LogEntryBytes:][:entry.Length]), "\uFFFD"))
			}
		case shmabi.LogCommKind:
			var c Comm
			if c, ok = decodeComm(body, int(entry.Length)); ok {
				log.Comms = append(log.Comms, c)
			}
		case shmabi.LogNameKind:
			if ok = len(body) >= shmabi.LogNameBytes+int(entry.Length); ok {
				text := string(body[shmabi.LogNameBytes:][:entry.Length])
				log.Names = append(log.Names, Name{view[shmabi.LogName](body).Name, strings.ToValidUTF8(text, "\uFFFD")})
			}
		case shmabi.LogPlaceKind:
			var place Place
			if place, ok = decodePlace(body, int(entry.Length)); ok {
				log.Places = append(log.Places, place)
			}
		}
		if !ok {
			p.err = corrupt(p.name, "log entry at %d: kind %d, length %d in %d bytes", p.read, entry.Kind, entry.Length, entry.Bytes)
			break
		}
		p.read += uint64(entry.Bytes)
	}
}

// view looks at the start of b, which is 8-byte aligned and large enough, as a T.
func view[T any](b []byte) *T {
	var t T
	_ = b[unsafe.Sizeof(t)-1]
	return (*T)(unsafe.Pointer(unsafe.SliceData(b)))
}

func decodeModule(body []byte, length int) (Module, bool) {
	if len(body) < shmabi.LogModuleBytes+length {
		return Module{}, false
	}
	m := *view[shmabi.LogModule](body)
	if m.Module == 0 || int(m.Id_bytes) > len(m.Id) {
		return Module{}, false
	}
	path := string(body[shmabi.LogModuleBytes:][:length])
	return Module{
		ID:      m.Module,
		Path:    strings.ToValidUTF8(path, "\uFFFD"),
		BuildID: append([]byte(nil), m.Id[:m.Id_bytes]...),
	}, true
}

func decodePath(body []byte, length int) (Path, bool) {
	if len(body) < shmabi.LogPathBytes+length*shmabi.LogFrameBytes {
		return Path{}, false
	}
	p := *view[shmabi.LogPath](body)
	if p.Path == 0 {
		return Path{}, false
	}
	path := Path{ID: p.Path, Frames: make([]Frame, length)}
	for i := range path.Frames {
		f := *view[shmabi.LogFrame](body[shmabi.LogPathBytes+i*shmabi.LogFrameBytes:])
		path.Frames[i] = Frame{Module: f.Module, Place: f.Place, Offset: f.Offset}
	}
	return path, true
}

func decodePlace(body []byte, length int) (Place, bool) {
	if len(body) < shmabi.LogPlaceBytes+length {
		return Place{}, false
	}
	e := *view[shmabi.LogPlace](body)
	if e.Place == 0 || uint64(e.Bytes) > uint64(length) || e.Line > math.MaxInt32 {
		return Place{}, false
	}
	text := func(bytes []byte) string { return strings.ToValidUTF8(string(bytes), "\uFFFD") }
	names := body[shmabi.LogPlaceBytes:][:length]
	return Place{Number: e.Place, File: text(names[:e.Bytes]), Function: text(names[e.Bytes:]), Line: e.Line}, true
}

func decodeComm(body []byte, length int) (Comm, bool) {
	if len(body) < shmabi.LogCommBytes+length*shmabi.LogRanksBytes {
		return Comm{}, false
	}
	e := *view[shmabi.LogComm](body)
	has := func(flag uint32) bool { return e.Flags&flag != 0 }
	c := Comm{
		Number: e.Comm, ID: e.Id, Rank: int(e.Rank), Size: int(e.Size), Peers: int(e.Peers), Ranks: make([]Ranks, length),
		Inter: has(shmabi.CommInter), Window: has(shmabi.CommWindow), File: has(shmabi.CommFile),
		Guessed: has(shmabi.CommGuessed), Cut: has(shmabi.CommCut),
	}
	listed := uint64(0)
	for i := range c.Ranks {
		r := *view[shmabi.LogRanks](body[shmabi.LogCommBytes+i*shmabi.LogRanksBytes:])
		c.Ranks[i] = Ranks{r.First, r.Stride, r.Count}
		listed += uint64(r.Count)
	}
	fits := listed == uint64(e.Peers) || c.Cut && listed < uint64(e.Peers)
	if has(shmabi.CommMet) {
		origin, ok := decodeOrigin(body[min(len(body), (shmabi.LogCommBytes+length*shmabi.LogRanksBytes+7)&^7):], e.Comm)
		if !ok {
			return Comm{}, false
		}
		c.Origin = origin
	}
	return c, fits && e.Comm != 0 && e.Rank >= 0 && uint64(e.Rank) < uint64(e.Size)
}

// decodeOrigin reads what follows the ranks of a communicator with that number.
func decodeOrigin(body []byte, number uint32) (*Origin, bool) {
	if len(body) < shmabi.LogOriginBytes {
		return nil, false
	}
	e := *view[shmabi.LogOrigin](body)
	if uint64(len(body)-shmabi.LogOriginBytes) < uint64(e.Length) {
		return nil, false
	}
	o := &Origin{
		How: OriginKind(e.How), Parent: e.Parent, Key: e.Key, Began: e.Began, Ended: e.Ended,
		Text: strings.ToValidUTF8(string(body[shmabi.LogOriginBytes:][:e.Length]), "\uFFFD"),
	}
	sound := o.Parent == 0 && o.Began <= o.Ended
	if o.How == Derived {
		sound = o.Parent < number
	}
	return o, sound && o.How >= Derived && o.How <= Joined
}
