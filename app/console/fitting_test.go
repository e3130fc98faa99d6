package console

import "testing"

func TestFitting(t *testing.T) {
	const whole = "moriens 5.5 s · 1,858 bursts · 86 % of µs"
	for _, tt := range []struct {
		columns int
		want    string
	}{
		{41, whole}, {100, whole}, {40, "moriens 5.5 s · 1,858 bursts"}, {28, "moriens 5.5 s · 1,858 bursts"}, {27, "moriens 5.5 s"}, {13, "moriens 5.5 s"}, {7, "moriens"}, {0, ""},
	} {
		if got := fitting(whole, tt.columns); got != tt.want {
			t.Errorf("%d columns: %q, want %q", tt.columns, got, tt.want)
		}
	}
}
