package otf2

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"moriens/internal/testenv"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
	"moriens/trace/tracetest"
)

// writer builds moriens-otf2 once.
var writer = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "moriens-otf2-")
	if err != nil {
		return "", err
	}
	built = dir
	program := filepath.Join(dir, "moriens-otf2")
	out, err := exec.Command("go", "build", "-tags", "otf2", "-o", program, "moriens/cmd/moriens-otf2").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return program, err
})

func TestMain(m *testing.M) {
	status := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(status)
}

var built string // the directory of that program

func needWriter(t *testing.T) string {
	t.Helper()
	testenv.Need(t, "gcc", "otf2-print")
	testenv.NeedFile(t, "/usr/include/otf2/otf2.h")
	program, err := writer()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// otf2-print reads what moriens-otf2 makes of a run directory, and shows what the directory holds: every burst, call,
// message, collective, counter, mark and dropped time, at its stamp.
func TestPrint(t *testing.T) {
	needWriter(t)
	t.Run("small", func(t *testing.T) { printed(t, tracetest.Small()) })
	t.Run("planted", func(t *testing.T) { printed(t, tracetest.Planted()) })
	t.Run("planted windows", func(t *testing.T) { printed(t, tracetest.PlantedWindows()) })
	t.Run("waiting", func(t *testing.T) { printed(t, tracetest.Waiting()) })
	t.Run("waiting windows", func(t *testing.T) { printed(t, tracetest.WaitingWindows()) })
	t.Run("rare", func(t *testing.T) { printed(t, rare()) })
	for seed := range 6 {
		t.Run(fmt.Sprintf("random %d", seed), func(t *testing.T) {
			printed(t, rapid.Custom(tracetest.Run).Example(seed))
		})
		t.Run(fmt.Sprintf("reduced %d", seed), func(t *testing.T) {
			printed(t, rapid.Custom(func(t *rapid.T) *trace.Run {
				run := tracetest.Run(t)
				tracetest.Keep(t, run)
				return run
			}).Example(seed))
		})
	}
}

// A real trace, of many functions, counters and call paths.
func TestPrintOfARealTrace(t *testing.T) {
	needWriter(t)
	read, err := readTrace(testenv.RealTrace(t, "epoch_4proc.prv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(read.Messages); n != 2556 {
		t.Errorf("%d messages, want 2556", n)
	}
	printed(t, read)
}

// What has no place in an archive is counted.
func TestPrintOfOverlaps(t *testing.T) {
	needWriter(t)
	if note, want := exported(t, overlapping()), "note: 3 bursts left out because MPI calls overlap them in part: OTF2 regions must nest\n"; note != want {
		t.Errorf("%q, want %q", note, want)
	}
}

// printed exports a run of which an archive has room for everything.
func printed(t *testing.T, run *trace.Run) {
	t.Helper()
	if note := exported(t, run); note != "" {
		t.Error(note)
	}
}

// exported has a run exported, and compares what otf2-print says with the run that the directory holds. It returns what
// the program notes.
func exported(t *testing.T, run *trace.Run) string {
	t.Helper()
	held, out, note := archived(t, run)
	want, p := expectStreams(t, held)
	printed := listen(t, out)
	compare(t, want, printed.listeners)
	inOrder(t, held, p, printed.listeners)
	rereadShuffled(t, held, printed.events)
	return note
}

// archived writes a run to a directory and has it exported. It returns the run that the directory holds, the archive,
// and what the program notes.
func archived(t *testing.T, run *trace.Run) (held *trace.Run, out, note string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := rundir.Create(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := rundir.Write(&rundir.Content{Run: run, Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters)}, dir); err != nil {
		t.Fatal(err)
	}
	held, _, _, err := rundir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	out = filepath.Join(t.TempDir(), "archive")
	cmd := exec.Command(needWriter(t), dir, out)
	var holds, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &holds, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	if want := units.Integer(held.Bursts()) + " " + units.Plural(held.Bursts(), "burst") + ", "; !strings.HasPrefix(holds.String(), want) || !strings.HasSuffix(holds.String(), "\n") {
		t.Errorf("%q, want %q and so on", &holds, want)
	}
	return held, out, said.String()
}

// An archive is never written over what is there, and one that is not whole is no success.
func TestWriterFails(t *testing.T) {
	program := needWriter(t)
	dir := filepath.Join(t.TempDir(), "run")
	if err := rundir.Create(dir); err != nil {
		t.Fatal(err)
	}
	run := tracetest.Small()
	long := &run.Threads[3].Calls
	for range 20_000 {
		run.Threads[3].EndNS += 1000
		long.EnterNS, long.ExitNS, long.Path = append(long.EnterNS, run.Threads[3].EndNS), append(long.ExitNS, run.Threads[3].EndNS), append(long.Path, 5)
	}
	if _, err := rundir.Write(&rundir.Content{Run: run, Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters)}, dir); err != nil {
		t.Fatal(err)
	}
	there := t.TempDir()
	out, err := exec.Command(program, dir, there).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "exists\nhint: ") {
		t.Errorf("over a directory: %v\n%s", err, out)
	}
	if entries, _ := os.ReadDir(there); len(entries) != 0 {
		t.Errorf("it wrote %v", entries)
	}
	// The library does not notice that the end of a file could not be written.
	script := `trap '' XFSZ; ulimit -f 200; exec "$0" "$@"` // of 512 or 1,024 bytes
	out, err = exec.Command("sh", "-c", script, program, dir, filepath.Join(t.TempDir(), "archive")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "libotf2: File is too large") {
		t.Errorf("files that are cut short: %v\n%s", err, out)
	}
}

