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

// Every form in which writers list applications and communicators.
func TestHeaderForms(t *testing.T) {
	many := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	for _, c := range []struct {
		name, header, tasks string // of each application, its tasks and their threads and nodes
		cpus                int
		comms               int64
	}{
		{"a comma between the lists, one count", "9_ns:1(20):2:2(1:1,1:1),3(1:1,1:1,1:1),14", "1@0 1@0|1@0 1@0 1@0", 20, 14},
		{"a colon between them", "9_ns:1(4):2:1(2:1):2(1:1,1:1),3", "2@0|1@0 1@0", 4, 3},
		{"a count behind each list", "9_ns:1(4):2:1(2:1),5:2(1:1,1:1),3", "2@0|1@0 1@0", 4, 8},
		{"no count", "9_ns:1(4):2:1(2:1),2(1:1,1:1)", "2@0|1@0 1@0", 4, noCount},
		{"a count and a comma behind a list", "9_ns:1(4):2:1(2:1),5,2(1:1,1:1)", "2@0|1@0 1@0", 4, 5},
		{"no count, one application", "9_us:1(4):1:2(2:1,2:1)", "2@0 2@0", 4, noCount},
		{"three applications, the first with one task", "9:1(4):3:1(1:1),1(3:1),2(1:1,2:1),0", "1@0|3@0|1@0 2@0", 4, 0},
		{"many nodes", "9_ns:40(" + many(40, "16") + "):2:2(1:1,2:40),1(4:17),2", "1@0 2@39|4@16", 640, 2},
		{"no nodes", "9_ns:0:2:2(1,2),1(1),2", "1@0 2@0|1@0", 0, 2},
	} {
		h, err := parseHeader([]byte("#Paraver (25/11/2026 at 10:00):" + c.header))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var list []string
		for _, tasks := range h.tasks {
			var texts []string
			for _, k := range tasks {
				texts = append(texts, fmt.Sprintf("%d@%d", k.threads, k.node))
			}
			list = append(list, strings.Join(texts, " "))
		}
		if got := strings.Join(list, "|"); got != c.tasks || len(h.cpuNode) != c.cpus || h.commLines != c.comms {
			t.Errorf("%s: tasks %s, %d CPUs, %d communicators; want %s, %d, %d", c.name, got, len(h.cpuNode), h.commLines, c.tasks, c.cpus, c.comms)
		}
	}
	for _, c := range []struct{ header, want string }{
		{"9_ns:1(4):2:1(2:1),5", `no ':', at character 21`},
		{"9_ns:1(4):2:1(2:1);2(1:1,1:1)", `no ':'`},
		{"9_ns:1(4):2:1(2:1),2(1:1)", `no ','`},
		{"9_ns:1(4):2:1(2:1),2(1:1,1:1),3,4", "after the header's end"},
		{"9_ns:1(4):2:1(2:1),2(1:1,1:1),-3", "communicators out of range"},
	} {
		if h, err := parseHeader([]byte("#Paraver (x):" + c.header)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, error %v, want …%s", c.header, h, err, c.want)
		}
	}
}

const applicationsHeader = "#Paraver (25/11/2026 at 10:00):1000_ns:2(2,2):3:1(1:1),1(1:1),2(1:1,1:2),4\n"

