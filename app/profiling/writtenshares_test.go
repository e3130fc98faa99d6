package profiling

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"moriens/internal/hint"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir/rundirtest"
)

// A wroteShare is a rank or a node in the JSON of an answer.
type wroteShare struct {
	Node       string       `json:"node"`
	World      *int32       `json:"world"`
	Rank       *int32       `json:"rank"`
	Ranks      int          `json:"ranks"`
	Threads    int          `json:"threads"`
	NS         int64        `json:"time_ns"`
	Computing  int64        `json:"computing_ns"`
	MPI        int64        `json:"mpi_ns"`
	Paused     int64        `json:"paused_ns"`
	Unrecorded int64        `json:"unrecorded_ns"`
	Other      int64        `json:"other_ns"`
	Calls      int64        `json:"mpi_calls"`
	Value      *json.Number `json:"value"`
}

// cells are those that CSV has of it.
func (s *wroteShare) cells(metric string) []string {
	list := []string{s.Node, "", "", fmt.Sprint(s.Ranks), fmt.Sprint(s.Threads)}
	if s.Rank != nil {
		list[1], list[2] = fmt.Sprint(*s.World), fmt.Sprint(*s.Rank)
	}
	for _, x := range []int64{s.NS, s.Computing, s.MPI, s.Paused, s.Unrecorded, s.Other, s.Calls} {
		list = append(list, fmt.Sprint(x))
	}
	switch {
	case metric == metricTime:
	case s.Value == nil:
		list = append(list, "")
	default:
		list = append(list, s.Value.String())
	}
	return list
}

// shares sums up ranks or nodes, in order.
func (q *asking) shares(rows []parquet.ProfileRow, hosts map[[2]int32]string) (list []wroteShare) {
	at := make(map[string]int)
	ranks, threads := make(map[string]bool), make(map[string]bool)
	values := make(map[int][2]int64)
	for i := range rows {
		r := &rows[i]
		if !q.ranks(r.World, r.Rank) || q.in != nil && !q.in[r.Phase] {
			continue
		}
		rank := [2]int32{r.World, r.Rank}
		name := fmt.Sprint(rank)
		if q.by == ByNode {
			name = hosts[rank]
		}
		k, known := at[name]
		if !known {
			k = len(list)
			at[name] = k
			list = append(list, wroteShare{Node: hosts[rank]})
			if q.by == ByRank {
				list[k].World, list[k].Rank = &r.World, &r.Rank
			}
		}
		s := &list[k]
		if of := fmt.Sprint(rank); !ranks[of] {
			ranks[of] = true
			s.Ranks++
		}
		if of := fmt.Sprint(rank, r.Thread); r.Kind != parquet.ProfileTraffic && !threads[of] {
			threads[of] = true
			s.Threads++
		}
		value, below, _ := q.values(r)
		values[k] = [2]int64{values[k][0] + value, values[k][1] + below}
		var to *int64
		switch r.Kind {
		case parquet.ProfileMPI:
			to = &s.MPI
			s.Calls += r.Count
		case parquet.ProfileComputation:
			to = &s.Computing
		case parquet.ProfilePaused:
			to = &s.Paused
		case parquet.ProfileUnrecorded:
			to = &s.Unrecorded
		default:
			continue
		}
		*to += r.TimeNS
		s.NS += r.TimeNS
	}
	for k := range list {
		v := json.Number(fmt.Sprint(values[k][0]))
		switch {
		case q.metric == metricTime || q.metric == metricIPC && values[k][1] == 0:
			continue
		case q.metric == metricIPC:
			text, _ := json.Marshal(float64(values[k][0]) / float64(values[k][1]))
			v = json.Number(text)
		}
		list[k].Value = &v
	}
	return list
}

