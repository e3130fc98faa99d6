package testenv

import (
	"fmt"
	"runtime"
	"testing"
)

// recorder is a testing.TB that only remembers how the test ended.
type recorder struct {
	testing.TB
	ended string
}

func (r *recorder) Helper() {}

func (r *recorder) Skip(args ...any) {
	r.ended = "skip: " + fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.ended = "fail: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func run(f func(testing.TB)) string {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.ended
}

func TestNeed(t *testing.T) {
	for _, c := range []struct {
		name string
		ci   string
		need func(testing.TB)
		want string
	}{
		{"present", "true", func(t testing.TB) { Need(t, "go") }, ""},
		{"absent here", "", func(t testing.TB) { Need(t, "go", "no-such") }, "skip: no program no-such on PATH"},
		{"absent in CI", "true", func(t testing.TB) { Need(t, "no-such") }, "fail: no program no-such on PATH, and CI is set"},
		{"file present", "true", func(t testing.TB) { NeedFile(t, "testenv.go") }, ""},
		{"file absent in CI", "1", func(t testing.TB) { NeedFile(t, "gone") }, "fail: no file gone, and CI is set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("CI", c.ci)
			if got := run(c.need); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
