package spool

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// errRecord is what is wrong with a record that no Outbox has written.
var errRecord = errors.New("not a record of an outbox")

// A VersionError is an outbox that another version of moriens has written.
type VersionError struct{ Version uint32 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("it has format version %d, this agent reads %d", e.Version, Format)
}

func decode(record []byte) (*moriensv1.OutboxRecord, error) {
	r := &moriensv1.OutboxRecord{}
	if err := proto.Unmarshal(record, r); err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	if r.Body == nil {
		return nil, errRecord
	}
	return r, nil
}

// recover reads what the last writer knew, and begins a separate file.
func (o *Outbox) recover() error {
	files := o.log.Files()
	from := len(files) - 1
	for ; from >= 0; from-- {
		if whole, err := o.isWhole(files[from].Number); err != nil {
			return err
		} else if whole {
			break
		}
	}
	if from < 0 {
		// The first writer died before it had kept anything, or this is the first.
		for _, f := range files {
			o.files = append(o.files, messageFile{number: f.Number})
		}
		o.earlier = o.log.End().Offset > segment.Start
		return nil
	}
	if err := o.replay(files[from:]); err != nil {
		return err
	}
	// Files before that one hold messages alone.
	var (
		earlier []messageFile
		before  waits
	)
	for _, f := range files[:from] {
		last, err := o.lastOf(f.Number, &before)
		if err != nil {
			return err
		}
		earlier = append(earlier, messageFile{number: f.Number, last: last})
	}
	o.files = append(earlier, o.files...)
	o.waits = waits{before.bytes + o.waits.bytes, append(before.stretches, o.waits.stretches...)}
	o.earlier = true // a separate file needs room on the disk, which may be there later
	if first, err := o.firstKept(); err != nil {
		return err
	} else if first > o.last+1 {
		return fmt.Errorf("%w: the first message is %d, the last one %d", errRecord, first, o.last)
	} else if first > 0 {
		o.held = first - 1
	}
	return nil
}

// maxSequence is more than any agent sends.
const maxSequence = 1 << 62

var errEnough = errors.New("enough was read")

// isWhole reports whether a file repeats all that was known before it.
func (o *Outbox) isWhole(number uint64) (bool, error) {
	missing := -1
	err := o.log.ReadFile(number, func(_ segment.Position, record []byte) error {
		r, err := decode(record)
		if err != nil {
			return err
		}
		switch {
		case missing < 0 && r.GetWhole() == nil:
			return errRecord
		case missing < 0:
			if v := r.GetWhole().Version; v != Format {
				return &VersionError{v}
			}
			missing = int(r.GetWhole().Processes)
		case r.GetProcess() != nil && missing > 0:
			missing--
		}
		if missing == 0 {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return false, err
	}
	return missing == 0, nil
}

// replay takes the records of files of which the first one repeats all that was known before it.
func (o *Outbox) replay(files []segment.File) error {
	for i, f := range files {
		o.files = append(o.files, messageFile{number: f.Number, last: o.last})
		begins := segment.Start
		begun := false // what was known before: transactions follow
		err := o.log.ReadFile(f.Number, func(end segment.Position, record []byte) error {
			r, err := decode(record)
			if err != nil {
				return err
			}
			size, first := end.Offset-begins, begins == segment.Start
			begins = end.Offset
			if begun = begun || r.GetTransaction() != nil; r.GetTransaction() == nil && (begun || first != (r.GetWhole() != nil)) {
				return fmt.Errorf("%w: earlier data is repeated before offset %d of file %d", errRecord, end.Offset, end.File)
			}
			switch body := r.Body.(type) {
			case *moriensv1.OutboxRecord_Whole:
				if body.Whole.Sequence > maxSequence {
					return fmt.Errorf("%w: message %d", errRecord, body.Whole.Sequence)
				}
				if i == 0 {
					o.last, o.number = body.Whole.Sequence, body.Whole.Transaction
					o.node = merge(o.node, body.Whole.Node)
				}
			case *moriensv1.OutboxRecord_Process:
				if i == 0 {
					o.processes[body.Process.Process] = body.Process.State
				}
			case *moriensv1.OutboxRecord_Transaction:
				if t := body.Transaction; t.First != o.last+1 || t.Number != o.number+1 {
					return fmt.Errorf("%w: transaction %d after %d, message %d after %d, before offset %d of file %d",
						errRecord, t.Number, o.number, t.First, o.last, end.Offset, end.File)
				}
				o.take(body.Transaction)
				o.waits.add(body.Transaction, size, o.budget.Max())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lastOf is the sequence of a file's last message, or of the last one before it. Its messages are added to those that
// wait.
func (o *Outbox) lastOf(number uint64, before *waits) (last uint64, err error) {
	begins := segment.Start
	err = o.log.ReadFile(number, func(end segment.Position, record []byte) error {
		r, err := decode(record)
		if err != nil {
			return err
		}
		last = max(last, r.GetWhole().GetSequence())
		if t := r.GetTransaction(); t != nil {
			last = max(last, t.First+uint64(len(t.Message))-1)
			before.add(t, end.Offset-begins, o.budget.Max())
		}
		begins = end.Offset
		return nil
	})
	return last, err
}

// firstKept is the sequence of the oldest message that is kept; 0 where none is.
func (o *Outbox) firstKept() (first uint64, err error) {
	err = o.log.Read(segment.Position{}, func(_ segment.Position, record []byte) error {
		r, err := decode(record)
		if err != nil {
			return err
		}
		if t := r.GetTransaction(); t != nil && len(t.Message) > 0 {
			first = t.First
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if first == 0 && err == nil {
		first = o.last + 1
	}
	return first, err
}

// State is what the outbox's last writer knew. Call it before the first Commit.
func (o *Outbox) State() (State, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := State{Node: proto.CloneOf(o.node), Processes: make(map[uint64]*moriensv1.ProcessState)}
	for process, encoded := range o.processes {
		p := &moriensv1.ProcessState{}
		if err := proto.Unmarshal(encoded, p); err != nil {
			return s, fmt.Errorf("outbox: process %016x: %w: %w", process, errRecord, err)
		}
		s.Processes[process] = p
	}
	return s, nil
}
