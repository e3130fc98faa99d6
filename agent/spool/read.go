package spool

import (
	"errors"
	"fmt"

	"moriens/internal/segment"
)

// aheadBytes is how much is read of the files at a time.
const aheadBytes = 256 << 10

// behind is where a sender that is far behind reads the files.
type behind struct {
	at    segment.Position // after the last record that was read
	next  uint64           // sequence of the first message after that; 0 = nothing was read
	ahead []Message        // that were read and not asked for yet
}

// Next returns the first message after a sequence that the collector is not known to hold, and whether there is one
// yet.
func (o *Outbox) Next(after uint64) (Message, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	after = max(after, o.held)
	if after >= o.last {
		return Message{}, false, nil
	}
	if len(o.recent) > 0 && after+1 >= o.recent[0].Sequence {
		o.behind = behind{}
		return o.recent[after+1-o.recent[0].Sequence], true, nil
	}
	b := &o.behind
	if len(b.ahead) == 0 || b.ahead[0].Sequence != after+1 {
		if err := o.readAhead(after + 1); err != nil {
			return Message{}, false, fmt.Errorf("outbox: %w", err)
		}
	}
	m := b.ahead[0]
	b.ahead = b.ahead[1:]
	return m, true, nil
}

// readAhead reads some messages from a sequence on.
func (o *Outbox) readAhead(sequence uint64) error {
	b := &o.behind
	if b.next != sequence {
		*b = behind{}
		for _, f := range o.files {
			if f.last >= sequence {
				b.at.File = f.number
				break
			}
		}
	}
	b.ahead = b.ahead[:0]
	bytes := 0
	err := o.log.Read(b.at, func(end segment.Position, record []byte) error {
		r, err := decode(record)
		if err != nil {
			return err
		}
		b.at = end
		t := r.GetTransaction()
		for i, body := range t.GetMessage() {
			if s := t.First + uint64(i); s >= sequence {
				b.ahead = append(b.ahead, Message{s, body})
				bytes += len(body)
				b.next = s + 1
			}
		}
		if bytes >= aheadBytes {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		*b = behind{}
		return err
	}
	if len(b.ahead) == 0 || b.ahead[0].Sequence != sequence {
		*b = behind{}
		return fmt.Errorf("%w: message %d is not there", errRecord, sequence)
	}
	return nil
}
