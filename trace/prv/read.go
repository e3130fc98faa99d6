package prv

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"moriens/internal/files"
	"moriens/trace"
)

// Options say what belongs to a trace, and how it is read.
type Options struct {
	Labels io.Reader // the .pcf, or nil
	Names  io.Reader // the .row, or nil
	// CallPaths are those of the run that the trace is of, by number, where they are known: those of calls are these then.
	// nil = the trace names them.
	CallPaths []trace.CallPath
	Lenient   bool // skip and count the malformed lines of the body; a compressed file that is cut short is still an error

	// Own: moriens wrote the trace. The run ends where the header says, however far that lies behind the last record, and
	// call paths are each a place of its own only where the labels say so.
	Own bool

	// Which application to keep: its number from 1 on, Busiest, or all of them.
	Application int
}

// A Result is what a trace holds.
type Result struct {
	Run *trace.Run
	// What Lenient skipped, and the first of it.
	Skipped      int
	FirstSkipped error

	Applications []Application
	Reading      Reading
}

// ReadFile reads a .prv or .prv.gz with the .pcf and .row beside it, where they are. It sets Labels and Names of o.
func ReadFile(path string, o Options) (*Result, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	base := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".prv")
	for ext, in := range map[string]*io.Reader{".pcf": &o.Labels, ".row": &o.Names} {
		side, err := files.Open(base + ext)
		if errors.Is(err, fs.ErrNotExist) {
			*in = nil
			continue
		}
		if err != nil {
			return nil, err
		}
		defer side.Close()
		*in = side
	}
	r, err := Read(f, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Read reads a .prv, gzipped or not. A fault is an *Error with the line's number. What the format does not say is zero
// in the model: modules and offsets of call paths, MPI libraries, Eps and MinPts of clusters. Threads without a record
// are left out. Memory is bounded by the input: a few times its size, and that of the declared objects. A trace in
// which a thread's records are out of order is read twice if it can be read again from its begin. From a stream all
// records pass through the window that sorts them.
func Read(in io.Reader, o Options) (*Result, error) {
	labels, err := readLabels(side(o.Labels))
	if err != nil {
		return nil, fmt.Errorf("labels: %w", err)
	}
	names, err := readNames(side(o.Names))
	if err != nil {
		return nil, fmt.Errorf("names: %w", err)
	}
	seeker, startAt := rewindable(in)
	way := pass{sorting: seeker == nil}
	for {
		r, err := readOnce(in, o, labels, names, way)
		switch {
		case errors.Is(err, errDisorder) && !way.sorting:
			way.sorting = true
		case errors.Is(err, errFar) && o.Lenient && seeker != nil && !way.near:
			way.near = true
		default:
			return r, err
		}
		if _, err := seeker.Seek(startAt, io.SeekStart); err != nil {
			return nil, fmt.Errorf("read it once more: %w", err)
		}
	}
}

// A pass is how a trace is read: as it lies there or sorting the records of each thread; and taking all times, or those
// alone that are not far behind the header's end.
type pass struct{ sorting, near bool }

// rewindable returns in as what can go back to where it is now, or nil.
func rewindable(in io.Reader) (io.Seeker, int64) {
	seeker, ok := in.(io.Seeker)
	if !ok {
		return nil, 0
	}
	at, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, 0
	}
	return seeker, at
}

// readOnce reads a trace in one way. Without sorting disorder is errDisorder.
func readOnce(in io.Reader, o Options, labels *labels, names *names, way pass) (*Result, error) {
	packed := &expansion{in: in}
	buffered := bufio.NewReader(packed)
	in = buffered
	if magic, _ := buffered.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, &Error{1, endOf(err)}
		}
		in = packed.limit(z)
	}
	r := &reader{lines: newLines(in), labels: labels, names: names, lenient: o.Lenient, commsByID: make(commsByID), sorting: way.sorting, near: way.near, application: o.Application, own: o.Own, trueEnd: o.Own}
	r.paths.init()
	if o.CallPaths != nil {
		r.numbered = &numberedPaths{paths: o.CallPaths, known: make(map[numberedCall]bool)}
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	result := new(Result)
	if err := r.run(result); err != nil {
		return nil, err
	}
	result.Skipped, result.FirstSkipped = r.skipped, r.firstSkipped
	return result, nil
}

// side bounds what goes with a trace, if it is there.
func side(in io.Reader) io.Reader {
	if in == nil {
		return nil
	}
	return files.AtMost(in, files.MostSide)
}

