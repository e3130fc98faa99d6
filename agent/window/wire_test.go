package window

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// decode reads the messages of a part.
func decode(t *rapid.T, e encoder) []*moriensv1.ReportRequest {
	p, err := (&part{messages: e}).decode()
	if err != nil {
		t.Fatal(err)
	}
	return p.Messages
}

// whole checks that a message is decoded as it was encoded, and that all of its fields are set: fields that the encoder
// does not know would be lost.
func whole(t *rapid.T, e encoder, want *moriensv1.ReportRequest, body protoreflect.ProtoMessage) {
	if d := gocmp.Diff([]*moriensv1.ReportRequest{want}, decode(t, e), protocmp.Transform()); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	m := body.ProtoReflect()
	for i := range m.Descriptor().Fields().Len() {
		if f := m.Descriptor().Fields().Get(i); !m.Has(f) {
			t.Fatalf("%s is not set", f.FullName())
		}
	}
}

// drawColumn is n numbers of any size.
func drawColumn[T any](t *rapid.T, n int, of *rapid.Generator[T]) []T {
	return rapid.SliceOfN(of, n, n).Draw(t, "column")
}

// drawRows is some of n rows, the last one at least.
func drawRows(t *rapid.T, n int) (rows []uint32) {
	for row := range uint32(n) {
		if row == uint32(n-1) || rapid.IntRange(0, 3).Draw(t, "is it") == 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

func TestWireCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n") + 1
		c := &moriensv1.Calls{
			Ring: rapid.Uint64Min(1).Draw(t, "ring"), First: rapid.Uint64Min(1).Draw(t, "first"), OriginTicks: rapid.Uint64Min(1).Draw(t, "origin"), Unfinished: true,
			BurstTicks: drawColumn(t, n, rapid.Uint64()), CallTicks: drawColumn(t, n, rapid.Uint64()),
			Function: drawColumn(t, n, rapid.Uint32()), Path: drawColumn(t, n, rapid.Uint32()),
			NoBurst: drawRows(t, n), Paused: drawRows(t, n), PollsRow: drawRows(t, n), NoCounts: drawRows(t, n)[:1],
		}
		c.Polls = drawColumn(t, len(c.PollsRow), rapid.Uint64())
		for range rapid.IntRange(1, 3).Draw(t, "events") {
			c.Counts = append(c.Counts, &moriensv1.Counts{Value: drawColumn(t, n-len(c.NoCounts), rapid.Int64())})
		}
		if !soundCalls(c) {
			t.Fatal("not sound")
		}
		var e encoder
		e.calls(c, 0, n, c.OriginTicks)
		whole(t, e, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Calls{Calls: c}}, c)

		at := rapid.IntRange(1, n-1).Draw(t, "at")
		e = nil
		e.calls(c, 0, at, c.OriginTicks)
		e.calls(c, at, n, 77)
		pieces := decode(t, e)
		first, second := pieces[0].GetCalls(), pieces[1].GetCalls()
		if first.Unfinished || !second.Unfinished || second.First != c.First+uint64(at) || second.OriginTicks != 77 {
			t.Fatalf("%v, %v", first, second)
		}
		shift := func(rows []uint32) []uint32 {
			var list []uint32
			for _, row := range rows {
				list = append(list, row+uint32(at))
			}
			return list
		}
		joined := &moriensv1.Calls{
			Ring: c.Ring, First: first.First, OriginTicks: first.OriginTicks, Unfinished: true,
			BurstTicks: append(first.BurstTicks, second.BurstTicks...), CallTicks: append(first.CallTicks, second.CallTicks...),
			Function: append(first.Function, second.Function...), Path: append(first.Path, second.Path...),
			NoBurst: append(first.NoBurst, shift(second.NoBurst)...), Paused: append(first.Paused, shift(second.Paused)...),
			PollsRow: append(first.PollsRow, shift(second.PollsRow)...), Polls: append(first.Polls, second.Polls...),
			NoCounts: append(first.NoCounts, shift(second.NoCounts)...),
		}
		for i := range c.Counts {
			joined.Counts = append(joined.Counts, &moriensv1.Counts{Value: append(first.Counts[i].Value, second.Counts[i].Value...)})
		}
		if d := gocmp.Diff(c, joined, protocmp.Transform()); d != "" {
			t.Fatalf("cut at %d (-want +got):\n%s", at, d)
		}
	})
}

func TestWireTransfers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n") + 1
		x := &moriensv1.Transfers{
			Ring: rapid.Uint64Min(1).Draw(t, "ring"), Epoch: rapid.Uint32Min(1).Draw(t, "epoch"), Row: drawColumn(t, n, rapid.Int64()), Done: drawColumn(t, n, rapid.Int64()),
			Peer: drawColumn(t, n, rapid.Int32()), Tag: drawColumn(t, n, rapid.Int32()), Comm: drawColumn(t, n, rapid.Uint32()),
			Bytes: drawColumn(t, n, rapid.Uint64()), Ordinal: drawColumn(t, n, rapid.Uint64()),
			Elsewhere: drawRows(t, n), Partitioned: drawRows(t, n), Untold: drawRows(t, n),
		}
		x.DoneRing, x.Channel = drawColumn(t, len(x.Elsewhere), rapid.Uint64()), drawColumn(t, len(x.Partitioned), rapid.Uint32())
		for range n {
			x.Kind = append(x.Kind, moriensv1.Transfers_Kind(rapid.Int32Range(0, 6).Draw(t, "kind")))
		}
		if !soundTransfers(x) {
			t.Fatal("not sound")
		}
		var e encoder
		e.transfers(x, 0, n, uint64(x.Row[0]))
		whole(t, e, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Transfers{Transfers: x}}, x)

		from := rapid.IntRange(0, n-1).Draw(t, "from")
		to := rapid.IntRange(from+1, n).Draw(t, "to")
		row := uint64(0)
		var entries []int
		for i, d := range x.Row[:to] {
			if i <= from {
				row += uint64(d)
			}
			if i >= from {
				entries = append(entries, i)
			}
		}
		rows := append([]int64{int64(row)}, x.Row[from+1:to]...)
		e = nil
		e.transfers(x, from, to, row)
		if d := gocmp.Diff([]*moriensv1.ReportRequest{transfersOf(x, rows, entries)}, decode(t, e), protocmp.Transform()); d != "" {
			t.Fatalf("%d to %d of %d (-want +got):\n%s", from, to, n, d)
		}
	})
}

