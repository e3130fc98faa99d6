package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// earlyFlags say what ends a run before its ranks do, besides `moriens finish`.
type earlyFlags struct {
	Signal string `help:"End the run early, with all analyses, at this signal too: the one that the batch system sends before the time limit, such as USR1. SIGTERM does so always." placeholder:"NAME"`
}

// signal returns the signal that the user named: USR1, SIGUSR1 or 10; nil where none was.
func (e *earlyFlags) signal() (os.Signal, error) {
	if e.Signal == "" {
		return nil, nil
	}
	const advice = "for example --signal USR1"
	s := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(e.Signal), "SIG"))
	if number, err := strconv.Atoi(e.Signal); err == nil {
		s = syscall.Signal(number)
	}
	switch {
	case unix.SignalName(s) == "":
		return nil, usage(fmt.Errorf("--signal: there is no signal %q", e.Signal), advice)
	case s == syscall.SIGKILL || s == syscall.SIGSTOP:
		return nil, usage(fmt.Errorf("--signal: no process sees %s", unix.SignalName(s)), advice)
	case s == syscall.SIGCHLD || s == syscall.SIGURG || s == syscall.SIGPIPE || s == syscall.SIGWINCH:
		return nil, usage(fmt.Errorf("--signal: %s comes by itself", unix.SignalName(s)), advice)
	}
	return s, nil
}
