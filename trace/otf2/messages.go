package otf2

import "moriens/trace"

// channels say by which communicator each message goes. Readers match the n-th send with the n-th receive of the same
// two ranks, tag and communicator. Which communicator a message had is not known, so all have that of their world, as
// long as none overtakes another of the same ranks and tag, by the stamps that its ends have; one that does has the
// next communicator of the same ranks.
type channels struct {
	of     []int32 // by message
	number int
}

// messageChannels finds them. Without a plan all messages have one.
func messageChannels(run *trace.Run, p *plan) channels {
	type stream struct {
		from, to [2]int // world and rank
		tag      uint32
	}
	c := channels{of: make([]int32, len(run.Messages)), number: 1}
	if p == nil {
		return c
	}
	last := make(map[stream][]int) // messages, by channel
	for i := range run.Messages {
		m := &run.Messages[i]
		from, to := &run.Threads[m.From], &run.Threads[m.To]
		s := stream{[2]int{from.World, from.Rank}, [2]int{to.World, to.Rank}, uint32(m.Tag)}
		list := last[s]
		k := 0
		for k < len(list) && !p.follows(i, list[k]) {
			k++
		}
		if k == len(list) {
			list = append(list, i)
		}
		list[k] = i
		last[s] = list
		c.of[i] = int32(k)
		c.number = max(c.number, k+1)
	}
	return c
}

// follows reports whether a message is sent and received behind another.
func (p *plan) follows(message, other int) bool {
	return p.sentNS[message] > p.sentNS[other] && p.receivedNS[message] > p.receivedNS[other]
}
