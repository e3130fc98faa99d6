package agent

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"moriens/agent/ring"
	"moriens/agent/spool"
	"moriens/agent/uplink"
	"moriens/internal/files"
	moriensv1 "moriens/proto/moriens/v1"
)

// A WitnessConfig says of which node's ranks a Witness reports.
type WitnessConfig struct {
	Run, Shm string        // as of Config
	Rings    string        // likewise
	Find     uplink.Find   // the collector
	Reason   string        // why the ranks go unrecorded
	Cells    *Cells        // as of Config
	Idle     time.Duration // the ranks are gone when none was there for this long
	Grace    time.Duration // how long the collector may take to acknowledge all
	Shared   bool          // as of Config
	Version  string
	Log      *slog.Logger
}

// A Witness stands in for the agent of a node that cannot work: it keeps nothing on any disk and reads no ring, but
// reports to the collector which ranks go unrecorded, and why. Results that lack them would look whole without it.
type Witness struct {
	config    WitnessConfig
	directory *ring.Directory
	claim     *files.Lock
	up        *uplink.Uplink
	testimony testimony
	processes []*ring.Process
	over      chan struct{} // closed when the job is over
	overOnce  sync.Once
}

// NewWitness takes the place of a node's agent. There is none where another agent has it.
func NewWitness(config WitnessConfig) (*Witness, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	w := &Witness{
		config: config, directory: ring.NewDirectory(ring.DirectoryIn(config.Shm, config.Rings, os.Getuid(), config.Run)), over: make(chan struct{}),
	}
	if w.claim, err = w.directory.Claim(); err != nil {
		return nil, err
	}
	var id [8]byte
	rand.Read(id[:]) // never fails
	hello := &moriensv1.Hello{
		Run: config.Run, Agent: max(binary.LittleEndian.Uint64(id[:]), 1), Host: host, Version: config.Version, Cpus: uint32(runtime.NumCPU()), Shared: config.Shared,
	}
	if config.Cells != nil {
		hello.Cells = config.Cells.Spec
	}
	w.up = uplink.New(config.Find, hello, &w.testimony, config.Log)
	return w, nil
}

// JobOver informs the witness that no new process is expected.
func (w *Witness) JobOver() { w.overOnce.Do(func() { close(w.over) }) }

// Run reports the node's ranks until they are gone, or the run ends, and the collector knows all of them. Their files
// are removed then.
func (w *Witness) Run(ctx context.Context) error {
	defer w.claim.Close()
	upCtx, stop := context.WithCancel(ctx)
	defer stop()
	upDone := make(chan error, 1)
	go func() { upDone <- w.up.Run(upCtx) }()
	w.watch(ctx)
	cpu, peak := processUse()
	w.testimony.add(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{CpuNs: uint64(cpu), PeakBytes: peak, Shared: w.config.Shared}}})
	flush, cancel := context.WithTimeout(ctx, w.config.Grace)
	defer cancel()
	err := w.up.Flush(flush)
	stop()
	<-upDone // what it has to say, Flush has said
	for _, p := range w.processes {
		err = errors.Join(err, p.Close())
	}
	return errors.Join(err, w.directory.Remove())
}

func (w *Witness) watch(ctx context.Context) {
	tick := time.NewTicker(scanEvery)
	defer tick.Stop()
	for lastSeen := time.Now(); ; {
		if w.scan() {
			lastSeen = time.Now()
		}
		if time.Since(lastSeen) > w.config.Idle {
			return
		}
		select {
		case <-tick.C:
		case <-w.over:
			w.scan()
			return
		case <-w.up.Finish():
			w.scan()
			return
		case <-w.up.Over():
			return
		case <-ctx.Done():
			return
		}
	}
}

// scan reports the ranks that have arrived since the last one, and reports whether any is there.
func (w *Witness) scan() (live bool) {
	found, err := w.directory.Scan()
	if err != nil {
		w.config.Log.Error("look for ranks", "error", err)
	}
	for _, f := range found.Faults {
		w.testimony.add(faultOf(f))
	}
	for _, path := range found.Processes {
		p, err := ring.OpenProcess(path)
		if err != nil {
			w.testimony.add(corruptFile(err))
			continue
		}
		w.processes = append(w.processes, p)
		who := describeProcess(&p.Identity)
		w.testimony.add(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: &moriensv1.Fault{Rank: who.Rank, Reason: w.config.Reason, Who: who}}})
	}
	for _, p := range w.processes {
		if alive, err := p.Alive(); alive && err == nil && !p.Over() {
			live = true
		}
	}
	return live || found.Starting > 0
}

// A testimony is an outbox in memory: reports of a rank are short.
type testimony struct {
	mu       sync.Mutex
	messages []spool.Message // that are not acknowledged
	last     uint64
	held     uint64
	notify   func()
}

func (o *testimony) add(m *moriensv1.ReportRequest) {
	o.mu.Lock()
	o.last++
	m.Sequence = o.last
	body, err := proto.Marshal(m)
	if err != nil { // texts that are no UTF-8; of a process file they are checked
		body, _ = proto.Marshal(&moriensv1.ReportRequest{Sequence: o.last, Body: corruptFile(err).Body})
	}
	o.messages = append(o.messages, spool.Message{Sequence: o.last, Body: body})
	notify := o.notify
	o.mu.Unlock()
	notify()
}

// Notify has a function called for every message. Of acknowledgements the uplink, which brings them, knows.
func (o *testimony) Notify(f func()) { o.notify = f }

// Last is the sequence of the last message.
func (o *testimony) Last() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// Held is that of the last one that the collector holds.
func (o *testimony) Held() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.held
}

// Waiting is how many bytes wait for the collector. As many may as there are.
func (o *testimony) Waiting() (bytes, room int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.messages {
		bytes += int64(len(m.Body))
	}
	return bytes, math.MaxInt64
}

// Next returns the first message after a sequence that the collector does not hold.
func (o *testimony) Next(after uint64) (spool.Message, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.messages {
		if m.Sequence > after {
			return m, true, nil
		}
	}
	return spool.Message{}, false, nil
}

// Acknowledge forgets what the collector holds.
func (o *testimony) Acknowledge(held uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if held > o.last {
		return fmt.Errorf("message %d acknowledged, of %d", held, o.last)
	}
	for len(o.messages) > 0 && o.messages[0].Sequence <= held {
		o.messages = o.messages[1:]
	}
	o.held = max(o.held, held)
	return nil
}
