package main_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"moriens/internal/testenv"
)

// A real trace, which has lines and three callers of each call, no machine code: the main loop has the ten steps of the
// run, and what is claimed of any call is what was recorded.
func TestStructureOfEpoch(t *testing.T) {
	for name, equal := range map[string]string{
		"epoch_2proc.prv.gz": "equal: 3488 calls of 2 threads, call by call\n",
		"epoch_4proc.prv.gz": "equal: 7496 calls of 4 threads (lines without a rule: there the number of each call was compared)\n",
	} {
		dir := filepath.Join(t.TempDir(), "run")
		o := execute(t, nil, binary(t), "analyze", testenv.RealTrace(t, name), "--out", dir)
		if o.status != 0 {
			t.Fatal(o.stderr)
		}
		contains(t, o.stdout, "\nmain loop: FOR i = 1..10 in MAIN__ (epoch2d.F90:208), by the order of lines: ")
		// All computing is in lines, also that before MPI_Init: shares are those of clusters.
		if o = execute(t, nil, binary(t), "structure", dir); !regexp.MustCompile(`compute +(40 +68.2 % +70.0|20 +73.1 % +73.5) %`).MatchString(o.stdout) {
			t.Errorf("%s: %s", name, o.stdout)
		}
		if o = execute(t, nil, binary(t), "structure", "--verify", dir); o.status != 0 || o.stdout != equal {
			t.Errorf("%s: status %d: %s%s, want %s", name, o.status, o.stdout, o.stderr, equal)
		}
	}
}
