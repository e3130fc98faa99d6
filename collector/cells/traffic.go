package cells

import (
	"google.golang.org/protobuf/proto"

	moriensv1 "moriens/proto/moriens/v1"
)

// A Count is of messages, and of bytes as they are marshalled, before they are compressed.
type Count struct{ Messages, Bytes int64 }

func (n *Count) add(m proto.Message) {
	n.Messages++
	n.Bytes += int64(proto.Size(m))
}

// A Way is both ways between the collector and all agents: down to them, and up from them.
type Way struct{ Down, Up Count }

// Traffic is what the collector and all agents have said to each other, by what was asked.
type Traffic struct{ Survey, Split, Relabel, Want, Sum, Team, Rows Way }

// All is the sum of all kinds.
func (t Traffic) All() Way {
	var all Way
	for _, w := range []Way{t.Survey, t.Split, t.Relabel, t.Want, t.Sum, t.Team, t.Rows} {
		all.Down.Messages += w.Down.Messages
		all.Down.Bytes += w.Down.Bytes
		all.Up.Messages += w.Up.Messages
		all.Up.Bytes += w.Up.Bytes
	}
	return all
}

// Traffic returns the traffic so far.
func (c *Coordinator) Traffic() Traffic {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.traffic
}

// count counts what is asked, or, if there is one, a part of the answer.
func (c *Coordinator) count(ask *moriensv1.CellsAsk, answer *moriensv1.CellsAnswer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	way := &c.traffic.Survey
	switch ask.Body.(type) {
	case *moriensv1.CellsAsk_Split:
		way = &c.traffic.Split
	case *moriensv1.CellsAsk_Relabel:
		way = &c.traffic.Relabel
	case *moriensv1.CellsAsk_Want:
		way = &c.traffic.Want
	case *moriensv1.CellsAsk_Sum:
		way = &c.traffic.Sum
	case *moriensv1.CellsAsk_Team:
		way = &c.traffic.Team
	case *moriensv1.CellsAsk_Rows:
		way = &c.traffic.Rows
	}
	if answer == nil {
		way.Down.add(ask)
	} else {
		way.Up.add(answer)
	}
}
