package agent

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// An agent that waits for ranks says so once, and not before a minute is over.
func TestAlone(t *testing.T) {
	var said bytes.Buffer
	n := &Node{config: Config{Log: slog.New(slog.NewTextHandler(&said, nil))}}
	n.alone(aloneAfter - 1)
	if said.Len() > 0 {
		t.Errorf("too early: %s", &said)
	}
	n.alone(aloneAfter)
	n.alone(2 * aloneAfter)
	if text := said.String(); strings.Count(text, "no rank has appeared") != 1 || !strings.Contains(text, "LD_PRELOAD") {
		t.Errorf("%q", text)
	}
}