// listen has otf2-print read an archive.
func listen(t *testing.T, archive string) *printout {
	t.Helper()
	anchor := filepath.Join(archive, Name+".otf2")
	definitions, err := exec.Command("otf2-print", "-Werror", "-G", anchor).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, definitions)
	}
	p := printout{listeners: make(map[uint64]*listener), paths: make(map[string]string), events: make(map[uint64][]heard)}
	if err := p.readDefinitions(definitions); err != nil {
		t.Fatal(err)
	}
	events, err := exec.Command("otf2-print", "-Werror", anchor).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, events)
	}
	if err := p.readEvents(events); err != nil {
		t.Fatal(err)
	}
	if d := p.announced - p.heard; d != 0 {
		t.Errorf("%d events, the definitions say %d", p.heard, p.announced)
	}
	return &p
}

// A printout is what otf2-print has said.
type printout struct {
	listeners        map[uint64]*listener
	paths            map[string]string // by number of a calling context
	announced, heard int
	waiting          *heard // for its attributes
	events           map[uint64][]heard
	location         uint64
}

var (
	locationLine = regexp.MustCompile(`^LOCATION +(\d+)  Name: "thread \d+" <\d+>, Type: CPU_THREAD, # Events: (\d+),`)
	contextLine  = regexp.MustCompile(`^CALLING_CONTEXT +(\d+)  Region: "(.*)" <\d+>, Source code location: .*, Parent: (?:UNDEFINED|".*" <(\d+)>)$`)
	eventLine    = regexp.MustCompile(`^([A-Z_0-9]+) +(\d+) +(\d+)  (.*)$`)
	metricPart   = regexp.MustCompile(`\("(.*?)" <\d+>; INT64; (-?\d+)\)`)
	attrPart     = regexp.MustCompile(`\("([^"]*)" <\d+>; ([A-Z_0-9]+); (.*?)\)(?:, |$)`)
	reference    = regexp.MustCompile(`^"(.*)" <(\d+)>$`)
	messageText  = regexp.MustCompile(`^(?:Receiver|Sender): (\d+) .*, Communicator: "(.*)" <\d+>, Tag: (\d+), Length: (\d+)(?:, Request: (\d+))?$`)
	requestText  = regexp.MustCompile(`^Request: (\d+)$`)
	endText      = regexp.MustCompile(`^Operation: ([A-Z_]+), Communicator: (?:"(.*)" <\d+>|UNDEFINED), Root: (?:(\d+)|([A-Z_]+)).*, Sent: (\d+), Received: (\d+)(?:, Request: (\d+))?$`)
	stringText   = regexp.MustCompile(`^Parameter: "(.*)" <\d+>, Value: "(.*)" <\d+>$`)
	intText      = regexp.MustCompile(`^Parameter: "(.*)" <\d+>, Value: (-?\d+)$`)
)

func (p *printout) readDefinitions(text []byte) error {
	names, parents := make(map[string]string), make(map[string]string)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if m := locationLine.FindStringSubmatch(line); m != nil {
			id, _ := strconv.ParseUint(m[1], 10, 64)
			events, _ := strconv.Atoi(m[2])
			p.listeners[id] = &listener{strict: true}
			p.announced += events
		} else if m := contextLine.FindStringSubmatch(line); m != nil {
			names[m[1]], parents[m[1]] = m[2], m[3]
		} else if strings.HasPrefix(line, "LOCATION ") || strings.HasPrefix(line, "CALLING_CONTEXT ") {
			return fmt.Errorf("not understood: %s", line)
		}
	}
	for id := range names {
		text := ""
		for at := id; at != ""; at = parents[at] {
			text = strings.TrimSuffix(names[at]+" > "+text, " > ")
		}
		p.paths[id] = text
	}
	return nil
}

