package faults

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A process is a part of the run that is started again when it is killed.
type process struct {
	name    string
	command []string
	env     []string      // nil: ours
	ended   chan struct{} // closed when it has ended, but not by a kill
	status  error         // valid then

	mu      sync.Mutex
	current *os.Process
	starts  int
	pause   time.Duration // before the next start
	said    bytes.Buffer
}

// start starts it, and again after every kill.
func (p *process) start() {
	p.ended = make(chan struct{})
	running := make(chan struct{}, 1)
	go func() {
		defer close(p.ended)
		for first := true; ; first = false {
			cmd := exec.Command(p.command[0], p.command[1:]...)
			cmd.Env = p.env
			if cmd.Env == nil {
				cmd.Env = os.Environ()
			}
			cmd.Stdout, cmd.Stderr = (*speech)(p), (*speech)(p)
			if p.status = cmd.Start(); p.status != nil {
				if first {
					running <- struct{}{}
				}
				return
			}
			p.mu.Lock()
			p.current = cmd.Process
			p.starts++
			fmt.Fprintf(&p.said, "-- %s: start %d, process %d\n", p.name, p.starts, cmd.Process.Pid)
			p.mu.Unlock()
			if first {
				running <- struct{}{}
			}
			p.status = cmd.Wait()
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
				return
			}
			p.mu.Lock()
			pause := p.pause
			p.mu.Unlock()
			time.Sleep(pause)
		}
	}()
	<-running
}

// kill kills it and restarts it after a pause. A process that has ended is not restarted.
func (p *process) kill(pause time.Duration) {
	p.mu.Lock()
	p.pause = pause
	p.mu.Unlock()
	p.signal(syscall.SIGKILL)
}

func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		p.current.Signal(s) // that it has ended is no error
	}
}

// await waits for its end. One that is not at its end by the deadline has to say where it is, and is ended.
func (p *process) await(deadline <-chan time.Time) bool {
	select {
	case <-p.ended:
		return true
	case <-deadline:
		p.signal(syscall.SIGCONT)
		p.signal(syscall.SIGQUIT)
		<-p.ended
		return false
	}
}

// speech takes what a process says.
type speech process

func (s *speech) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Write(b)
}

// whole is what it said, over all starts.
func (p *process) whole() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// text is the end of what it said, over all starts.
func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := strings.SplitAfter(p.said.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "")
}

// latest is what it said since its last start.
func (p *process) latest() string {
	whole := p.whole()
	return whole[max(0, strings.LastIndex(whole, "-- "+p.name+": start ")):]
}

// count is how often it was started.
func (p *process) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}
