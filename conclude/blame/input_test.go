package blame

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/trace"
)

// SentRowsByLooking are those that SentRows finds, by looking at all transfers of a call for each message.
func SentRowsByLooking(run *trace.Run) []int32 {
	taken := make(map[[2]int]bool)
	rows := make([]int32, len(run.Messages))
	for i := range run.Messages {
		m := &run.Messages[i]
		rows[i] = -1
		x := &run.Threads[m.From].Transfers
		call := run.Threads[m.From].Calls.EnteredAt(m.SendNS)
		for k := range x.Call {
			fits := int(x.Call[k]) == call && x.Kind[k] == trace.Sent && int64(x.Tag[k]) == m.Tag && x.Bytes[k] == m.Bytes && int(x.Peer[k]) == run.Threads[m.To].Rank
			if fits && !taken[[2]int{m.From, k}] {
				taken[[2]int{m.From, k}], rows[i] = true, x.Done[k]
				break
			}
		}
	}
	return rows
}

func TestSentRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := &trace.Run{Threads: make([]trace.Thread, 3)}
		few := rapid.IntRange(0, 2)
		for i := range run.Threads {
			th := &run.Threads[i]
			th.Rank = i
			for call := range rapid.IntRange(0, 4).Draw(t, "calls") {
				th.Calls.EnterNS = append(th.Calls.EnterNS, int64(10*call))
				for range rapid.IntRange(0, 5).Draw(t, "transfers") {
					x := &th.Transfers
					x.Call, x.Done = append(x.Call, uint32(call)), append(x.Done, int32(x.Len()))
					x.Kind = append(x.Kind, rapid.SampledFrom([]trace.TransferKind{trace.Sent, trace.Received}).Draw(t, "kind"))
					x.Peer, x.Tag, x.Bytes = append(x.Peer, int32(few.Draw(t, "peer"))), append(x.Tag, int32(few.Draw(t, "tag"))), append(x.Bytes, int64(few.Draw(t, "bytes")))
				}
			}
		}
		for range rapid.IntRange(0, 20).Draw(t, "messages") {
			run.Messages = append(run.Messages, trace.Message{
				From: few.Draw(t, "from"), To: few.Draw(t, "to"), SendNS: 10 * rapid.Int64Range(0, 4).Draw(t, "at"), Tag: int64(few.Draw(t, "tag")), Bytes: int64(few.Draw(t, "bytes")),
			})
		}
		slices.SortStableFunc(run.Messages, func(a, b trace.Message) int { return int(a.SendNS - b.SendNS) })
		if got, want := SentRows(run), SentRowsByLooking(run); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// A call that starts very many sends takes time in proportion to them: else this does not end.
func TestSentRowsOfOneCall(t *testing.T) {
	const n = 1_000_000
	run := &trace.Run{Threads: make([]trace.Thread, 2), Messages: make([]trace.Message, n)}
	run.Threads[1].Rank = 1
	run.Threads[0].Calls.EnterNS = []int64{0}
	x := &run.Threads[0].Transfers
	*x = trace.Transfers{Call: make([]uint32, n), Kind: make([]trace.TransferKind, n), Peer: make([]int32, n), Tag: make([]int32, n), Bytes: make([]int64, n), Done: make([]int32, n)}
	for k := range n {
		x.Kind[k], x.Peer[k], x.Tag[k], x.Done[k] = trace.Sent, 1, int32(k), int32(k)
		run.Messages[k] = trace.Message{To: 1, Tag: int64(n - 1 - k)}
	}
	for i, row := range SentRows(run) {
		if row != int32(n-1-i) {
			t.Fatalf("message %d was sent by %d", i, row)
		}
	}
}