// applicationsTrace has three applications: the first no bursts, the second 1 of 100 ns with an instruction counter,
// the third 2 of 40 ns with a cycle counter on its second task.
const applicationsTrace = applicationsHeader +
	"c:1:1:1:1\nc:2:1:1:1\nc:3:1:2:1:2\nc:3:2:1:2\n" +
	"1:0:1:1:1:0:900:0\n2:0:1:1:1:0:40000001:1\n" +
	"1:0:2:1:1:0:100:1\n" +
	"1:0:3:2:1:10:50:1\n2:0:3:2:1:50:42000059:7:50000002:10:50100001:4:50100002:4:50100003:1:50100004:1\n2:0:3:2:1:60:50000002:0\n" +
	"1:0:3:2:1:60:100:1\n2:0:2:1:1:100:42000050:9:50000001:1\n2:0:2:1:1:110:50000001:0\n2:0:3:2:1:100:42000059:8:50000001:1\n2:0:3:2:1:120:50000001:0\n" +
	"3:0:3:2:1:100:100:0:3:1:1:90:120:8:1\n3:0:2:1:1:100:100:0:3:1:1:90:120:8:1\n2:0:3:1:1:130:50000001:4\n2:0:3:1:1:140:50000001:0\n"

// All applications are read, one is kept, and what is in none of its records is gone.
func TestApplications(t *testing.T) {
	names := "LEVEL APPL SIZE 3\r\ncoupler\r\n\tocean\natmos\x1b[2Jphere\n"
	for _, c := range []struct {
		application                              int
		kept                                     string
		worlds, threads, bursts, comms, messages int
		counters, calls                          string
		other                                    int64
	}{
		{0, "true true true", 3, 4, 3, 4, 2, "PAPI_TOT_CYC PAPI_TOT_INS", " MPI_Allreduce MPI_Irecv MPI_Send", 0},
		{Busiest, "false true false", 1, 1, 1, 1, 0, "PAPI_TOT_INS", " MPI_Send", 1},
		{1, "true false false", 1, 1, 0, 1, 0, "", "", 0},
		{2, "false true false", 1, 1, 1, 1, 0, "PAPI_TOT_INS", " MPI_Send", 1},
		{3, "false false true", 1, 2, 2, 2, 1, "PAPI_TOT_CYC", " MPI_Allreduce MPI_Irecv MPI_Send", 1},
	} {
		r, err := Read(strings.NewReader(applicationsTrace), Options{Application: c.application, Names: strings.NewReader(names)})
		if err != nil {
			t.Fatalf("application %d: %v", c.application, err)
		}
		run := r.Run
		var kept, counters, calls []string
		for _, a := range r.Applications {
			kept = append(kept, fmt.Sprint(a.Kept))
		}
		for _, k := range run.Counters {
			counters = append(counters, k.Name)
		}
		for _, p := range run.CallPaths {
			calls = append(calls, p.Function)
		}
		slices.Sort(counters)
		slices.Sort(calls)
		if got := strings.Join(kept, " "); got != c.kept {
			t.Errorf("application %d: kept %s, want %s", c.application, got, c.kept)
		}
		if len(run.Worlds) != c.worlds || len(run.Threads) != c.threads || run.Bursts() != c.bursts || len(run.Communicators) != c.comms ||
			len(run.Messages) != c.messages || r.Reading.OtherMessages != c.other {
			t.Errorf("application %d: %d worlds, %d threads, %d bursts, %d communicators, %d messages, %d with others, want %+v",
				c.application, len(run.Worlds), len(run.Threads), run.Bursts(), len(run.Communicators), len(run.Messages), r.Reading.OtherMessages, c)
		}
		if got := strings.Join(counters, " "); got != c.counters {
			t.Errorf("application %d: counters %q, want %q", c.application, got, c.counters)
		}
		if got := strings.Join(calls, " "); got != c.calls {
			t.Errorf("application %d: calls %q, want %q", c.application, got, c.calls)
		}
		for i := range run.Threads {
			if run.Threads[i].World >= c.worlds || len(run.Threads[i].Bursts.Counters) != len(run.Counters) {
				t.Errorf("application %d: thread %d is of world %d, with %d counters", c.application, i, run.Threads[i].World, len(run.Threads[i].Bursts.Counters))
			}
		}
		if c.application == 3 {
			x := &run.Threads[1].Collectives
			if x.Len() != 1 || x.Comm[0] != 0 || x.Root[0] != 1 || run.Communicators[0].World != 0 || run.Messages[0].From != 1 || run.Messages[0].To != 0 {
				t.Errorf("collectives %+v, communicators %+v, messages %+v", x, run.Communicators, run.Messages)
			}
			if b := &run.Threads[1].Bursts; b.Counters[0][0] != 7 || run.CallPaths[b.After[0]].Function != "MPI_Allreduce" || run.CallPaths[b.After[1]].Function != "MPI_Send" {
				t.Errorf("bursts %+v of call paths %+v", b, run.CallPaths)
			}
		}
		want := []Application{{"coupler", 1, 1, 2, 0, 0, false}, {"ocean", 1, 1, 4, 1, 100, false}, {"atmos\x1b[2Jphere", 2, 2, 9, 2, 80, false}}
		for i, a := range r.Applications {
			if a.Kept = false; a != want[i] {
				t.Errorf("application %d: %+v, want %+v", i+1, a, want[i])
			}
		}
		roundTrip(t, run)
	}
}

