package main_test

import (
	"bytes"
	little "encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moriens/internal/mpitest"
)

// members is how many processes tests start under an MPI library. MPICH's spin where they wait inside MPI.
func members(mpi mpitest.MPI) int {
	if mpi.Name == mpitest.MPICH.Name {
		return 2
	}
	return 4
}

// blobs are points of some clusters, some at one place, and of noise, row by row.
func blobs(rows, dims int) []float32 {
	draw := rand.New(rand.NewPCG(7, uint64(dims)))
	coords := make([]float32, 0, rows*dims)
	for i := range rows {
		for d := range dims {
			switch kind := i % 10; {
			case i%1000 < 20:
				coords = append(coords, 3)
			case kind == 9:
				coords = append(coords, float32(draw.Float64()*10))
			default:
				coords = append(coords, float32(float64((kind*7+d*3)%10)+draw.NormFloat64()/20))
			}
		}
	}
	return coords
}

// npyFile writes points as .npy with float32, row by row or by columns.
func npyFile(t *testing.T, path string, coords []float32, dims int, byColumns bool) {
	t.Helper()
	rows, order := len(coords)/dims, "False"
	if byColumns {
		turned := make([]float32, len(coords))
		for i, v := range coords {
			turned[i%dims*rows+i/dims] = v
		}
		coords, order = turned, "True"
	}
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': %s, 'shape': (%d, %d), }\n", order, rows, dims)
	file := bytes.NewBufferString("\x93NUMPY\x01\x00")
	little.Write(file, little.LittleEndian, uint16(len(header)))
	file.WriteString(header)
	little.Write(file, little.LittleEndian, coords)
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func csvFile(t *testing.T, path string, coords []float32, dims int) {
	t.Helper()
	var text strings.Builder
	text.WriteString("x" + strings.Repeat(",x", dims-1) + "\n")
	for i, v := range coords {
		between := ","
		if (i+1)%dims == 0 {
			between = "\n"
		}
		fmt.Fprint(&text, v, between)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Several processes find what one finds, whatever the format of the points: the labels are the same to the byte.
func TestClusterInStep(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		program, dir := mpi.Program(t), t.TempDir()
		for _, c := range []struct {
			file       string
			rows, dims int
			eps        string
		}{
			{"rows.npy", 30_000, 2, "0.03"},
			{"columns.npy", 20_000, 3, "0.1"},
			{"text.csv", 12_000, 2, "0.05"},
			{"line.npy", 9_000, 1, "0.001"},
			{"small.csv", 3, 2, "1"},
			{"one.npy", 1, 2, "1"},
		} {
			path := filepath.Join(dir, c.file)
			coords := blobs(c.rows, c.dims)
			if strings.HasSuffix(c.file, ".csv") {
				csvFile(t, path, coords, c.dims)
			} else {
				npyFile(t, path, coords, c.dims, c.file == "columns.npy")
			}
			density := []string{"cluster", path, "--eps", c.eps, "--min-points", "4", "--threads", "1", "--out"}
			alone := execute(t, nil, append(append([]string{binary(t)}, density...), path+".alone")...)
			together := execute(t, nil, mpi.Args(members(mpi), "", append(append([]string{program}, density...), path+".together")...)...)
			if alone.status != 0 || together.status != 0 || together.stderr != "" {
				t.Fatalf("%s: status %d and %d\n%s%s", c.file, alone.status, together.status, alone.stderr, together.stderr)
			}
			want, err := os.ReadFile(path + ".alone")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path + ".together"); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: other labels, %v", c.file, err)
			}
			var one, several map[string]float64
			if json.Unmarshal([]byte(alone.stdout), &one) != nil || json.Unmarshal([]byte(together.stdout), &several) != nil {
				t.Fatalf("%s: %q and %q", c.file, alone.stdout, together.stdout)
			}
			for _, name := range []string{"points", "clusters", "noise"} {
				if one[name] != several[name] || name == "clusters" && c.rows > 1000 && one[name] < 5 {
					t.Errorf("%s: %v %s, want %v", c.file, several[name], name, one[name])
				}
			}
		}
	})
}

// An error that stops a single process is reported once by several, in the same words, and ends the job.
func TestClusterInStepMistakes(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		program, dir := mpi.Program(t), t.TempDir()
		bad := blobs(1000, 2)
		bad[1999] = float32(math.Inf(1)) // in the last member's share
		infinite, short, text := filepath.Join(dir, "infinite.npy"), filepath.Join(dir, "short.npy"), filepath.Join(dir, "text.csv")
		npyFile(t, infinite, bad, 2, false)
		file, err := os.ReadFile(infinite)
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(short, file[:len(file)-5], 0o644)
		os.WriteFile(text, []byte("1,2\n3,four\n"), 0o644)
		good := filepath.Join(dir, "good.npy")
		npyFile(t, good, blobs(1000, 2), 2, false)
		for _, c := range []struct {
			name string
			args []string
			want string
		}{
			{"infinite", []string{infinite, "--eps", "1"}, "infinite.npy: row 999, column 1: +Inf is not a finite number"},
			{"truncated", []string{short, "--eps", "1"}, "short.npy: truncated: 1998 of 2000 numbers"},
			{"text", []string{text, "--eps", "1"}, "text.csv: line 2, column 2"},
			{"absent", []string{text + ".absent", "--eps", "1"}, "absent: no such file"},
			{"Eps", []string{good, "--eps=-1"}, "--eps -1: want a number of at least 0"},
			{"labels", []string{good, "--eps", "1", "--out", filepath.Join(dir, "none", "labels")}, "none/labels: no such file"},
		} {
			out := filepath.Join(dir, "labels")
			args := append([]string{"cluster", "--min-points", "4", "--threads", "1", "--out", out}, c.args...)
			alone := execute(t, nil, append([]string{binary(t)}, args...)...)
			together := execute(t, nil, mpi.Args(members(mpi), "", append([]string{program}, args...)...)...)
			if together.status == 0 || together.stdout != "" {
				t.Errorf("%s: status %d: %s", c.name, together.status, together.stdout)
			}
			contains(t, together.stderr, c.want, alone.stderr)
			if n := strings.Count(together.stderr, "hint: "); n != 1 {
				t.Errorf("%s: said %d times\n%s", c.name, n, together.stderr)
			}
			if _, err := os.Stat(out); err == nil {
				t.Errorf("%s: labels were written", c.name)
			}
		}
	})
}

// Processes that know nothing of each other would all write the same file.
func TestClusterLaunchedWithoutMPI(t *testing.T) {
	points := filepath.Join(t.TempDir(), "points.csv")
	os.WriteFile(points, []byte("1,2\n"), 0o644)
	args := []string{binary(t), "cluster", points, "--eps", "1", "--min-points", "1", "--out", points + ".labels"}
	for _, variable := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"} {
		if o := execute(t, []string{variable + "=1"}, args...); o.status != 0 {
			t.Errorf("%s=1: status %d\n%s", variable, o.status, o.stderr)
		}
		os.Remove(points + ".labels")
		o := execute(t, []string{variable + "=2"}, args...)
		if _, err := os.Stat(points + ".labels"); o.status != 1 || err == nil {
			t.Errorf("%s=2: status %d, labels %v", variable, o.status, err)
		}
		contains(t, o.stderr, "a launcher has started 2 processes ("+variable+"=2)", "this program is built without MPI", "hint: start one, or moriens-mpi")
	}
}
