package console

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Where there is no terminal, a log gets a line a minute.
func TestPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		s := &Status{plain: &out, last: time.Now()}
		for second := range 150 {
			s.Show("moriens " + (time.Duration(second) * time.Second).String() + "\a")
			time.Sleep(time.Second)
		}
		s.Close()
		if got, want := out.String(), `moriens 1m0s\x07`+"\n"+`moriens 2m0s\x07`+"\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
