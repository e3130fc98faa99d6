// Package doctor finds out what a machine offers for measuring.
//
// Probe examines the machine and changes nothing on it except a file in shared memory that it removes again. Diagnose
// turns the result into findings, each with what is missing, why, and what to do. Checks that need a process run in a
// child with a time limit, so that nothing here hangs.
//
// For counters, the clock and libunwind it asks libmoriens.so itself, preloaded into a program that ends before it
// begins (cshim/src/probe.c), so that the answer is the one that a measured program would get.
package doctor

import "moriens/agent/ring"

// Status is what a finding means for measuring.
type Status string

// The statuses of findings.
const (
	OK    Status = "ok"
	Warn  Status = "warn"  // it is there, with a flaw
	Lack  Status = "lack"  // it is not, and measuring goes without
	Fatal Status = "fatal" // without it nothing can be measured
)

// A Finding is one thing that was looked at.
type Finding struct {
	ID     string   `json:"id"` // never changes its meaning; several libraries and launchers share one
	Status Status   `json:"status"`
	Found  string   `json:"found"`           // in one line
	Why    string   `json:"why,omitempty"`   // it is not ok
	Do     string   `json:"do,omitempty"`    // about it
	Facts  []string `json:"facts,omitempty"` // more of it, a line each
}

// A Report is all findings.
type Report struct {
	Version  string    `json:"version"` // of moriens
	Host     string    `json:"host"`
	Kernel   string    `json:"kernel"`
	Possible bool      `json:"possible"` // whether anything can be measured
	Findings []Finding `json:"findings"`
}

// A Machine is what was seen of one. Errors are texts, empty where there was none.
type Machine struct {
	Host, Kernel, Arch string // Arch as Go names it
	Library            Library
	Order              Order
	MPIs               []MPI
	Launchers          []Launcher
	PMU                PMU
	Memory             Memory
	Limits             Limits
	Slurm              Slurm
}

// A Library is libmoriens.so and what it found.
type Library struct {
	Path  string
	Error string // it cannot be found, or has not answered
	Hint  string
	Arch  string // as Go names it; empty: unknown
	Said  string // what the dynamic loader had to say

	Layout    int // 0: it has not answered
	Clock     string
	ClockNS   float64
	Libunwind bool
	PAPI      PAPI
	Events    []string // that can be counted
	NoEvents  []string // that cannot, each as "name: reason"
	ReadingNS float64  // of all events, once
	Asked     bool     // the events are the user's choice
}

// Order is who else wraps MPI functions in programs that are started from here.
type Order struct {
	Error   string
	Own     bool    // LD_PRELOAD names libmoriens.so itself, and the order is that; else it comes first, as under moriens run
	Before  []Other // libmoriens.so: they see all calls, and it sees what they pass on
	Behind  []Other
	NoStack bool // MORIENS_STACK=0
}

// An Other is another tool.
type Other struct {
	Path      string
	Functions int // that libmoriens.so wraps too
}

// PAPI is what the library saw of it.
type PAPI struct {
	Error         string // why it cannot be used
	File, Version string
	Components    []Component
	Presets       []string // that can be counted
}

// A Component of PAPI.
type Component struct{ Name, Disabled string }

// Families of MPI libraries and launchers.
const (
	OpenMPI = "openmpi"
	MPICH   = "mpich" // and those derived from it: Intel, MVAPICH, Cray
	ABI     = "abi"   // a library with the MPI-5 standard ABI
	Slurms  = "slurm" // a launcher
)

// An MPI is a library.
type MPI struct {
	Path     string
	By       []string // how it was found
	Error    string
	Family   string
	Standard string // of MPI
	Version  string // its own text
	// Fortran has, for each binding that comes with it, the symbols of the calls looked at that libmoriens.so does not
	// have.
	Fortran map[string][]string
}

// A Launcher is a program that starts MPI jobs.
type Launcher struct {
	Names   []string // on PATH; the first is found by that name
	Path    string
	Error   string
	Family  string
	Version string
}

// PMU is what the kernel says of its counters.
type PMU struct {
	Paranoid   string // perf_event_paranoid; empty: there is none
	Devices    []string
	Hypervisor bool
	Seccomp    bool // this process has a filter
	Hardware   string
	Software   string // why perf_event_open failed, by errno's name; empty: it counted
}

// Memory is the directory for the rings.
type Memory struct {
	Path          string
	Error         string // it cannot be used
	Type          string
	InMemory      bool
	NoExec        bool
	Bytes, Free   uint64
	Write         string // why a file cannot be made, allocated and mapped
	Leftovers     []ring.Leftover
	Ranks, CPUs   int
	RingBytes     uint64 // of a thread without orders
	ProcessBytes  uint64 // of a process file
	MinimumBytes  uint64 // of a rank's files, when there is very little room
	RanksWereSaid bool
}

// Limits of this process. -1 is none.
type Limits struct {
	Descriptors, DescriptorsHard int64
	Locked                       int64 // bytes
	Threads                      int64 // of the user
	PIDs                         int64 // of the cgroup
	CPUs, AllCPUs                int   // this process may run on, and the machine has
	Quota                        float64
}

// Slurm describes the Slurm installation.
type Slurm struct {
	Srun, Version, Job string
	MPI                []string // plugins
	Error              string
	Unconfigured       bool // srun finds no configuration: this machine belongs to no cluster
}
