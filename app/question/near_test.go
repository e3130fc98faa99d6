package question

import (
	"slices"
	"testing"
)

func TestNear(t *testing.T) {
	names := []string{"halo", "solve", "Verlet::run()", "report", "loops"}
	for name, want := range map[string][]string{
		"hallo": {"halo"}, "run": {"Verlet::run()"}, "lops": {"loops"}, "SOLVE": {"solve"}, "xyz": nil, "": nil, "o": {"halo", "solve", "report"},
	} {
		if got := Near(name, names); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := Meant("hallo", names, "x"); got != "did you mean halo?" {
		t.Error(got)
	}
	if got := Meant("xyz", names, "x"); got != "x" {
		t.Error(got)
	}
	for _, d := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"äb", "b", 1}} {
		if got := distance(d.a, d.b); got != d.want || distance(d.b, d.a) != d.want {
			t.Errorf("%q, %q: %d", d.a, d.b, got)
		}
	}
}
