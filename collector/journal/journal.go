// Package journal keeps what a collector accepts on disk, so that one that is killed goes on where it was.
//
// Every message that the store takes is queued in the order in which the store took it, as the bytes that came over the
// wire. One goroutine writes the queue to a log of internal/segment and makes it safe, all that waits at a time; only then the
// agents are told. A journal that is opened again brings the store back by the same Apply that live messages
// go through. docs/format/journal.md has the records.
package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"moriens/collector/store"
	"moriens/internal/rendezvous"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// Format is the version of the records; it grows when a reader of the one before would misread them.
	Format = 1

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
}

// A Journal is the log of one run with the store that it brings back. All methods may be called concurrently.
type Journal struct {
	dir      string
	lock     *os.File
	disk     *segment.Log
	log      *slog.Logger
	writer   *writer
	begin    *moriensv1.JournalBegin
	jobEnd   *moriensv1.JournalJobEnd
	end      *moriensv1.JournalEnd
	resumed  bool
	starts   int    // of collectors before this one
	cutBytes uint64 // at all starts

	mu     sync.Mutex // held while the store takes a message and it is queued, so that the orders are one
	store  *store.Store
	agents []*store.Agent // that have their record, by number

	stop  context.CancelFunc
	tasks sync.WaitGroup
	once  sync.Once // closes
}

// Exists says whether a directory is that of a journal.
func Exists(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, lockFile))
	return err == nil && info.Mode().IsRegular()
}

