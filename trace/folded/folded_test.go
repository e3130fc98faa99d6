package folded

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/trace/calltree"
	"moriens/trace/calltree/calltreetest"
)

func write(t *testing.T, tree *calltree.Tree, unit time.Duration) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, tree, unit); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The lines of a tree whose figures are known: MPI_Wait at two places is one stack, 15 ns are none in microseconds.
func TestLines(t *testing.T) {
	tree := calltreetest.Small().Tree
	want := `bt;main;adi;adi;MPI_Wait 1
bt;main;adi;x_solve;Cluster_3 11000
bt;main;adi;x_solve;MPI_Wait 6001
`
	if d := cmp.Diff(want, write(t, tree, time.Microsecond)); d != "" {
		t.Error(d)
	}
	want = `bt;main;adi;adi;MPI_Wait 900
bt;main;adi;x_solve;Cluster_3 11000000
bt;main;adi;x_solve;MPI_Wait 6000800
bt;unrecorded 15
`
	if d := cmp.Diff(want, write(t, tree, time.Nanosecond)); d != "" {
		t.Error(d)
	}
}

// Many stacks that each are less than half of a microsecond are not lost: their sum is right.
func TestShortStacksAddUp(t *testing.T) {
	p := calltreetest.Small()
	for _, v := range p.Values {
		for i := range v.NS {
			v.NS[i] = 0
		}
		v.NS[4], v.NS[6], v.NS[8], v.NS[9] = 200, 200, 200, 200
	}
	want := `bt;main;adi;x_solve;Cluster_3 1
bt;unrecorded 1
`
	if d := cmp.Diff(want, write(t, p.Tree, time.Microsecond)); d != "" {
		t.Error(d)
	}
}

func TestFrame(t *testing.T) {
	for name, want := range map[string]string{
		"a;b": "a:b", "": "(no name)", " \t\n": "(no name)", "a\nb": "a b", "Cluster 3": "Cluster_3", "t 1.5": "t_1.5", "1": "1", "a 1 b": "a 1 b", "a\xffb": "a\uFFFDb", "a\u2028 7": "a_7",
	} {
		if got := frame(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
