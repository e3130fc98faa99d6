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
	Signal string `group:"progress" help:"On this signal to moriens, end the run early and analyse what was recorded: the signal that the batch system sends before the time limit, such as USR1. SIGTERM always does." placeholder:"NAME"`
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
		return nil, usage(fmt.Errorf("--signal: %s cannot be caught", unix.SignalName(s)), advice)
	case s == syscall.SIGCHLD || s == syscall.SIGURG || s == syscall.SIGPIPE || s == syscall.SIGWINCH:
		return nil, usage(fmt.Errorf("--signal: %s is also raised without a request", unix.SignalName(s)), advice)
	}
	return s, nil
}
