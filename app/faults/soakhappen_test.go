package faults

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"moriens/collector/journal"
	"moriens/trace/rundir"
)

// meetWith lets an incident happen; what it lasts is waited for by all.
func (r *soakRound) meetWith(i incident, all *sync.WaitGroup) {
	later := func(undo func()) {
		all.Go(func() {
			time.Sleep(i.lasts)
			undo()
		})
	}
	freeze := func(signal func(syscall.Signal)) {
		signal(syscall.SIGSTOP)
		later(func() { signal(syscall.SIGCONT) })
	}
	rank := func(s syscall.Signal) { signalOne(r.t, r.truth, i.rank, s) }
	switch i.fault {
	case killAgent, killCollector:
		r.kill(i)
	case freezeAgent, freezeCollector:
		freeze(r.signaller(i.fault))
	case freezeRank:
		freeze(rank)
	case killRank:
		rank(syscall.SIGKILL)
	case cutConnections:
		r.proxy.cut()
	case fillDisk:
		fillFor(r.t, r.disk, later)
	case fillSpool:
		fillFor(r.t, r.small, later)
	case removeSpool:
		dirs, _ := filepath.Glob(filepath.Join(r.spool, "moriens*"))
		for _, dir := range dirs {
			if !strings.Contains(dir, "socket") { // that is another thing
				os.RemoveAll(dir)
			}
		}
	case removeMeeting:
		os.Remove(filepath.Join(r.out, "collector.json"))
	}
}

func fillFor(t *testing.T, d *disk, later func(func())) {
	if d != nil {
		d.fill(t)
		later(func() { d.free(t) })
	}
}

// kill kills what has the agent, or the collector. Of the parts it is started again by themselves; under a plain
// preload the agent's parent does so, unless it is killed too.
func (r *soakRound) kill(i incident) {
	switch {
	case r.plan.way == byParts && i.fault == killAgent:
		r.agent.kill(i.lasts)
	case r.plan.way == byParts:
		r.collector.kill(i.lasts)
	case r.plan.way == byRun:
		select {
		case <-r.ended:
		default:
			r.job.Process.Signal(syscall.SIGKILL) // that it has ended is no error
			<-r.ended
			r.bereaved()
		}
	default:
		r.killPreloaded(i.fault == killCollector)
	}
}

// killPreloaded kills the agent of a plain preload, and waits until it is gone, because the process that resumes the
// run needs its locks. With the parent it does so until nothing is left: the parent may have been about to start
// another.
func (r *soakRound) killPreloaded(parentToo bool) {
	for {
		var doomed []held
		for _, p := range r.preloaded() { // the parent first, for it would start the agent again
			if parentToo || p.agent {
				p.signal(syscall.SIGKILL)
				doomed = append(doomed, p)
			}
		}
		for _, p := range doomed {
			r.note("killed %d, agent: %t, of rank's process %d", p.pid, p.agent, p.starter)
			p.awaitEnd(r.t)
		}
		if len(doomed) == 0 || !parentToo {
			return
		}
		r.starter = doomed[0].starter
		r.bereaved()
	}
}

// bereaved notes that the process with the collector has gone, and whether it has left anything.
func (r *soakRound) bereaved() {
	r.killed = true
	r.nothing = !r.begun() && !exists(filepath.Join(r.out, rundir.ManifestFile))
	r.note("left with nothing: %t", r.nothing)
}

// begun reports whether the journal holds a run that can be resumed. One without a beginning cannot: `moriens collect`
// would begin another.
func (r *soakRound) begun() bool {
	_, begun, err := journal.Options(filepath.Join(r.out, rundir.JournalDir))
	return begun || err != nil // what is wrong with it is reported by the resuming process
}

// signaller signals what has the agent, or the collector.
func (r *soakRound) signaller(f fault) func(syscall.Signal) {
	switch {
	case r.plan.way == byParts && f == freezeAgent:
		return r.agent.signal
	case r.plan.way == byParts:
		return r.collector.signal
	case r.plan.way == byRun:
		return func(s syscall.Signal) { r.job.Process.Signal(s) }
	}
	agents := slices.DeleteFunc(r.preloaded(), func(p held) bool { return !p.agent })
	return func(s syscall.Signal) {
		for _, p := range agents {
			p.signal(s)
		}
	}
}
