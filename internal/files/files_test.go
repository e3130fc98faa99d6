package files

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSame(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", at("symbolic")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(at("a"), at("hard")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{at("a"), at("a"), true}, {at("a"), at("symbolic"), true}, {at("hard"), at("symbolic"), true}, {at("a"), at("b"), false},
		{at("a"), at("absent"), false}, {at("absent"), at("absent"), false}, {dir, dir, false}, {os.DevNull, os.DevNull, false},
	} {
		if got := Same(tt.a, tt.b); got != tt.want {
			t.Errorf("Same(%s, %s) = %t", tt.a, tt.b, got)
		}
	}
}