// Each figure of each rank and node in JSON and CSV is what the rows of the file add up to; large ones too.
func TestWrittenShares(t *testing.T) {
	hosts := map[[2]int32]string{{0, 0}: "na", {0, 1}: "na"} // where world 1 ran is not known
	for _, of := range []struct {
		in, ranks string
		is        []string
		has       func(world, rank int32) bool
	}{
		{has: func(_, _ int32) bool { return true }},
		{ranks: "0:1,1:0", has: func(world, rank int32) bool { return world == 1 || rank == 1 }},
		{in: "adi/*", is: []string{rundirtest.XSolve, rundirtest.YSolve}, has: func(_, _ int32) bool { return true }},
	} {
		question := Question{}
		var in map[string]bool
		if of.in != "" {
			question.In, in = mustPattern(t, of.in), make(map[string]bool)
			for _, phase := range of.is {
				in[phase] = true
			}
		}
		if of.ranks != "" {
			question.Ranks = mustRanks(t, of.ranks)
		}
		for _, by := range []By{ByRank, ByNode} {
			for _, metric := range []string{metricTime, metricCalls, metricBytes, metricIPC, cycles, instructions} {
				q := asking{by: by, metric: metric, in: in, ranks: of.has}
				s, p := plantThreads(t)
				if metric == cycles {
					for i := range p.Profile.Rows {
						if r := &p.Profile.Rows[i]; r.Kind == parquet.ProfileComputation {
							r.Counters[1].Sum = 1<<53 + 1 // no double has it
						}
					}
					s = plant(t, p)
				}
				want := q.shares(p.Profile.Rows, hosts)
				question.By, question.Metric = by, metric
				a := ask(t, s, question)
				checkShares(t, fmt.Sprintf("by %s, %s, in %q, ranks %q", by, metric, of.in, of.ranks), a, want)
			}
		}
	}
}

func checkShares(t *testing.T, what string, a *Answer, want []wroteShare) {
	t.Helper()
	slices.SortStableFunc(want, func(x, y wroteShare) int {
		if a.By == ByNode {
			return strings.Compare(x.Node, y.Node)
		}
		return 0 // the file is in order of ranks
	})
	var text, cells bytes.Buffer
	var got struct {
		Total  wroteShare
		ByRank []wroteShare `json:"by_rank"`
		ByNode []wroteShare `json:"by_node"`
	}
	if err := a.JSON(&text); err != nil {
		t.Fatal(err)
	}
	if err := a.CSV(&cells); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&cells).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	list := append(got.ByRank, got.ByNode...)
	if len(list) != len(want) || len(lines) != 1+len(want) {
		t.Fatalf("%s: %d entries, %d lines, want %d", what, len(list), len(lines), len(want))
	}
	var ranks, threads int
	var ns, calls int64
	for i := range want {
		w := want[i].cells(a.Metric)
		if g := list[i].cells(a.Metric); !slices.Equal(g, w) {
			t.Errorf("%s, JSON: got %q, want %q", what, g, w)
		}
		if !slices.Equal(lines[i+1], w) {
			t.Errorf("%s, CSV: got %q, want %q", what, lines[i+1], w)
		}
		ranks, threads, ns, calls = ranks+want[i].Ranks, threads+want[i].Threads, ns+want[i].NS, calls+want[i].Calls
	}
	if x := &got.Total; x.Ranks != ranks || x.Threads != threads || x.NS != ns || x.Calls != calls || x.World != nil || x.Rank != nil {
		t.Errorf("%s: total %+v", what, x)
	}
}

