package ingest

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"moriens/collector/journal"
	moriensv1 "moriens/proto/moriens/v1"
)

// Every message is what protocol buffers say that it is; sections are a part of what arrived.
func TestMessage(t *testing.T) {
	sections := func(sequence uint64, bytes ...byte) []byte {
		b, err := proto.Marshal(&moriensv1.ReportRequest{Sequence: sequence, Body: &moriensv1.ReportRequest_Sections{Sections: bytes}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	whole := sections(300, 7, 8, 9)
	done, err := proto.Marshal(&moriensv1.ReportRequest{Sequence: 4, Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{Resent: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	list := [][]byte{{}, sections(0, 1), sections(5), done, slices.Concat(whole, sections(7, 1, 2)), slices.Concat(whole, done), slices.Concat(done, whole), append(slices.Clone(whole), 0xff)}
	for n := range whole {
		list = append(list, whole[:n])
	}
	list = append(list, protowire.AppendVarint(protowire.AppendTag(slices.Clone(whole), 77, protowire.VarintType), 5))
	for _, bytes := range append(list, whole) {
		want := new(moriensv1.ReportRequest)
		wrong := proto.Unmarshal(bytes, want)
		w := wire{append(make([]byte, journal.HeadBytes), bytes...)}
		got, err := w.message()
		if (err != nil) != (wrong != nil) || err == nil && !proto.Equal(got, want) {
			t.Errorf("%x: %v, %v; want %v, %v", bytes, got, err, want, wrong)
		}
		if err == nil && string(bytes) == string(whole) && &got.GetSections()[2] != &w.record[len(w.record)-1] {
			t.Error("the sections are copied")
		}
	}
	fields := new(moriensv1.ReportRequest).ProtoReflect().Descriptor().Fields()
	if n := fields.ByName("sequence").Number(); n != sequenceField {
		t.Errorf("the sequence is field %d", n)
	}
	if n := fields.ByName("sections").Number(); n != sectionsField {
		t.Errorf("sections are field %d", n)
	}
}
