//go:build !quick

package report

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/program/programtest"
	"moriens/conclude/levels"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/overview"
	"moriens/trace/pack"
	"moriens/trace/page"
	"moriens/trace/rundir"
	"moriens/trace/tracetest"
)

const attack = `</script><script>alert("moriens")</script><img src=x onerror=alert(1)>`

// hostile is a run in which every name that a program or a host can choose is an attack.
func hostile() *trace.Run {
	run := tracetest.Small()
	run.Nodes[0].Name = attack
	run.Worlds[0].Executable = "/opt/" + attack
	run.Worlds[0].MPILibrary = attack
	run.CallPaths[2].Frames[0].Function, run.CallPaths[2].Frames[0].File = attack, attack
	run.Counters[0].Name, run.Counters[0].Unit = attack, attack
	run.MarkNames[1] = attack
	return run
}

// directory writes a run directory with its page.
func directory(t *testing.T, run *trace.Run) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := rundir.Create(dir); err != nil {
		t.Fatal(err)
	}
	c := &rundir.Content{Run: run, Manifest: &rundir.Manifest{Notes: []string{attack}}, Clusters: new(rundir.Clusters)}
	c.Report = Of(c)
	if _, err := rundir.Write(c, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func readPage(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, rundir.ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// packOf takes the data out of a page.
func packOf(t *testing.T, html string) []byte {
	t.Helper()
	found := regexp.MustCompile(`<script type="text/plain" id="pack">([A-Za-z0-9+/=]*)</script>`).FindStringSubmatch(html)
	if found == nil {
		t.Fatal("no data in the page")
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(found[1])))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// No name gets into the page as anything but text, the only script is the viewer's, and the policy lets no other run.
func TestHostileNames(t *testing.T) {
	html := readPage(t, directory(t, hostile()))
	if strings.Contains(html, `alert("moriens")`) {
		t.Error("a name is in the page as it is")
	}
	scripts := regexp.MustCompile(`(?s)<script type="module">(.*)</script>`).FindStringSubmatch(html)
	if scripts == nil || strings.Count(html, "<script") != 2+strings.Count(scripts[1], "<script") {
		t.Fatal("there is another script than the viewer's beside the data")
	}
	sum := sha256.Sum256([]byte(scripts[1]))
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(html)
	if policy == nil || !strings.Contains(policy[1], "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") ||
		!strings.Contains(policy[1], "default-src 'none'") || !strings.Contains(policy[1], "connect-src 'none'") {
		t.Errorf("policy %q", policy)
	}
	document, _, err := pack.Read(packOf(t, html))
	if err != nil || !bytes.Contains(document, []byte(`alert(\"moriens\")`)) {
		t.Errorf("the data lack the names: %v", err)
	}
}

// A rewritten page is the same but for the order of names, and one of a damaged directory says what is missing.
func TestRewrite(t *testing.T) {
	dir := directory(t, hostile())
	if err := os.Remove(filepath.Join(dir, rundir.ReportFile)); err != nil {
		t.Fatal(err)
	}
	file, problems, err := Rewrite(dir)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0], rundir.ProfileFile) || file.Bytes != int64(len(readPage(t, dir))) {
		t.Fatalf("%v, %q, %v", file, problems, err)
	}
	if err := os.Truncate(filepath.Join(dir, rundir.BurstsFile), 100); err != nil {
		t.Fatal(err)
	}
	if _, problems, err = Rewrite(dir); err != nil || !strings.Contains(strings.Join(problems, " "), rundir.BurstsFile) {
		t.Errorf("%q, %v", problems, err)
	}
	if _, _, err := Rewrite(t.TempDir()); err == nil {
		t.Error("a page of nothing")
	}
}

// A directory of an earlier version has no efficiency.json: its page has what the profile says, which is a bound, and a
// page without a profile either has nothing.
func TestEfficiencyOfAnEarlierVersion(t *testing.T) {
	run := tracetest.Small()
	sums, err := levels.Profile(run, team.Threads{}, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	profile := levels.ProfileRows(run, sums)
	of := func(l *rundir.Levels) *rundir.Efficiency {
		dir := filepath.Join(t.TempDir(), "run")
		if err := rundir.Create(dir); err != nil {
			t.Fatal(err)
		}
		c := &rundir.Content{Run: run, Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters), Levels: l}
		if _, err := rundir.Write(c, dir); err != nil {
			t.Fatal(err)
		}
		s, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s.Efficiency
	}
	e := of(&rundir.Levels{Profile: profile})
	if e == nil || e.Within != "run" || !e.Runs[0].Bound || e.Runs[0].Locations != len(run.Threads) {
		t.Errorf("%+v", e)
	}
	if e := of(nil); e != nil {
		t.Errorf("%+v of nothing", e)
	}
	planted := &rundir.Efficiency{Format: rundir.EfficiencyFormat, Within: "main", Runs: make([]rundir.EfficiencyRun, 1)}
	if e := of(&rundir.Levels{Profile: profile, Efficiency: planted}); e == nil || e.Within != "main" {
		t.Errorf("%+v in the place of the file's", e)
	}
}

