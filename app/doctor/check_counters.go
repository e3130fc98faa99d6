package doctor

import (
	"fmt"
	"slices"
	"strings"
)

func checkPMU(p PMU) Finding {
	f := Finding{ID: "counters.pmu", Status: OK, Found: "the processor's counters can be read", Facts: []string{
		"perf_event_paranoid: " + orNone(p.Paranoid), "/sys/bus/event_source/devices: " + orNone(strings.Join(p.Devices, " ")),
	}}
	if p.Hardware == "" {
		return f
	}
	f.Status, f.Found = Lack, "no hardware counters: perf_event_open gives "+p.Hardware
	denied := p.Hardware == "EACCES" || p.Hardware == "EPERM"
	switch {
	case p.Paranoid == "":
		f.Why, f.Do = "the kernel has no perf events", "use a kernel with CONFIG_PERF_EVENTS"
	case denied && paranoid(p.Paranoid) > 2:
		f.Why, f.Do = "perf_event_paranoid is "+p.Paranoid+": only root can count", "sysctl kernel.perf_event_paranoid=2, or less"
	case denied && p.Seccomp, p.Hardware == "ENOSYS":
		f.Why, f.Do = "a system call filter (for example of a container) forbids perf_event_open", "docker run --cap-add PERFMON --security-opt seccomp=…, or measure outside the container"
	case denied:
		f.Why, f.Do = "this process is not permitted to count", "give it CAP_PERFMON, or sysctl kernel.perf_event_paranoid=2"
	case p.Hypervisor:
		f.Why, f.Do = "the hypervisor gives this virtual machine no performance monitoring unit", "ask for one (KVM, libvirt: <pmu state='on'/>; clouds: larger or bare-metal machines), or use --events sw:… or the program's own sde:::…"
	default:
		f.Why, f.Do = "the kernel has no driver for this processor's counters", "use a newer kernel, or --events sw:… or the program's own sde:::…"
	}
	return f
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// paranoid is the number, 0 where it is none.
func paranoid(text string) (n int) {
	fmt.Sscan(text, &n)
	return n
}

func checkCounters(m Machine) []Finding {
	if m.Library.Layout == 0 {
		return nil // the finding about the library says it all
	}
	return []Finding{checkKernelEvents(m.PMU), checkPAPI(m.Library.PAPI), checkEvents(m)}
}

func checkKernelEvents(p PMU) Finding {
	if p.Software == "" {
		return Finding{ID: "counters.kernel", Status: OK, Found: "the kernel's software events can be read by perf_event_open"}
	}
	return Finding{
		ID: "counters.kernel", Status: Lack, Found: "the kernel's software events cannot be read by perf_event_open: " + p.Software,
		Why: "perf events are denied here, see counters.pmu", Do: "nothing: sw:page-faults, sw:context-switches and sw:cpu-time work without it",
	}
}

func checkPAPI(p PAPI) Finding {
	f := Finding{ID: "counters.papi", Status: OK, Found: fmt.Sprintf("PAPI %s, %s, %d preset events", p.Version, p.File, len(p.Presets))}
	if p.Error != "" {
		f.Status, f.Found, f.Why = Lack, "no PAPI", p.Error
		f.Do = "install PAPI 6 or newer (Debian: libpapi7.0), or name its library in MORIENS_PAPI; sw:… events need none"
		return f
	}
	counts := false
	for _, c := range p.Components {
		if c.Disabled == "" {
			f.Facts = append(f.Facts, c.Name+": enabled")
		} else {
			f.Facts = append(f.Facts, c.Name+": "+c.Disabled)
		}
		counts = counts || c.Name == "perf_event" && c.Disabled == ""
	}
	if len(p.Presets) > 0 {
		f.Facts = append(f.Facts, "presets: "+strings.Join(p.Presets, " "))
	}
	if !counts {
		f.Status, f.Why, f.Do = Warn, "its perf_event component is disabled: no processor events can be counted", "see counters.pmu; the program's own sde:::… can be counted"
	}
	return f
}

func checkEvents(m Machine) Finding {
	l := m.Library
	f := Finding{ID: "counters.events", Status: OK, Found: "none can be counted"}
	if len(l.Events) > 0 {
		f.Found = fmt.Sprintf("%s can be counted, %.0f ns per reading", strings.Join(l.Events, ", "), l.ReadingNS)
	}
	f.Facts = append(f.Facts, l.NoEvents...)
	ipc := slices.Contains(l.Events, "PAPI_TOT_INS") && slices.Contains(l.Events, "PAPI_TOT_CYC")
	if ipc {
		f.Facts = append(f.Facts, "IPC is available: bursts are clustered by instructions and IPC")
	}
	switch {
	case l.Asked && len(l.NoEvents) > 0:
		f.Status, f.Why, f.Do = Warn, "some of the requested events cannot be counted", "see counters.pmu and counters.papi; papi_avail and papi_native_avail list names"
	case !l.Asked && !ipc:
		f.Status, f.Why = Lack, "instructions and cycles cannot be counted, so there is no IPC: bursts are clustered by duration, separately for each pair of surrounding MPI call paths"
		f.Do = "see counters.pmu and counters.papi"
	}
	return f
}
