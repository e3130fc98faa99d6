package testenv

import "testing"

func TestSeed(t *testing.T) {
	if a, b := Seed(t), Seed(t); a == b {
		t.Errorf("%d was drawn twice", a)
	}
	t.Setenv("MORIENS_SEED", "12")
	if s := Seed(t); s != 12 {
		t.Errorf("drew %d, want 12", s)
	}
	if a, b := Drawer(12, "one").Uint64(), Drawer(12, "one").Uint64(); a != b {
		t.Errorf("one name draws %d and %d", a, b)
	}
	if a, b := Drawer(12, "one").Uint64(), Drawer(12, "two").Uint64(); a == b {
		t.Errorf("two names draw %d", a)
	}
	t.Setenv("MORIENS_SEED", "twelve")
	if got := run(func(t testing.TB) { Seed(t) }); got[:5] != "fail:" {
		t.Errorf("%q", got)
	}
}
