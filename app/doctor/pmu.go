package doctor

import (
	"bufio"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

func probePMU() PMU {
	p := PMU{Paranoid: readText("/proc/sys/kernel/perf_event_paranoid")}
	entries, _ := os.ReadDir("/sys/bus/event_source/devices")
	for _, e := range entries {
		p.Devices = append(p.Devices, e.Name())
	}
	p.Hypervisor = hasField("/proc/cpuinfo", "flags", "hypervisor")
	mode := field("/proc/self/status", "Seccomp")
	p.Seccomp = mode != "" && mode != "0"
	p.Hardware = errno(count(unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS))
	p.Software = errno(count(unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_TASK_CLOCK))
	return p
}

// count reads one event of this thread, in user mode, as PAPI would.
func count(kind uint32, event uint64) error {
	attributes := unix.PerfEventAttr{
		Type: kind, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: event,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	fd, err := unix.PerfEventOpen(&attributes, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Read(fd, make([]byte, 8))
	return err
}

// field is the value of the first line "name: value" of a file of /proc.
func field(path, name string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func hasField(path, name, word string) bool {
	for _, w := range strings.Fields(field(path, name)) {
		if w == word {
			return true
		}
	}
	return false
}