func (p *printout) readEvents(text []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	begun := false
	for lines.Scan() {
		line := lines.Text()
		switch {
		case !begun:
			begun = strings.HasPrefix(line, "-----")
		case strings.HasPrefix(line, " ") && strings.Contains(line, "ADDITIONAL ATTRIBUTES: "):
			_, list, _ := strings.Cut(line, "ADDITIONAL ATTRIBUTES: ")
			if err := p.attributes(list); err != nil {
				return err
			}
		default:
			if err := p.send(); err != nil {
				return err
			}
			if err := p.event(line); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return p.send()
}

// send hands on the event that waits.
func (p *printout) send() error {
	if p.waiting == nil {
		return nil
	}
	h := *p.waiting
	p.waiting = nil
	p.heard++
	l := p.listeners[p.location]
	if l == nil {
		return fmt.Errorf("no location %d", p.location)
	}
	p.events[p.location] = append(p.events[p.location], h)
	return l.hear(h)
}

func (p *printout) attributes(list string) error {
	parts := attrPart.FindAllStringSubmatch(list, -1)
	if p.waiting == nil || len(parts) == 0 {
		return fmt.Errorf("attributes not understood: %s", list)
	}
	for _, m := range parts {
		value := m[3]
		if r := reference.FindStringSubmatch(value); r != nil {
			value = r[1]
			if m[2] == "CALLING_CONTEXT" {
				value = p.paths[r[2]]
			}
		}
		p.waiting.fields[m[1]] = value
	}
	if w, has := p.waiting.fields["weight"]; has {
		f, err := strconv.ParseFloat(w, 64)
		p.waiting.fields["weight"] = fmt.Sprintf("%g", f)
		return err
	}
	return nil
}

func (p *printout) event(line string) error {
	m := eventLine.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("not understood: %q", line)
	}
	h := &heard{fields: make(map[string]string)}
	var err error
	if p.location, err = strconv.ParseUint(m[2], 10, 64); err != nil {
		return err
	}
	if h.timeNS, err = strconv.ParseInt(m[3], 10, 64); err != nil {
		return err
	}
	p.waiting = h
	rest := m[4]
	take := func(form *regexp.Regexp, names ...string) {
		f := form.FindStringSubmatch(rest)
		if f == nil {
			err = fmt.Errorf("not understood: %q", line)
			return
		}
		for i, name := range names {
			h.fields[name] = f[i+1]
		}
	}
	switch m[1] {
	case "ENTER", "LEAVE":
		h.kind = strings.ToLower(m[1])
		r := reference.FindStringSubmatch(strings.TrimPrefix(rest, "Region: "))
		if r == nil {
			return fmt.Errorf("not understood: %q", line)
		}
		h.region = r[1]
	case "METRIC":
		h.kind, h.counts = "metric", make(map[string]int64)
		for _, c := range metricPart.FindAllStringSubmatch(rest, -1) {
			if h.counts[c[1]], err = strconv.ParseInt(c[2], 10, 64); err != nil {
				return err
			}
		}
	case "MPI_SEND", "MPI_ISEND", "MPI_RECV", "MPI_IRECV":
		h.kind = strings.ToLower(strings.TrimPrefix(m[1], "MPI_"))
		take(messageText, "rank", "comm", "tag", "bytes", "request")
	case "MPI_IRECV_REQUEST":
		h.kind = "irecv request"
		take(requestText, "request")
	case "MPI_COLLECTIVE_BEGIN":
		h.kind = "collective"
	case "NON_BLOCKING_COLLECTIVE_REQUEST":
		h.kind = "collective"
		take(requestText, "request")
	case "MPI_COLLECTIVE_END", "NON_BLOCKING_COLLECTIVE_COMPLETE":
		h.kind = "collective end"
		take(endText, "op", "comm", "root", "no root", "sent", "received", "request")
		if h.fields["root"] == "" {
			h.fields["root"] = h.fields["no root"]
		}
		if h.fields["comm"] == "" {
			h.fields["comm"] = "UNDEFINED"
		}
		h.fields["op"] = operationNumber(h.fields["op"])
	case "MEASUREMENT_ON_OFF":
		h.kind, h.fields["mode"] = "measurement", strings.TrimPrefix(rest, "Mode: ")
	case "PARAMETER_STRING":
		h.kind = "parameter"
		take(stringText, "name", "value")
	case "PARAMETER_INT64":
		h.kind = "parameter"
		take(intText, "name", "value")
	default:
		return fmt.Errorf("not understood: %q", line)
	}
	return err
}

// operationNumber is that of the name of an operation in otf2-print.
func operationNumber(name string) string {
	for key, kind := range collectiveKinds {
		if strings.EqualFold(key, name) {
			return fmt.Sprint(kind.op)
		}
	}
	return map[string]string{"CREATE_HANDLE": fmt.Sprint(opCreateHandle), "DESTROY_HANDLE": fmt.Sprint(opDestroyHandle)}[name]
}
