// Package job starts the launcher of an MPI job with the shim preloaded and returns the job's own exit
// status. The job has the terminal: its standard input, output and error are the caller's, unchanged.
package job

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"moriens/internal/slack"
)

// Exit statuses that shells use too.
const (
	StatusNotExecutable = 126
	StatusNotFound      = 127
	statusSignal        = 128 // plus the signal's number
)

// A Preload is what the job's processes need to record.
type Preload struct {
	Library   string // path of libmoriens.so
	Run       string // MORIENS_RUN
	Shm       string // MORIENS_SHM: the directory that holds the rings' directory
	Directory string // MORIENS_DIR: the run directory
	Events    string // MORIENS_EVENTS: what to count; empty: it is left as it is
	Callpath  int    // MORIENS_CALLPATH: frames of a call path; 0 = as the environment says
	Regions   string // MORIENS_REGIONS: families of regions, separated by commas; empty: as the environment says
	Pcontrol  string // MORIENS_PCONTROL; empty: as the environment says
	// PhaseCounters is MORIENS_PHASE_COUNTERS: begins and ends of phases read the events; false: as the environment says.
	PhaseCounters bool
}

// A StartError is a launcher that did not start.
type StartError struct {
	Err    error
	Status int    // exit status
	Text   string // the hint
}

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// Hint says what the user should do.
func (e *StartError) Hint() string { return e.Text }

// A Job is a launcher that runs.
type Job struct {
	command *exec.Cmd
}

// Start starts the launcher.
func Start(argv []string, p Preload) (*Job, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, notStarted(argv[0], err)
	}
	argv, env, err := environment(argv, os.Environ(), p)
	if err != nil {
		return nil, err
	}
	j := &Job{&exec.Cmd{
		Path: path, Args: argv, Env: env,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}}
	if err := slack.Start(j.command); err != nil {
		return nil, notStarted(argv[0], err)
	}
	return j, nil
}

func notStarted(name string, err error) error {
	if errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.ENOEXEC) || errors.Is(err, syscall.EISDIR) {
		return &StartError{fmt.Errorf("launcher %s: %w", name, err), StatusNotExecutable,
			"name an executable program, or a script with an interpreter line"}
	}
	return &StartError{fmt.Errorf("launcher %s: %w", name, err), StatusNotFound,
		"name the program that starts your job after --, for example: moriens run -- mpirun -n 4 ./app"}
}

// Pass passes on a signal that this process got. A key such as Ctrl-C makes the terminal signal the
// whole foreground process group, launcher included: then it must not get the signal a second time,
// because launchers take a second one as an order to kill.
func (j *Job) Pass(s os.Signal) {
	if key := s == syscall.SIGINT || s == syscall.SIGQUIT; key && foreground() {
		return
	}
	j.command.Process.Signal(s)
}

// foreground reports whether this process is in the foreground process group of its controlling terminal.
func foreground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// Wait returns the job's exit status as a shell would: 128 plus the signal where one ended it.
func (j *Job) Wait() (status int, err error) {
	err = j.command.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("wait for %s: %w", j.command.Path, err)
	}
	wait := j.command.ProcessState.Sys().(syscall.WaitStatus)
	if wait.Signaled() {
		return statusSignal + int(wait.Signal()), nil
	}
	return wait.ExitStatus(), nil
}

// finders are the variables by which programs of a family find a tool.
var finders = []struct{ family, variable string }{{"kokkos", "KOKKOS_TOOLS_LIBS"}, {"nvtx", "NVTX_INJECTION64_PATH"}}

// separates reports whether a character separates the families of a list.
func separates(c rune) bool { return c == ',' || c == ' ' }

