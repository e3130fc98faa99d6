package units

import "testing"

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		n     int
		thing string
		want  string
	}{
		{0, "burst", "0 bursts"}, {1, "burst", "1 burst"}, {2, "burst", "2 bursts"}, {123456, "MPI call", "123456 MPI calls"},
		{1, "class", "1 class"}, {2, "class", "2 classes"}, {2, "index", "2 indexes"}, {3, "stretch", "3 stretches"}, {2, "hash", "2 hashes"},
	} {
		if got := Count(tt.n, tt.thing); got != tt.want {
			t.Errorf("%d of %q: %q, want %q", tt.n, tt.thing, got, tt.want)
		}
		if got := Count(int64(tt.n), tt.thing); got != tt.want {
			t.Errorf("%d of %q in 64 bits: %q, want %q", tt.n, tt.thing, got, tt.want)
		}
	}
}

func TestInteger(t *testing.T) {
	for n, want := range map[int]string{0: "0", 12: "12", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -999: "-999"} {
		if got := Integer(n); got != want {
			t.Errorf("Integer(%d) = %q, want %q", n, got, want)
		}
	}
}
