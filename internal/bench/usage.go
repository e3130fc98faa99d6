package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// A Usage is what a process has taken.
type Usage struct {
	CPU      float64 // seconds
	Resident float64 // bytes
}

// UsageOf reads /proc (proc(5)): processor time comes in hundredths of a second.
func UsageOf(pid int) (u Usage, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // behind the program's name
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return u, fmt.Errorf("/proc/%d/stat: %q", pid, text)
	}
	number := func(i int) float64 {
		n, e := strconv.ParseFloat(fields[i], 64)
		if e != nil {
			err = e
		}
		return n
	}
	u.CPU = (number(11) + number(12)) / 100
	u.Resident = number(21) * float64(os.Getpagesize())
	return u, err
}
