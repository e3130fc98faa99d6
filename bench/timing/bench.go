// Package timing is what the benchmarks that time whole programs share: running them and evaluating figures that
// scatter. It never decides whether a figure is good.
package timing

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Output runs a command, with more in its environment, and returns what it printed; an error has what it said to
// stderr.
func Output(env []string, command ...string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// Numbers reads the value of an option that is a list of whole numbers from 1 up, by commas.
func Numbers(option, list string) ([]int, error) {
	var all []int
	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s %s: want numbers from 1 up", option, list)
		}
		all = append(all, n)
	}
	return all, nil
}

// Quartiles returns the quartiles of a list that is not empty.
func Quartiles(list []float64) (low, mid, high float64) {
	sorted := slices.Sorted(slices.Values(list))
	at := func(q int) float64 { return sorted[(len(sorted)-1)*q/4] }
	return at(1), at(2), at(3)
}

// Interval returns the median of a list that is not empty and two of its values between which the median of all runs
// that could have been made lies with at least 95 % confidence, whatever their distribution (the sign test's interval);
// where there are too few for that, fewer than 6, the least and the greatest.
func Interval(list []float64) (low, mid, high float64) {
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	// The chance that at most k of n values lie below the median is the tail of a binomial distribution.
	drop, tail, term := 0, 0.0, 1.0
	for range n {
		term /= 2
	}
	for k := 0; k < n/2; k++ {
		tail += term
		if 2*tail > .05 {
			break
		}
		drop = k + 1
		term *= float64(n-k) / float64(k+1)
	}
	drop = max(drop-1, 0)
	return sorted[drop], (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[n-1-drop]
}
