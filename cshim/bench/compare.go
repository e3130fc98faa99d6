package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// compare alternates plain and measured runs of a job, prints a row for each kind of call and returns the largest median.
func (b *bench) compare(m mpi, v variant, job []string) (worst float64, err error) {
	plain, added := map[string][]float64{}, map[string][]float64{}
	var kinds []string
	var dropped int64
	for range b.pairs {
		without, err := medians(nil, job...)
		if err != nil {
			return 0, err
		}
		run := filepath.Join(b.work, "run")
		with, err := medians(v.env, append([]string{filepath.Join(b.bin, "moriens"), "run", "--out", run, "--"}, job...)...)
		if err != nil {
			return 0, err
		}
		n, err := droppedCalls(run)
		if err != nil {
			return 0, err
		}
		dropped += n
		if err := os.RemoveAll(run); err != nil {
			return 0, err
		}
		kinds = without.kinds
		for _, k := range kinds {
			plain[k] = append(plain[k], without.values[k])
			added[k] = append(added[k], with.values[k]-without.values[k])
		}
	}
	for _, k := range kinds {
		low, mid, high := quartiles(added[k])
		_, base, _ := quartiles(plain[k])
		fmt.Fprintf(b.out, "| %s | %s | %s | %.1f | %.1f | %.1f … %.1f |\n", m.name, v.name, k, base, mid, low, high)
		worst = max(worst, mid)
	}
	if dropped > 0 { // which costs less than recording
		fmt.Fprintf(b.out, "| %s | %s | (%d calls in %d runs found the ring full) | | | |\n", m.name, v.name, dropped, b.pairs)
	}
	return worst, nil
}

// droppedCalls is how many calls of a run found no room in their ring.
func droppedCalls(run string) (int64, error) {
	text, err := os.ReadFile(filepath.Join(run, "manifest.json"))
	if err != nil {
		return 0, err
	}
	var manifest struct{ Dropped int64 }
	err = json.Unmarshal(text, &manifest)
	return manifest.Dropped, err
}

// figures are the medians over the rounds of a run, by kind of call.
type figures struct {
	kinds  []string // in the order of their first line
	values map[string]float64
}

func medians(env []string, command ...string) (figures, error) {
	text, err := output(env, command...)
	if err != nil {
		return figures{}, err
	}
	f := figures{values: map[string]float64{}}
	values := map[string][]float64{}
	for line := range strings.Lines(text) {
		kind, number, found := strings.Cut(strings.TrimSpace(line), "\t")
		ns, err := strconv.ParseFloat(number, 64)
		if !found || err != nil {
			continue // what moriens prints
		}
		if values[kind] == nil {
			f.kinds = append(f.kinds, kind)
		}
		values[kind] = append(values[kind], ns)
	}
	for kind, list := range values {
		_, f.values[kind], _ = quartiles(list)
	}
	return f, nil
}

func quartiles(list []float64) (low, mid, high float64) {
	sorted := slices.Sorted(slices.Values(list))
	at := func(q int) float64 { return sorted[(len(sorted)-1)*q/4] }
	return at(1), at(2), at(3)
}

func output(env []string, command ...string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, stderr.String())
	}
	return stdout.String(), nil
}
