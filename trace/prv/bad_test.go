package prv

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"moriens/trace"
)

const (
	goodHeader = "#Paraver (04/03/2026 at 15:06):1000_ns:2(2,1):2:2(1:1,2:2):1(1:1),1\nc:1:1:2:1:2\n"
	goodBody   = "1:1:1:1:1:0:100:1\n2:1:1:1:1:100:42000050:7:50000001:1\n2:0:1:1:1:200:50000001:0\n"
)

func TestBadTraces(t *testing.T) {
	header := func(h string) string { return "#Paraver (x):" + h + "\n" }
	body := func(line string) string { return goodHeader + goodBody + line + "\n" }
	for _, c := range []struct {
		name, text string
		line       int
		want       string
	}{
		{"empty", "", 1, "not a Paraver trace"},
		{"other file", "hello\n", 1, "not a Paraver trace"},
		{"no end of date", "#Paraver (04/03/2026\n", 1, `no "):"`},
		{"no end time", header("ns:1(1):1:1(1:1)"), 1, "no end time, at character 1"},
		{"negative end time", header("-5:1(1):1:1(1:1)"), 1, "end time out of range"},
		{"end time overflows", header("9223372036854775807:1(1):1:1(1:1)"), 1, "end time out of range"},
		{"no CPUs", header("5_ns:2:1:1(1:1)"), 1, "no list of CPUs"},
		{"fewer CPUs than nodes", header("5_ns:2(1):1:1(1:1)"), 1, `no ','`},
		{"billions of CPUs", header("5_ns:1(4000000000):1:1(1:1)"), 1, "CPUs out of range"},
		{"no application", header("5_ns:1(1):0"), 1, "no application"},
		{"fewer applications", header("5_ns:1(1):2:1(1:1)"), 1, `no ':'`},
		{"fewer tasks", header("5_ns:1(1):1:2(1:1)"), 1, `no ','`},
		{"task on node 0", header("5_ns:1(1):1:1(1:0)"), 1, "application 1 task 1: no node 0"},
		{"task on node 2 of 1", header("5_ns:1(1):1:1(1:2)"), 1, "no node 2"},
		{"task without node", header("5_ns:1(1):1:1(1)"), 1, "without its node"},
		{"no threads", header("5_ns:1(1):1:1(0:1)"), 1, "threads out of range"},
		{"billions of threads", header("5_ns:1(1):1:1(4000000000:1)"), 1, "threads out of range"},
		{"after the header", header("5_ns:1(1):1:1(1:1);"), 1, "after the header's end"},
		{"cut in the header", "#Paraver (x):5_ns:1(1):1:1(1:1)", 1, "cut short"},

		{"communicator of no application", strings.Replace(goodHeader, "c:1:1", "c:3:1", 1), 2, "no application 3"},
		{"communicator with a task too few", strings.Replace(goodHeader, ":1:2\n", ":1\n", 1), 2, "1 tasks follow, not 2"},
		{"communicator of no task", strings.Replace(goodHeader, ":1:2\n", ":1:3\n", 1), 2, "no task 3"},
		{"communicator without number", strings.Replace(goodHeader, ":1:2\n", ":1:x\n", 1), 2, "field 6 is no number"},
		{"communicator missing", header("5_ns:1(1):1:1(1:1),1"), 1, "0 communicators, but the header announces 1"},
		{"communicator in the body", body("c:1:1:2:1:2"), 6, "right after the header"},

		{"unknown record", body("5:1:1:1:1:0:100:1"), 6, "no record of a known kind"},
		{"empty line", body(""), 6, "no record of a known kind"},
		{"state with a field too few", body("1:1:1:1:1:300:400"), 6, "a field is missing"},
		{"state with a field too many", body("1:1:1:1:1:300:400:1:5"), 6, "after the last field"},
		{"text for a number", body("1:1:1:1:1:300:4x0:1"), 6, "a field is missing or is no number"},
		{"number beyond 64 bits", body("2:1:1:1:1:300:42000050:9223372036854775808"), 6, "no number of 64 bits"},
		{"number far beyond 64 bits", body("2:1:1:1:1:300:42000050:99999999999999999999999"), 6, "no number of 64 bits"},
		{"no application", body("1:1:3:1:1:300:400:1"), 6, "no application 3 of 2"},
		{"no task", body("1:1:1:3:1:300:400:1"), 6, "application 1: no task 3 of 2"},
		{"no thread", body("1:1:1:1:2:300:400:1"), 6, "application 1 task 1: no thread 2 of 1"},
		{"object 0", body("1:1:1:0:1:300:400:1"), 6, "no task 0"},
		{"no CPU", body("1:4:1:1:1:300:400:1"), 6, "no CPU 4 of 3"},
		{"CPU of another node", body("1:3:1:1:1:300:400:1"), 6, "CPU 3 is on node 2, application 1 task 1 on node 1"},
		{"state ends before it begins", body("1:1:1:1:1:400:300:1"), 6, "state ends at 300, before it begins at 400"},
		{"state after all time", body("1:1:1:1:1:400:9223372036854775807:1"), 6, "time 9223372036854775807 is outside"},
		{"negative time", body("2:1:1:1:1:-4:42000050:1"), 6, "time -4 is outside"},
		{"negative state", body("1:1:1:1:1:400:500:-1"), 6, "no state -1"},
		{"running twice", body("1:1:1:1:1:300:400:1\n1:1:1:1:1:350:500:1"), 7, "running from 350 begins before running from 300 ends at 400"},
		{"call in a call", body("2:1:1:1:1:300:50000001:1\n2:1:1:1:1:310:50000002:8"), 7, "call 50000002:8 begins inside the call that began at 300"},
		{"events without events", body("2:1:1:1:1:300"), 6, "a type without its value"},
		{"type without value", body("2:1:1:1:1:300:42000050"), 6, "a type without its value"},
		{"type beyond 32 bits", body("2:1:1:1:1:300:4294967296:1"), 6, "event type 4294967296 out of range"},
		{"negative type", body("2:1:1:1:1:300:-1:1"), 6, "event type -1 out of range"},
		{"no polls", body("2:1:1:1:1:300:50000001:39:90000102:0"), 6, "a run of 0 polls"},
		{"negative cluster", body("2:1:1:1:1:300:90000001:-1"), 6, "cluster event of value -1"},
		{"huge cluster", body("2:1:1:1:1:300:90000001:2000000000"), 6, "cluster event of value 2000000000"},
		{"message of no sender", body("3:1:1:9:1:300:300:0:1:2:2:400:400:8:0"), 6, "sender: application 1: no task 9"},
		{"message of no receiver", body("3:1:1:1:1:300:300:0:1:2:3:400:400:8:0"), 6, "receiver: application 1 task 2: no thread 3"},
		{"message of negative size", body("3:1:1:1:1:300:300:0:1:2:2:400:400:-8:0"), 6, "message of -8 bytes"},
		{"message received before time 0", body("3:1:1:1:1:300:300:0:1:2:2:400:-1:8:0"), 6, "time -1 is outside"},
		{"message with a field too few", body("3:1:1:1:1:300:300:0:1:2:2:400:400:8"), 6, "a field is missing"},
		{"cut in a line", goodHeader + goodBody + "1:1:1:1:1:300:40", 6, "cut short"},
		{"too many counters", body(manyCounters()), 6, "more than 256 counters"},
	} {
		_, err := Read(strings.NewReader(c.text), Options{})
		var at *Error
		if !errors.As(err, &at) || at.Line != c.line || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want line %d: …%s", c.name, err, c.line, c.want)
		}
	}
	if _, err := Read(strings.NewReader(goodHeader+goodBody), Options{}); err != nil {
		t.Errorf("the good trace that the bad ones are made of: %v", err)
	}
}