type reader struct {
	lines   *lines
	header  *header
	labels  *labels
	names   *names
	lenient bool

	application int // Options.Application
	sorting     bool
	near        bool  // times behind far are faults
	farNS       int64 // far behind the header's end
	far         int64 // records with such times
	farLine     int   // of the first
	farLast     int   // of the last
	window      int   // records held of a thread, to sort them
	spare       [][]byte

	threads     []*threadReader // in the order of their first record
	messages    []trace.Message // From and To are indices into threads
	comms       []trace.Communicator
	commsByID   commsByID
	paths       pathTable
	numbered    *numberedPaths // nil: paths has them
	own         bool           // moriens wrote it: it was said, or calls have the numbers of their paths
	trueEnd     bool           // the header says it
	columns     map[uint32]int // counter columns by event type
	counters    []uint32       // event types by column
	endNS       int64          // of the last record
	lost        []int64        // lines that were skipped, by 1 + application; 0 = of which it is not known
	late        []int64        // records that were left out, by application
	event       eventLine
	kinds       []eventKind // by place in the line, of the line before
	pathOfEvent func(callEvent) uint32
	dropped     bool // a state said so

	skipped      int
	firstSkipped error
	number       int // of the line that is read
	records      int64
	sorted       int64
	leftOut      [leftOutReasons]LeftOut
}

func (r *reader) read() error {
	line, err := r.lines.next()
	if err == io.EOF {
		return &Error{1, errHeader}
	}
	if err != nil {
		return err
	}
	if r.header, err = parseHeader(line); err != nil {
		return &Error{1, err}
	}
	if n := len(r.header.tasks); r.application > n {
		return r.noApplication(r.application)
	}
	r.window = windowOf(r.header)
	r.farNS = openEnd
	if end := r.header.endNS; end > 0 && end < openEnd/farTimes {
		r.farNS = farTimes * end
	}
	r.columns = make(map[uint32]int)
	r.lost, r.late = make([]int64, 1+len(r.header.tasks)), make([]int64, len(r.header.tasks))
	r.pathOfEvent = func(e callEvent) uint32 { return r.paths.of(e, r.event.callers, r.labels) }
	if r.numbered != nil {
		r.pathOfEvent = func(callEvent) uint32 { return uint32(r.event.path) }
	}
	for {
		line, err := r.lines.next()
		if err == io.EOF {
			break
		}
		if errors.Is(err, errCut) && r.lenient {
			r.records++
			r.skip(err, unknownWorld)
			break
		}
		if err != nil {
			return err
		}
		if err := r.fault(r.record(line), r.lines.number, r.worldOf(line)); err != nil {
			return err
		}
	}
	if err := r.releaseAll(); err != nil {
		return err
	}
	if r.far > 0 && r.far < r.records/farOne {
		return &Error{r.farLine, errFar}
	}
	if n := int64(len(r.comms)); r.header.commLines != noCount && n != r.header.commLines && !r.lenient {
		return &Error{r.lines.number, fmt.Errorf("%d communicators, but the header announces %d", n, r.header.commLines)}
	}
	return nil
}

// fault handles an error of a line, in which an application of a world was reported.
func (r *reader) fault(err error, number, world int) error {
	if err == nil {
		return nil
	}
	if _, has := err.(*Error); !has { // one that was held has its own
		err = &Error{number, err}
	}
	if !r.lenient || errors.Is(err, errDisorder) {
		return err
	}
	r.skip(err, world)
	return nil
}

func (r *reader) skip(err error, world int) {
	if r.skipped++; r.firstSkipped == nil {
		r.firstSkipped = err
	}
	r.lost[world+1]++
}

// unknownWorld is the application that a line is of which says none.
const unknownWorld = -1

// worldOf is the application that a line names, whatever else is wrong with it.
func (r *reader) worldOf(line []byte) int {
	var v [2]int64 // cpu, appl
	if len(line) < 2 || line[0] < '1' || line[0] > '3' || fields(line, 1, v[:]) < 0 || v[1] < 1 || v[1] > int64(len(r.header.tasks)) {
		return unknownWorld
	}
	return int(v[1] - 1)
}

var (
	errKind   = errors.New("no record of a known kind: it does not begin with 1:, 2:, 3:, 4:, c:, i: or #")
	errFields = errors.New("a field is missing or is no number of 64 bits")
	errExtra  = errors.New("something after the last field")
	errValues = errors.New("events: a type without its value")
)

func (r *reader) record(line []byte) error {
	if len(line) > 0 && line[0] == '#' {
		return nil
	}
	r.records++
	r.number = r.lines.number
	if len(line) < 2 || line[1] != ':' {
		return errKind
	}
	switch line[0] {
	case '1':
		if r.sorting {
			return r.hold(line)
		}
		return r.state(line)
	case '2':
		if r.sorting {
			return r.hold(line)
		}
		return r.events(line)
	case '3':
		return r.message(line)
	case '4':
		r.records--
		return nil
	case 'c', 'i':
		r.records--
		if len(r.threads) > 0 {
			return errors.New("communicator: among the records, not right after the header")
		}
		c, err := r.header.communicator(line)
		if err == nil {
			r.commsByID[[2]int64{int64(c.World), c.ID}] = int32(len(r.comms))
			r.comms = append(r.comms, c)
		}
		return err
	}
	return errKind
}

// fields reads the colon-led numbers of line from i on into v and returns the place after them, or -1.
func fields(line []byte, i int, v []int64) int {
	for k := range v {
		if i >= len(line) || line[i] != ':' {
			return -1
		}
		x, next := number(line, i+1)
		if next < 0 {
			return -1
		}
		v[k], i = x, next
	}
	return i
}

