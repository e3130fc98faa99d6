package sectiontest

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	moriensv1 "moriens/proto/moriens/v1"
)

// Request is a message of an agent with a body.
func Request(body proto.Message) *moriensv1.ReportRequest {
	return Wrap(new(moriensv1.ReportRequest), body)
}

// Wrap makes a message the body of another, in the field of its kind.
func Wrap[M proto.Message](m M, body proto.Message) M {
	of := m.ProtoReflect()
	fields := of.Descriptor().Oneofs().ByName("body").Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Message() == body.ProtoReflect().Descriptor() {
			of.Set(f, protoreflect.ValueOfMessage(body.ProtoReflect()))
			return m
		}
	}
	panic(fmt.Sprintf("%T is no body of %T", body, m))
}
