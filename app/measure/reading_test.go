package measure

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"moriens/internal/hint"
	"moriens/trace/prv"
	"moriens/trace/rundir"
)

// hybridTrace is a trace of 2 ranks with an OpenMP thread each: 57,839 lines, of which the header takes 1,857,922 ns
// for the end while records go on to 13 s. The last four go back in time. Of its steps those in between have no
// records; 0, 0 = all have.
func hybridTrace(gapFrom, gapTo int) string {
	const steps, stepNS = 4130, 3_148_000
	var b strings.Builder
	b.WriteString("#Paraver (25/11/2026 at 10:00):1857922_ns:1(4):1:2(2:1,2:1),3\nc:1:1:2:1:2\nc:1:2:1:1\nc:1:3:1:2\n")
	for step := range steps {
		if step >= gapFrom && step < gapTo {
			continue
		}
		from := step * stepNS
		to, end := from+1_000_000+step%2*1_000_000, from+stepNS
		for _, rank := range []int{1, 2} {
			fmt.Fprintf(&b, "1:%d:1:%d:1:%d:%d:1\n1:%d:1:%d:2:%d:%d:1\n", 2*rank-1, rank, from, to, 2*rank, rank, from, to)
		}
		for _, rank := range []int{1, 2} {
			counters := fmt.Sprintf("42000050:%d:42000059:%d", (1+step%2)*2_000_000+step%9, to-from)
			fmt.Fprintf(&b, "2:%d:1:%d:1:%d:%s:50000002:10\n1:%d:1:%d:1:%d:%d:13\n", 2*rank-1, rank, to, counters, 2*rank-1, rank, to, end)
			fmt.Fprintf(&b, "2:%d:1:%d:2:%d:%s\n1:%d:1:%d:2:%d:%d:0\n", 2*rank, rank, to, counters, 2*rank, rank, to, end)
		}
		for _, rank := range []int{1, 2} {
			fmt.Fprintf(&b, "2:%d:1:%d:1:%d:50000002:0\n", 2*rank-1, rank, end)
		}
	}
	for i := range 11 {
		fmt.Fprintf(&b, "2:1:1:1:1:%d:40000001:%d\n", steps*stepNS, i)
	}
	for _, object := range []string{"1:1:1:1", "2:1:1:2", "3:1:2:1", "4:1:2:2"} {
		fmt.Fprintf(&b, "1:%s:%d:1857922:0\n", object, steps*stepNS)
	}
	return b.String()
}

// Of a trace whose header's end is wrong all is analysed, without --lenient: the few records that go back are a note.
func TestAnalyzeHeaderEndIsWrong(t *testing.T) {
	text := hybridTrace(0, 0)
	if n := strings.Count(text, "\n"); n != 57839 {
		t.Fatalf("%d lines", n)
	}
	a := analyzeText(t, text, func(c *AnalyzeConfig) {
		c.Application = prv.Busiest
		c.Show = ShowLong
	})
	if a.err != nil {
		t.Fatal(a.err)
	}
	for _, want := range []string{
		"\nmoriens: small.prv · 2 ranks on 1 host · 13.0 s · 8,260 MPI calls · 16,520 bursts\nthreads: 2 threads of 2 ranks without MPI calls, as with OpenMP: " +
			"8,260 bursts of 12.4 s, analysed as threads of their ranks\n",
		"\nlosses: 4 records of the trace left out (see the notes)\n",
		"\nnote: left out of the trace: 4 records, states that end before they begin, behind the end that the header names; the first in line 57836\n",
		"\nnote: the trace ends after 1.86 ms according to its header, but its last record is at 13.0 s: the run is taken to end there\n",
	} {
		if !strings.Contains(a.stdout, want) {
			t.Errorf("no %q in\n%s", want, a.stdout)
		}
	}
	m, err := rundir.ReadManifest(a.dir)
	if err != nil {
		t.Fatal(err)
	}
	r := m.Reading
	if r.Records != 57835 || len(r.LeftOut) != 1 || r.LeftOut[0].Records != 4 || !(r.LeftOutShare > 0) || r.LeftOutShare > .0001 || r.MissingShare != 0 ||
		r.LastRecordSeconds != 13.00124 || r.HeaderSeconds != .001857922 || r.Callless.Threads != 2 || r.Callless.Ranks != 2 || r.Callless.All {
		t.Errorf("reading %+v", r)
	}
	if !m.Complete || m.Unmeasured() || m.Bursts != 16520 || m.Score < .99 {
		t.Errorf("complete %v %q, %d bursts, score %v", m.Complete, m.Incomplete, m.Bursts, m.Score)
	}
}

// Where over 1 % of the time is missing the first line says so, and the status is 3.
func TestAnalyzeMissingStretch(t *testing.T) {
	a := analyzeText(t, hybridTrace(1000, 1413), func(c *AnalyzeConfig) { c.Show = ShowLong })
	var incomplete *IncompleteError
	if !errors.As(a.err, &incomplete) || incomplete.Err != nil {
		t.Fatalf("error %v", a.err)
	}
	const missing = "the trace has no records for 2.60 s of the threads' time, in 2 stretches, the longest 1.30 s from 3.15 s on in rank 0"
	want := "\nmoriens: 10 % of the time missing · small.prv · 2 ranks"
	if !strings.HasPrefix(a.stdout, want) || !strings.Contains(a.stdout, "\nincomplete: "+missing+"\n") {
		t.Errorf("want %q, %q:\n%s", want, missing, a.stdout)
	}
	m, err := rundir.ReadManifest(a.dir)
	if err != nil || m.Complete || !m.Unmeasured() || len(m.Incomplete) != 1 || len(m.Reading.Missing) != 1 || m.Reading.Missing[0].Stretches != 2 {
		t.Errorf("%v: %+v", err, m)
	}
	// Half a percent is a note.
	a = analyzeText(t, hybridTrace(1000, 1020), func(c *AnalyzeConfig) { c.Show = ShowLong })
	if a.err != nil || !strings.HasPrefix(a.stdout, "\nmoriens: small.prv · 2 ranks") || !strings.Contains(a.stdout, "\nnote: the trace has no records for 126 ms of the threads' time") {
		t.Errorf("%v:\n%s", a.err, a.stdout)
	}
}

