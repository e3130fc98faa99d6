package main

import (
	"runtime"

	"google.golang.org/protobuf/proto"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
)

// held returns how many bytes of memory a store keeps of each burst of a job, garbage left out.
func held(messages int) (float64, error) {
	s, j := store.New(), newJob(0)
	agent, _, err := s.Greet(hello("load", 0).GetHello())
	if err != nil {
		return 0, err
	}
	sequence := uint64(0)
	apply := func(m *moriensv1.ReportRequest) error {
		sequence++
		m.Sequence = sequence
		// As decoded from the wire: slices as long as what they hold.
		bytes, err := proto.Marshal(m)
		if err != nil {
			return err
		}
		message := new(moriensv1.ReportRequest)
		if err := proto.Unmarshal(bytes, message); err != nil {
			return err
		}
		_, err = s.Apply(agent, message)
		return err
	}
	for _, m := range j.definitions() {
		if err := apply(m); err != nil {
			return 0, err
		}
	}
	before := live()
	for i := range messages {
		if err := apply(j.calls(i)); err != nil {
			return 0, err
		}
	}
	after := live()
	runtime.KeepAlive(s)
	return (after - before) / float64(messages*messageBursts), nil
}

// live is how many bytes of the heap are in use.
func live() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one only marked as free
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
