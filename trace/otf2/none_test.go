//go:build !otf2 || !cgo

package otf2

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moriens/internal/hint"
	"moriens/trace/tracetest"
)

// Without libotf2 there is an error that says how to get it, and nothing is made.
func TestWithoutTheLibrary(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	if _, err := Write(tracetest.Small(), dir, "moriens"); err == nil || err.Error() != "built without libotf2" || !strings.Contains(hint.Of(err), "make otf2") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s: %v", dir, err)
	}
}
