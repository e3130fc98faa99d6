// Package journal keeps what a collector accepts on disk, so that a collector that was killed can resume.
//
// In come the messages that the store has accepted, in the same order, as the bytes that arrived over the wire. One
// goroutine writes them to a log of internal/segment and syncs it, all that are queued at a time; only then are they
// acknowledged. Opening a journal rebuilds the store with the same Apply that live messages pass through.
// docs/format/journal.md describes the records.
package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"moriens/collector/pace"
	"moriens/collector/store"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// Format is the version of the records; it grows when a reader of the one before would misread them.
	Format = 4

	segmentKind = "journal"
	fileBytes   = 64 << 20
	// countsEvery is how often counts that no message carries are written, where they have changed.
	countsEvery = time.Second
)

// A Run is what a journal that is begun now is of.
type Run struct {
	Run     string
	Command []string // of the launcher; empty where the job is started elsewhere
	Version string   // of moriens
	Options []string // that results depend on, as they were given: --name=value
	// Like is the begin of the run's first journal where this is that of another collector of the run; nil where this is
	// the first.
	Like *moriensv1.JournalBegin
	// TakeOver are directories of journals of the run whose collectors are no more: this one resumes them too.
	TakeOver []string
	Used     func() time.Duration // processor time of this process; nil = as the system says
}

// A Journal is what a collector keeps of one run, with the store that it brings back. All methods may be called
// concurrently.
type Journal struct {
	log     *slog.Logger
	volumes []*volume // the first one is the collector's own: new agents belong to it
	end     *moriensv1.JournalEnd
	used    func() time.Duration // processor time of this process

	mu    sync.Mutex // held while the store takes a message and it is queued, so that the orders are one
	store *store.Store
	homes map[*store.Agent]home // of agents that have their record
	over  bool                  // the run has ended: what is used from now on is not its cost
	// usedAtEnd is what this process had used then, if the run has ended in it.
	usedAtEnd time.Duration

	stop  context.CancelFunc
	tasks sync.WaitGroup
	once  sync.Once // closes
}

// A home is where an agent's messages are.
type home struct {
	volume *volume
	number int // of the agent, in the volume
}

// Exists reports whether a directory is that of a journal.
func Exists(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, lockFile))
	return err == nil && info.Mode().IsRegular()
}

// Options are those that the run of a journal was begun with, and whether there is one. Nothing is changed, nor
// claimed; what is wrong with a journal beyond its begin is for Open to say.
func Options(dir string) (given []string, begun bool, err error) {
	record, err := segment.First(dir, segmentKind)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, segment.ErrCorrupt):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("journal: %w", err)
	case len(record) == 0 || record[0] != kindBegin:
		return nil, false, nil
	}
	var v volume
	if err := v.replayBegin(record[1:]); err != nil {
		return nil, false, fmt.Errorf("journal %s: %w", dir, err)
	}
	return v.begin.Options, true, nil
}

// Open opens the journal in a directory, which is made where it is missing, and those that it takes over. A journal
// that holds a run resumes it; else the one given begins.
func Open(dir string, run Run, log *slog.Logger) (*Journal, error) {
	j := &Journal{log: log, store: store.New(), homes: make(map[*store.Agent]home), used: run.Used}
	if j.used == nil {
		j.used = pace.Process
	}
	var uncarried store.Uncarried
	for _, d := range append([]string{dir}, run.TakeOver...) {
		v, err := openVolume(j, d, run)
		if err != nil {
			for _, opened := range j.volumes {
				err = errors.Join(err, opened.disk.Close(), opened.undo())
			}
			return nil, err
		}
		j.volumes = append(j.volumes, v)
		run.Like = j.Begin()
		uncarried.Duplicates += v.uncarried.Duplicates
		uncarried.Refused += v.uncarried.Refused
		if v.end != nil && j.end == nil {
			j.end = v.end
		}
	}
	j.store.SetUncarried(uncarried)
	if j.end != nil {
		j.over = true
		j.store.Freeze()
	}
	ctx, stop := context.WithCancel(context.Background())
	j.stop = stop
	for _, v := range j.volumes {
		v.writer = newWriter(v.disk, log)
		j.tasks.Go(func() { v.writer.run(ctx) })
	}
	j.tasks.Go(func() { j.count(ctx) })
	return j, nil
}

