package perfetto

import (
	"cmp"
	"fmt"
	"slices"

	"moriens/trace"
)

// flows are the messages of a run by the threads that send and receive them. Message i is flow i+1.
type flows struct {
	run          *trace.Run
	sent, gotten [][]int32 // by thread: numbers of messages, in the order of their send and of their arrival
}

func newFlows(run *trace.Run) (*flows, error) {
	f := &flows{run, make([][]int32, len(run.Threads)), make([][]int32, len(run.Threads))}
	for i := range run.Messages {
		m := &run.Messages[i]
		if min(m.From, m.To) < 0 || max(m.From, m.To) >= len(run.Threads) {
			return nil, fmt.Errorf("message %d: no such thread", i)
		}
		f.sent[m.From] = append(f.sent[m.From], int32(i))
		f.gotten[m.To] = append(f.gotten[m.To], int32(i))
	}
	for _, list := range f.sent {
		slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(run.Messages[a].SendNS, run.Messages[b].SendNS) })
	}
	for _, list := range f.gotten {
		slices.SortStableFunc(list, func(a, b int32) int {
			return cmp.Compare(run.Messages[a].PhysicalRecvNS, run.Messages[b].PhysicalRecvNS)
		})
	}
	return f, nil
}

// A messageWalk hands out the messages of a thread call by call.
type messageWalk struct {
	messages     []trace.Message
	sent, gotten []int32
	// Those that were sent, and that arrived, in no call.
	straySent, strayGotten []int32
}

func (f *flows) of(thread int) *messageWalk {
	return &messageWalk{messages: f.run.Messages, sent: f.sent[thread], gotten: f.gotten[thread]}
}

// sends takes the messages that a call sent. Those that are sent where it ends and the next begins are the next one's.
func (w *messageWalk) sends(enterNS, exitNS, nextNS int64) []int32 {
	at := func(i int) int64 { return w.messages[w.sent[i]].SendNS }
	from := 0
	for from < len(w.sent) && at(from) < enterNS {
		from++
	}
	to := from
	for to < len(w.sent) && at(to) <= exitNS && (at(to) < exitNS || at(to) < nextNS) {
		to++
	}
	taken := w.sent[from:to]
	w.straySent = append(w.straySent, w.sent[:from]...)
	w.sent = w.sent[to:]
	return taken
}

// arrivals takes the messages that a call completed.
func (w *messageWalk) arrivals(enterNS, exitNS int64) []int32 {
	at := func(i int) int64 { return w.messages[w.gotten[i]].PhysicalRecvNS }
	from := 0
	for from < len(w.gotten) && at(from) < enterNS {
		from++
	}
	to := from
	for to < len(w.gotten) && at(to) <= exitNS {
		to++
	}
	taken := w.gotten[from:to]
	w.strayGotten = append(w.strayGotten, w.gotten[:from]...)
	w.gotten = w.gotten[to:]
	return taken
}

// rest takes what no call has taken.
func (w *messageWalk) rest() (sent, gotten []int32) {
	return append(w.straySent, w.sent...), append(w.strayGotten, w.gotten...)
}