// What is not known is null in JSON and empty in CSV: quotients of nothing, and the ratio of threads without cycles.
// A counter that was never read has 0 and says how many bursts lack it.
func TestWrittenOfNothing(t *testing.T) {
	p := rundirtest.Profile(2)
	bursts := int64(0)
	for i := range p.Profile.Rows {
		r := &p.Profile.Rows[i]
		if r.Kind == parquet.ProfileComputation {
			r.Counters[0] = parquet.ProfileCounter{Missing: r.Count}
			r.Counters[1] = parquet.ProfileCounter{Missing: r.Count}
			bursts += r.Count
		}
	}
	s := plant(t, p)
	a := ask(t, s, Question{By: ByCall, Metric: metricIPC})
	var text bytes.Buffer
	if err := a.JSON(&text); err != nil {
		t.Fatal(err)
	}
	const nothing = `"value":{"exclusive":{"overall":null,"mean":null,"most":null,"most_thread":null,"least":null,"std":null,"imbalance":null,"threads":0},"inclusive":{"overall":null,`
	if n := strings.Count(text.String(), nothing); n != 1+len(a.Table.Rows) {
		t.Errorf("%d of %d rows have no ratio:\n%s", n, 1+len(a.Table.Rows), text.String())
	}
	if text := text.String(); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || !json.Valid([]byte(text)) {
		t.Errorf("no JSON:\n%s", text)
	}
	text.Reset()
	if err := a.CSV(&text); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if !strings.HasPrefix(line, "type,") && !strings.HasSuffix(line, strings.Repeat(",", 18)+"\r\n") {
			t.Errorf("values where there are none: %q", line)
		}
	}
	w, rows := readAnswer(t, ask(t, s, Question{By: ByCall, Metric: instructions}))
	of := int64(0)
	for _, r := range rows {
		if r.Value.Inclusive.Sum != "0" || r.Value.Inclusive.Imbalance != "" {
			t.Errorf("%+v", r.Value.Inclusive)
		}
		of += r.Missing
	}
	note := fmt.Sprintf("%d bursts have no value of PAPI_TOT_INS", bursts)
	if of != bursts || w.Total.Missing != bursts || !slices.Contains(w.Notes, note) {
		t.Errorf("%d and %d bursts without a value of %d, notes %q", of, w.Total.Missing, bursts, w.Notes)
	}
}

// Without a row of a thread there is no answer; with one that took no time there is.
func TestThreadsWithoutTime(t *testing.T) {
	p := rundirtest.Profile(1)
	p.Profile.Rows, p.Instances = nil, nil
	s := plant(t, p)
	for _, by := range []By{ByCall, ByCallPath, ByFunctions, ByPhase, ByCluster, ByRank, ByNode} {
		if _, err := Ask(Question{Dir: s.Dir, By: by, Found: -1}); err == nil || !strings.Contains(err.Error(), "profile.parquet has no row of a thread") || hint.Of(err) == "" {
			t.Errorf("by %s: %v", by, err)
		}
	}
	for _, phase := range []string{"", trace.PhasePath("idle")} {
		p.Profile.Rows = append(p.Profile.Rows, parquet.ProfileRow{Kind: parquet.ProfilePhase, Context: -1, Iterations: -1, Phase: phase, InPhase: phase != "", Count: 1, Records: 1})
	}
	s = plant(t, p)
	w, rows := readAnswer(t, ask(t, s, Question{By: ByPhase}))
	if len(rows) != 2 || len(w.Rows) != 2 || w.Threads != 1 || w.Rows[1].Name != "idle" || w.Rows[1].Calls.Sum != "1" || w.Rows[1].Time.Inclusive.Sum != "0" || w.Rows[1].Time.Inclusive.Imbalance != "" || *w.Rows[1].PerCallNS != 0 {
		t.Errorf("%+v", w)
	}
	for _, by := range []By{ByRank, ByNode} {
		var text bytes.Buffer
		if err := ask(t, s, Question{By: by, Metric: metricIPC}).JSON(&text); err != nil || !strings.Contains(text.String(), `"time_ns":0`) || !strings.Contains(text.String(), `"value":null`) {
			t.Errorf("by %s: %v\n%s", by, err, text.String())
		}
	}
	if w, _ := readAnswer(t, ask(t, s, Question{By: ByCall})); len(w.Rows) != 0 || w.Total.Time.Inclusive.Sum != "0" {
		t.Errorf("%+v", w)
	}
}
