package ingest

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"moriens/collector/admission"
	"moriens/collector/journal"
	moriensv1 "moriens/proto/moriens/v1"
)

// A wire is a message as it arrived, after room for the journal's header.
type wire struct{ record []byte }

// A codec is gRPC's for protocol buffers, but a wire takes the bytes as they are: what is journaled was encoded by the
// agent already.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	w, isWire := v.(*wire)
	if !isWire {
		return c.CodecV2.Unmarshal(data, v)
	}
	w.record = make([]byte, journal.HeadBytes+data.Len())
	data.CopyTo(w.record[journal.HeadBytes:])
	return nil
}

// receive returns the next message of a stream, and its bytes after journal.HeadBytes that are free.
func (s *Server) receive(stream grpc.ServerStream) (*moriensv1.ReportRequest, []byte, error) {
	var w wire
	if err := stream.RecvMsg(&w); err != nil {
		s.countFault(stream.Context(), err)
		return nil, nil, err
	}
	m, err := w.message()
	if err != nil {
		return nil, nil, s.refuse(stream.Context(), admission.Malformed, status.Error(codes.Internal, err.Error())) // as gRPC does
	}
	return m, w.record, nil
}

func (w *wire) message() (*moriensv1.ReportRequest, error) {
	m := new(moriensv1.ReportRequest)
	return m, proto.Unmarshal(w.record[journal.HeadBytes:], m)
}