// Open opens the journal in a directory, which is made where it is missing. One that holds a run goes on with that; else the one
// given begins.
func Open(dir string, run Run, log *slog.Logger) (*Journal, error) {
	lock, err := claim(dir, log)
	if err != nil {
		return nil, err
	}
	j := &Journal{dir: dir, lock: lock, store: store.New(), log: log}
	if err := j.open(run); err != nil {
		if j.disk != nil {
			j.disk.Close()
		}
		lock.Close()
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	j.stop = stop
	j.writer = newWriter(j.disk, log)
	j.tasks.Go(func() { j.writer.run(ctx) })
	j.tasks.Go(func() { j.count(ctx) })
	return j, nil
}

func (j *Journal) open(run Run) error {
	var err error
	if j.disk, err = segment.Open(j.dir, segmentKind, fileBytes); err != nil {
		return err
	}
	err = j.disk.Read(segment.Position{}, func(end segment.Position, record []byte) error {
		if err := j.replay(record); err != nil {
			return fmt.Errorf("journal %s: the record that ends at offset %d of file %d: %w", j.dir, end.Offset, end.File, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	j.cutBytes += uint64(j.disk.Cut())
	if j.end != nil {
		j.store.Freeze()
	}
	if j.begin != nil {
		j.resumed = true
		return nil
	}
	certificate, err := rendezvous.NewCertificate()
	if err != nil {
		return err
	}
	j.begin = &moriensv1.JournalBegin{
		Format: Format, Run: run.Run, Token: rendezvous.NewSecret(32), Certificate: certificate.DER, Key: certificate.Key,
		StartedNs: time.Now().UnixNano(), Command: run.Command, Version: run.Version,
	}
	// Agents that have learned of this run must find it again, whatever happens to this process.
	if _, err := j.disk.Append(encode(kindBegin, j.begin)); err != nil {
		return err
	}
	return j.disk.Sync()
}

// Begin is what the run began with, in this process or in an earlier one.
func (j *Journal) Begin() *moriensv1.JournalBegin { return j.begin }

// Resumed says whether the run began in an earlier process.
func (j *Journal) Resumed() bool { return j.resumed }

// End is what the run ended with, if an earlier process has come so far.
func (j *Journal) End() *moriensv1.JournalEnd { return j.end }

// JobEnd says how the job ended, as far as the one that started it lived to write that.
func (j *Journal) JobEnd() *moriensv1.JournalJobEnd { return j.jobEnd }

// Store is what the journal holds.
func (j *Journal) Store() *store.Store { return j.store }

// Start says that a collector begins to work. The sample, nil where there is none, relates its counter to this host's clocks; the
// counter's number is returned.
func (j *Journal) Start(sample *moriensv1.ClockSample) (clock uint32) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if sample != nil {
		clock = j.store.AddClock(sample)
	}
	j.writer.add(encode(kindStart, &moriensv1.JournalStart{Clock: sample, CutBytes: uint64(j.disk.Cut())}), nil)
	return clock
}

// Greet introduces an agent to the store. held is called with the sequence up to which its messages are safe, once they are.
func (j *Journal) Greet(hello *moriensv1.Hello, held func(uint64)) (*store.Agent, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a, sequence, err := j.store.Greet(hello)
	if err != nil {
		return nil, err
	}
	var record []byte
	if a.Number == len(j.agents) {
		j.agents = append(j.agents, a)
		record = encode(kindHello, hello)
	}
	j.writer.add(record, func() { held(sequence) })
	return a, nil
}

// Take gives the store a message of an agent. record is the message as it came, behind HeadBytes that are free, and the journal's
// from then on. held is called as for Greet, for messages that came before and for those whose content is refused, too;
// errors are those of store.Apply. Where more waits for the disk than there should, Take waits, or until ctx ends.
func (j *Journal) Take(ctx context.Context, a *store.Agent, m *moriensv1.ReportRequest, record []byte, held func(uint64)) error {
	if err := j.writer.room(ctx); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.store.Held(a)
	sequence, err := j.store.Apply(a, m)
	var content *store.ContentError
	if err != nil && !errors.As(err, &content) {
		return err
	}
	if sequence == before {
		record = nil // it is there, or on its way
	} else {
		setHead(record, a.Number)
	}
	j.writer.add(record, func() { held(sequence) })
	return err
}

// Barrier calls then when all that was accepted before is safe.
func (j *Journal) Barrier(then func()) { j.writer.add(nil, then) }

// JobEnded says how the launcher ended.
func (j *Journal) JobEnded(status int) {
	j.writer.add(encode(kindJobEnd, &moriensv1.JournalJobEnd{ExitStatus: int32(status), EndedNs: time.Now().UnixNano()}), nil)
}

// Finish ends the taking, with a last sample of the collector's counter, if there is one, and returns all that came. by is what ended
// the run before its ranks did, if anything. Finish waits until all is safe, or ctx ends: an error says that the journal lacks some of it.
func (j *Journal) Finish(ctx context.Context, sample *moriensv1.ClockSample, by string) (store.Frozen, error) {
	j.mu.Lock()
	if sample != nil {
		j.store.AddClock(sample)
	}
	frozen := j.store.Freeze()
	frozen.Collector = store.Collector{Restarts: j.starts, CutBytes: j.cutBytes}
	if j.end == nil {
		j.addCounts()
		j.writer.add(encode(kindEnd, &moriensv1.JournalEnd{Clock: sample, EndedNs: time.Now().UnixNano(), EndedBy: by}), nil)
	}
	j.mu.Unlock()
	return frozen, j.writer.flush(ctx)
}

// CutBytes is how much of unfinished writes was cut off, at all starts.
func (j *Journal) CutBytes() uint64 { return j.cutBytes }

// Waiting says whether anything that was accepted is not safe yet.
func (j *Journal) Waiting() bool { return j.writer.waiting() }

// count writes what no message carries, when it has changed.
func (j *Journal) count(ctx context.Context) {
	tick := time.NewTicker(countsEvery)
	defer tick.Stop()
	written := j.store.Uncarried()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := j.store.Uncarried(); now != written {
			written = now
			j.addCounts()
		}
	}
}

func (j *Journal) addCounts() {
	u := j.store.Uncarried()
	j.writer.add(encode(kindCounts, &moriensv1.JournalCounts{Duplicates: u.Duplicates, Refused: u.Refused}), nil)
}

// Close ends the writing; once it has, or Remove has, it does nothing. What has not become safe by then is not in the journal.
func (j *Journal) Close() (err error) {
	j.once.Do(func() {
		j.stop()
		j.tasks.Wait()
		err = errors.Join(j.disk.Close(), j.lock.Close())
	})
	return err
}

// Remove closes the journal and removes it.
func (j *Journal) Remove() (err error) {
	j.once.Do(func() {
		j.stop()
		j.tasks.Wait()
		var files []string
		files, err = filepath.Glob(filepath.Join(j.dir, "*"+segment.Suffix))
		err = errors.Join(err, j.disk.Close())
		for _, f := range append(files, filepath.Join(j.dir, lockFile), j.dir) {
			err = errors.Join(err, os.Remove(f))
		}
		err = errors.Join(err, j.lock.Close())
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