// A wrong number is found at the header, whatever comes behind it, and those that are there are named.
func TestNoApplication(t *testing.T) {
	_, err := Read(strings.NewReader(applicationsHeader+"nonsense\n"), Options{Application: 4, Names: strings.NewReader("LEVEL APPL SIZE 3\ncoupler\nAPPL 2\n")})
	var none *NoApplicationError
	if !errors.As(err, &none) || none.Number != 4 || !strings.HasSuffix(err.Error(), "no application 4: the trace has 1 (coupler, 1 task), 2 (1 task), 3 (2 tasks)") {
		t.Errorf("error %v", err)
	}
}

// Where none has bursts, the one with most records is kept; a fault in one that is not kept is still a fault.
func TestApplicationsWithoutBursts(t *testing.T) {
	const header = "#Paraver (x):1000_ns:1(2):2:1(1:1),1(1:1),0\n"
	const body = "2:0:1:1:1:0:40000001:1\n2:0:2:1:1:0:40000001:1\n2:0:2:1:1:5:40000001:0\n"
	r, err := Read(strings.NewReader(header+body), Options{Application: Busiest})
	if err != nil || !r.Applications[1].Kept || r.Applications[0].Kept || r.Run.Bursts() != 0 {
		t.Errorf("%v: %+v", err, r)
	}
	_, err = Read(strings.NewReader(header+body+"1:0:1:2:1:0:5:1\n"), Options{Application: 2})
	if err == nil || !strings.Contains(err.Error(), "line 5: application 1: no task 2 of 1") {
		t.Errorf("error %v", err)
	}
}

// The two applications of the report: 8 and 12 tasks, the second has the bursts; with line ends of Windows, in
// microseconds, gzipped.
func TestTwoApplications(t *testing.T) {
	text := twoApplications()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, text)
	w.Close()
	micro := strings.Replace(text, "_ns:", "_us:", 1)
	for _, c := range []struct {
		name, text string
		unit       int64
	}{
		{"as it is", text, 1}, {"CRLF", strings.ReplaceAll(text, "\n", "\r\n"), 1}, {"gzipped", z.String(), 1},
		{"microseconds", micro, 1000}, {"no unit", strings.Replace(text, "_ns:", ":", 1), 1000},
	} {
		r, err := Read(strings.NewReader(c.text), Options{Application: Busiest})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		a := r.Applications
		if len(a) != 2 || a[0].Kept || !a[1].Kept || a[0].Bursts != 0 || a[0].Records != 16 || a[1].Bursts != 12*50 || a[1].ComputingNS != float64(12*50*700*c.unit) {
			t.Errorf("%s: %+v", c.name, a)
		}
		if len(r.Run.Worlds) != 1 || r.Run.Worlds[0].Size != 12 || len(r.Run.Threads) != 12 || len(r.Run.Communicators) != 13 {
			t.Errorf("%s: %d threads, %d communicators of %+v", c.name, len(r.Run.Threads), len(r.Run.Communicators), r.Run.Worlds)
		}
		if got := r.Run.Counters; len(got) != 2 || got[0].Name != "PAPI_TOT_INS" || got[1].Name != "PAPI_TOT_CYC" {
			t.Errorf("%s: counters %+v", c.name, got)
		}
	}
}

