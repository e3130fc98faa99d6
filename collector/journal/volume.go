package journal

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"moriens/collector/store"
	"moriens/internal/files"
	"moriens/internal/rendezvous"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// A volume is the log of one directory. A collector that takes over the logs of others has several, and each continues
// by itself: the messages of an agent are kept together.
type volume struct {
	journal   *Journal
	dir       string
	made      bool // by this process
	lock      *files.Lock
	disk      *segment.Log
	writer    *writer
	begin     *moriensv1.JournalBegin
	jobEnd    *moriensv1.JournalJobEnd
	end       *moriensv1.JournalEnd
	resumed   bool
	starts    int             // of collectors before this one
	cutBytes  uint64          // at all starts
	uncarried store.Uncarried // that it has recorded
	spent     spent           // until this start
	agents    []*store.Agent  // that have their record, by number
	clocks    []clock         // that the agents' exchanges know by number
}

// A clock is one of the counters that collectors have had.
type clock struct {
	kind     moriensv1.Clock
	identity string
	number   uint32 // the store's
}

// openVolume opens the log in a directory, or begins one.
func openVolume(j *Journal, dir string, run Run) (*volume, error) {
	v := &volume{journal: j, dir: dir}
	err := os.Mkdir(dir, 0o700)
	v.made = err == nil
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if v.lock, err = claim(dir, j.log); err != nil {
		return nil, err
	}
	if err := v.open(run); err != nil {
		if v.disk != nil {
			v.disk.Close()
		}
		return nil, errors.Join(err, v.undo())
	}
	return v, nil
}

// undo leaves the directory as it was found: if this process made it there is nothing to resume.
func (v *volume) undo() error {
	if v.made {
		return v.remove()
	}
	return v.keep()
}

func (v *volume) open(run Run) error {
	var err error
	if v.disk, err = segment.Open(v.dir, segmentKind, fileBytes); err != nil {
		return err
	}
	v.disk.Compress(false) // sections are packed already
	err = v.disk.Read(segment.Position{}, func(end segment.Position, record []byte) error {
		if err := v.replay(record); err != nil {
			return fmt.Errorf("journal %s: the record that ends at offset %d of file %d: %w", v.dir, end.Offset, end.File, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	v.cutBytes += uint64(v.disk.Cut())
	if v.begin != nil {
		v.resumed = true
		if run.Like != nil && run.Like.Run != v.begin.Run {
			return fmt.Errorf("journal %s: it is of run %s, where that of the first collector is of %s", v.dir, v.begin.Run, run.Like.Run)
		}
		return nil
	}
	if v.begin = run.Like; v.begin == nil {
		certificate, err := rendezvous.NewCertificate()
		if err != nil {
			return err
		}
		v.begin = &moriensv1.JournalBegin{
			Format: Format, Run: run.Run, Token: rendezvous.NewSecret(32), Certificate: certificate.DER, Key: certificate.Key,
			StartedNs: time.Now().UnixNano(), Command: run.Command, Version: run.Version, Options: run.Options,
		}
	}
	// Agents that have learned of this run must find it again, whatever happens to this process.
	if _, err := v.disk.Append(encode(kindBegin, v.begin)); err != nil {
		return err
	}
	return v.disk.Sync()
}

// house gives an agent its number.
func (v *volume) house(a *store.Agent) home {
	h := home{v, len(v.agents)}
	v.agents = append(v.agents, a)
	v.journal.homes[a] = h
	return h
}

// addClock takes a sample of the collector's counter; nil: there is none. One that follows a sample of the same counter
// is one more of that. What is read when the run has ended has no effect on it: however often a journal is concluded,
// the results are the same.
func (v *volume) addClock(sample *moriensv1.ClockSample) {
	if sample == nil || v.end != nil {
		return
	}
	s := v.journal.store
	if last := len(v.clocks) - 1; last >= 0 && sample.Identity != "" && v.clocks[last].identity == sample.Identity && v.clocks[last].kind == sample.Clock {
		s.AddSample(v.clocks[last].number, sample)
		return
	}
	v.clocks = append(v.clocks, clock{sample.Clock, sample.Identity, s.AddClock(sample)})
}

// translate makes the volume's number of a counter in a message the store's.
func (v *volume) translate(m *moriensv1.ReportRequest) {
	e := m.GetClockExchange()
	switch {
	case e == nil:
	case int64(e.Collector) < int64(len(v.clocks)):
		e.Collector = v.clocks[e.Collector].number
	default:
		e.Collector = math.MaxUint32 // the store refuses it
	}
}

// keep lets go of the directory.
func (v *volume) keep() error { return v.lock.Close() }

// remove removes what is on disk, and lets go.
func (v *volume) remove() error {
	list, err := filepath.Glob(filepath.Join(v.dir, "*"+segment.Suffix))
	for _, f := range append(list, filepath.Join(v.dir, lockFile), v.dir) {
		if e := os.Remove(f); !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, v.lock.Close())
}
