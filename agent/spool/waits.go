package spool

import (
	"google.golang.org/protobuf/proto"

	moriensv1 "moriens/proto/moriens/v1"
)

// waitGrains is into how many parts at least what a spool may hold is divided for counting.
const waitGrains = 1024

// waits counts the bytes of the messages that wait for the collector, as they lie in the files.
type waits struct {
	bytes     int64
	stretches []stretch // in order
}

// A stretch is messages up to one, after the stretch before.
type stretch struct {
	last  uint64
	bytes int64
}

// add takes in a transaction that takes so many bytes, in a spool of so many at most.
func (w *waits) add(x *moriensv1.OutboxTransaction, size, max int64) {
	if len(x.Message) == 0 {
		return
	}
	bytes, last := messageBytes(x, size), x.First+uint64(len(x.Message))-1
	w.bytes += bytes
	if n := len(w.stretches); n > 0 && w.stretches[n-1].bytes < max/waitGrains {
		s := &w.stretches[n-1]
		s.last, s.bytes = last, s.bytes+bytes
		return
	}
	w.stretches = append(w.stretches, stretch{last, bytes})
}

// drop takes out what the collector holds: all stretches that end up to a message.
func (w *waits) drop(held uint64) {
	for len(w.stretches) > 0 && w.stretches[0].last <= held {
		w.bytes -= w.stretches[0].bytes
		w.stretches = w.stretches[1:]
	}
	if len(w.stretches) == 0 {
		w.stretches = nil
	}
}

// messageBytes is the part of what a transaction takes in a file that its messages do.
func messageBytes(x *moriensv1.OutboxTransaction, size int64) int64 {
	bytes := 0
	for _, m := range x.Message {
		bytes += len(m)
	}
	return max(1, int64(float64(size)*float64(bytes)/float64(max(1, proto.Size(x)))))
}