func twoApplications() string {
	var b strings.Builder
	tasks := func(n int) string {
		return fmt.Sprintf("%d(%s)", n, strings.TrimSuffix(strings.Repeat("1:1,", n), ","))
	}
	fmt.Fprintf(&b, "#Paraver (25/11/2026 at 10:00):50000_ns:1(20):2:%s,%s,14\n", tasks(8), tasks(12))
	b.WriteString("c:1:1:8:1:2:3:4:5:6:7:8\nc:2:1:12:1:2:3:4:5:6:7:8:9:10:11:12\n")
	for task := range 12 {
		fmt.Fprintf(&b, "c:2:%d:1:%d\n", task+2, task+1)
	}
	for task := 1; task <= 8; task++ {
		fmt.Fprintf(&b, "1:%d:1:%d:1:0:50000:0\n2:%d:1:%d:1:0:40000001:1\n", task, task, task, task)
	}
	for step := range 50 {
		at := step * 1000
		for task := 1; task <= 12; task++ {
			cpu := 8 + task
			fmt.Fprintf(&b, "1:%d:2:%d:1:%d:%d:1\n", cpu, task, at, at+700)
		}
		for task := 1; task <= 12; task++ {
			cpu := 8 + task
			fmt.Fprintf(&b, "2:%d:2:%d:1:%d:42000050:%d:42000059:700:50000002:10\n1:%d:2:%d:1:%d:%d:13\n", cpu, task, at+700, 900+step%3, cpu, task, at+700, at+1000)
		}
		for task := 1; task <= 12; task++ {
			fmt.Fprintf(&b, "2:%d:2:%d:1:%d:50000002:0\n", 8+task, task, at+1000)
		}
	}
	return b.String()
}

// The event's number says which preset it is, whatever its label; a label of a native event loses its description.
func TestCounterNumbersDecide(t *testing.T) {
	const text = "#Paraver (x):9_ns:1(1):1:1(1:1)\n1:1:1:1:1:0:5:1\n2:1:1:1:1:5:44000001:1:42000050:2:42000059:3:42001047:4:42000000:5\n"
	for _, labels := range []string{
		"7 42000050 PAPI_TOT_INS ([Instr completed])\n7 42000059 PAPI_TOT_CYC ([Total cycles])\n7 42001047 STALLS ([Cycles of stall])\n7 44000001 PAPI_TOT_INS\n",
		"7 42000050 PAPI_TOT_INS [Instr completed]\n7 42000059 PAPI_TOT_CYC [Total cycles]\n7 42001047 STALLS [Cycles of stall]\n7 44000001 PAPI_TOT_INS\n7 42000000 whatever\n",
		"7 42000050 Instructions\n7 42000059 Cycles\n7 42001047 STALLS\n7 44000001 PAPI_TOT_INS\n",
	} {
		r, err := Read(strings.NewReader(text), Options{Labels: strings.NewReader("EVENT_TYPE\n" + labels)})
		if err != nil {
			t.Fatal(err)
		}
		want := []trace.Counter{{Name: "PAPI_TOT_INS#44000001"}, {Name: "PAPI_TOT_INS"}, {Name: "PAPI_TOT_CYC"}, {Name: "STALLS"}, {Name: "PAPI_L1_DCM"}}
		for i, c := range r.Run.Counters {
			if c != want[i] {
				t.Errorf("%q: counter %d is %+v, want %+v", labels, i, c, want[i])
			}
		}
	}
}

