package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"moriens/bench/timing"
)

// A measured is a variant with the figures of its runs so far.
type measured struct {
	variant
	at      int // among the variants
	env     []string
	job     []string
	all     figures
	dropped int64
}

// measure runs the job once under measurement, which times plain rounds and measured ones in turn.
func (b *benchmark) measure(x *measured) error {
	run := filepath.Join(b.work, "run")
	text, err := timing.Output(x.env, append([]string{filepath.Join(b.bin, "moriens"), "run", "--out", run, "--"}, x.job...)...)
	if err != nil {
		return err
	}
	x.all.add(text)
	n, err := droppedCalls(run)
	x.dropped += n
	return errors.Join(err, os.RemoveAll(run))
}

// compare prints a row for each kind of call and returns the largest median of what is added.
func (b *benchmark) compare(m mpi, x *measured) (worst float64) {
	for _, k := range x.all.kinds {
		low, mid, high := timing.Quartiles(x.all.added(k))
		_, plain, _ := timing.Quartiles(x.all.values[k][0])
		least := slices.Min(x.all.values[k][1]) - slices.Min(x.all.values[k][0])
		fmt.Fprintf(b.out, "| %s | %s | %s | %.1f | %.1f | %.1f … %.1f | %.1f |\n", m.name, x.name, k, plain, mid, low, high, least)
		worst = max(worst, mid)
	}
	if x.dropped > 0 { // which costs less than recording
		fmt.Fprintf(b.out, "| %s | %s | (%d calls in %d runs found the ring full) | | | | |\n", m.name, x.name, x.dropped, b.runs)
	}
	return worst
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

// figures are the lines "kind number…" that the programs print.
type figures struct {
	kinds  []string               // in the order of their first line
	values map[string][][]float64 // by kind and column
}

// add takes the lines of a program among what moriens prints.
func (f *figures) add(text string) {
	if f.values == nil {
		f.values = map[string][][]float64{}
	}
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		kind := fields[0]
		var row []float64
		for _, field := range fields[1:] {
			if x, err := strconv.ParseFloat(field, 64); err == nil {
				row = append(row, x)
			}
		}
		if len(row) == 0 || len(row) != len(fields)-1 {
			continue
		}
		if f.values[kind] == nil {
			f.kinds = append(f.kinds, kind)
			f.values[kind] = make([][]float64, len(row))
		}
		for i, x := range row {
			f.values[kind][i] = append(f.values[kind][i], x)
		}
	}
}

// added is by how much the second column is above the first, row by row.
func (f *figures) added(kind string) []float64 {
	return differences(f.values[kind][0], f.values[kind][1])
}

// differences are those of two columns, row by row.
func differences(from, to []float64) []float64 {
	all := make([]float64, len(from))
	for i := range all {
		all[i] = to[i] - from[i]
	}
	return all
}

// median is that of a kind's only column.
func (f *figures) median(kind string) float64 {
	_, mid, _ := timing.Quartiles(f.values[kind][0])
	return mid
}

// medians runs a command that prints lines of one number.
func medians(env []string, command ...string) (f figures, err error) {
	text, err := timing.Output(env, command...)
	f.add(text)
	return f, err
}
