package doctor

import (
	"encoding/json"
	"strings"
	"testing"

	"moriens/agent/ring"
	"moriens/internal/golden"
	"moriens/internal/shmabi"
)

// sound is a machine that has everything.
func sound() Machine {
	return Machine{
		Host: "node1", Kernel: "Linux 6.1", Arch: "amd64",
		Library: Library{
			Path: "/opt/moriens/libmoriens.so", Arch: "amd64", Layout: shmabi.Version, Clock: "tsc", ClockNS: 9, Libunwind: true,
			PAPI: PAPI{
				File: "/usr/lib/libpapi.so.7", Version: "7.1.0", Presets: []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"},
				Components: []Component{{"perf_event", ""}, {"cuda", "no GPU"}},
			},
			Events: []string{"PAPI_TOT_INS", "PAPI_TOT_CYC", "sw:cpu-time"}, ReadingNS: 310,
		},
		MPIs: []MPI{{
			Path: "/usr/lib/libmpi.so.40", By: []string{"ldconfig"}, Family: OpenMPI, Standard: "3.1", Version: "Open MPI v4.1.4, package: x",
			Fortran: map[string][]string{"use mpi_f08": nil, "mpif.h, use mpi": nil},
		}},
		Launchers: []Launcher{{Names: []string{"mpirun", "mpiexec"}, Path: "/usr/bin/mpirun", Family: OpenMPI, Version: "4.1.4"}},
		PMU:       PMU{Paranoid: "2", Devices: []string{"cpu", "software"}},
		Memory: Memory{
			Path: "/dev/shm", Type: "tmpfs", InMemory: true, Bytes: 64 << 30, Free: 63 << 30, Ranks: 64, CPUs: 64,
			RingBytes: 4<<20 + 4096, ProcessBytes: 256<<10 + 4096, MinimumBytes: 88 << 10, RanksWereSaid: true,
		},
		Limits: Limits{Descriptors: 1024, DescriptorsHard: 4096, Locked: -1, Threads: 4096, PIDs: -1, CPUs: 64, AllCPUs: 64},
		Slurm:  Slurm{Srun: "/usr/bin/srun", Version: "22.05", Job: "17", MPI: []string{"pmi2", "pmix"}},
	}
}