// Labels of callers, as Extrae shortens them, and as others write them.
func TestCallerLabels(t *testing.T) {
	for label, want := range map[string]string{
		"MAIN__": "MAIN__",
		"__redbla..o_recv2d [__redblack_module_MOD_do_recv2d]":     "__redblack_module_MOD_do_recv2d",
		"List<std..::sort() [List<std::vector<int [4]> >::sort()]": "List<std::vector<int [4]> >::sort()",
		"operator [2]":                 "operator [2]",
		"do_recv2d (redblack.f90:91)":  "do_recv2d redblack.f90:91",
		"spread (anonymous namespace)": "spread (anonymous namespace)",
		"_NOT_Found":                   "",
		"Unresolved":                   "",
		"redblack..recv2d (redb..e.f90:91) [redblack_recv2d (redblack_module.f90:91)]": "redblack_recv2d redblack_module.f90:91",
		"a..b [nothing alike]": "a..b [nothing alike]",
	} {
		name, file, line := functionOf(label)
		got := name
		if line > 0 {
			got += fmt.Sprintf(" %s:%d", file, line)
		}
		if got != want {
			t.Errorf("function %q: %q, want %q", label, got, want)
		}
	}
	for label, want := range map[string]string{
		"71 (balance.F90, epoch2d)": "balance.F90:71",
		"505 (comm_brick.cpp)":      "comm_brick.cpp:505",
		"91 (redblack..dule.f90) [91 (redblack_module.f90, epoch2d)]": "redblack_module.f90:91",
		"91 (redb..epoch2d) [91 (redblack_module.f90, epoch2d)]":      "redblack_module.f90:91",
		"91 (redblack..dule.f90) [91 (redblack_module.f90)]":          "redblack_module.f90:91",
		"91 (redblack..dule.f90)":                                     "redblack..dule.f90:91",
		"redblack.f90:91":                                             "redblack.f90:91",
		"do_recv2d (redblack.f90:91)":                                 "redblack.f90:91",
		"0 (Unresolved)":                                              "",
		"0 (_NOT_Found)":                                              "",
		"12 (_NOT_Found)":                                             "",
		"-4 (a.c)":                                                    "",
		"99999999999 (a.c)":                                           "",
		"91 ()":                                                       "",
		"(a.c)":                                                       "",
	} {
		got := ""
		if file, line := lineOf(label); line > 0 {
			got = fmt.Sprintf("%s:%d", file, line)
		}
		if got != want {
			t.Errorf("line %q: %q, want %q", label, got, want)
		}
	}
}

// A trace's frames have no offset, and no name says that it is 0.
func TestFramesWithoutOffset(t *testing.T) {
	const text = "#Paraver (x):99_ns:1(1):1:1(1:1)\n" +
		"2:1:1:1:1:0:50000001:1:70000001:3:80000001:3\n2:1:1:1:1:1:50000001:0\n2:1:1:1:1:2:50000001:1:70000001:3:70000002:4:80000001:3\n2:1:1:1:1:3:50000001:0\n" +
		"2:1:1:1:1:4:50000001:1:70000002:4\n2:1:1:1:1:5:50000001:0\n"
	const labels = "EVENT_TYPE\n0 70000001 Caller at level 1\n0 70000002 Caller at level 2\nVALUES\n3 sw..p [sweep]\n4 main\n\n" +
		"EVENT_TYPE\n0 80000001 Caller line at level 1\nVALUES\n3 12 (sw..p.f90) [12 (sweep.f90, app)]\n"
	r, err := Read(strings.NewReader(text), Options{Labels: strings.NewReader(labels)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(r.Run.Names(), " "), "? MPI_Send@sweep.f90:12 MPI_Send@sweep.f90:12<main MPI_Send"; got != want {
		t.Errorf("names %q, want %q", got, want)
	}
	for _, p := range r.Run.CallPaths {
		for _, f := range p.Frames {
			if f.Located() {
				t.Errorf("%+v has an offset", f)
			}
		}
	}
}
