package ingest_test

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"moriens/collector/admission"
	"moriens/collector/ingest"
	"moriens/collector/journal"
	"moriens/collector/windows"
	"moriens/internal/rendezvous"
	moriensv1 "moriens/proto/moriens/v1"
)

// rawCodec sends bytes as they are.
type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if b, raw := v.([]byte); raw {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// An invalid message is refused, and counted; the one before it is held, as the bytes that arrived.
func TestMalformedMessage(t *testing.T) {
	dir := t.TempDir()
	quiet := slog.New(slog.DiscardHandler)
	j, err := journal.Open(filepath.Join(dir, "journal"), journal.Run{Run: "run1"}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	meet := rendezvous.Rendezvous{Run: "run1", Address: "unix:" + filepath.Join(dir, "s"), Token: "t"}
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	control := admission.New(j.Store().Refuse, quiet)
	defer control.Close()
	server := grpc.NewServer(append(ingest.Options(), control.ServerOptions(meet, rendezvous.PeerCredentials())...)...)
	ingest.Register(server, ingest.Config{Journal: j, Windows: windows.New(), Clock: func() (uint64, error) { return 1, nil }, Admission: control, Stir: func() {}, Log: quiet})
	go server.Serve(control.Listen(listener))
	defer server.Stop()

	conn, err := grpc.NewClient(meet.Address, grpc.WithTransportCredentials(meet.ClientCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{encoding.GetCodecV2("proto")})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	hello := &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Hello{Hello: &moriensv1.Hello{Run: "run1", Agent: 1}}}
	sound := &moriensv1.ReportRequest{Sequence: 1, Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Process: 7, Size: 1}}}
	text, err := proto.Marshal(sound)
	if err != nil {
		t.Fatal(err)
	}
	// An unknown field, of a newer agent, is part of what arrived.
	text = append(text, 0xfa, 0x7f, 1, 'x')
	for _, messages := range [][]any{
		{[]byte{0xff}},
		{hello, text, []byte{0xff}},
	} {
		stream, err := conn.NewStream(meet.ShowToken(context.Background()), &moriensv1.CollectorService_ServiceDesc.Streams[0], moriensv1.CollectorService_Report_FullMethodName)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range messages {
			if err := stream.SendMsg(m); err != nil {
				t.Fatal(err)
			}
			// What is acknowledged is safe: the stream can end.
			for held := uint64(0); i == 1 && held < 1; {
				var r moriensv1.ReportResponse
				if err := stream.RecvMsg(&r); err != nil {
					t.Fatal(err)
				}
				held = r.Acknowledged
			}
		}
		for err = nil; err == nil; {
			err = stream.RecvMsg(new(moriensv1.ReportResponse))
		}
		if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "proto") {
			t.Errorf("%d messages: %v", len(messages), err)
		}
	}
	if n := control.Refused()[admission.Malformed]; n != 2 {
		t.Errorf("%d counted as malformed", n)
	}
	frozen, err := j.Finish(t.Context(), nil, "")
	if err != nil || frozen.Totals.Refused != 2 || frozen.Totals.Processes != 1 {
		t.Errorf("%v, %+v", err, frozen.Totals)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := journal.Open(filepath.Join(dir, "journal"), journal.Run{}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if total := again.Store().Totals(); total.Refused != 2 || total.Processes != 1 {
		t.Errorf("after a restart: %+v", total)
	}
}