func TestJudge(t *testing.T) {
	var text strings.Builder
	for _, c := range []struct {
		name string
		lack func(m *Machine)
	}{
		{"a machine that has everything", func(*Machine) {}},
		{"no library", func(m *Machine) {
			m.Library = Library{Error: "no libmoriens.so beside /opt/moriens", Hint: "run `make build`"}
		}},
		{"library of another machine", func(m *Machine) { m.Library = Library{Path: "/x.so", Arch: "arm64"} }},
		{"library that does not load", func(m *Machine) {
			m.Library = Library{Path: "/x.so", Arch: "amd64", Error: "it was preloaded and did not answer", Said: "ld.so: version GLIBC_2.38 not found"}
		}},
		{"library of another layout", func(m *Machine) { m.Library.Layout = 999 }},
		{"tools on both sides", func(m *Machine) {
			m.Order = Order{Own: true, Before: []Other{{"/opt/darshan/libdarshan.so", 70}}, Behind: []Other{{"/opt/dlb/libdlb_mpi.so", 200}}}
		}},
		{"a tool that is passed by", func(m *Machine) { m.Order = Order{Behind: []Other{{"/opt/dlb/libdlb_mpi.so", 200}}, NoStack: true} }},
		{"a preloaded library that does not load", func(m *Machine) { m.Order.Error = "it was preloaded and did not answer" }},
		{"no MPI", func(m *Machine) { m.MPIs, m.Launchers = nil, nil }},
		{"MPI that does not load", func(m *Machine) {
			m.MPIs[0].Error = "libfabric.so.1: cannot open shared object file"
		}},
		{"launcher of another MPI", func(m *Machine) {
			m.Launchers = []Launcher{{Names: []string{"mpiexec"}, Path: "/m/mpiexec", Family: MPICH, Version: "4.0.2"}}
		}},
		{"launcher of another version", func(m *Machine) { m.Launchers[0].Version = "5.0.3" }},
		{"launcher that says nothing", func(m *Machine) {
			m.Launchers[0] = Launcher{Names: []string{"mpirun"}, Path: "/m", Error: "exit status 1"}
		}},
		{"srun launches all", func(m *Machine) {
			m.Launchers = []Launcher{{Names: []string{"srun"}, Path: "/usr/bin/srun", Family: Slurms, Version: "22.05"}}
		}},
		{"no Fortran", func(m *Machine) { m.MPIs[0].Fortran = map[string][]string{} }},
		{"Fortran of an unknown compiler", func(m *Machine) {
			m.MPIs[0].Fortran = map[string][]string{"use mpi_f08": {"mpi_send_f08_"}}
		}},
		{"perf_event_paranoid 3", func(m *Machine) { m.PMU.Paranoid, m.PMU.Hardware, m.PMU.Software = "3", "EACCES", "EACCES" }},
		{"a container's filter", func(m *Machine) { m.PMU.Seccomp, m.PMU.Hardware, m.PMU.Software = true, "EPERM", "EPERM" }},
		{"a filter that knows no such call", func(m *Machine) { m.PMU.Hardware = "ENOSYS" }},
		{"denied without a filter", func(m *Machine) { m.PMU.Hardware = "EACCES" }},
		{"a virtual machine without a PMU", func(m *Machine) { m.PMU.Hypervisor, m.PMU.Hardware = true, "ENOENT" }},
		{"a processor without a driver", func(m *Machine) { m.PMU.Hardware = "ENOENT" }},
		{"a kernel without perf", func(m *Machine) { m.PMU = PMU{Hardware: "ENOSYS", Software: "ENOSYS"} }},
		{"no PAPI", func(m *Machine) {
			m.Library.PAPI = PAPI{Error: "PAPI is not installed: no libpapi.so can be loaded"}
			m.Library.Events = []string{"sw:cpu-time"}
			m.Library.NoEvents = []string{"PAPI_TOT_INS: PAPI is not installed: no libpapi.so can be loaded"}
		}},
		{"PAPI without its component", func(m *Machine) {
			m.Library.PAPI.Components[0].Disabled, m.Library.PAPI.Presets = "Error libpfm4 no default PMU found", nil
		}},
		{"events that do not exist", func(m *Machine) {
			m.Library.Asked, m.Library.Events, m.Library.NoEvents = true, nil, []string{"PAPI_X: Event does not exist"}
		}},
		{"one event of three that does not exist", func(m *Machine) {
			m.Library.Asked, m.Library.NoEvents = true, []string{"PAPI_X: Event does not exist"}
		}},
		{"no tsc", func(m *Machine) { m.Library.Clock, m.Library.ClockNS = "CLOCK_MONOTONIC_RAW", 24 }},
		{"no libunwind", func(m *Machine) { m.Library.Libunwind = false }},
		{"no /dev/shm", func(m *Machine) { m.Memory = Memory{Path: "/dev/shm", Error: "no such file or directory"} }},
		{"/dev/shm full", func(m *Machine) {
			m.Memory.Free, m.Memory.Write = 0, "allocate 69632 bytes: no space left on device"
			m.Memory.Leftovers = []ring.Leftover{{Path: "/dev/shm/moriens-0-a", Bytes: 3 << 20}, {Path: "/dev/shm/moriens-0-b", Bytes: 1 << 20}}
		}},
		{"/dev/shm unwritable", func(m *Machine) { m.Memory.Write = "permission denied" }},
		{"/dev/shm a disk", func(m *Machine) { m.Memory.Type, m.Memory.InMemory = "ext4", false }},
		{"/dev/shm noexec", func(m *Machine) { m.Memory.NoExec = true }},
		{"/dev/shm of 64 MiB, as in a container", func(m *Machine) { m.Memory.Bytes, m.Memory.Free = 64<<20, 64<<20 }},
		{"/dev/shm too small for some ranks", func(m *Machine) { m.Memory.Bytes, m.Memory.Free = 4<<20, 4<<20 }},
		{"few descriptors", func(m *Machine) { m.Limits.Descriptors = 64 }},
		{"few threads", func(m *Machine) { m.Limits.PIDs = 100 }},
		{"a quota of CPUs", func(m *Machine) { m.Limits.Quota = 1.5 }},
		{"no Slurm", func(m *Machine) { m.Slurm = Slurm{} }},
		{"srun without a cluster", func(m *Machine) {
			why := "srun: fatal: Could not establish a configuration source"
			m.Slurm = Slurm{Srun: "/usr/bin/srun", Error: why, Unconfigured: true}
			m.Launchers = append(m.Launchers, Launcher{Names: []string{"srun"}, Path: "/usr/bin/srun", Family: Slurms, Error: why})
		}},
		{"/dev/shm too small", func(m *Machine) {
			m.Memory.Bytes, m.Memory.Free, m.Memory.Write = 40<<10, 40<<10, "allocate 69632 bytes: no space left on device"
		}},
		{"Slurm that does not answer", func(m *Machine) { m.Slurm = Slurm{Srun: "/usr/bin/srun", Error: "it did not answer in time"} }},
	} {
		m := sound()
		c.lack(&m)
		r := Diagnose(m, "1.0")
		text.WriteString("== " + c.name + "\n")
		if c.name == "a machine that has everything" {
			if err := Write(&text, r, false, true); err != nil {
				t.Fatal(err)
			}
			text.WriteByte('\n')
			continue
		}
		var faults Report
		for _, f := range r.Findings {
			if f.Status != OK {
				faults.Findings = append(faults.Findings, f)
			}
			if f.Status != OK && (f.Why == "" || f.Do == "") {
				t.Errorf("%s: %s does not say why and what to do: %+v", c.name, f.ID, f)
			}
		}
		faults.Possible, faults.Version, faults.Host, faults.Kernel = r.Possible, r.Version, r.Host, r.Kernel
		if err := Write(&text, faults, false, false); err != nil {
			t.Fatal(err)
		}
		text.WriteByte('\n')
	}
	golden.Check(t, "findings.txt", []byte(text.String()))
}

func TestJSON(t *testing.T) {
	m := sound()
	m.PMU.Hypervisor, m.PMU.Hardware = true, "ENOENT"
	text, err := json.MarshalIndent(Diagnose(m, "1.0"), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "report.json", append(text, '\n'))
}

// Colour is always accompanied by a mark in words.
func TestColour(t *testing.T) {
	var plain, coloured strings.Builder
	m := sound()
	m.Library.Libunwind = false
	Write(&plain, Diagnose(m, "1.0"), false, false)
	Write(&coloured, Diagnose(m, "1.0"), true, false)
	stripped := coloured.String()
	for _, code := range []string{"\033[32m", "\033[35m", "\033[0m"} {
		if !strings.Contains(stripped, code) {
			t.Errorf("no %q", code)
		}
		stripped = strings.ReplaceAll(stripped, code, "")
	}
	if stripped != plain.String() {
		t.Errorf("%s\n%s", stripped, plain.String())
	}
}
