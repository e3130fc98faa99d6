package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"moriens/analysis/space"
	"moriens/app/measure"
	"moriens/internal/shmabi"
)

// maxCallpath is MORIENS_MAX_CALLPATH of cshim/src/unwind.h.
const maxCallpath = 64

type runCommand struct {
	Out           string `group:"results" help:"Run directory to create (default: moriens-DATE-TIME)." placeholder:"DIR"`
	Events        string `group:"measured" help:"Events to count in every burst, separated by commas: PAPI presets, native events, sde:::NAME::COUNTER, sw:page-faults, sw:context-switches, sw:cpu-time; or none (default: PAPI_TOT_INS,PAPI_TOT_CYC if available)." placeholder:"LIST" env:"MORIENS_EVENTS"`
	Callpath      *int   `group:"measured" help:"Frames of the call path that are recorded of each MPI call, from 1 (its own place alone) to 64; more than 1 needs libunwind (default: 16)." placeholder:"N"`
	Regions       string `group:"measured" help:"Regions that the program marks for other tools to record as phases, separated by commas: tau, kokkos, nvtx, caliper (default: none; docs/annotations.md)." placeholder:"LIST" env:"MORIENS_REGIONS"`
	Pcontrol      string `group:"measured" help:"phases: MPI_Pcontrol(1, NAME) begins a phase, MPI_Pcontrol(-1, NAME) ends it; C only." placeholder:"phases" env:"MORIENS_PCONTROL"`
	PhaseCounters bool   `group:"measured" help:"Read the events where phases begin and end too: what bursts that cross a border of phases count is exact in each of them, and not shared by time. A begin or an end then costs as much as the events of a call." env:"MORIENS_PHASE_COUNTERS"`
	HTTP          string `group:"progress" name:"http" help:"Address of a status page, for browsers and Prometheus (default: no page)." placeholder:"HOST:PORT" default:"none"`
	showFlags
	earlyFlags
	resultFlags
	shmFlag    `group:"files"`
	spoolFlags `group:"files"`
	Command    []string `arg:"" passthrough:"partial" help:"The command that starts the job, and its arguments: mpirun -n 4 ./app, srun ./app, or the program itself." name:"launcher"`
}

// Help is what --help says beside the flags.
func (r *runCommand) Help() string {
	return "The launcher runs as it is. Ranks on this host are measured; for those of other nodes see docs/batch.md. At the end of the job " +
		"a summary is printed, and the results are in the run directory: report.html opens in a browser; moriens status, efficiency, profile, waits, pairs, view and export take the directory. " +
		"The exit status is the job's, or 3 if the job succeeded but ranks or parts of the analysis are missing."
}

func (r *runCommand) Run(ctx *kong.Context, log *slog.Logger) error {
	options, keep, kept, err := r.results()
	if err != nil {
		return err
	}
	if err := r.checkEvents(options.Dims); err != nil {
		return err
	}
	if err := checkNumbers(); err != nil {
		return err
	}
	if err := r.checkRegions(); err != nil {
		return err
	}
	callpath, err := r.callpath()
	if err != nil {
		return err
	}
	command := r.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return usage(errors.New("no launcher"), "name it after --, for example: moriens run -- mpirun -n 4 ./app")
	}
	signal, err := r.signal()
	if err != nil {
		return err
	}
	status, err := measure.Run(measure.RunConfig{
		Command: command, Out: r.Out, Shm: r.Shm, Spool: r.spool(), Events: r.Events, Callpath: callpath, Regions: r.Regions, Pcontrol: r.Pcontrol, PhaseCounters: r.PhaseCounters, Web: pageAddress(r.HTTP),
		Signal: signal, Options: options, Cells: kept, Keep: keep, Show: r.show(), Given: given(ctx), Program: program(), Log: log,
	})
	return exitStatus{status, err}
}

// callpath is how many frames a call path is to have; 0: the library's default.
func (r *runCommand) callpath() (int, error) {
	what, frames := "--callpath=", 0
	text := os.Getenv("MORIENS_CALLPATH")
	switch {
	case r.Callpath != nil:
		text, frames = strconv.Itoa(*r.Callpath), *r.Callpath
	case text == "":
		return 0, nil
	default:
		what = "MORIENS_CALLPATH="
		frames, _ = strconv.Atoi(text) // checkNumbers has seen it: what is too large for an int is 2^63-1
	}
	if frames < 1 || frames > maxCallpath {
		return 0, usage(errors.New(what+text), fmt.Sprintf("give a number of frames from 1 to %d", maxCallpath))
	}
	return frames, nil
}

// checkNumbers finds options of the library that are no numbers: the ranks would not obey them, and 16M is not 16.
func checkNumbers() error {
	for _, option := range []struct{ name, unit string }{
		{"MORIENS_RING", "bytes"}, {"MORIENS_RING_MAX", "bytes"}, {"MORIENS_POLL_GAP", "microseconds"}, {"MORIENS_DRAIN", "milliseconds"}, {"MORIENS_CALLPATH", "frames"},
	} {
		if value := os.Getenv(option.name); strings.Trim(value, "0123456789") != "" {
			return usage(fmt.Errorf("%s=%s", option.name, value), "give an integer number of "+option.unit+", without a unit")
		}
	}
	return nil
}

// regionFamilies are those that the library knows: family_names of cshim/src/options.c.
var regionFamilies = []string{"tau", "kokkos", "nvtx", "caliper"}

// checkRegions finds what the library would ignore.
func (r *runCommand) checkRegions() error {
	for _, family := range strings.FieldsFunc(r.Regions, func(c rune) bool { return c == ',' || c == ' ' }) {
		if !slices.Contains(regionFamilies, family) {
			return usage(fmt.Errorf("--regions: unknown: %s", family), "give one or more of "+strings.Join(regionFamilies, ", "))
		}
	}
	if r.Pcontrol != "" && r.Pcontrol != "phases" {
		return usage(fmt.Errorf("--pcontrol: unknown: %s", r.Pcontrol), "give phases, or leave it out: MPI_Pcontrol then only pauses and resumes recording")
	}
	return nil
}

// checkEvents finds what can be known before the run: more events than there is room for, and dimensions that
// need what will not be counted.
func (r *runCommand) checkEvents(dims []space.Dim) error {
	if r.Events == "" {
		return nil
	}
	events := strings.FieldsFunc(r.Events, func(c rune) bool { return c == ',' || c == ' ' })
	if len(events) > shmabi.MaxEvents {
		return usage(fmt.Errorf("--events: %d events, at most %d can be counted", len(events), shmabi.MaxEvents), "count the others in another run")
	}
	for _, d := range dims {
		for _, quantity := range []string{d.Num, d.Den} {
			if quantity != "" && quantity != space.Duration && !slices.Contains(events, quantity) {
				return usage(fmt.Errorf("--dims: %s needs %s, which is not in --events", d, quantity), "add it to --events")
			}
		}
	}
	return nil
}
