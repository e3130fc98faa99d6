package units

import "testing"

func TestBytes(t *testing.T) {
	tests := []struct {
		text  string
		bytes Bytes
		shown string
	}{
		{"0", 0, "0 B"}, {"4096", 4096, "4 KiB"}, {"64MiB", 64 << 20, "64 MiB"}, {"1.5GiB", 3 << 29, "1.5 GiB"}, {" 500 kB ", 500_000, "488 KiB"},
		{"2TB", 2e12, "1.82 TiB"}, {"17B", 17, "17 B"},
		{"999", 999, "999 B"}, {"1000", 1000, "0.977 KiB"}, {"1023.5KiB", 1_048_064, "1 MiB"}, {"999KiB", 999 << 10, "999 KiB"}, {"3PiB", 3 << 50, "3 PiB"}, {"7.5EiB", 15 << 59, "7.5 EiB"},
	}
	for _, tt := range tests {
		var b Bytes
		if err := b.UnmarshalText([]byte(tt.text)); err != nil || b != tt.bytes || b.String() != tt.shown {
			t.Errorf("%q: %d, %q, %v", tt.text, b, b, err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1 Mib", "1e30GiB", "NaN", "64MiB/s"} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %d", text, b)
		}
	}
}
