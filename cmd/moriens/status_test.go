package main_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moriens/collector/health"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// A collector that was killed is distinguished from one that runs, and from no run at all.
func TestStatusOfNoCollector(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	collect, output := start(t, "collect", "--out", out)
	readMeeting(t, out, output)
	if o := execute(t, nil, binary(t), "status", out, "--timeout", "2m"); o.status != 0 || !strings.Contains(o.stdout, "collecting") {
		t.Errorf("while it runs: %+v", o)
	}
	collect.Process.Kill()
	collect.Wait()
	for _, command := range []string{"status", "finish"} {
		o := execute(t, nil, binary(t), command, out)
		if o.status != 1 || o.stdout != "" {
			t.Errorf("%s: %+v", command, o)
		}
		contains(t, o.stderr, "does not answer", "hint: if it was killed, `moriens collect`")
	}
	if s := readState(t, execute(t, nil, binary(t), "status", out, "--json")); s.State != "lost" || s.Error == "" {
		t.Errorf("%+v", s)
	}

	for _, command := range []string{"status", "finish"} {
		o := execute(t, nil, binary(t), command, t.TempDir())
		if o.status != 1 {
			t.Errorf("%s of an empty directory: status %d", command, o.status)
		}
		contains(t, o.stderr, "is not a run directory", "hint: ")
	}
}

// The page is open to a client with the address from `status --url`, and shows the same as status.
func TestPage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	_, output := start(t, "collect", "--out", out)
	_, meet := readMeeting(t, out, output)
	url := strings.TrimSpace(execute(t, nil, binary(t), "status", out, "--url").stdout)
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("address %q", url)
	}
	shown, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Body.Close()
	if html, err := io.ReadAll(shown.Body); err != nil || !strings.Contains(string(html), `data-mode="live"`) {
		t.Errorf("%v: %.300s", err, html)
	}
	response, err := http.Get(strings.Replace(url, "/?", health.Path+"?", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var page struct{ Run, Stage string }
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil || page.Run != meet.Run || page.Stage != "collecting" {
		t.Errorf("%+v, %v", page, err)
	}
	out = filepath.Join(t.TempDir(), "run")
	_, output = start(t, "collect", "--out", out, "--http", "none")
	readMeeting(t, out, output)
	o := execute(t, nil, binary(t), "status", out, "--url")
	if o.status != 1 {
		t.Errorf("status %d", o.status)
	}
	contains(t, o.stderr, "this run has no page")
}

func TestSignalNames(t *testing.T) {
	for _, name := range []string{"NOPE", "KILL", "SIGSTOP", "0", "CHLD"} {
		if o := execute(t, nil, binary(t), "collect", "--out", filepath.Join(t.TempDir(), "run"), "--signal", name); o.status != 2 {
			t.Errorf("--signal %s: status %d", name, o.status)
		}
	}
}

// The secrets of a run are in collector.json alone: in no command line, no environment, no log, and no file that is
// kept.
func TestSecretsStaySecret(t *testing.T) {
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher)
	seen, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	script := `cp "$MORIENS_DIR/collector.json" "$0/secrets"
"$@" "$0/over" &
until [ "$(ls "$MORIENS_SHM"/moriens-*/*.ring 2>/dev/null | wc -l)" = 2 ]; do sleep 0.01; done
for p in /proc/[0-9]*; do { tr '\0' '\n' <$p/cmdline; tr '\0' '\n' <$p/environ; } >>"$0/processes" 2>/dev/null; done
: >"$0/over"
wait $!`
	args := []string{binary(t), "--log", "debug", "--log-format", "json", "run", "--http", "127.0.0.1:0", "--out", out, "--shm", t.TempDir(), "--", "sh", "-c", script, seen}
	o := execute(t, nil, append(args, mpi.Args(2, "", mpi.App(t, "until"))...)...)
	if o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	var secrets struct {
		Token     string
		PageToken string `json:"page_token"`
	}
	text, err := os.ReadFile(filepath.Join(seen, "secrets"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &secrets); err != nil || len(secrets.Token) != 64 || len(secrets.PageToken) != 64 || secrets.Token == secrets.PageToken {
		t.Fatalf("%+v, %v", secrets, err)
	}
	processes, err := os.ReadFile(filepath.Join(seen, "processes"))
	if err != nil || !strings.Contains(string(processes), "MORIENS_RUN=") || !strings.Contains(string(processes), "/until\n"+filepath.Join(seen, "over")) {
		t.Fatalf("the job's processes were not seen: %v", err)
	}
	places := map[string]string{"the processes": string(processes), "the output": o.stdout, "the log": o.stderr}
	err = filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		places[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for place, content := range places {
		if strings.Contains(content, secrets.Token) || strings.Contains(content, secrets.PageToken) {
			t.Errorf("a token is in %s", place)
		}
	}
	for line := range strings.Lines(o.stderr) {
		if strings.HasPrefix(line, "{") && !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	if !strings.Contains(o.stderr, `{"time":`) {
		t.Errorf("no log of JSON:\n%s", o.stderr)
	}
}

// long is all that is known of a run that has ended.
func long(t *testing.T, out string) string {
	t.Helper()
	return execute(t, nil, binary(t), "status", "--long", out).stdout
}