func TestWireCollectives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		x := &moriensv1.Collectives{
			Ring: rapid.Uint64Min(1).Draw(t, "ring"), Row: drawColumn(t, n, rapid.Int64()), Comm: drawColumn(t, n, rapid.Uint32()), Ordinal: drawColumn(t, n, rapid.Uint64()),
			Sent: drawColumn(t, n, rapid.Uint64()), Received: drawColumn(t, n, rapid.Uint64()), Root: drawColumn(t, n, rapid.Int32()),
		}
		var e encoder
		e.collectives(x, 0, n, uint64(x.Row[0]))
		whole(t, e, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Collectives{Collectives: x}}, x)
	})
}

func TestWireMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		m := &moriensv1.Marks{
			Ring: rapid.Uint64Min(1).Draw(t, "ring"), First: rapid.Uint64Min(1).Draw(t, "first"), OriginTicks: rapid.Uint64Min(1).Draw(t, "origin"),
			Ticks: append([]uint64{0}, drawColumn(t, n-1, rapid.Uint64())...), Name: drawColumn(t, n, rapid.Uint32()),
			Value: drawColumn(t, rapid.IntRange(1, n).Draw(t, "events"), rapid.Int64()),
		}
		for range n {
			m.What = append(m.What, moriensv1.Marks_What(rapid.Int32Range(1, 3).Draw(t, "what")))
		}
		var e encoder
		e.marks(m, 0, n, m.OriginTicks, m.Value)
		whole(t, e, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Marks{Marks: m}}, m)
	})
}

// A part is a WindowPart, however its fields are ordered, and a record of them is a WindowBatch.
func TestWireBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &moriensv1.WindowBatch{Transaction: rapid.Uint64().Draw(t, "transaction")}
		var e encoder
		e.number(batchTransaction, want.Transaction)
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			w := &moriensv1.WindowPart{
				Process: rapid.Uint64().Draw(t, "process"), Window: rapid.Uint64().Draw(t, "window"), Continued: rapid.Bool().Draw(t, "continued"),
			}
			p := part{key: key{w.Process, anchor.ID(w.Window)}, continued: w.Continued}
			for row := range rapid.Uint64Range(1, 4).Draw(t, "messages") {
				m := &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Gaps{Gaps: &moriensv1.Gaps{Ring: 1, Before: []uint64{row}}}}
				w.Messages = append(w.Messages, m)
				if err := (*encoder)(&p.messages).message(partMessages, m); err != nil {
					t.Fatal(err)
				}
			}
			want.Parts = append(want.Parts, w)
			e.parts(p)
		}
		for ring := range rapid.Uint64Range(0, 3).Draw(t, "tracks") {
			track := &moriensv1.WindowTrack{Process: 3, Ring: ring, Rows: 9}
			want.Tracks = append(want.Tracks, track)
			if err := e.message(batchTracks, track); err != nil {
				t.Fatal(err)
			}
		}
		got := new(moriensv1.WindowBatch)
		if err := proto.Unmarshal(e, got); err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(want, got, protocmp.Transform()); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
		for name, record := range map[string][]byte{"ours": e, "as protobuf writes it": marshal(t, want), "torn": torn(t, want)} {
			transaction, tracks, err := readTracks(record)
			if err != nil {
				t.Fatal(err)
			}
			read := &moriensv1.WindowBatch{Transaction: transaction, Tracks: tracks}
			err = readParts(record, func(p part) error {
				w, err := p.decode()
				read.Parts = append(read.Parts, w)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if d := gocmp.Diff(want, read, protocmp.Transform()); d != "" {
				t.Fatalf("%s (-want +got):\n%s", name, d)
			}
		}
	})
}

func marshal(t *rapid.T, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// torn is a batch whose parts have other fields between their messages.
func torn(t *rapid.T, w *moriensv1.WindowBatch) []byte {
	var e encoder
	e.number(batchTransaction, w.Transaction)
	for _, p := range w.Parts {
		at := e.begin(batchParts)
		for _, m := range p.Messages {
			e.fixed(partProcess, p.Process)
			if err := e.message(partMessages, m); err != nil {
				t.Fatal(err)
			}
			e.number(partWindow, p.Window)
		}
		e.number(partContinued, uint64(map[bool]int{true: 1}[p.Continued]))
		e.end(at)
	}
	for _, track := range w.Tracks {
		if err := e.message(batchTracks, track); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// Records that are cut short or spoilt are errors or other parts, never a fault.
func TestWireOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := rapid.SliceOf(rapid.Byte()).Draw(t, "record")
		readTracks(record)
		readParts(record, func(p part) error {
			p.decode()
			return nil
		})
	})
}