func manyCounters() string {
	var b strings.Builder
	b.WriteString("2:1:1:1:1:300")
	for i := range 256 { // and the one of the good body
		fmt.Fprintf(&b, ":%d:1", 43000000+i)
	}
	return b.String()
}

func TestLenient(t *testing.T) {
	text := goodHeader + "1:1:1:9:1:0:100:1\n" + goodBody + "nonsense\n" + "1:1:1:1:1:300:400:1\n"
	r, err := Read(strings.NewReader(text), Options{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Skipped != 2 || !strings.Contains(fmt.Sprint(r.FirstSkipped), "line 3: application 1: no task 9") {
		t.Errorf("skipped %d, first %v", r.Skipped, r.FirstSkipped)
	}
	if n := r.Run.Threads[0].Bursts.Len(); n != 2 {
		t.Errorf("%d bursts, want 2", n)
	}
}

func TestGzip(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, goodHeader+goodBody)
	z.Close()
	r, err := Read(bytes.NewReader(b.Bytes()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Run.Threads[0].Bursts.Len(); n != 1 {
		t.Errorf("%d bursts, want 1", n)
	}
	_, err = Read(bytes.NewReader(b.Bytes()[:b.Len()-12]), Options{})
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "line ") {
		t.Errorf("cut off: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(goodHeader+goodBody), []byte("EVENT_TYPE\n9 50000001 MPI\nVALUES\n1 MPI_Send\n"), []byte("LEVEL NODE SIZE 2\na\nb\n"))
	f.Add([]byte("#Paraver (x):9:1(1):1:1(4000000:1)\n1:0:1:1:3999999:0:-1:1\n2:0:1:1:1:0:90000001:65541\n"), []byte{}, []byte("LEVEL APPL SIZE 1000000000\n"))
	f.Add([]byte("#Paraver (x):9_ns:0:1:1(1)\n1:0:1:1:1:3:3:1\n1:0:1:1:1:3:3:1\n2:0:1:1:1:3:41999999:1:42000000:1:41999999:2:42000000:1\n# c\n4:x\n"), []byte("7 42000000 [\n"), []byte{})
	f.Add([]byte("\x1f\x8b\x08"), []byte{}, []byte{})
	f.Add([]byte(applicationsTrace), []byte("EVENT_TYPE\n7 42000050 PAPI_TOT_INS ([Instr completed])\n"), []byte("LEVEL APPL SIZE 3\na\nb\nc\n"))
	f.Add([]byte("#Paraver (x):90_ns:1(9):2:1(1:1),2:2(1:1,2:1),1\nc:1:1:1:1\nc:2:1:2:1:2\ni:2:2\n1:0:2:2:2:0:9:1\n"), []byte{}, []byte{})
	f.Add([]byte(hybridText(hybrid{ranks: 2, steps: 3}.records(), hybrid{ranks: 2, steps: 3}.closing("1:OBJECT:LAST:1857922:1"),
		[]string{"1:1:1:1:1:5:7:14", "2:1:1:1:1:3:40000012:0", "2:1:1:1:1:4:40000003:1"})),
		[]byte("EVENT_TYPE\n0 70000001 C\nVALUES\n3 a..c [abc]\n4 a..c (d..e) [12 (abc, d\n\nEVENT_TYPE\n0 80000001 L\nVALUES\n3 12 (a..b) [12 (ab, c)]\n"), []byte{})
	f.Add([]byte("#Paraver (x):90_ns:1(1):1:1(1:1)\n1:0:1:1:1:0:20:1000\n2:0:1:1:1:20:90000101:1\n1:0:1:1:1:20:22:4\n2:0:1:1:1:20:50000001:1\n1:0:1:1:1:22:38:1\n2:0:1:1:1:22:50000001:0\n2:0:1:1:1:38:90000101:2\n2:0:1:1:1:40:90000101:0\n"),
		[]byte("EVENT_TYPE\n9 90000101 moriens window\nVALUES\n0 Dropped\n1 representative, phase 0, 20 to 38 ns: x\n2 y\n"), []byte{})
	f.Add([]byte("#Paraver (x):90_ns:1(1):1:1(2:1)\n2:0:1:1:2:0:90000106:1\n2:0:1:1:1:5:50000001:2:90000104:1003:90000105:2\n2:0:1:1:1:7:90000104:0:90000105:0\n2:0:1:1:2:8:90000106:0\n2:0:1:1:1:9:50000001:0\n"),
		[]byte("EVENT_TYPE\n9 90000104 MPI wait: kind\nVALUES\n0 None\n1003 late receiver\n"), []byte{})
	f.Fuzz(func(t *testing.T, prv, pcf, row []byte) {
		for _, lenient := range []bool{false, true} {
			r, err := Read(bytes.NewReader(prv), Options{Labels: bytes.NewReader(pcf), Names: bytes.NewReader(row), Lenient: lenient})
			if err != nil {
				continue
			}
			for i := range r.Run.Threads {
				th := &r.Run.Threads[i]
				for k := 1; k < th.Bursts.Len(); k++ {
					if th.Bursts.StartNS[k] < th.Bursts.StartNS[k-1]+th.Bursts.DurationNS[k-1] {
						t.Fatalf("thread %d: burst %d begins before the one before it ends", i, k)
					}
				}
				for k := range th.Calls.Path {
					if th.Calls.ExitNS[k] < th.Calls.EnterNS[k] || int(th.Calls.Path[k]) >= len(r.Run.CallPaths) {
						t.Fatalf("thread %d: bad call %d", i, k)
					}
				}
			}
			// What can be read can be written, and read again; not in the time that a fuzzer has where there are millions of
			// threads.
			if slices.ContainsFunc(r.Run.Worlds, func(w trace.World) bool { return w.Size > 1000 }) ||
				slices.ContainsFunc(r.Run.Threads, func(th trace.Thread) bool { return th.Thread > 1000 }) {
				continue
			}
			if x := &r.Reading; x.Sorted == 0 && len(x.LeftOut) == 0 { // where nothing is out of order, sorting changes nothing
				streamed, err := Read(io.MultiReader(bytes.NewReader(prv)), Options{Labels: bytes.NewReader(pcf), Names: bytes.NewReader(row), Lenient: lenient})
				if err != nil || streamed.Run.Bursts() != r.Run.Bursts() || streamed.Run.Calls() != r.Run.Calls() || streamed.Skipped != r.Skipped {
					t.Fatalf("%v: sorted it is another trace", err)
				}
			}
			for application := range r.Applications {
				one, err := Read(bytes.NewReader(prv), Options{Labels: bytes.NewReader(pcf), Names: bytes.NewReader(row), Lenient: lenient, Application: application + 1})
				if err != nil && lenient || err == nil && one.Run.Bursts() != r.Applications[application].Bursts {
					t.Fatalf("application %d: %v", application+1, err)
				}
				if application == 3 {
					break
				}
			}
			again := roundTrip(t, r.Run)
			if again.Bursts() != r.Run.Bursts() || again.Calls() != r.Run.Calls() {
				t.Fatalf("%d bursts and %d calls, written and read again %d and %d", r.Run.Bursts(), r.Run.Calls(), again.Bursts(), again.Calls())
			}
			if was, is := waitsText(r.Run), waitsText(again); was != is {
				t.Fatalf("waits and critical path %s, written and read again %s", was, is)
			}
		}
	})
}

// waitsText shows the waits and the critical path of all threads. What a thread waited for is not in it: one that has
// nothing to write is not in the trace.
func waitsText(run *trace.Run) string {
	var b strings.Builder
	for i := range run.Threads {
		if t := &run.Threads[i]; t.Waits.Len()+len(t.Critical) > 0 {
			fmt.Fprint(&b, t.Name(), t.Waits.Call, t.Waits.Kind, t.Waits.UntilNS, t.Critical)
		}
	}
	return b.String()
}
