package pairing

import (
	"bytes"
	"strings"
	"testing"

	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// Each kind of finding has advice, whatever the file says of it, and the commands in it are of the run directory.
func TestAdvice(t *testing.T) {
	two := [][2]int{{1, 4}}
	for _, c := range []struct {
		kind, has, command string // of a run with one world; the command without the directory
		f                  rundir.PairsFinding
	}{
		{"late", "give other ranks part of its work", "moriens waits --by callpath DIR", rundir.PairsFinding{Kind: rundir.PairsLateSender}},
		{"late", "post the receive earlier", "", rundir.PairsFinding{Kind: rundir.PairsLateReceiver}},
		{"late", "compare the link of these nodes", "", rundir.PairsFinding{Kind: rundir.PairsSlowLink, Pairs: two}},
		{"late", "cores, sockets, NUMA domains", "", rundir.PairsFinding{Kind: rundir.PairsSlowLink, Pairs: two, Node: "n01"}},
		{"late", "run without the node", "", rundir.PairsFinding{Kind: rundir.PairsSlowNode, Node: "n01"}},
		{"late", "pack messages", "", rundir.PairsFinding{Kind: rundir.PairsSmallMessages, Pairs: two}},
		{"late", "exchange a message with each neighbour", "", rundir.PairsFinding{Kind: rundir.PairsFirstMessage}},
		{"late", "size and time over run time", "", rundir.PairsFinding{Kind: rundir.PairsIrregular}},
		{"late", "compare it with its neighbours: ", "moriens pairs --ranks 1,4 DIR", rundir.PairsFinding{Kind: rundir.PairsHeavyPair, Pairs: two}},
		{"worlds", "compare it with its neighbours: ", "moriens pairs --ranks 0:1,1:0 DIR", rundir.PairsFinding{Kind: rundir.PairsHeavyPair, Pairs: two}},
		{"late", "compare it with its neighbours", "", rundir.PairsFinding{Kind: rundir.PairsHeavyPair}},
		{"placed", "write the order", "moriens pairs --order MPICH_RANK_ORDER --order-format mpich DIR (or rankfile, hostfile, slurm)", rundir.PairsFinding{Kind: rundir.PairsPlacing}},
		{"worlds", "place the ranks of each world by hand", "", rundir.PairsFinding{Kind: rundir.PairsPlacing}},
	} {
		r := solve(t, c.kind, Question{})
		for _, dir := range []string{anyDirectory, "'/run/a b'"} {
			text, command := r.AdviceOn(&c.f, dir)
			if want := strings.ReplaceAll(c.command, anyDirectory, dir); command != want || !strings.Contains(text, c.has) || !strings.HasSuffix(text, command) || strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q, command %q, want %q", c.f.Kind, text, command, want)
			}
		}
		file, rows := rundirtest.Pairs(c.kind)
		if file.Findings = []rundir.PairsFinding{c.f}; c.f.Kind == rundir.PairsPlacing {
			continue // it is computed
		}
		r, err := Solve(file, rows, Question{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := r.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		if text, _ := r.AdviceOn(&c.f, anyDirectory); r.Findings[0].Advice != text || !strings.Contains(b.String(), `,"advice":"`+text+`"}`) {
			t.Errorf("%q, want %q, in\n%s", r.Findings[0].Advice, text, b.String())
		}
	}
}

// The command for an order is that of the question, and there is none where no order is better.
func TestOrderCommand(t *testing.T) {
	for _, c := range []struct {
		kind, want string
		q          Question
	}{
		{"late", "", Question{}},
		{"halo", "", Question{}},
		{"placed", "moriens pairs --weigh blocked --order MPICH_RANK_ORDER --order-format mpich d (or rankfile, hostfile, slurm)", Question{Weigh: true}},
		{"placed", "moriens pairs --ranks-per-node 3 --order MPICH_RANK_ORDER --order-format mpich d", Question{RanksPerNode: 3}},
	} {
		if got := solve(t, c.kind, c.q).OrderCommand("d"); got != c.want {
			t.Errorf("%s: %q, want %q", c.kind, got, c.want)
		}
	}
}