// environment adds to env what the job's processes need, and to argv what the launcher has to pass on.
//
// Open MPI passes on to other hosts only what mca_base_env_list or -x names, and refuses to start with both;
// other launchers pass on the whole environment. A launcher whose command line does not show that it is
// Open MPI's own, such as a script, is left alone: it may use -x inside.
func environment(argv, env []string, p Preload) ([]string, []string, error) {
	library, err := filepath.Abs(p.Library)
	if err != nil {
		return nil, nil, err
	}
	if strings.ContainsAny(library, ": ") {
		return nil, nil, &StartError{fmt.Errorf("%s: the dynamic loader cannot preload a path with a space or a colon", library), 1,
			"install moriens, or link to libmoriens.so, under another path"}
	}
	directory, err := filepath.Abs(p.Directory)
	if err != nil {
		return nil, nil, err
	}
	values := map[string]string{}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		values[name] = value
	}
	var names []string
	set := func(name, value string) {
		env = append(env, name+"="+value) // the last one counts
		names = append(names, name)
	}
	preload := library
	if old := values["LD_PRELOAD"]; old != "" {
		preload += ":" + old
	}
	set("LD_PRELOAD", preload)
	set("MORIENS_RUN", p.Run)
	set("MORIENS_SHM", p.Shm)
	set("MORIENS_DIR", directory)
	if p.Events != "" {
		set("MORIENS_EVENTS", p.Events)
		delete(values, "MORIENS_EVENTS")
	}
	if p.Callpath > 0 {
		set("MORIENS_CALLPATH", strconv.Itoa(p.Callpath))
		delete(values, "MORIENS_CALLPATH")
	}
	if p.Regions != "" {
		set("MORIENS_REGIONS", p.Regions)
		delete(values, "MORIENS_REGIONS")
	}
	for _, finder := range finders {
		// A tool that the user has named has the program's regions.
		if values[finder.variable] == "" && slices.Contains(strings.FieldsFunc(p.Regions, separates), finder.family) {
			set(finder.variable, library)
		}
	}
	if p.Pcontrol != "" {
		set("MORIENS_PCONTROL", p.Pcontrol)
		delete(values, "MORIENS_PCONTROL")
	}
	if p.PhaseCounters {
		set("MORIENS_PHASE_COUNTERS", "1")
		delete(values, "MORIENS_PHASE_COUNTERS")
	}
	for _, option := range []string{"MORIENS_REGIONS", "MORIENS_PCONTROL", "MORIENS_PHASE_COUNTERS", "MORIENS_EVENTS", "MORIENS_CALLPATH", "MORIENS_RING", "MORIENS_RING_MAX", "MORIENS_POLL_GAP", "MORIENS_PAPI", "MORIENS_DRAIN", "MORIENS_STACK"} {
		if values[option] != "" {
			names = append(names, option)
		}
	}

	const list = "OMPI_MCA_mca_base_env_list"
	switch {
	case !openMPI(argv[0]) || slices.Contains(argv, "mca_base_env_list"):
	case slices.Contains(argv, "-x"):
		var exports []string
		for _, name := range names {
			exports = append(exports, "-x", name)
		}
		argv = slices.Concat(argv[:1], exports, argv[1:])
	case values[list] != "":
		env = append(env, list+"="+values[list]+";"+strings.Join(names, ";"))
	default:
		env = append(env, list+"="+strings.Join(names, ";"))
	}
	return argv, env, nil
}

// openMPI reports whether a launcher's name is one that Open MPI installs. MPICH's have some of the same names: they
// lead to Hydra, which rejects Open MPI's options on the command line, even if the -x there is the program's own.
func openMPI(launcher string) bool {
	name, _, _ := strings.Cut(filepath.Base(launcher), ".")
	return slices.Contains([]string{"mpirun", "mpiexec", "orterun", "prterun"}, name) && !hydra(launcher)
}

func hydra(launcher string) bool {
	name := launcher
	if path, err := exec.LookPath(launcher); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			name = path
		}
	}
	return strings.HasSuffix(name, ".hydra") || strings.HasSuffix(name, ".mpich")
}
