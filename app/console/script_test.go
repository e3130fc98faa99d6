package console

import (
	"strings"
	"testing"
)

func TestScript(t *testing.T) {
	for command, want := range map[string]string{
		"mpirun -n 2 /usr/bin/python3 /opt/heat.py 3":        "heat.py",
		"mpirun -n 2 python3 -u -W ignore -X dev heat.py":    "heat.py",
		"srun python3 -m mpi4py heat.py":                     "heat.py",
		"srun python3 -m solver.main --steps 3":              "solver.main",
		"mpirun python3.11 -c print(1) x":                    "",
		"mpirun ./wrapper.sh heat.py":                        "",
		"mpirun -x PYTHON=python3 ./python-like.sh":          "",
		"mpirun -n 1 perl a.pl : -n 1 python3 /data/b/it.py": "it.py",
		"mpirun python3 -m":                                  "",
		"":                                                   "",
	} {
		if got := script(strings.Fields(command), "python3.11"); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	if got := script([]string{"mpirun", "lmp", "python3", "x.py"}, "lmp"); got != "" {
		t.Errorf("of a program that is no interpreter: %q", got)
	}
}
