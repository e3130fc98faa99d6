package csv

import (
	"bytes"
	stdcsv "encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/internal/golden"
	"moriens/trace"
	"moriens/trace/table"
	"moriens/trace/tracetest"
)

// written is a table as another reader of CSV sees it.
type written struct {
	column map[string]int
	rows   [][]string
}

func (w *written) text(row int, column string) string { return TextOf(w.rows[row][w.column[column]]) }

type fatal interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func (w *written) number(t fatal, row int, column string) int64 {
	t.Helper()
	v, err := strconv.ParseInt(w.text(row, column), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func writeAll(t fatal, run *trace.Run) map[string]*written {
	t.Helper()
	all := make(map[string]*written)
	for _, x := range table.All(run) {
		var text bytes.Buffer
		if err := Write(&text, x); err != nil {
			t.Fatalf("%s: %v", x.Name, err)
		}
		records, err := stdcsv.NewReader(&text).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", x.Name, err)
		}
		w := &written{column: make(map[string]int), rows: records[1:]}
		for i, name := range records[0] {
			name = TextOf(name)
			if _, twice := w.column[name]; twice {
				t.Fatalf("%s: two columns %s", x.Name, name)
			}
			w.column[name] = i
		}
		all[x.Name] = w
	}
	return all
}

// Bursts, calls and messages are in the tables as they are in the run.
func TestTablesHoldTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		all := writeAll(t, tracetest.Completed(t, run)) // starts of persistent collectives are not in calls
		names := run.Names()
		bursts, calls, row := all["bursts"], all["calls"], 0
		at := func(w *written, row int, th *trace.Thread) string {
			return fmt.Sprintf("%s %s %s / %d %d %d", w.text(row, "world"), w.text(row, "rank"), w.text(row, "thread"), th.World, th.Rank, th.Thread)
		}
		same := func(what string, got, want any) {
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
		callRow := 0
		for i := range run.Threads {
			th := &run.Threads[i]
			b := &th.Bursts
			for k := range b.StartNS {
				place := at(bursts, row, th)
				same(place, place, fmt.Sprintf("%d %d %d / %[1]d %d %d", th.World, th.Rank, th.Thread))
				same(place+" start", bursts.text(row, "start_ns"), b.StartNS[k])
				same(place+" duration", bursts.text(row, "duration_ns"), b.DurationNS[k])
				same(place+" cluster", bursts.text(row, "cluster"), b.Cluster[k])
				same(place+" weight", bursts.text(row, "weight"), 1)
				same(place+" before", bursts.text(row, "call_path_before"), names[b.Before[k]])
				same(place+" after", bursts.text(row, "call_path_after"), names[b.After[k]])
				for c, counter := range run.Counters {
					want := ""
					if v := b.Counters[c][k]; v != trace.NoCount {
						want = fmt.Sprint(v)
					}
					same(place+" "+counter.Name, bursts.text(row, counter.Name), want)
				}
				row++
			}
			x := &th.Collectives
			for k := range th.Calls.EnterNS {
				place := at(calls, callRow, th)
				same(place+" enter", calls.text(callRow, "enter_ns"), th.Calls.EnterNS[k])
				same(place+" exit", calls.text(callRow, "exit_ns"), th.Calls.ExitNS[k])
				same(place+" path", calls.text(callRow, "call_path"), names[th.Calls.Path[k]])
				same(place+" function", calls.text(callRow, "function"), run.CallPaths[th.Calls.Path[k]].Function)
				same(place+" unfinished", calls.text(callRow, "unfinished"), th.Calls.Unfinished && k == th.Calls.Len()-1)
				if c := slices.Index(x.Call, uint32(k)); c >= 0 {
					same(place+" sent", calls.text(callRow, "sent_bytes"), x.Sent[c])
					same(place+" received", calls.text(callRow, "received_bytes"), x.Received[c])
					id := ""
					if x.Comm[c] >= 0 {
						id = fmt.Sprint(run.Communicators[x.Comm[c]].ID)
					}
					same(place+" communicator", calls.text(callRow, "communicator"), id)
				} else {
					same(place+" sent", calls.text(callRow, "sent_bytes"), "")
				}
				wait := [5]any{"", "", "", "", ""}
				if n := slices.Index(th.Waits.Call, uint32(k)); n >= 0 {
					wait[0], wait[1] = th.Waits.Kind[n], th.Waits.UntilNS[n]-th.Calls.EnterNS[k]
					if n := th.Waits.For[n]; n >= 0 {
						wait[2], wait[3], wait[4] = run.Threads[n].World, run.Threads[n].Rank, run.Threads[n].Thread
					}
				}
				for c, column := range []string{"wait", "wait_ns", "wait_for_world", "wait_for", "wait_for_thread"} {
					same(place+" "+column, calls.text(callRow, column), wait[c])
				}
				callRow++
			}
		}
		path, stretch := all["critical_path"], 0
		for i := range run.Threads {
			for _, s := range run.Threads[i].Critical {
				place := at(path, stretch, &run.Threads[i])
				same(place+" begin", path.text(stretch, "begin_ns"), s.BeginNS)
				same(place+" duration", path.text(stretch, "duration_ns"), s.EndNS-s.BeginNS)
				stretch++
			}
		}
		same("critical path", len(path.rows), stretch)
		same("bursts", len(bursts.rows), row)
		same("calls", len(calls.rows), callRow)
		messages := all["messages"]
		same("messages", len(messages.rows), len(run.Messages))
		for i, m := range run.Messages {
			from, to := &run.Threads[m.From], &run.Threads[m.To]
			for column, want := range map[string]int64{
				"from_world": int64(from.World), "from_rank": int64(from.Rank), "from_thread": int64(from.Thread),
				"to_world": int64(to.World), "to_rank": int64(to.Rank), "to_thread": int64(to.Thread),
				"send_ns": m.SendNS, "physical_send_ns": m.PhysicalSendNS, "receive_ns": m.RecvNS, "physical_receive_ns": m.PhysicalRecvNS,
				"bytes": m.Bytes, "tag": m.Tag, "late_ns": m.LateNS,
			} {
				same(column, messages.number(t, i, column), want)
			}
		}
		same("communicators", len(all["communicators"].rows), len(run.Communicators))
		same("clusters", len(all["clusters"].rows), len(run.Clusters))
		ranks := 0
		for _, w := range run.Worlds {
			ranks += w.Size
		}
		same("ranks", len(all["ranks"].rows), ranks)
	})
}