// view serves a directory, and returns where.
func view(t *testing.T, dir string) (url string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := View(ctx, ViewConfig{Dir: dir, Listen: "127.0.0.1:0", Token: "s3cret", Stdout: write, Notify: func(string) {}, Log: slog.New(slog.DiscardHandler)})
		write.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	line := make([]byte, 200)
	n, err := read.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, read)
	return strings.TrimSpace(string(line[:n]))
}

func get(t *testing.T, url string) (status int, body []byte, header http.Header) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(answer.Body); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, body, answer.Header
}

func TestView(t *testing.T) {
	url := view(t, directory(t, hostile()))
	base, query, _ := strings.Cut(url, "?")
	if !strings.HasPrefix(url, "http://127.0.0.1:") || query != "token=s3cret" {
		t.Fatalf("served at %s", url)
	}
	status, html, header := get(t, url)
	if status != http.StatusOK || !strings.Contains(string(html), `data-mode="view"`) || strings.Contains(string(html), `alert("moriens")`) {
		t.Errorf("status %d: %.300s", status, html)
	}
	if p := header.Get("Content-Security-Policy"); !strings.Contains(p, "connect-src 'self'") || !strings.Contains(p, "frame-ancestors 'none'") {
		t.Errorf("policy %s", p)
	}
	if header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("other pages may read it")
	}
	_, data, _ := get(t, base+"pack?"+query)
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if document, _, err := pack.Read(b); err != nil || !bytes.Contains(document, []byte(`"mode":"view"`)) {
		t.Errorf("%v: %.200s", err, document)
	}
	for _, without := range []string{base, base + "pack", base + "pack?token=", url + "x", base + "pack?token=other"} {
		if status, body, _ := get(t, without); status != http.StatusUnauthorized || len(body) > 200 {
			t.Errorf("%s: status %d, %d bytes", without, status, len(body))
		}
	}
}

// A site whose name leads here is refused whatever it knows; a browser behind a tunnel asks for localhost.
func TestOnlyNamesOfTheLoopback(t *testing.T) {
	url := view(t, directory(t, tracetest.Small()))
	for host, want := range map[string]int{
		"": http.StatusOK, "localhost": http.StatusOK, "LocalHost:9000": http.StatusOK, "127.0.0.1": http.StatusOK, "127.8.9.1:80": http.StatusOK, "[::1]:80": http.StatusOK, "::1": http.StatusOK,
		"evil.example": http.StatusMisdirectedRequest, "evil.example:80": http.StatusMisdirectedRequest, "localhost.evil.example": http.StatusMisdirectedRequest,
		"127.0.0.1.evil.example:80": http.StatusMisdirectedRequest, "10.0.0.1:80": http.StatusMisdirectedRequest, "0.0.0.0:80": http.StatusMisdirectedRequest,
	} {
		for _, path := range []string{"", "pack"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(url, "/?", "/"+path+"?", 1), nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = host // empty: that of the address
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != want || (want != http.StatusOK && len(answer.Cookies()) > 0) {
				t.Errorf("host %q, path %q: status %d, cookies %v", host, path, answer.StatusCode, answer.Cookies())
			}
		}
	}
}

