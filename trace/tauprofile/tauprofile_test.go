package tauprofile

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/trace/calltree"
	"moriens/trace/calltree/calltreetest"
)

// files are what was written, by names.
type files map[string]*bytes.Buffer

type open struct{ *bytes.Buffer }

func (open) Close() error { return nil }

func (f files) create(name string) (io.WriteCloser, error) {
	if f[name] != nil {
		return nil, errors.New("made twice")
	}
	f[name] = new(bytes.Buffer)
	return open{f[name]}, nil
}

func write(t *testing.T, tree *calltree.Tree, o Options) files {
	t.Helper()
	f := make(files)
	if err := Write(tree, o, f.create); err != nil {
		t.Fatal(err)
	}
	return f
}

// The rows of a tree whose figures are known: MPI_Wait at two places is one call path; adi in itself counts once.
func TestCallPaths(t *testing.T) {
	f := write(t, calltreetest.Small().Tree, Options{})
	names := slices.Sorted(maps.Keys(f))
	if d := cmp.Diff([]string{"MULTI__PAPI_TOT_INS/profile.0.0.0", "MULTI__PAPI_TOT_INS/profile.1.0.0", "MULTI__TIME/profile.0.0.0", "MULTI__TIME/profile.1.0.0", "MULTI__sent/profile.0.0.0", "MULTI__sent/profile.1.0.0"}, names); d != "" {
		t.Error(d)
	}
	want := `15 templated_functions_MULTI_TIME
# Name Calls Subrs Excl Incl ProfileCalls # <metadata><attribute><name>Metric Name</name><value>TIME</value></attribute><attribute><name>Command Line</name><value>mpirun -n 2 ./bt</value></attribute><attribute><name>Hostname</name><value>node1</value></attribute><attribute><name>MPI World</name><value>0</value></attribute><attribute><name>MPI Rank</name><value>0</value></attribute><attribute><name>mpi</name><value>Open MPI 4.1.4</value></attribute><attribute><name>hosts</name><value>node1, node2</value></attribute></metadata>
".TAU application" 1 2 0 8001 0 GROUP="TAU_DEFAULT"
"main" 1 1 0 8001.2 0 GROUP="TAU_DEFAULT"
"adi" 2 3 0 8001.2 0 GROUP="TAU_DEFAULT"
"x_solve" 1 10 0 8000.8 0 GROUP="TAU_DEFAULT"
"MPI_Wait()" 6 0 3001.2 3001.2 0 GROUP="MPI"
"Cluster 3" 5 0 5000 5000 0 GROUP="TAU_DEFAULT"
"unrecorded" 1 0 0.007 0.007 0 GROUP="TAU_DEFAULT"
".TAU application => main" 1 1 0 8001.2 0 GROUP="TAU_CALLPATH"
".TAU application => main => adi" 1 2 0 8001.2 0 GROUP="TAU_CALLPATH"
".TAU application => main => adi => x_solve" 1 10 0 8000.8 0 GROUP="TAU_CALLPATH"
".TAU application => main => adi => x_solve => MPI_Wait()" 5 0 3000.8 3000.8 0 GROUP="TAU_CALLPATH"
".TAU application => main => adi => x_solve => Cluster 3" 5 0 5000 5000 0 GROUP="TAU_CALLPATH"
".TAU application => main => adi => adi" 1 1 0 0.4 0 GROUP="TAU_CALLPATH"
".TAU application => main => adi => adi => MPI_Wait()" 1 0 0.4 0.4 0 GROUP="TAU_CALLPATH"
".TAU application => unrecorded" 1 0 0.007 0.007 0 GROUP="TAU_CALLPATH"
0 aggregates
0 userevents
`
	if d := cmp.Diff(want, f["MULTI__TIME/profile.0.0.0"].String()); d != "" {
		t.Error(d)
	}
	if text := f["MULTI__sent/profile.1.0.0"].String(); !strings.Contains(text, "\n\"MPI_Wait()\" 5 0 40 40 0 GROUP=\"MPI\"\n") {
		t.Error(text)
	}
}

