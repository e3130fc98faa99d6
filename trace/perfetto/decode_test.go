package perfetto

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"moriens/trace/perfetto/perfettotest"
)

// The decoder itself, on bytes that no writer of ours has made.
func TestDecoder(t *testing.T) {
	var text = func(field int, s string) []byte { return appendText(nil, protowire.Number(field), s) }
	packet := func(parts ...[]byte) []byte {
		return appendBytes(nil, 1, slices.Concat(append([][]byte{appendUint(nil, 10, 5), appendUint(nil, 13, 3)}, parts...)...))
	}
	file := slices.Concat(
		packet(appendBytes(nil, 60, slices.Concat(appendUint(nil, 1, 9), text(2, "t")))),
		packet(appendUint(nil, 8, 30), appendBytes(nil, 11, slices.Concat(appendUint(nil, 9, 2), appendUint(nil, 11, 9)))),
		packet(appendUint(nil, 8, 20), appendBytes(nil, 12, appendBytes(nil, 2, slices.Concat(appendUint(nil, 1, 4), text(2, "name")))),
			appendBytes(nil, 11, slices.Concat(appendUint(nil, 9, 1), appendUint(nil, 11, 9), appendUint(nil, 10, 4)))),
	)
	d := perfettotest.Decode(t, file)
	if len(d.Slices) != 1 || fmt.Sprintln(d.Slices[0].Name, d.Slices[0].BeginNS, d.Slices[0].EndNS) != "name 20 30\n" {
		t.Errorf("%+v", d.Slices)
	}
}
