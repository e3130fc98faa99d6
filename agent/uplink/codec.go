package uplink

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// encoded is a message as the outbox keeps it: it goes out as it is.
type encoded []byte

// codec is that of protobuf, except for messages that are encoded already.
type codec struct{}

func (codec) Name() string { return proto.Name }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, is := v.(encoded); is {
		return mem.BufferSlice{mem.SliceBuffer(m)}, nil
	}
	return encoding.GetCodecV2(proto.Name).Marshal(v)
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	return encoding.GetCodecV2(proto.Name).Unmarshal(data, v)
}