// applicationsTrace is a trace of applications of a task each, which compute in bursts of so many ns, 50 of each.
func applicationsTrace(computeNS ...int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#Paraver (25/11/2026 at 10:00):500000_ns:1(20):%d:%s,0\n", len(computeNS), strings.TrimSuffix(strings.Repeat("1(1:1),", len(computeNS)), ","))
	for step := range 50 {
		at := step * 10_000
		for i, ns := range computeNS {
			if ns > 0 {
				fmt.Fprintf(&b, "1:0:%d:1:1:%d:%d:1\n", i+1, at, at+ns+step%5)
			} else {
				fmt.Fprintf(&b, "2:0:%d:1:1:%d:40000001:1\n", i+1, at)
			}
		}
		for i, ns := range computeNS {
			if ns > 0 {
				fmt.Fprintf(&b, "2:0:%d:1:1:%d:42000050:%d:42000059:%d:50000001:1\n", i+1, at+ns+step%5, 2*ns, ns)
			}
		}
		for i, ns := range computeNS {
			if ns > 0 {
				fmt.Fprintf(&b, "2:0:%d:1:1:%d:50000001:0\n", i+1, at+10_000)
			}
		}
	}
	return b.String()
}

// One application is analysed, and the first lines say which, and what others there are.
func TestAnalyzeApplications(t *testing.T) {
	for _, c := range []struct {
		name        string
		computeNS   []int
		application int
		bursts, one int
		line        string // empty: none
	}{
		{"one", []int{5000}, prv.Busiest, 50, 1, ""},
		{"the second has bursts", []int{0, 5000}, prv.Busiest, 50, 2, "application 2 of 2: 1 task, 50 bursts, 250 us computing; application 1 has no bursts (1 task, 50 records)"},
		{"both have", []int{5000, 4000}, prv.Busiest, 50, 1, "application 1 of 2: 1 task, 50 bursts, 250 us computing; application 2 is left out (1 task, 50 bursts, 200 us computing, 150 records); --application selects another one, or all"},
		{"the other is asked for", []int{5000, 4000}, 2, 50, 2, "application 2 of 2: 1 task, 50 bursts, 200 us computing; application 1 is left out (1 task, 50 bursts, 250 us computing, 150 records); --application selects another one, or all"},
		{"all", []int{5000, 4000}, 0, 100, 0, "applications: all 2 are analysed together"},
		{"three", []int{0, 4000, 5000}, prv.Busiest, 50, 3,
			"application 3 of 3: 1 task, 50 bursts, 250 us computing; application 1 has no bursts (1 task, 50 records); application 2 is left out (1 task, 50 bursts, 200 us computing, 150 records); --application selects another one, or all"},
		{"many", []int{0, 0, 0, 0, 0, 0, 5000}, prv.Busiest, 50, 7, "; application 4 has no bursts (1 task, 50 records); 2 more are left out (listed in manifest.json)"},
		{"one without bursts", []int{0, 5000}, 1, 0, 1, "application 1 of 2: 1 task, no bursts, 50 records; application 2 is left out (1 task, 50 bursts, 250 us computing, 150 records); --application selects another one, or all"},
		{"none has bursts", []int{0, 0}, prv.Busiest, 0, 1, "application 1 of 2: 1 task, no bursts, 50 records; application 2 has no bursts (1 task, 50 records)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := applicationsTrace(c.computeNS...)
			a := analyzeText(t, text, func(x *AnalyzeConfig) { x.Application, x.Show = c.application, ShowLong })
			if a.err != nil {
				t.Fatal(a.err)
			}
			lines := strings.SplitN(a.stdout, "\n", 4)
			if is := strings.HasPrefix(lines[2], "application"); is != (c.line != "") || !strings.HasSuffix(lines[2], c.line) {
				t.Errorf("want %q:\n%s", c.line, a.stdout)
			}
			m, err := rundir.ReadManifest(a.dir)
			if err != nil || m.Bursts != c.bursts || len(m.Applications) != len(c.computeNS) || analysed(m.Applications) != c.one {
				t.Errorf("%v: %d bursts, applications %+v", err, m.Bursts, m.Applications)
			}
			if c.name == "one without bursts" && !strings.Contains(a.stderr, "no bursts: no thread of application 1 is ever running, but some of application 2 are\nhint: leave out --application") {
				t.Errorf("stderr: %s", a.stderr)
			}
			f := analyzeText(t, text, func(x *AnalyzeConfig) { x.Application = c.application }).figures(t)
			if f.Bursts != c.bursts || f.Application != c.one || f.Applications != len(c.computeNS) || f.LeftOutShare != 0 || f.TimeMissing != 0 {
				t.Errorf("figures %+v", f)
			}
		})
	}
	a := analyzeText(t, applicationsTrace(0, 5000), func(x *AnalyzeConfig) { x.Application = 3 })
	if a.err == nil || !strings.HasSuffix(a.err.Error(), "no application 3: the trace has 1 (1 task), 2 (1 task)") || !strings.Contains(hint.Of(a.err), "--application") {
		t.Errorf("error %v, hint %q", a.err, hint.Of(a.err))
	}
	if _, err := rundir.ReadManifest(a.dir); err == nil {
		t.Error("a run directory is kept")
	}
}