// A tree of phases is a phase profile, in which phases of one name below different ones are apart.
func TestPhases(t *testing.T) {
	tree := &calltree.Tree{
		Nodes: []calltree.Node{
			{Type: calltree.Program, Name: "bt", Parent: -1}, {Type: calltree.Phase, Name: "heat", Parent: 0}, {Type: calltree.Phase, Name: "send", Parent: 1}, {Type: calltree.MPI, Name: "MPI_Send", Parent: 2},
			{Type: calltree.Phase, Name: "stress phase", Parent: 0}, {Type: calltree.Phase, Name: "send", Parent: 4}, {Type: calltree.MPI, Name: "MPI_Send", Parent: 5}, {Type: calltree.MPI, Name: "MPI_Init", Parent: 0},
		},
		Threads: []calltree.Thread{{}},
	}
	tree.Each = func(give func(int, *calltree.Values) error) error {
		return give(0, &calltree.Values{NS: []int64{1000, 2000, 3000, 4000, 5000, 6000, 7000, 8500}, Calls: []int64{1, 1, 2, 3, 1, 2, 3, 1}})
	}
	want := `".TAU application" 1 3 1 37 0 GROUP="TAU_PHASE"
"heat phase" 1 2 2 9 0 GROUP="TAU_PHASE"
"heat/send phase" 2 3 3 7 0 GROUP="TAU_PHASE"
"MPI_Send()" 6 0 11 11 0 GROUP="MPI"
"stress phase" 1 2 5 18 0 GROUP="TAU_PHASE"
"stress phase/send phase" 2 3 6 13 0 GROUP="TAU_PHASE"
"MPI_Init()" 1 0 8.5 8.5 0 GROUP="MPI"
".TAU application => heat phase" 1 2 2 9 0 GROUP="TAU_CALLPATH"
"heat phase => heat/send phase" 2 3 3 7 0 GROUP="TAU_CALLPATH"
"heat/send phase => MPI_Send()" 3 0 4 4 0 GROUP="TAU_CALLPATH"
".TAU application => stress phase" 1 2 5 18 0 GROUP="TAU_CALLPATH"
"stress phase => stress phase/send phase" 2 3 6 13 0 GROUP="TAU_CALLPATH"
"stress phase/send phase => MPI_Send()" 3 0 7 7 0 GROUP="TAU_CALLPATH"
".TAU application => MPI_Init()" 1 0 8.5 8.5 0 GROUP="TAU_CALLPATH"
0 aggregates
0 userevents
`
	text := write(t, tree, Options{})["profile.0.0.0"].String()
	if d := cmp.Diff(want, strings.SplitN(text, "\n", 3)[2]); d != "" {
		t.Error(d)
	}
}

// Worlds follow each other in the numbers of nodes, by their sizes.
func TestWorlds(t *testing.T) {
	tree := calltreetest.Small().Tree
	tree.Metrics = nil
	tree.Threads = []calltree.Thread{{World: 0, Rank: 1}, {World: 2, Rank: 0, Thread: 3}}
	tree.Each = func(func(int, *calltree.Values) error) error { return nil }
	for _, tt := range []struct {
		sizes []int
		want  []int
	}{{nil, []int{1, 2}}, {[]int{4, 3, 1}, []int{1, 7}}, {[]int{1}, []int{1, 2}}} {
		if got := nodes(tree, tt.sizes); !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v, want %v", tt.sizes, got, tt.want)
		}
	}
}

// A world of any number costs no more than one of a small number.
func TestWorldOfADamagedFile(t *testing.T) {
	tree := calltreetest.Small().Tree
	tree.Threads = []calltree.Thread{{World: 0, Rank: 1}, {World: math.MaxInt32, Rank: 3}}
	if got := nodes(tree, nil); !slices.Equal(got, []int{2 - 1, 2 + 3}) {
		t.Errorf("%v", got)
	}
	if n := testing.AllocsPerRun(1, func() { nodes(tree, nil) }); n > 100 {
		t.Errorf("%v allocations", n)
	}
}

// Too many files are refused before one is made, unless ranks were chosen.
func TestTooMany(t *testing.T) {
	tree := calltreetest.Small().Tree
	tree.Metrics, tree.Threads = nil, nil
	for rank := range int32(MostFiles + 1) {
		tree.Threads = append(tree.Threads, calltree.Thread{Rank: rank})
	}
	tree.Each = func(give func(int, *calltree.Values) error) error {
		for i := range tree.Threads {
			if err := give(i, tree.NewValues()); err != nil {
				return err
			}
		}
		return nil
	}
	made := make(files)
	if err := Write(tree, Options{}, made.create); !errors.Is(err, ErrTooMany) || len(made) > 0 {
		t.Errorf("%v, %d files", err, len(made))
	}
	if made = write(t, tree, Options{Chosen: true}); len(made) != MostFiles+1 {
		t.Errorf("%d files", len(made))
	}
	tree.Threads = tree.Threads[1:]
	if made = write(t, tree, Options{}); len(made) != MostFiles {
		t.Errorf("%d files", len(made))
	}
}

// Whatever a name is, a row can be read, and what is between names of a call path is in none.
func TestClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.SampledFrom([]string{`"`, "=>", "=", ">", "[{", " ", "\n", "\r", "\x00", "\xff", "\u2028"}), rapid.String())
		name := clean(strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), ""))
		if name == "" || strings.ContainsAny(name, "\"\n\r\x00") || strings.Contains(name, "=>") || strings.Trim(name, " ") != name || strings.ToValidUTF8(name, "") != name {
			t.Errorf("%q", name)
		}
	})
}

func TestMicroseconds(t *testing.T) {
	for ns, want := range map[int64]string{0: "0", 1: "0.001", 10: "0.01", 500: "0.5", 1000: "1", 1234567: "1234.567", 1<<63 - 1: "9223372036854775.807"} {
		if got := microseconds(ns); got != want {
			t.Errorf("%d: %s, want %s", ns, got, want)
		}
	}
	for ns, want := range map[int64]string{0: "0", 499: "0", 500: "1", 1499: "1", 1<<63 - 1: "9223372036854776"} {
		if got := whole(ns); got != want {
			t.Errorf("%d: %s, want %s", ns, got, want)
		}
	}
}
