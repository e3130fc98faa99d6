package otf2

import (
	"fmt"

	"moriens/trace"
)

// A plan has the stamps of messages, of all locations: a receive is stamped behind its send, and which messages
// overtake others is shown by stamps.
type plan struct {
	sentNS, receivedNS []int64 // by message
	floorNS            []int64 // of its receive; 0 = none
	reversed           int     // messages that are received no later than they are sent, though the run has them in order
}

// maxRounds is how often receives are moved behind sends that have moved themselves. More takes a chain of as many
// messages within as many nanoseconds, or a ring.
const maxRounds = 64

// planMessages finds the stamps of messages.
func planMessages(run *trace.Run) (*plan, error) {
	n := len(run.Messages)
	p := &plan{sentNS: make([]int64, n), receivedNS: make([]int64, n), floorNS: make([]int64, n)}
	if n == 0 {
		return p, nil
	}
	d := define(run, nil)
	ends := d.messageEnds(run)
	again := make([]bool, len(run.Threads))
	for i := range again {
		again[i] = len(ends[i]) > 0
	}
	for round := range maxRounds {
		for i := range again {
			if !again[i] {
				continue
			}
			again[i] = false
			if err := newStream(run, d, i, ends, p, func(event, int64) error { return nil }).write(); err != nil {
				return nil, fmt.Errorf("%s: %w", run.Threads[i].Name(), err)
			}
		}
		late := p.reversals(run)
		p.reversed = len(late)
		if len(late) == 0 || round == maxRounds-1 {
			break
		}
		for _, i := range late {
			p.floorNS[i] = p.sentNS[i] + 1
			again[run.Messages[i].To] = true
		}
	}
	return p, nil
}

// reversals are the messages whose receive is to be later. On one thread the order of its calls holds.
func (p *plan) reversals(run *trace.Run) []int32 {
	var list []int32
	for i := range run.Messages {
		m := &run.Messages[i]
		if m.From != m.To && m.PhysicalRecvNS >= m.SendNS && p.receivedNS[i] <= p.sentNS[i] {
			list = append(list, int32(i))
		}
	}
	return list
}

func (p *plan) earliest(x endRef) int64 {
	if x >= 0 {
		return 0
	}
	return p.floorNS[-x-1]
}

func (p *plan) add(x endRef, ns int64) {
	switch {
	case x > 0:
		p.sentNS[x-1] = ns
	case x < 0:
		p.receivedNS[-x-1] = ns
	}
}
