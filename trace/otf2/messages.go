package otf2

import "moriens/trace"

// channels say by which communicator each message goes. Readers match the n-th send with the n-th receive of the same two ranks, tag
// and communicator. Which communicator a message had is not known, so all have that of their world, as long as none overtakes another of the
// same ranks and tag; one that does has the next communicator of the same ranks.
type channels struct {
	of     []int32 // by message
	number int
}

func messageChannels(run *trace.Run) channels {
	type stream struct {
		from, to [2]int // world and rank
		tag      uint32
	}
	c := channels{of: make([]int32, len(run.Messages)), number: 1}
	last := make(map[stream][]*trace.Message) // by channel
	for i := range run.Messages {
		m := &run.Messages[i]
		from, to := &run.Threads[m.From], &run.Threads[m.To]
		s := stream{[2]int{from.World, from.Rank}, [2]int{to.World, to.Rank}, uint32(m.Tag)}
		list := last[s]
		k := 0
		for k < len(list) && !follows(m, list[k]) {
			k++
		}
		if k == len(list) {
			list = append(list, nil)
		}
		list[k] = m
		last[s] = list
		c.of[i] = int32(k)
		c.number = max(c.number, k+1)
	}
	return c
}

// follows says whether a message, sent no earlier than another, is received no earlier either. At one time only a single thread has an order.
func follows(m, other *trace.Message) bool {
	return (m.SendNS > other.SendNS || m.From == other.From) &&
		(m.PhysicalRecvNS > other.PhysicalRecvNS || m.PhysicalRecvNS == other.PhysicalRecvNS && m.To == other.To)
}