func (r *reader) state(line []byte) error {
	var v [7]int64 // cpu, appl, task, thread, begin, end, state
	i := fields(line, 1, v[:])
	switch {
	case i < 0:
		return errFields
	case i < len(line):
		return errExtra
	}
	begin, err := r.time(v[4])
	if err != nil {
		return err
	}
	end := int64(openEnd) // -1 is a state that is still open
	if v[5] != -1 {
		if end, err = r.time(v[5]); err != nil {
			return err
		}
	}
	backwards := end < begin
	if backwards && begin <= r.header.endNS {
		return fmt.Errorf("state ends at %d, before it begins at %d", v[5], v[4])
	}
	if v[6] < 0 {
		return fmt.Errorf("no state %d", v[6])
	}
	t, err := r.object(v[:4])
	if err != nil {
		return err
	}
	if backwards { // a tracer that takes a wrong time for the end closes with it what is open
		r.leaveOut(t, reasonBackwards)
		return nil
	}
	if begin < t.lastNS {
		return errDisorder
	}
	t.lastNS = begin
	t.records++
	if r.endNS = max(r.endNS, begin); end != openEnd {
		r.endNS = max(r.endNS, end)
	}
	r.dropped = r.dropped || v[6] == stateDropped
	return t.state(begin, end, v[6])
}

func (r *reader) message(line []byte) error {
	var v [14]int64 // object, lsend, psend, object, lrecv, precv, size, tag
	i := fields(line, 1, v[:])
	switch {
	case i < 0:
		return errFields
	case i < len(line):
		return errExtra
	}
	from, err := r.object(v[0:4])
	if err != nil {
		return fmt.Errorf("sender: %w", err)
	}
	to, err := r.object(v[6:10])
	if err != nil {
		return fmt.Errorf("receiver: %w", err)
	}
	var at [4]int64
	for k, raw := range [...]int64{v[4], v[5], v[10], v[11]} {
		if at[k], err = r.time(raw); err != nil {
			return err
		}
	}
	if v[12] < 0 {
		return fmt.Errorf("message of %d bytes", v[12])
	}
	from.records++
	r.endNS = max(r.endNS, at[0], at[1], at[2], at[3])
	// Extrae writes a message near its receive, so its send may lie before the records round it.
	r.messages = append(r.messages, trace.Message{
		From: from.index, To: to.index, SendNS: at[0], PhysicalSendNS: at[1], RecvNS: at[2], PhysicalRecvNS: at[3],
		Bytes: v[12], Tag: v[13],
	})
	return nil
}

// time checks a time of the body and returns it in nanoseconds.
func (r *reader) time(raw int64) (int64, error) {
	ns, err := r.inRange(raw)
	if err == nil && ns > r.farNS {
		err = r.farTime()
	}
	return ns, err
}

func (r *reader) inRange(raw int64) (int64, error) {
	if raw < 0 || raw > (openEnd-1)/r.header.unitNS {
		return 0, fmt.Errorf("time %d is outside of what a trace can hold", raw)
	}
	return raw * r.header.unitNS, nil
}

// farTime counts a record that has a time far behind the header's end, or refuses it.
func (r *reader) farTime() error {
	if r.near {
		return errFar
	}
	if r.farLast == r.number {
		return nil
	}
	if r.farLast = r.number; r.farLine == 0 {
		r.farLine = r.number
	}
	r.far++
	return nil
}

// Times behind farTimes the header's end are damage where they are less than one of farOne records; else it is the
// header that is wrong.
const (
	farTimes = 2
	farOne   = 1000
)

var errFar = errors.New("a time far behind the header's end and nearly all other records")

// object finds the thread of cpu, appl, task, thread.
func (r *reader) object(v []int64) (*threadReader, error) {
	h := r.header
	cpu, appl, number, thread := v[0], v[1], v[2], v[3]
	if appl < 1 || appl > int64(len(h.tasks)) {
		return nil, fmt.Errorf("no application %d of %d", appl, len(h.tasks))
	}
	tasks := h.tasks[appl-1]
	if number < 1 || number > int64(len(tasks)) {
		return nil, fmt.Errorf("application %d: no task %d of %d", appl, number, len(tasks))
	}
	task := &tasks[number-1]
	if thread < 1 || thread > int64(task.threads) {
		return nil, fmt.Errorf("application %d task %d: no thread %d of %d", appl, number, thread, task.threads)
	}
	if cpu != 0 {
		if cpu < 0 || cpu > int64(len(h.cpuNode)) {
			return nil, fmt.Errorf("no CPU %d of %d", cpu, len(h.cpuNode))
		}
		if int(h.cpuNode[cpu-1]) != task.node {
			return nil, fmt.Errorf("CPU %d is on node %d, application %d task %d on node %d", cpu, h.cpuNode[cpu-1]+1, appl, number, task.node+1)
		}
	}
	if task.slots == nil {
		task.slots = make([]*threadReader, task.threads)
	}
	t := task.slots[thread-1]
	if t == nil {
		t = newThreadReader(int(appl-1), int(number-1), int(thread-1), task.node)
		t.index = len(r.threads)
		r.threads = append(r.threads, t)
		task.slots[thread-1] = t
	}
	return t, nil
}
