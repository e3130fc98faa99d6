package doctor

import (
	"fmt"
	"slices"
	"strings"

	"moriens/internal/shmabi"
)

// Diagnose turns a machine's facts into findings.
func Diagnose(m Machine, version string) Report {
	r := Report{Version: version, Host: m.Host, Kernel: m.Kernel, Possible: true}
	for _, list := range [][]Finding{
		{checkLibrary(m)}, checkOrder(m), checkMPIs(m), {checkPMU(m.PMU)}, checkCounters(m), {checkClock(m.Library), checkLibunwind(m.Library)},
		checkMemory(m.Memory), checkLimits(m), {checkSlurm(m.Slurm)},
	} {
		r.Findings = append(r.Findings, list...)
	}
	r.Possible = !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Status == Fatal })
	return r
}

func checkLibrary(m Machine) Finding {
	l := m.Library
	f := Finding{ID: "library", Status: Fatal, Found: l.Path}
	switch {
	case l.Path == "":
		f.Found, f.Why, f.Do = "no libmoriens.so", l.Error, l.Hint
	case l.Arch != "" && l.Arch != m.Arch:
		f.Why = fmt.Sprintf("it is built for %s, moriens for %s", l.Arch, m.Arch)
		f.Do = "build both for this architecture: make build"
	case l.Layout == 0:
		f.Why = "it cannot be loaded into programs on this machine: " + l.Error
		f.Do = "build it on this machine, or on one whose C library is not newer: make shim"
		if l.Said != "" {
			f.Facts = strings.Split(l.Said, "\n")
		}
	case l.Layout != shmabi.Version:
		f.Why = fmt.Sprintf("it writes shared memory of layout %d, and moriens reads %d", l.Layout, shmabi.Version)
		f.Do = "use both from the same build, and unset MORIENS_LIB: make build"
	default:
		f.Status = OK
		f.Found += fmt.Sprintf(", %s, layout %d, loads", m.Arch, l.Layout)
	}
	return f
}

// checkOrder says who else wraps MPI, once for each tool; one finding where there is none.
func checkOrder(m Machine) []Finding {
	o := m.Order
	switch {
	case m.Library.Layout == 0:
		return nil // which is fatal
	case o.Error != "":
		return []Finding{{ID: "preload.order", Status: Warn, Found: "not known", Why: o.Error, Do: "check LD_PRELOAD: another library in it may fail to load"}}
	case len(o.Before)+len(o.Behind) == 0:
		return []Finding{{ID: "preload.order", Status: OK, Found: "no other preloaded library wraps MPI"}}
	}
	var list []Finding
	for _, x := range o.Before {
		list = append(list, Finding{
			ID: "preload.order", Status: Warn, Found: fmt.Sprintf("%s comes before libmoriens.so and wraps %d of its functions", x.Path, x.Functions),
			Why: "its direct calls to PMPI_* are not recorded; if it makes only such calls, nothing is recorded", Do: "put libmoriens.so first in LD_PRELOAD: it passes calls on to later tools",
		})
	}
	for _, x := range o.Behind {
		f := Finding{ID: "preload.order", Status: OK, Found: fmt.Sprintf("%s comes after libmoriens.so, which passes calls of %d functions on to it", x.Path, x.Functions)}
		if o.NoStack {
			f.Status, f.Found = Warn, fmt.Sprintf("%s comes after libmoriens.so and wraps %d of its functions", x.Path, x.Functions)
			f.Why, f.Do = "MORIENS_STACK is 0: it receives no calls from C", "unset MORIENS_STACK if both tools shall record them"
		}
		list = append(list, f)
	}
	return list
}

func checkClock(l Library) Finding {
	f := Finding{ID: "clock", Status: OK, Found: fmt.Sprintf("%s, %.0f ns to read", l.Clock, l.ClockNS)}
	switch {
	case l.Clock == "":
		f.Status, f.Found, f.Why, f.Do = Lack, "not known", "libmoriens.so has not answered", "see library"
	case l.Clock == "CLOCK_MONOTONIC_RAW":
		f.Status = Warn
		f.Why = "the kernel does not use the processor's time-stamp counter (/sys/devices/system/clocksource); each MPI call reads the clock twice"
		f.Do = "boot with clocksource=tsc tsc=reliable if the counters of all processors are synchronised; results are correct either way"
	}
	return f
}

func checkLibunwind(l Library) Finding {
	if l.Libunwind {
		return Finding{ID: "libunwind", Status: OK, Found: "call paths of up to 64 frames: --callpath"}
	}
	f := Finding{
		ID: "libunwind", Status: Lack, Found: "call paths have one frame", Why: "libunwind.so.8 cannot be loaded",
		Do: "install libunwind (Debian: libunwind8) to record callers of MPI calls",
	}
	if l.Layout == 0 {
		f.Why, f.Do = "libmoriens.so has not answered", "see library"
	}
	return f
}

func checkSlurm(s Slurm) Finding {
	if s.Srun == "" {
		return Finding{ID: "slurm", Status: Lack, Found: "no srun on PATH", Why: "Slurm is not installed here, or not on PATH", Do: "nothing, unless you use Slurm"}
	}
	f := Finding{ID: "slurm", Status: OK, Found: strings.TrimSpace(s.Srun + " " + s.Version)}
	switch {
	case s.Unconfigured:
		f.Status, f.Why, f.Do = Lack, s.Error, "nothing, unless you use Slurm: then set SLURM_CONF, or run this on a node of the cluster"
	case s.Error != "":
		f.Status, f.Why, f.Do = Warn, s.Error, "srun does not answer: ask your administrators"
	}
	if s.Job != "" {
		f.Found += ", inside job " + s.Job
	}
	if len(s.MPI) > 0 {
		f.Facts = append(f.Facts, "--mpi: "+strings.Join(s.MPI, " "))
	}
	return f
}
