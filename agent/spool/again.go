package spool

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
)

// Gone reports whether the outbox's files were removed, as cleaners of temporary directories do. What is committed then
// is lost with this process.
func (o *Outbox) Gone() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.log.Removed()
}

const (
	// lookEvery is how often it is to be looked whether the files are there.
	lookEvery = time.Second
	// lookBytes is after how many bytes of messages it is, however soon: what was written since the latest look has to be
	// in memory still, for in removed files it is lost.
	lookBytes = recentBytes / 4
)

// Look reports whether it is to be looked, by Gone, whether the files are there: for a while they were. It counts as
// done.
func (o *Outbox) Look(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.Sub(o.looked) < lookEvery && o.sinceLook < lookBytes {
		return false
	}
	o.looked, o.sinceLook = now, 0
	return true
}

// Again writes the spool and its outbox again from what is in memory: all of the state, and the newest messages; in
// another place where its own is not usable. It returns how many messages were lost with the files that the collector
// is not known to hold. In place of each it sends something that the collector refuses and counts; the first states
// why.
func (o *Outbox) Again(why string) (lost uint64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.spool.again(); err != nil {
		return 0, err
	}
	o.fileBytes = o.budget.file()
	log, err := o.spool.openOutbox()
	if err != nil {
		return 0, err
	}
	// The messages are those of the latest transaction. None is new: the windows know of none, and this process may die
	// before the next one.
	x := &moriensv1.OutboxTransaction{Number: o.number, First: o.held + 1}
	kept := o.last + 1 // sequence of the first message that is in memory
	if len(o.recent) > 0 {
		kept = o.recent[0].Sequence
	}
	for s := x.First; s < kept; s++ {
		m := &moriensv1.ReportRequest{Sequence: s}
		if s == x.First {
			m.Body = &moriensv1.ReportRequest_Fault{Fault: &moriensv1.Fault{Rank: -1, Corrupt: fmt.Sprintf("%s: %s lost", why, units.Count(int64(kept-s), "message"))}}
		}
		body, err := proto.Marshal(m)
		if err != nil {
			return 0, errors.Join(err, log.Close())
		}
		x.Message = append(x.Message, body)
	}
	for _, m := range o.recent {
		if m.Sequence > o.held {
			x.Message = append(x.Message, m.Body)
		}
	}
	var records []*moriensv1.OutboxRecord
	if o.number == 0 {
		records = o.whole(0, 0)
	} else {
		records = append(o.whole(o.held, o.number-1), &moriensv1.OutboxRecord{Body: &moriensv1.OutboxRecord_Transaction{Transaction: x}})
	}
	before := o.log
	o.log = log
	if err := o.append(records...); err != nil {
		o.log = before
		return 0, errors.Join(err, log.Close())
	}
	before.Close() // it is gone
	o.begun, o.earlier, o.start, o.behind = true, false, log.End().Offset, behind{}
	o.files = []messageFile{{number: log.End().File, last: o.last}}
	o.waits = waits{}
	o.waits.add(x, int64(proto.Size(x)), o.budget.Max())
	o.count()
	return kept - x.First, nil
}
