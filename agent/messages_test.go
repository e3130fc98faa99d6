package agent

import (
	"errors"
	"testing"

	"moriens/agent/message"
	"moriens/agent/ring"
)

func TestSoundTransfers(t *testing.T) {
	request := func(e ring.RequestEvent) ring.Record {
		return ring.Record{Requests: []ring.Request{{Event: ring.Made}, {Event: e}}}
	}
	for _, tt := range []struct {
		what   string
		record ring.Record
		sound  bool
	}{
		{"nothing", ring.Record{}, true},
		{"as many bytes as can be", ring.Record{Transfers: []ring.Transfer{{Bytes: message.MaxBytes}}, Collective: ring.Collective{Sent: message.MaxBytes, Received: message.MaxBytes}}, true},
		{"a byte too many", ring.Record{Transfers: []ring.Transfer{{}, {Bytes: message.MaxBytes + 1}}}, false},
		{"a collective that sends too much", ring.Record{Collective: ring.Collective{Sent: message.MaxBytes + 1}}, false},
		{"one that receives too much", ring.Record{Collective: ring.Collective{Received: message.MaxBytes + 1}}, false},
		{"the first event", request(ring.Made), true},
		{"the last event", request(ring.Matched), true},
		{"an event before the first", request(ring.Made - 1), false},
		{"an event behind the last", request(ring.Matched + 1), false},
	} {
		err := soundTransfers(&tt.record)
		if (err == nil) != tt.sound || err != nil && !errors.Is(err, ring.ErrCorrupt) {
			t.Errorf("%s: %v", tt.what, err)
		}
	}
}