// Begin is what the run began with, in this process or in an earlier one.
func (j *Journal) Begin() *moriensv1.JournalBegin { return j.volumes[0].begin }

// Resumed reports whether the run began in an earlier process.
func (j *Journal) Resumed() bool { return j.volumes[0].resumed }

// End is what the run ended with, if an earlier process has got so far.
func (j *Journal) End() *moriensv1.JournalEnd { return j.end }

// Ended says that the run has ended, as by the journal of another of its collectors.
func (j *Journal) Ended(end *moriensv1.JournalEnd) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.end == nil {
		j.end, j.over = end, true
		j.store.Freeze()
	}
}

// JobEnd says how the job ended, as far as the one that started it lived to write that.
func (j *Journal) JobEnd() *moriensv1.JournalJobEnd { return j.volumes[0].jobEnd }

// Store is what the journal holds.
func (j *Journal) Store() *store.Store { return j.store }

// Start says that a collector begins to work. The sample, nil where there is none, relates its counter to this host's
// clocks.
func (j *Journal) Start(sample *moriensv1.ClockSample) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, v := range j.volumes {
		if j.end == nil {
			v.addClock(sample)
		}
		v.writer.add(encode(kindStart, &moriensv1.JournalStart{Clock: sample, CutBytes: uint64(v.disk.Cut()), CpuNs: j.own(v, j.used())}), nil)
	}
}

// Clock is the number that an agent's exchanges know the collector's present counter by; one that has a sample must be
// there.
func (j *Journal) Clock(a *store.Agent) uint32 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return uint32(len(j.homes[a].volume.clocks) - 1)
}

// Greet introduces an agent to the store. held is called with the sequence up to which its messages are safe, once they
// are.
func (j *Journal) Greet(hello *moriensv1.Hello, held func(uint64)) (*store.Agent, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a, sequence, err := j.store.Greet(hello)
	if err != nil {
		return nil, err
	}
	h, known := j.homes[a]
	var record []byte
	if !known {
		h = j.volumes[0].house(a)
		record = encode(kindHello, hello)
	}
	h.volume.writer.add(record, safe(a, sequence, held))
	return a, nil
}

// safe is what follows when an agent's messages up to a sequence are.
func safe(a *store.Agent, sequence uint64, held func(uint64)) func() {
	return func() {
		a.Safe(sequence)
		held(sequence)
	}
}

// Take gives the store a message of an agent. record is the message as it arrived, after HeadBytes that are free; the
// journal owns it from then on. held is called as for Greet, also for messages that arrived before and for those whose
// content is refused; errors are those of store.Apply. Where more waits for the disk than there should, Take waits, at
// most until ctx ends.
func (j *Journal) Take(ctx context.Context, a *store.Agent, m *moriensv1.ReportRequest, record []byte, held func(uint64)) error {
	j.mu.Lock()
	h := j.homes[a]
	j.mu.Unlock()
	if err := h.volume.writer.room(ctx); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.store.Held(a)
	h.volume.translate(m)
	sequence, err := j.store.Apply(a, m)
	var content *store.ContentError
	if err != nil && !errors.As(err, &content) {
		return err
	}
	if sequence == before {
		record = nil // it is there, or on its way
	} else {
		setHead(record, h.number)
	}
	add := h.volume.writer.addLater
	if m.GetDone() != nil { // its agent waits
		add = h.volume.writer.add
	}
	add(record, safe(a, sequence, held))
	return err
}

// Barrier calls then when all that was accepted before is safe.
func (j *Journal) Barrier(then func()) {
	var left atomic.Int64
	left.Store(int64(len(j.volumes)))
	for _, v := range j.volumes {
		v.writer.add(nil, func() {
			if left.Add(-1) == 0 {
				then()
			}
		})
	}
}

