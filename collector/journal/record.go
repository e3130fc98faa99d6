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

// replay takes a record as the collector before this one took what it tells of.
func (j *Journal) replay(record []byte) error {
	if len(record) == 0 {
		return errors.New("it is empty")
	}
	kind, body := record[0], record[1:]
	if (kind == kindBegin) != (j.begin == nil) {
		return errors.New("a journal has one begin, in front")
	}
	switch kind {
	case kindBegin:
		return j.replayBegin(body)
	case kindStart:
		var s moriensv1.JournalStart
		if err := proto.Unmarshal(body, &s); err != nil {
			return err
		}
		j.starts++
		j.cutBytes += s.CutBytes
		j.replayClock(s.Clock)
		return nil
	case kindHello:
		var h moriensv1.Hello
		if err := proto.Unmarshal(body, &h); err != nil {
			return err
		}
		a, _, err := j.store.Greet(&h)
		if err != nil {
			return err
		}
		j.store.Leave(a)
		if a.Number != len(j.agents) {
			return fmt.Errorf("agent %016x is there already", h.Agent)
		}
		j.agents = append(j.agents, a)
		return nil
	case kindMessage:
		return j.replayMessage(record)
	case kindCounts:
		var c moriensv1.JournalCounts
		if err := proto.Unmarshal(body, &c); err != nil {
			return err
		}
		j.store.SetUncarried(store.Uncarried{Duplicates: c.Duplicates, Refused: c.Refused})
		return nil
	case kindJobEnd:
		j.jobEnd = new(moriensv1.JournalJobEnd)
		return proto.Unmarshal(body, j.jobEnd)
	case kindEnd:
		j.end = new(moriensv1.JournalEnd)
		if err := proto.Unmarshal(body, j.end); err != nil {
			return err
		}
		j.replayClock(j.end.Clock)
		return nil
	}
	return fmt.Errorf("it is of kind %d, which this version does not know", kind)
}

func (j *Journal) replayBegin(body []byte) error {
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
	j.begin = b
	return nil
}

func (j *Journal) replayClock(sample *moriensv1.ClockSample) {
	if sample != nil {
		j.store.AddClock(sample)
	}
}

func (j *Journal) replayMessage(record []byte) error {
	if len(record) < HeadBytes {
		return fmt.Errorf("a message of %d bytes", len(record))
	}
	number := binary.LittleEndian.Uint32(record[1:])
	if int64(number) >= int64(len(j.agents)) {
		return fmt.Errorf("a message of agent %d, of %d", number, len(j.agents))
	}
	m := new(moriensv1.ReportRequest)
	if err := proto.Unmarshal(record[HeadBytes:], m); err != nil {
		return err
	}
	a := j.agents[number]
	if held := j.store.Held(a); m.Sequence != held+1 {
		return fmt.Errorf("message %d of agent %d after message %d", m.Sequence, number, held)
	}
	_, err := j.store.Apply(a, m)
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
	return fmt.Sprintf("a journal of format %d, which moriens %s has begun; this is format %d", e.Format, e.Version, Format)
}
