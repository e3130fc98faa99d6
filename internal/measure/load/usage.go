package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A usage is what a process has taken.
type usage struct {
	cpu      float64 // seconds
	resident float64 // bytes
}

// usageOf reads /proc (proc(5)): processor time comes in hundredths of a second.
func usageOf(pid int) (u usage, err error) {
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
	u.cpu = (number(11) + number(12)) / 100
	u.resident = number(21) * float64(os.Getpagesize())
	return u, err
}

// percentile returns the value below which a share p of the list lies.
func percentile(list []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[int(math.Ceil(p*float64(len(sorted))))-1]
}
