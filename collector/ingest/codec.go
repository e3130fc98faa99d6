package ingest

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
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

// message decodes the message. Sections, which are nearly all that arrives, remain where they are: the journal and the
// store have the same bytes.
func (w *wire) message() (*moriensv1.ReportRequest, error) {
	bytes := w.record[journal.HeadBytes:]
	if sequence, sections := sectionsOf(bytes); sections != nil {
		return &moriensv1.ReportRequest{Sequence: sequence, Body: &moriensv1.ReportRequest_Sections{Sections: sections}}, nil
	}
	m := new(moriensv1.ReportRequest)
	return m, proto.Unmarshal(bytes, m)
}

// The numbers of fields of ReportRequest.
const sequenceField, sectionsField = 1, 190

// sectionsOf is what a message says that has a sequence and sections behind it, and nothing else; nil of another.
func sectionsOf(message []byte) (sequence uint64, sections []byte) {
	field, kind, n := protowire.ConsumeTag(message)
	if n < 0 || field != sequenceField || kind != protowire.VarintType {
		return 0, nil
	}
	message = message[n:]
	if sequence, n = protowire.ConsumeVarint(message); n < 0 {
		return 0, nil
	}
	message = message[n:]
	if field, kind, n = protowire.ConsumeTag(message); n < 0 || field != sectionsField || kind != protowire.BytesType {
		return 0, nil
	}
	message = message[n:]
	if sections, n = protowire.ConsumeBytes(message); n != len(message) {
		return 0, nil
	}
	return sequence, sections
}