// JobEnded says how the launcher ended.
func (j *Journal) JobEnded(status int) {
	j.volumes[0].writer.add(encode(kindJobEnd, &moriensv1.JournalJobEnd{ExitStatus: int32(status), EndedNs: time.Now().UnixNano()}), nil)
}

// Finish ends the taking, with a last sample of the collector's counter, if there is one, and returns all that arrived.
// by is what ended the run before its ranks did, if anything. Finish waits until all is safe, or ctx ends: an error
// says that the journal lacks some of it.
func (j *Journal) Finish(ctx context.Context, sample *moriensv1.ClockSample, by string) (store.Frozen, error) {
	j.mu.Lock()
	for _, v := range j.volumes {
		if j.end == nil {
			v.addClock(sample)
		}
	}
	if !j.over {
		j.over, j.usedAtEnd = true, j.used()
	}
	frozen := j.store.Freeze()
	frozen.Collector.CPU = j.spent()
	end := j.end
	if end == nil {
		end = &moriensv1.JournalEnd{Clock: sample, EndedNs: time.Now().UnixNano(), EndedBy: by}
		j.addCounts()
	}
	for _, v := range j.volumes {
		frozen.Collector.Restarts = max(frozen.Collector.Restarts, v.starts)
		if v.end == nil {
			of := proto.CloneOf(end)
			if of.CpuNs = nil; j.end == nil {
				of.CpuNs = j.own(v, j.usedAtEnd)
			}
			v.writer.add(encode(kindEnd, of), nil)
		}
	}
	frozen.Collector.CutBytes = j.CutBytes()
	j.mu.Unlock()
	var err error
	for _, v := range j.volumes {
		err = errors.Join(err, v.writer.flush(ctx))
	}
	return frozen, err
}

// CutBytes is how much of unfinished writes was cut off, at all starts.
func (j *Journal) CutBytes() (n uint64) {
	for _, v := range j.volumes {
		n += v.cutBytes
	}
	return n
}

// count writes what no message carries, when it has changed.
func (j *Journal) count(ctx context.Context) {
	tick := time.NewTicker(countsEvery)
	defer tick.Stop()
	written, used := j.store.Uncarried(), j.used()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		j.mu.Lock()
		if now, nowUsed := j.store.Uncarried(), j.used(); now != written || !j.over && nowUsed-used >= spentStep {
			written, used = now, nowUsed
			j.addCounts()
		}
		j.mu.Unlock()
	}
}

// addCounts writes to the first volume what is not in the others.
func (j *Journal) addCounts() {
	u := j.store.Uncarried()
	for _, v := range j.volumes[1:] {
		u.Duplicates -= v.uncarried.Duplicates
		u.Refused -= v.uncarried.Refused
	}
	j.volumes[0].writer.add(encode(kindCounts, &moriensv1.JournalCounts{Duplicates: u.Duplicates, Refused: u.Refused, CpuNs: j.own(j.volumes[0], j.used())}), nil)
}

// Close ends the writing; once it has, or Remove has, it does nothing. What has not become safe by then is not in the
// journal.
func (j *Journal) Close() error { return j.shut((*volume).keep) }

// Remove closes the journal and removes it.
func (j *Journal) Remove() error { return j.shut((*volume).remove) }

func (j *Journal) shut(each func(*volume) error) (err error) {
	j.once.Do(func() {
		j.stop()
		j.tasks.Wait()
		for _, v := range slices.Backward(j.volumes) { // the first one's folder may have those of others in it
			err = errors.Join(err, v.disk.Close(), each(v))
		}
	})
	return err
}

func marshal(m proto.Message, dst []byte) []byte {
	dst, err := proto.MarshalOptions{}.MarshalAppend(dst, m)
	if err != nil {
		panic(err) // none of ours has text that is not UTF-8, or a required field
	}
	return dst
}