// Every table of a small run, byte by byte.
func TestGolden(t *testing.T) {
	run := tracetest.Small()
	run.Threads[0].Transfers = trace.Transfers{
		Call: []uint32{1, 3, 3}, Kind: []trace.TransferKind{trace.Sent, trace.Received, trace.Received}, Peer: []int32{1, 1, 2},
		PeerWorld: []int32{0, 0, 1}, Tag: []int32{7, 8, 8}, Comm: []int32{0, 0, 0}, Bytes: []int64{4096, 10, 20}, Done: []int32{1, 3, 3},
	}
	run.Threads[1].Collectives = trace.Collectives{
		Call: []uint32{2}, Comm: []int32{0}, Ordinal: []int64{4}, Sent: []int64{8}, Received: []int64{16}, Root: []int32{0},
	}
	run.Threads[2].Calls.Count = []int64{12}
	run.Threads[3].Bursts.Weight = []float64{2.5}
	run.Windows = []trace.Window{{BeginNS: 1000, EndNS: 9_100_000, Threads: []int{0, 1}, Phase: 2, Why: trace.Outlier, Reason: "ranks 0-1, \"far\" off\nthe rest"}}
	run.Threads[0].Kept = []trace.Span{{BeginNS: 1000, EndNS: 9_000_000}}
	run.Threads[1].Kept = []trace.Span{{BeginNS: 2000, EndNS: 9_100_000}}
	var text bytes.Buffer
	for _, x := range table.All(run) {
		text.WriteString("== " + x.Name + ".csv\n")
		if err := Write(&text, x); err != nil {
			t.Fatal(err)
		}
	}
	golden.Check(t, "small.txt", text.Bytes())
}

// The tables of a run in which calls wait.
func TestGoldenOfWaits(t *testing.T) {
	var text bytes.Buffer
	for _, x := range table.All(tracetest.Waiting()) {
		if x.Name != "calls" && x.Name != "critical_path" {
			continue
		}
		text.WriteString("== " + x.Name + ".csv\n")
		if err := Write(&text, x); err != nil {
			t.Fatal(err)
		}
	}
	golden.Check(t, "waiting.txt", text.Bytes())
}

