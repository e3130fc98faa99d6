package slurmtest

import (
	"io"
	"os/exec"
	"syscall"
	"testing"
)

// A node is the shell that keeps a node's namespaces and its slurmd, until its standard input ends.
type node struct {
	shell *exec.Cmd
	input io.Closer
}

// keep is that shell's script. When the test closes the pipe, or is gone, everything on the node ends, as when the
// power goes: all is stopped first, so that nothing sees the end of anything else.
const keep = `
hostname "$1" && mount --bind "$2/hosts" /etc/hosts && mount -t tmpfs -o mode=1777,size=256m shm /dev/shm || exit
slurmd -D -N "$1" </dev/null &
trap '' HUP # which a group of processes gets that are stopped when their parent has died
read gone
here() {
	found=
	for n in /proc/[0-9]*/ns/uts; do
		p=${n#/proc/} p=${p%/ns/uts}
		[ "$p" != $$ ] && [ "$n" -ef /proc/$$/ns/uts ] && kill "-$1" "$p" && found=1
	done 2>/dev/null
	[ "$found" ]
}
here STOP
here STOP # what was forked since
while here KILL; do sleep 0.02; done
`

// Up starts a node, the first time or after Cut.
func (c *Cluster) Up(t testing.TB, name string) {
	t.Helper()
	c.mkdir(t, "spool-"+name, "tmp-"+name)
	cmd := c.command(t, "slurmd-"+name, "unshare", "--uts", "--mount", "sh", "-c", keep, "node", name, c.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the test
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := &node{cmd, input}
	c.nodes[name] = n
	t.Cleanup(n.end)
}

// end ends everything that runs on a node.
func (n *node) end() {
	if n.shell.ProcessState == nil {
		n.input.Close()
		n.shell.Wait()
	}
}

// Cut ends everything that runs on a node, at once, as when the power goes; Slurm is informed that the node is down.
func (c *Cluster) Cut(t testing.TB, name string) {
	t.Helper()
	c.nodes[name].end()
	c.must(t, "scontrol", "update", "NodeName="+name, "State=DOWN", "Reason=cut")
}
