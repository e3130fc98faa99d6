package levels

import (
	"maps"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/program"
	"moriens/conclude/clustering"
	"moriens/internal/team"
	"moriens/internal/testenv"
	"moriens/trace"
	"moriens/trace/prv"
)

// A real program: the structure gives back every burst of every rank, a tenth of its time in windows gives the run, and
// the figures say how well.
func TestEpoch(t *testing.T) {
	read, err := prv.ReadFile(testenv.RealTrace(t, "epoch_4proc.prv.gz"), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := read.Run
	if _, err := clustering.Cluster(run, grouping.Options{Workers: 2}); err != nil {
		t.Fatal(err)
	}
	table := symbolsOf(t, run, 2)
	phases := periodsOf(t, run, table)
	p := profileOf(t, run, phases, 2)
	var sent, received, want int64
	for i := range p.Rows {
		sent, received = sent+p.Rows[i].Sent, received+p.Rows[i].Received
	}
	for i := range run.Messages {
		want += run.Messages[i].Bytes
	}
	for i := range run.Threads {
		c := &run.Threads[i].Collectives
		for k := range c.Call {
			sent, received = sent-c.Sent[k], received-c.Received[k]
		}
	}
	if sent != want || received != want || want == 0 {
		t.Errorf("beside collective calls %d bytes sent and %d received, messages of %d", sent, received, want)
	}
	s := structureOf(t, run, table, 2)
	var lost, all int64
	for i, of := range s.Of {
		// It does not repeat itself enough to be kept exactly, but all of its bursts are counted.
		got, want := make(map[uint32]int), make(map[uint32]int)
		for k, symbol := range s.Rebuild(int(of)) {
			got[symbol]++
			want[table.Threads[i][k]]++
		}
		if !maps.Equal(got, want) {
			t.Errorf("rank %d: counts %v, want %v", i, got, want)
		}
		q := &s.Sequences[of]
		lost += q.Mixed + q.Unordered
		all += q.Symbols
	}
	if lost > all/5 {
		t.Errorf("the order of %d bursts of %d is lost", lost, all)
	}
	spans := make([][]trace.Span, len(run.Threads))
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		from := b.Len() / 2
		spans[i] = []trace.Span{{BeginNS: b.StartNS[from], EndNS: b.StartNS[from+b.Len()/10]}}
	}
	kept, drawn, err := Keep(run, alone, spans, nil, 500, 2)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Evaluate(run, Kept{Bursts: kept, Spans: spans, Exact: p.Profile, Structure: s, Table: table, Phases: phases, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	profileFile, structureFile := filesOf(t, run, p, s, table)
	if n := len(structureFile); n > 150_000 {
		t.Errorf("structure.json has %d bytes", n)
	}
	if drawn.Of == 0 || drawn.Error > .01 || f.Weighted.Time > .01 {
		t.Errorf("%d bursts stand for %d; error %v, reported %v", drawn.Rows, drawn.Of, f.Weighted.Time, drawn.Error)
	}
	if f.Windows.Time > .01 || f.Sources.Nothing > 0 {
		t.Errorf("rebuilt with an error of %v, nothing for %v", f.Windows.Time, f.Sources.Nothing)
	}
	for _, c := range f.Windows.Clusters {
		if c.ExactSeconds > .1 && c.Time > .01 {
			t.Errorf("cluster %d of %v s: error %v", c.ID, c.ExactSeconds, c.Time)
		}
	}
	t.Logf("profile %d bytes, structure %d; %d rows drawn; time inside %.3f, represented %.3f, error %.5f, by weights %.5f", len(profileFile), len(structureFile), drawn.Rows, f.Inside, f.Represented, f.Windows.Time, f.Weighted.Time)
}

// Without machine code the order of lines shows the program's main loop: ten time steps.
func TestEpochProgram(t *testing.T) {
	for _, name := range []string{"epoch_2proc.prv.gz", "epoch_4proc.prv.gz"} {
		read, err := prv.ReadFile(testenv.RealTrace(t, name), prv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Program(read.Run, team.Threads{}, 2)
		if err != nil {
			t.Fatal(err)
		}
		var loop *program.Node
		for _, n := range p.Body {
			if n.Kind == program.KindLoop && (loop == nil || n.Explains > loop.Explains) {
				loop = n
			}
		}
		if loop == nil || loop.Trips.Expression != "10" || loop.By != program.ByOrder || p.Basis != program.ByOrder || loop.Explains < .7 {
			t.Errorf("%s: the main loop is %+v", name, loop)
		}
		if p.Certain.Calls < .95 {
			t.Errorf("%s: rules for %g of the calls", name, p.Certain.Calls)
		}
	}
}