func TestOnlyLoopback(t *testing.T) {
	err := View(t.Context(), ViewConfig{Dir: directory(t, tracetest.Small()), Listen: "0.0.0.0:0", Stdout: io.Discard, Notify: func(string) {}, Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, ErrNotLoopback) {
		t.Errorf("%v", err)
	}
}

// The browser is led to the page by a file that only the user can read: arguments of programs are for everybody to see.
func TestBrowserGetsNoToken(t *testing.T) {
	bin, received := t.TempDir(), filepath.Join(t.TempDir(), "received")
	script := "#!/bin/sh\ncat \"$1\" >" + received + ".part\nstat -c %a \"$1\" >>" + received + ".part\necho \"$@\" >>" + received + ".part\nmv " + received + ".part " + received + "\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("DISPLAY", ":0")
	t.Setenv("TMPDIR", t.TempDir())
	const url = "http://127.0.0.1:1/?token=s3cret"
	done := browse(url, slog.New(slog.DiscardHandler))
	var text []byte
	for deadline := time.Now().Add(2 * time.Minute); len(text) == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text, _ = os.ReadFile(received)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if !strings.Contains(string(text), "0; url="+url) || len(lines) < 3 || lines[len(lines)-2] != "600" || strings.Contains(lines[len(lines)-1], "s3cret") {
		t.Errorf("%s", text)
	}
	done()
	if _, err := os.Stat(lines[len(lines)-1]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", lines[len(lines)-1], err)
	}
}

// Bins are of the part that is asked for; an unknown part is an error of the client.
func TestBins(t *testing.T) {
	run := tracetest.Planted()
	url := view(t, directory(t, run))
	base, query, _ := strings.Cut(url, "?")
	ask := func(part string) (status int, place overview.Place, text []byte) {
		status, text, _ = get(t, base+"bins?"+query+part)
		if z, err := gzip.NewReader(bytes.NewReader(text)); err == nil {
			if b, err := io.ReadAll(z); err == nil {
				if document, _, err := pack.Read(b); err == nil {
					if err := json.Unmarshal(document, &place); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		return status, place, text
	}
	status, place, _ := ask("&first=1&last=1&from=1000&to=5000&rows=7&bins=9")
	want := overview.Part(run, overview.Section{First: 1, Last: 1, BeginNS: 1000, EndNS: 5000, Rows: 7, Bins: 9}).Place()
	if diff := cmp.Diff(want, place); status != http.StatusOK || diff != "" {
		t.Errorf("status %d: %s", status, diff)
	}
	for _, late := range []string{"&first=0&last=1&from=1000&to=2305843009213694951&rows=1&bins=1", "&first=0&last=0&from=9223372036854775806&to=9223372036854775807&rows=1&bins=1"} {
		if status, _, text := ask(late); status != http.StatusOK {
			t.Errorf("%s: status %d, %s", late, status, text)
		}
	}
	for _, wrong := range []string{
		"", "&first=0&last=99&from=0&to=1&rows=1&bins=1", "&first=1&last=0&from=0&to=1&rows=1&bins=1", "&first=0&last=0&from=5&to=5&rows=1&bins=1",
		"&first=0&last=0&from=0&to=9&rows=0&bins=1", "&first=0&last=0&from=0&to=9&rows=1&bins=1000000000", "&first=x&last=0&from=0&to=9&rows=1&bins=1",
		"&first=0&last=1&from=1000&to=2305843009213694952&rows=1&bins=1", "&first=0&last=0&from=9223372036854775806&to=9223372036854775808&rows=1&bins=1",
	} {
		if status, _, text := ask(wrong); status != http.StatusBadRequest || !bytes.Contains(text, []byte("want a whole number from ")) {
			t.Errorf("%s: status %d, %s", wrong, status, text)
		}
	}
	if status, _, _ := get(t, base+"bins?first=0&last=0&from=0&to=9&rows=1&bins=1"); status != http.StatusUnauthorized {
		t.Errorf("without a token: status %d", status)
	}
}

// The page has the program of a run that ends, and of a directory; what is no program is a problem.
func TestProgram(t *testing.T) {
	var text bytes.Buffer
	if err := programtest.Nest().Write(&text); err != nil {
		t.Fatal(err)
	}
	c := &rundir.Content{
		Run: tracetest.Small(), Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters),
		Levels: &rundir.Levels{Program: &rundir.Structured{JSON: text.Bytes()}},
	}
	s, err := page.Of(c, nil)
	if err != nil || !bytes.Equal(s.ProgramJSON, text.Bytes()) {
		t.Errorf("at the end of the run it is %s, %v", s.ProgramJSON, err)
	}
	for what, x := range map[string]struct{ text, problem string }{
		"whole":     {text.String(), ""},
		"cut":       {text.String()[:1000], "program.json: it is cut short, at 1000 bytes."},
		"a later":   {`{"format": 2}`, "program.json: it has format 2, this moriens reads 1."},
		"not there": {"", ""},
	} {
		s := page.Source{}
		if x.text != "" {
			s.ProgramJSON = json.RawMessage(x.text)
		}
		checkProgram(&s)
		if want := x.problem == "" && x.text != ""; (s.ProgramJSON != nil) != want || strings.Join(s.Problems, " ") != x.problem {
			t.Errorf("%s: %d bytes, problems %q", what, len(s.ProgramJSON), s.Problems)
		}
	}
}
