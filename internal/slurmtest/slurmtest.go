// Package slurmtest starts a real Slurm for a test: a controller and several nodes on this one machine, as root,
// without systemd, and stops it with the test. Only tests import it.
//
// A node is a slurmd in its own mount and UTS namespaces, with its own host name, /dev/shm and /etc/hosts: MPI
// libraries see distinct hosts, nodes do not share memory, and processes on a node are known by its namespace.
// Processes, network and file system are those of the machine: UCX, which MPICH needs, does not work across PID
// namespaces.
package slurmtest

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/internal/testenv"
)

// startGrace is how long a part of Slurm may take to answer on a busy machine.
const startGrace = 5 * time.Minute

// A Cluster is a Slurm of nodes n1, n2, ….
type Cluster struct {
	Dir   string // of its files; all nodes see it
	nodes map[string]*node
	env   []string
}

// Start starts a Slurm of so many nodes with so many processors each, and stops it when the test ends.
func Start(t testing.TB, nodes, cpus int) *Cluster {
	t.Helper()
	testenv.NeedRoot(t)
	testenv.Need(t, "slurmctld", "slurmd", "munged", "srun", "sbatch", "unshare")
	// A short path: it becomes part of the names of sockets.
	dir, err := os.MkdirTemp("/tmp", "slurm-")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Dir: dir, nodes: make(map[string]*node), env: append(os.Environ(),
		"SLURM_CONF="+filepath.Join(dir, "slurm.conf"),
		// The fence that Slurm's PMIx plugin takes of itself, tree, lets a rank of Open MPI leave MPI_Init before others are
		// ready on a busy machine, and the others crash or hang, measured or not: 22 of 78 jobs of 16 ranks here, none of 26
		// with this one.
		"SLURM_PMIX_FENCE=ring")}
	t.Cleanup(func() {
		if t.Failed() {
			c.showLogs(t)
		}
		os.RemoveAll(dir)
	})
	// munged requires directories of its own that nobody else can write to; users' programs have to reach its socket.
	c.mkdir(t, "", "munge", "state", "log", "run")
	c.startMunge(t)
	c.configure(t, nodes, cpus)
	c.daemon(t, "slurmctld", "slurmctld", "-D", "-c")
	for i := 1; i <= nodes; i++ {
		c.Up(t, nodeName(i))
	}
	c.await(t, fmt.Sprintf("%d idle nodes", nodes), func() bool {
		return strings.TrimSpace(c.ask("sinfo", "-h", "-t", "idle", "-o", "%D")) == strconv.Itoa(nodes)
	})
	return c
}

func nodeName(i int) string { return fmt.Sprintf("n%d", i) }

func (c *Cluster) mkdir(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(c.Dir, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o755); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
}

func (c *Cluster) write(t testing.TB, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(c.Dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func (c *Cluster) startMunge(t testing.TB) {
	t.Helper()
	secret := make([]byte, 128)
	rand.Read(secret)
	key := c.write(t, "munge.key", string(secret), 0o600)
	dir := filepath.Join(c.Dir, "munge")
	c.daemon(t, "munged", "munged", "--foreground", "--force", "--key-file="+key, "--socket="+dir+"/socket", "--pid-file="+dir+"/pid",
		"--log-file="+dir+"/log", "--seed-file="+dir+"/seed")
	c.await(t, "munge", func() bool { return exec.Command("munge", "-S", dir+"/socket", "-n").Run() == nil })
}

// command is a part of Slurm in the foreground that logs to a file of that name.
func (c *Cluster) command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(c.Dir, "log", name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.env, log, log
	return cmd
}

// daemon starts a part of Slurm and ends it with the test.
func (c *Cluster) daemon(t testing.TB, name string, args ...string) {
	t.Helper()
	cmd := c.command(t, name, args...)
	// Where the test itself is killed, nothing of it remains either.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}

// configure writes slurm.conf and the nodes' hosts.
func (c *Cluster) configure(t testing.TB, nodes, cpus int) {
	t.Helper()
	self, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	ports := freePorts(t, nodes+1)
	hosts := "127.0.0.1 localhost " + self + "\n"
	conf := strings.NewReplacer("@DIR@", c.Dir, "@HOST@", self, "@PORT@", strconv.Itoa(ports[nodes])).Replace(settings)
	for i := 1; i <= nodes; i++ {
		hosts += "127.0.0.1 " + nodeName(i) + "\n"
		conf += fmt.Sprintf("NodeName=%[1]s NodeHostname=%[1]s NodeAddr=127.0.0.1 Port=%[2]d CPUs=%[3]d Sockets=1 CoresPerSocket=%[3]d ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN\n",
			nodeName(i), ports[i-1], cpus)
	}
	conf += fmt.Sprintf("PartitionName=test Nodes=n[1-%d] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO\n", nodes)
	c.write(t, "slurm.conf", conf, 0o644)
	c.write(t, "hosts", hosts, 0o644)
}

// Ports of Slurm are below those that the kernel hands out, which may go to another process before a node listens, or
// while it is cut.
const firstPort, kernelPorts = 20000, 32768

// freePorts finds ports without a listener.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for _, i := range mathrand.Perm(kernelPorts - firstPort) {
		if len(ports) == n {
			return ports
		}
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+i)); err == nil {
			l.Close()
			ports = append(ports, firstPort+i)
		}
	}
	t.Fatalf("Slurm: %d free ports from %d to %d, want %d", len(ports), firstPort, kernelPorts-1, n)
	return nil
}

func (c *Cluster) await(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(startGrace); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("Slurm: no %s within %v", what, startGrace)
		}
	}
}

func (c *Cluster) showLogs(t testing.TB) {
	logs, _ := filepath.Glob(filepath.Join(c.Dir, "log", "*"))
	for _, path := range logs {
		if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
			t.Logf("%s:\n%s", filepath.Base(path), text[max(0, len(text)-1500):])
		}
	}
}
