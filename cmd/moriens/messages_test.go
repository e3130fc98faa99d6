package main_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"moriens/internal/mpitest"
	"moriens/trace/prv"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// A line is a message by its sender, its number among the sender's, and its receiver.
type line struct{ from, number, to, tag, bytes int }

// Every message of a program that sends them in every way, and whose ranks know what they got from whom, is a line of
// the trace, from its send to its receive, and nothing else is.
func TestMessages(t *testing.T) {
	const rounds = 100
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "messages")
		planted, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
		o := execute(t, []string{"MINIAPP_OUT=" + planted},
			append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--"}, mpi.Args(2, "", app, fmt.Sprint(rounds))...)...)
		if o.status != 0 || o.stderr != "" {
			t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
		r, err := prv.ReadFile(filepath.Join(out, "trace.prv"), prv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		rundirtest.CheckWaits(t, out)
		number := make(map[int]int)
		var got []line
		for _, m := range r.Run.Messages { // in the order of their sends
			from, to := r.Run.Threads[m.From].Rank, r.Run.Threads[m.To].Rank
			got = append(got, line{from, number[from], to, int(m.Tag), int(m.Bytes)})
			number[from]++
			if m.PhysicalRecvNS < m.SendNS || m.PhysicalRecvNS < m.RecvNS {
				t.Errorf("%+v arrived before it was sent", m)
			}
		}
		want := append(readMessages(t, planted, 0), readMessages(t, planted, 1)...)
		for _, list := range [][]line{want, got} {
			slices.SortFunc(list, func(a, b line) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.number, b.number)) })
		}
		if len(want) != 14*rounds {
			t.Fatalf("%d messages were planted, not %d", len(want), 14*rounds)
		}
		if d := gocmp.Diff(want, got, gocmp.AllowUnexported(line{})); d != "" {
			t.Errorf("planted, recorded:\n%s", d)
		}
		var m rundir.Manifest
		text, err := os.ReadFile(filepath.Join(out, rundir.ManifestFile))
		if err != nil || json.Unmarshal(text, &m) != nil {
			t.Fatal(err)
		}
		if x := m.Messages; len(x.Unmatched) > 0 || x.Matched != 14*rounds || x.Requests.EndsUnknown+x.Requests.StartsUnknown+x.Requests.Lost+x.Requests.Open != 0 {
			t.Errorf("%+v", x)
		}
		for i := range r.Run.Threads {
			if n := r.Run.Threads[i].Collectives.Len(); n < 2*rounds {
				t.Errorf("thread %d has %d collective calls", i, n)
			}
		}
	})
}

func readMessages(t *testing.T, dir string, rank int) []line {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, fmt.Sprintf("messages.%d", rank)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []line
	for {
		x := line{to: rank}
		if n, _ := fmt.Fscan(f, &x.from, &x.number, &x.tag, &x.bytes); n < 4 {
			return list
		}
		list = append(list, x)
	}
}

// MPICH's status reports nothing for MPI_Isendrecv. Where the receive was from MPI_ANY_SOURCE the senders' records show
// what it received, if that is certain.
func TestIsendrecv(t *testing.T) {
	mpi := mpitest.MPICH // Open MPI 4 does not have it
	app := mpi.App(t, "isendrecv")
	for _, c := range []struct {
		ranks, rounds int
		more          []string
		matched       int64
		unmatched     []rundir.Unmatched
	}{
		{2, 50, nil, 300, nil},
		{3, 2, []string{"both"}, 20, []rundir.Unmatched{
			{Why: "MPI did not report the received message", Receives: 2}, {Why: "the completion of similar ones was not recorded", Sends: 2},
		}},
	} {
		t.Run(fmt.Sprint(c.ranks), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			program := append([]string{app, fmt.Sprint(c.rounds)}, c.more...)
			o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--"}, mpi.Args(c.ranks, "", program...)...)...)
			if o.status != 0 || o.stderr != "" {
				t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
			}
			rundirtest.CheckWaits(t, out)
			m := readManifest(t, out)
			if d := gocmp.Diff(c.unmatched, m.Messages.Unmatched, cmpopts.EquateEmpty()); d != "" || m.Messages.Matched != c.matched {
				t.Errorf("%+v\n%s", m.Messages, d)
			}
			r, err := prv.ReadFile(filepath.Join(out, "trace.prv"), prv.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range r.Run.Messages {
				if from, to := r.Run.Threads[x.From].Rank, r.Run.Threads[x.To].Rank; x.Tag < 3 && (to != (from+1)%c.ranks || x.Bytes <= 8*x.Tag || x.Bytes > 8*(x.Tag+1)) {
					t.Errorf("%d bytes of tag %d from rank %d to rank %d", x.Bytes, x.Tag, from, to)
				}
			}
		})
	}
}