// A text that is a formula to a spreadsheet is none in the file, and comes back; numbers are as they were.
func TestFormulae(t *testing.T) {
	write := func(t fatal, texts ...string) [][]string {
		var text strings.Builder
		err := Write(&text, table.Table{Columns: []table.Column{{Name: "=name", Kind: table.Text}, {Name: "n"}, {Name: "f"}}, Rows: func(s table.Sink) error {
			for _, v := range texts {
				s.Text(v)
				s.Int(-1)
				s.Float(-.5)
				if err := s.End(); err != nil {
					return err
				}
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		in := stdcsv.NewReader(strings.NewReader(text.String()))
		rows, err := in.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if rows[0][0] != "'=name" {
			t.Fatalf("head %q", rows[0])
		}
		return rows[1:]
	}
	for text, want := range map[string]string{
		`=HYPERLINK("http://x","y")`: `'=HYPERLINK("http://x","y")`, "+1": "'+1", "-1": "'-1", "@a": "'@a", "\tx": "'\tx", "\rx": "'\rx", "\nx": "'\nx", "=": "'=",
		"'=1": "''=1", "''=1": "'''=1", "'": "'", "'tis": "'tis", "a=b": "a=b", "": "", "MPI_Send@a.c:1": "MPI_Send@a.c:1", "\u22121": "\u22121",
	} {
		row := write(t, text)[0]
		if row[0] != want || row[1] != "-1" || row[2] != "-0.5" {
			t.Errorf("%q: %q, want %q, -1, -0.5", text, row, want)
		}
		if back := TextOf(row[0]); back != text {
			t.Errorf("%q came back as %q", text, back)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("'=+-@\t\na\u2192\""))).Draw(t, "text")
		cell := write(t, text)[0][0]
		if strings.ContainsAny(cell[:min(1, len(cell))], formula) || TextOf(cell) != text {
			t.Fatalf("%q is in the file as %q, and came back as %q", text, cell, TextOf(cell))
		}
	})
}

func TestQuotes(t *testing.T) {
	var text strings.Builder
	err := Write(&text, table.Table{Columns: []table.Column{{Name: "a,b"}, {Name: "c"}}, Rows: func(s table.Sink) error {
		for _, v := range []string{"", "plain  →", `"`, "two\r\nlines"} {
			s.Text(v)
			s.Null()
			if err := s.End(); err != nil {
				return err
			}
		}
		return nil
	}})
	if want := "\"a,b\",c\r\n\"\",\r\nplain  →,\r\n\"\"\"\",\r\n\"two\r\nlines\",\r\n"; err != nil || text.String() != want {
		t.Errorf("%q, want %q, %v", text.String(), want, err)
	}
}

type failing struct{ after int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// An error of the file ends the table where it comes.
func TestWriteErrors(t *testing.T) {
	rows := 0
	err := Write(&failing{1 << 17}, table.Table{Columns: []table.Column{{Name: "n"}}, Rows: func(s table.Sink) error {
		for range 10_000_000 {
			rows++
			s.Int(1 << 40)
			if err := s.End(); err != nil {
				return err
			}
		}
		return nil
	}})
	if !errors.Is(err, errFull) || rows > 100_000 {
		t.Errorf("%v after %d rows", err, rows)
	}
}

// Columns as wide as those of the bursts.
func BenchmarkWrite(b *testing.B) {
	run := tracetest.Small()
	t := &run.Threads[3]
	const n = 100_000
	t.Bursts.StartNS, t.Bursts.DurationNS = make([]int64, n), make([]int64, n)
	t.Bursts.Before, t.Bursts.After, t.Bursts.Cluster = make([]uint32, n), make([]uint32, n), make([]int32, n)
	t.Bursts.Counters, t.Bursts.Phase = [][]int64{make([]int64, n), make([]int64, n)}, nil
	for k := range n {
		t.Bursts.StartNS[k], t.Bursts.DurationNS[k] = int64(k)*10_000, 5_000
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, table.All(run)[0]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "rows/s")
}
