package picture

import (
	"testing"

	"moriens/trace"
)

// A place of which no more than the offset is known is named by its module.
func TestOffset(t *testing.T) {
	for _, tt := range []struct {
		frame trace.Frame
		want  string
	}{
		{trace.Frame{Module: "lmp", Offset: 0x12f0}, "lmp+12f0"},
		{trace.Frame{Module: "MPI.cpython-314-x86_64-linux-gnu.so", Offset: 0x12f0}, "MPI.cpython-314-x86_64…+12f0"},
		{trace.Frame{Offset: 0x7f0000001000}, "+7f0000001000"},
	} {
		if got := offset(tt.frame); got != tt.want || len([]rune(got)) > maxPlace {
			t.Errorf("%+v: %q", tt.frame, got)
		}
	}
}
