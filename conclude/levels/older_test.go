package levels

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"moriens/analysis/program/text"
	"moriens/trace/rundir"
)

const olderStructure = `{"format": 2, "limit": 4096,
"call_paths": ["?", "MPI_Init@a.c:3", "MPI_Bcast@a.c:5", "MPI_Barrier@b.c:9<a.c:6", "MPI_Barrier@b.c:9<a.c:8", "MPI_Finalize@a.c:9"],
"symbols": [{"cluster": null, "before": 0, "after": 1}, {"cluster": 4, "before": 1, "after": 2}, {"cluster": 1, "before": 2, "after": 3},
 {"cluster": 2, "before": 3, "after": 3}, {"cluster": 3, "before": 3, "after": 2}, {"cluster": -1, "before": 3, "after": 4}, {"cluster": -1, "before": 4, "after": 5}],
"bodies": [{"rounds": 18, "items": [[2, 1, 500, 0, 40], [3, 2, 100, 0, 40], [4, 1, 300, 0, 20]]},
 {"rounds": 2, "items": [[0, 2, 10, 0, 0], [1, 1, 1000, 0, 20], {"turns": [[0, 9]]}, [2, 1, 500, 0, 40], [3, 2, 100, 0, 40], [5, 1, 7, 0, 40], [6, 1, 7, 0, 0]]}],
"sequences": [{"body": 1, "bursts": 44, "mixed": 0, "unordered": 0, "blurred": 0, "counts": []}],
"threads": [{"world": 0, "rank": 0, "thread": 0, "sequence": 0, "computing_ns": 1}, {"world": 0, "rank": 1, "thread": 0, "sequence": 0, "computing_ns": 1}]}`

const olderPaths = `{"format": 1, "modules": [], "functions": [{"name": "main", "file": "a.c", "first_line": 2}, {"name": "step", "file": "b.c", "first_line": 7}],
"frames": [{"function": 0, "file": "a.c", "line": 3}, {"function": 0, "file": "a.c", "line": 5}, {"function": 1, "file": "b.c", "line": 9},
 {"function": 0, "file": "a.c", "line": 6}, {"function": 0, "file": "a.c", "line": 8}, {"function": 0, "file": "a.c", "line": 9}],
"paths": [{"name": "?", "function": "", "frames": []}, {"name": "MPI_Init@a.c:3", "function": "MPI_Init", "frames": [0]}, {"name": "MPI_Bcast@a.c:5", "function": "MPI_Bcast", "frames": [1]},
 {"name": "MPI_Barrier@b.c:9<a.c:6", "function": "MPI_Barrier", "frames": [2, 3]}, {"name": "MPI_Barrier@b.c:9<a.c:8", "function": "MPI_Barrier", "frames": [2, 4]},
 {"name": "MPI_Finalize@a.c:9", "function": "MPI_Finalize", "frames": [5]}]}`

// readOlder reads what a run directory has of a structure, after some changes to it.
func readOlder(t *testing.T, change ...string) (*rundir.Manifest, *rundir.Structure, *rundir.CallPathTable) {
	t.Helper()
	s := new(rundir.Structure)
	if err := json.Unmarshal([]byte(strings.NewReplacer(change...).Replace(olderStructure)), s); err != nil {
		t.Fatal(err)
	}
	m := new(rundir.Manifest)
	if err := json.Unmarshal([]byte(`{"worlds": [{"size": 2}]}`), m); err != nil {
		t.Fatal(err)
	}
	table := new(rundir.CallPathTable)
	if err := json.Unmarshal([]byte(olderPaths), table); err != nil {
		t.Fatal(err)
	}
	return m, s, table
}

// Of a directory without program.json the program is made of structure.json: all calls and bursts are in it, MPI_Init
// once.
func TestOlderProgram(t *testing.T) {
	p, err := OlderProgram(readOlder(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Why) == 0 || !strings.HasPrefix(p.Why[0], "A version of moriens that made no program wrote this") {
		t.Errorf("%q", p.Why)
	}
	columns, _ := text.Columns(text.Names(p), []string{"calls", "mean"})
	var b bytes.Buffer
	if err := text.Write(&b, p, text.Options{Columns: columns}); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(b.String(), "\n\n")
	const want = `FILE:LINE  PSEUDOCODE             calls     mean
           program  # 2 ranks
             compute                  4  10.0 ns
a.c:3        MPI_Init()               2
             compute                  2  1.00 us
a.c:5        FOR i = 1..10
               compute               18   300 ns
a.c:5          MPI_Bcast()           20
               compute               20   500 ns
a.c:6          step()
b.c:9            FOR j = 1..3
                   compute           40   100 ns
b.c:9              MPI_Barrier()     60
             compute                  2  7.00 ns
a.c:8        step()
b.c:9          FOR 1..1
b.c:9            MPI_Barrier()        2
             compute                  2  7.00 ns
a.c:9        MPI_Finalize()           2
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What has no order, places instead of call paths, or a rank that is not there, makes no program.
func TestOlderRefused(t *testing.T) {
	for _, field := range []string{"mixed", "unordered"} {
		if _, err := OlderProgram(readOlder(t, `"`+field+`": 0`, `"`+field+`": 3`)); !errors.Is(err, ErrNoOrder) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, change := range [][]string{{"MPI_Barrier@b.c:9<a.c:6", "MPI_Barrier@b.c:9"}, {"MPI_Bcast@a.c:5", "MPI_Bcast@a.c:7"}} {
		if _, err := OlderProgram(readOlder(t, change...)); !errors.Is(err, ErrNoPaths) {
			t.Error(err)
		}
	}
	for change, want := range map[string]string{
		`"rank": 1|"rank": 2`:        "there is no rank 2 of world 0",
		`"world": 0|"world": 1`:      "there is no rank 0 of world 1",
		`"bursts": 44|"bursts": 1e9`: "more than 100000000 bursts",
	} {
		from, to, _ := strings.Cut(change, "|")
		if strings.Contains(to, "1e9") {
			to = `"bursts": 1000000000`
		}
		if _, err := OlderProgram(readOlder(t, from, to)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change, err)
		}
	}
}
