package slurmtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The nodes are hosts of their own, what runs on one ends when it is cut, and it returns.
func TestCluster(t *testing.T) {
	c := Start(t, 2, 2)
	out := filepath.Join(c.Dir, "out")
	script := c.write(t, "job", "#!/bin/sh\nsrun --no-kill sh -c 'touch /dev/shm/$(hostname); ls /dev/shm; sleep 600' >"+out+" &\nwait\necho over >>"+out+"\n", 0o755)
	lines := func() []string {
		text, _ := os.ReadFile(out)
		return strings.Fields(string(text))
	}
	job := c.Submit(t, nil, "--no-kill", "-N2", "-n2", "--output=/dev/null", script)
	c.await(t, "two lines", func() bool { return len(lines()) == 2 })
	if got := strings.Join(lines(), " "); got != "n1 n2" && got != "n2 n1" {
		t.Errorf("shared memory of the nodes holds %s", got)
	}
	c.Cut(t, "n2")
	c.Up(t, "n2")
	job.Signal(t, "KILL")
	if s := job.Wait(t, startGrace); s != "CANCELLED" {
		t.Errorf("job is %s", s)
	}
	job.Signal(t, "TERM", "--batch") // no process is left to receive it
	c.await(t, "second node", func() bool { return strings.Contains(c.ask("sinfo", "-h", "-t", "idle", "-o", "%D"), "2") })
}
