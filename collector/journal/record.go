package journal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
)

// The first byte of a record says what it is.
const (
	kindBegin   byte = 1 + iota // JournalBegin: the first record, and no other
	kindStart                   // JournalStart
	kindHello                   // Hello of an agent, once; they are numbered 0, 1, 2, …
	kindMessage                 // number of an agent, and a ReportRequest
	kindCounts                  // JournalCounts
	kindJobEnd                  // JournalJobEnd
	kindEnd                     // JournalEnd: nothing follows but a start
)

// HeadBytes is what a message's record has in front of the message: its kind and the agent's number.
const HeadBytes = 1 + 4

func setHead(record []byte, agent int) {
	record[0] = kindMessage
	binary.LittleEndian.PutUint32(record[1:], uint32(agent))
}

func encode(kind byte, m proto.Message) []byte { return marshal(m, []byte{kind}) }

// replay takes a record as the collector before this one took what it holds.
func (v *volume) replay(record []byte) error {
	if len(record) == 0 {
		return errors.New("it is empty")
	}
	kind, body := record[0], record[1:]
	if (kind == kindBegin) != (v.begin == nil) {
		return errors.New("a journal has one begin, in front")
	}
	switch kind {
	case kindBegin:
		return v.replayBegin(body)
	case kindStart:
		var s moriensv1.JournalStart
		if err := proto.Unmarshal(body, &s); err != nil {
			return err
		}
		v.starts++
		v.cutBytes += s.CutBytes
		if v.end == nil {
			v.spent.start(s.CpuNs)
		}
		v.addClock(s.Clock)
		return nil
	case kindHello:
		var h moriensv1.Hello
		if err := proto.Unmarshal(body, &h); err != nil {
			return err
		}
		a, _, err := v.journal.store.Greet(&h)
		if err != nil {
			return err
		}
		v.journal.store.Leave(a)
		if _, known := v.journal.homes[a]; known {
			return fmt.Errorf("agent %016x is there already", h.Agent)
		}
		v.house(a)
		return nil
	case kindMessage:
		return v.replayMessage(record)
	case kindCounts:
		var c moriensv1.JournalCounts
		if err := proto.Unmarshal(body, &c); err != nil {
			return err
		}
		v.uncarried = store.Uncarried{Duplicates: c.Duplicates, Refused: c.Refused}
		if v.end == nil {
			v.spent.add(c.CpuNs)
		}
		return nil
	case kindJobEnd:
		v.jobEnd = new(moriensv1.JournalJobEnd)
		return proto.Unmarshal(body, v.jobEnd)
	case kindEnd:
		end := new(moriensv1.JournalEnd)
		if err := proto.Unmarshal(body, end); err != nil {
			return err
		}
		v.addClock(end.Clock)
		v.spent.add(end.CpuNs)
		v.end = end
		return nil
	}
	return fmt.Errorf("it is of kind %d, which this version does not know", kind)
}

func (v *volume) replayBegin(body []byte) error {
	b := new(moriensv1.JournalBegin)
	if err := proto.Unmarshal(body, b); err != nil {
		return err
	}
	if b.Format != Format {
		return &FormatError{Format: b.Format, Version: b.Version}
	}
	if b.Run == "" || b.Token == "" || len(b.Certificate) == 0 || len(b.Key) == 0 {
		return errors.New("the begin lacks the run, its token or its certificate")
	}
	v.begin = b
	return nil
}

func (v *volume) replayMessage(record []byte) error {
	if len(record) < HeadBytes {
		return fmt.Errorf("a message of %d bytes", len(record))
	}
	number := binary.LittleEndian.Uint32(record[1:])
	if int64(number) >= int64(len(v.agents)) {
		return fmt.Errorf("a message of agent %d, of %d", number, len(v.agents))
	}
	m := new(moriensv1.ReportRequest)
	if err := proto.Unmarshal(record[HeadBytes:], m); err != nil {
		return err
	}
	a := v.agents[number]
	if held := v.journal.store.Held(a); m.Sequence != held+1 {
		return fmt.Errorf("message %d of agent %d after message %d", m.Sequence, number, held)
	}
	v.translate(m)
	_, err := v.journal.store.Apply(a, m)
	var content *store.ContentError
	if errors.As(err, &content) {
		return nil // it was refused and counted then, and is again
	}
	return err
}

// A FormatError is a journal that another version of moriens has written.
type FormatError struct {
	Format  uint32
	Version string // of moriens
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("journal format %d, written by moriens %s; this moriens reads format %d", e.Format, e.Version, Format)
}
