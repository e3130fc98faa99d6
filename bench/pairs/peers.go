package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"moriens/analysis/linkage"
	"moriens/analysis/placement"
)

// scipyProgram reads edges and prints processor seconds and the peak of memory in MB. The matrix is made before.
const scipyProgram = `
import resource, sys, time
import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform
n, method, rounds = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
e = np.frombuffer(sys.stdin.buffer.read(), dtype=np.dtype([("a", "<i4"), ("b", "<i4"), ("w", "<f8")]))
t = np.zeros((n, n))
t[e["a"], e["b"]] = t[e["b"], e["a"]] = e["w"]
d = np.where(t > 0, 1 / np.where(t > 0, t, 1), 1e300) if method == "single" else t.max() - t
np.fill_diagonal(d, 0)
d = squareform(d)
least = 1e300
for _ in range(rounds):
    begin = time.process_time()
    linkage(d, method)
    least = min(least, time.process_time() - begin)
print("%.3f | %.0f" % (least, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000))
`

// scipy gives the two cells of scipy's linkage, without a cut; what is not installed is "-".
func scipy(ranks int, edges []linkage.Edge, method string, rounds int) string {
	var in bytes.Buffer
	if err := binary.Write(&in, binary.LittleEndian, edges); err != nil {
		return "- | -"
	}
	cmd := exec.Command("/usr/bin/python3", "-c", scipyProgram, strconv.Itoa(ranks), method, strconv.Itoa(rounds))
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		return "- | -"
	}
	return strings.TrimSpace(string(out))
}

// partitioners gives the cells of METIS and Scotch: edges between parts, and processor seconds; "-" if not installed.
// Their parts may be of unequal sizes, then the largest follows in brackets.
func partitioners(ranks int, edges []placement.Edge, hosts, rounds int) string {
	dir, err := os.MkdirTemp("", "bench-pairs-")
	if err != nil {
		return " - |"
	}
	defer os.RemoveAll(dir)
	metis, scotch, mapped := filepath.Join(dir, "metis"), filepath.Join(dir, "scotch"), filepath.Join(dir, "mapped")
	if err := writeGraphs(metis, scotch, ranks, edges); err != nil {
		return " - |"
	}
	parts := strconv.Itoa(hosts)
	cells := ""
	for _, p := range []struct {
		result string
		args   []string
	}{
		{metis + ".part." + parts, []string{"gpmetis", "-ptype=kway", "-ufactor=1", metis, parts}},
		{metis + ".part." + parts, []string{"gpmetis", "-ptype=rb", "-ufactor=1", metis, parts}},
		{mapped, []string{"scotch_gpart", "-b0", parts, scotch, mapped}},
	} {
		seconds := 1e300
		for range rounds {
			cmd := exec.Command(p.args[0], p.args[1:]...)
			if cmd.Run() != nil {
				break
			}
			seconds = min(seconds, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		}
		of, err := readParts(p.result, ranks)
		if err != nil || seconds == 1e300 {
			cells += " - | - |"
			continue
		}
		size := make(map[int32]int)
		largest := 0
		for _, part := range of {
			size[part]++
			largest = max(largest, size[part])
		}
		unequal := ""
		if largest > ranks/hosts {
			unequal = fmt.Sprintf(" (%d)", largest)
		}
		cells += fmt.Sprintf(" %g%s | %.2f |", placement.Between(edges, of), unequal, seconds)
	}
	return cells
}

func writeGraphs(metis, scotch string, ranks int, edges []placement.Edge) error {
	to := make([][]string, ranks)  // as METIS numbers vertices, from 1
	too := make([][]string, ranks) // as Scotch does, from 0
	for _, e := range edges {
		for _, ends := range [2][2]int32{{e.A, e.B}, {e.B, e.A}} {
			to[ends[0]] = append(to[ends[0]], strconv.Itoa(int(ends[1])+1))
			too[ends[0]] = append(too[ends[0]], strconv.Itoa(int(ends[1])))
		}
	}
	var m, s strings.Builder
	fmt.Fprintf(&m, "%d %d\n", ranks, len(edges))
	fmt.Fprintf(&s, "0\n%d %d\n0 000\n", ranks, 2*len(edges))
	for v := range to {
		fmt.Fprintln(&m, strings.Join(to[v], " "))
		fmt.Fprintln(&s, len(too[v]), strings.Join(too[v], " "))
	}
	if err := os.WriteFile(metis, []byte(m.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(scotch, []byte(s.String()), 0o644)
}

// readParts reads the part of each vertex: METIS writes one a line, Scotch their number, then vertex and part a line.
func readParts(name string, ranks int) ([]int32, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(text))
	of := make([]int32, ranks)
	for v := range of {
		at := v
		if len(fields) == 2*ranks+1 {
			at = 2*v + 2
		}
		if at >= len(fields) {
			return nil, fmt.Errorf("%s has %d numbers", name, len(fields))
		}
		vertex := v
		if len(fields) == 2*ranks+1 {
			if vertex, err = strconv.Atoi(fields[2*v+1]); err != nil || vertex < 0 || vertex >= ranks {
				return nil, fmt.Errorf("%s: vertex %q", name, fields[2*v+1])
			}
		}
		part, err := strconv.Atoi(fields[at])
		if err != nil {
			return nil, err
		}
		of[vertex] = int32(part)
	}
	return of, nil
}
