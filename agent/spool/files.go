package spool

import (
	"errors"
	"fmt"
	"syscall"

	"google.golang.org/protobuf/proto"

	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// Full reports whether an error is that of a disk without room.
func Full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// begin makes sure that there is a file to write to that repeats what was known before it, and that little of it is of
// no use any more: its beginning is written once for at least as many bytes after it.
func (o *Outbox) begin() error {
	if o.begun && o.log.End().Offset-o.start < max(o.fileBytes, o.start) {
		return nil
	}
	return o.renew()
}

// renew begins a file that repeats what was known before it, so that those before may go.
func (o *Outbox) renew() error {
	if o.begun || o.earlier {
		if err := o.log.Rotate(); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
		o.begun, o.earlier = false, false
		o.files = append(o.files, messageFile{number: o.log.End().File, last: o.last})
	}
	if err := o.append(o.whole(o.last, o.number)...); err != nil {
		return err
	}
	o.begun, o.start = true, o.log.End().Offset
	if err := o.trim(); err != nil {
		return err
	}
	if o.log.Bytes() > o.budget.Max()/2 {
		o.strip()
	}
	return nil
}

// restart gives up all that is written, where the collector holds every message: on a full disk there is no room for
// the state in a file beside the old ones. Until the next write the state is in memory alone.
func (o *Outbox) restart() error {
	if err := o.log.Restart(); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	o.begun, o.earlier, o.behind = false, false, behind{}
	o.files = []messageFile{{number: o.log.End().File, last: o.last}}
	o.count()
	return nil
}

// strip removes from all files but the last what is no longer needed: states that others have followed, and what the
// windows have taken. Where that fails, as on a full disk, the files are kept as they are.
func (o *Outbox) strip() {
	for i := range o.files[:len(o.files)-1] {
		f := &o.files[i]
		if f.stripped {
			continue
		}
		var records [][]byte
		err := o.log.ReadFile(f.number, func(_ segment.Position, record []byte) error {
			kept, err := bare(record)
			if kept != nil {
				records = append(records, kept)
			}
			return err
		})
		if err == nil {
			err = o.log.Replace(f.number, records...)
		}
		if err != nil {
			return
		}
		f.stripped, o.behind = true, behind{}
	}
	o.count()
}

// bare is a record without what is not of messages; nil: it has none. A file of such records is not one that repeats
// what was known before it.
func bare(record []byte) ([]byte, error) {
	r, err := decode(record)
	if err != nil {
		return nil, err
	}
	switch body := r.Body.(type) {
	case *moriensv1.OutboxRecord_Whole:
		body.Whole.Node, body.Whole.Processes = nil, 1
	case *moriensv1.OutboxRecord_Process:
		return nil, nil
	case *moriensv1.OutboxRecord_Transaction:
		x := body.Transaction
		if len(x.Message) == 0 {
			return nil, nil
		}
		x.State, x.Node = nil, nil
	}
	return proto.Marshal(r)
}

// stateBytes is what a file would begin with, about.
func (o *Outbox) stateBytes() (n int64) {
	for _, state := range o.processes {
		n += int64(len(state))
	}
	return n + int64(proto.Size(o.node))
}
