package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
)

type bench struct {
	scratch string
	moriens string
	repeats int
}

// build copies the suite and builds its programs.
func (b *bench) build(ctx context.Context, suite string) error {
	for _, name := range []string{"gen", "proto2d", "proto4d"} {
		folder := filepath.Join(b.scratch, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
		for _, file := range []string{"go.mod", "main.go"} {
			text, err := os.ReadFile(filepath.Join(suite, name, file))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, file), text, 0o644); err != nil {
				return err
			}
		}
		build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(b.scratch, name+".bin"), ".")
		build.Dir = folder
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("go build of %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// generate makes the points of a task: raw numbers, and the same as .npy.
func (b *bench) generate(ctx context.Context, t task) (raw, npy string, err error) {
	raw, npy = filepath.Join(b.scratch, "points.f64"), filepath.Join(b.scratch, "points.npy")
	args := []string{"-n", strconv.Itoa(t.points), "-d", strconv.Itoa(t.dims), "-seed", "42", "-o", raw}
	if t.noise != "" {
		args = append(args, "-noise", t.noise)
	}
	if out, err := exec.CommandContext(ctx, filepath.Join(b.scratch, "gen.bin"), args...).CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("generator: %w\n%s", err, out)
	}
	from, err := os.Open(raw)
	if err != nil {
		return "", "", err
	}
	defer from.Close()
	to, err := os.Create(npy)
	if err != nil {
		return "", "", err
	}
	header := fmt.Sprintf("%-117s\n", fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", t.points, t.dims))
	start := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	if _, err = to.Write(append(start, header...)); err == nil {
		_, err = io.Copy(to, from)
	}
	if closed := to.Close(); err == nil {
		err = closed
	}
	return raw, npy, err
}

// An outcome is what one run reported.
type outcome struct {
	seconds         float64
	clusters, noise int
	peakBytes       int64
}

func (b *bench) compare(ctx context.Context, t task, threads []int) error {
	raw, npy, err := b.generate(ctx, t)
	if err != nil {
		return err
	}
	for _, n := range threads {
		var theirs, ours []outcome
		for range b.repeats {
			p, err := b.prototype(ctx, t, raw, n)
			if err != nil {
				return err
			}
			m, err := b.cluster(ctx, t, npy, n)
			if err != nil {
				return err
			}
			if p.clusters != m.clusters || p.noise != m.noise {
				return fmt.Errorf("the prototype finds %d clusters and %d points of noise, moriens %d and %d", p.clusters, p.noise, m.clusters, m.noise)
			}
			theirs, ours = append(theirs, p), append(ours, m)
		}
		p, m := times(theirs), times(ours)
		fmt.Printf("| %s | %d | %s | %s | %.2f | %.1f | %.1f |\n", t.name, n, p, m, p.median/m.median, above(theirs, t), above(ours, t))
	}
	return nil
}

// resultLine is what the prototype prints.
var resultLine = regexp.MustCompile(`t=([0-9.]+) clusters=([0-9]+) core=[0-9]+ noise=([0-9]+)`)

func (b *bench) prototype(ctx context.Context, t task, raw string, threads int) (o outcome, err error) {
	args := []string{raw}
	if t.dims != 2 {
		args = append(args, strconv.Itoa(t.dims))
	}
	args = append(args, fmt.Sprint(t.eps), strconv.Itoa(minPts), strconv.Itoa(threads), "1")
	name := "proto4d.bin"
	if t.dims == 2 {
		name = "proto2d.bin"
	}
	out, peak, err := measure(ctx, filepath.Join(b.scratch, name), args...)
	if err != nil {
		return o, err
	}
	match := resultLine.FindSubmatch(out)
	if match == nil {
		return o, fmt.Errorf("%s says %q", name, out)
	}
	o.peakBytes = peak
	if o.seconds, err = strconv.ParseFloat(string(match[1]), 64); err != nil {
		return o, err
	}
	if o.clusters, err = strconv.Atoi(string(match[2])); err != nil {
		return o, err
	}
	o.noise, err = strconv.Atoi(string(match[3]))
	return o, err
}

func (b *bench) cluster(ctx context.Context, t task, npy string, threads int) (o outcome, err error) {
	out, peak, err := measure(ctx, b.moriens, "cluster", npy, "--eps", fmt.Sprint(t.eps), "--min-points", strconv.Itoa(minPts),
		"--threads", strconv.Itoa(threads), "--out", filepath.Join(b.scratch, "labels"))
	if err != nil {
		return o, err
	}
	var said struct {
		Clusters, Noise int
		Seconds         float64
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return o, fmt.Errorf("moriens says %q: %w", out, err)
	}
	return outcome{said.Seconds, said.Clusters, said.Noise, peak}, nil
}

// measure returns what a program says and the most memory it held at a time.
func measure(ctx context.Context, name string, args ...string) (stdout []byte, peakBytes int64, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, &complaints)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return nil, 0, fmt.Errorf("%s: no resource usage on this system", filepath.Base(name))
	}
	return out.Bytes(), usage.Maxrss << 10, nil
}

// A spread is the median of some seconds, and their range.
type spread struct{ least, median, most float64 }

func (s spread) String() string {
	return fmt.Sprintf("%.4f (%.4f – %.4f)", s.median, s.least, s.most)
}

func times(runs []outcome) spread {
	var s []float64
	for _, r := range runs {
		s = append(s, r.seconds)
	}
	return spreadOf(s)
}

// above is the most memory held beyond the points themselves, in bytes per point.
func above(runs []outcome, t task) float64 {
	var peak int64
	for _, r := range runs {
		peak = max(peak, r.peakBytes)
	}
	return float64(peak)/float64(t.points) - float64(8*t.dims)
}
