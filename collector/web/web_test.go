package web

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"moriens/collector/admission"
	"moriens/collector/health"
	"moriens/internal/rendezvous"
)

const token = "00112233"

var running = health.Page{
	Format: health.FormatVersion, Version: "1.2", Run: "r", Stage: health.Collecting, Host: "n0",
	Agents: []health.Agent{{Host: "n0", Connected: true}, {Host: "n1", Done: true, Resent: 2}, {Host: "n2", Away: 3}, {Host: "n3", Connected: true}},
	Ranks:  health.Ranks{Recorded: 10, Running: 4, Ended: 3, Died: 2, Left: 1},
	Calls:  7, Bursts: 6, BurstsPerSecond: 1.5, Clusters: health.Clusters{Count: 3, Explained: .75},
	Losses: health.Losses{RecordsDropped: 5, RanksDied: 2}, Refused: map[string]uint64{"wrong_token": 4},
	Journal: &health.Journal{Bytes: 100, Pending: 9, CutBytes: 8, Syncs: 2, SyncSeconds: .25, Error: "full"}, Redirected: 3,
	Members: []health.Member{{Host: "n0", Bursts: 2, Journal: &health.Journal{Bytes: 60}}, {Member: 1, Host: "n1", Agents: 2, Bursts: 4, Journal: &health.Journal{Bytes: 40}}},
}

// withEfficiency is a page with what is known of the job's efficiency: of the last minute nothing is.
func withEfficiency(p health.Page) health.Page {
	of := func(x float64) *float64 { return &x }
	p.Efficiency = &health.Efficiency{
		Run: health.Factors{
			ParallelEfficiency: of(.5), LoadBalance: of(.625), LoadBalanceInNodes: of(.78125), LoadBalanceBetweenNodes: of(.8), CommunicationEfficiency: of(.8),
			Seconds: of(100), ComputingSeconds: of(500), MPISeconds: of(480), Locations: 10,
		},
		BinSeconds: 6, Bins: []float64{}, Why: "no rank reported anything for 41 s", Age: 41,
	}
	p.Waiting = &health.Waiting{Rank: 7, Call: "MPI_Recv", CallPath: "file.c:12", Seconds: 312}
	return p
}

type served struct {
	*Server
	admission *admission.Control
	url       string
	http      *http.Client
}

func serve(t *testing.T, listen string, page health.Page) served {
	t.Helper()
	return start(t, Config{Listen: listen, Page: func() health.Page { return page }})
}

// start serves with a token, a certificate and a separate Control.
func start(t *testing.T, c Config) served {
	t.Helper()
	certificate, err := rendezvous.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	config, err := certificate.ServerTLS()
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	g := admission.New(func() { t.Error("a page is no stream") }, log)
	c.Token, c.TLS, c.Admission, c.Log = token, config, g, log
	s, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	pinned := &tls.Config{InsecureSkipVerify: true, VerifyPeerCertificate: func(certs [][]byte, _ [][]*x509.Certificate) error {
		if string(certs[0]) != string(certificate.DER) {
			t.Error("not the run's certificate")
		}
		return nil
	}}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: pinned}}
	t.Cleanup(client.CloseIdleConnections)
	return served{s, g, s.URL(strings.Replace(s.Addr().String(), "[::]", "127.0.0.1", 1)), client}
}

func (s served) ask(t *testing.T, method, path, bearer string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequest(method, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestHealth(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", ":0"} {
		s := serve(t, listen, running)
		if https := strings.HasPrefix(s.url, "https:"); https != (listen == ":0") {
			t.Errorf("%s is served at %s", listen, s.url)
		}
		status, body := s.ask(t, "GET", health.Path+"?token="+token, "")
		var got health.Page
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 {
			t.Fatalf("status %d, %v", status, err)
		}
		if d := cmp.Diff(running, got); d != "" {
			t.Error(d)
		}
	}
}

// What is not known of the efficiency is null.
func TestHealthOfEfficiency(t *testing.T) {
	_, body := serve(t, "127.0.0.1:0", withEfficiency(running)).ask(t, "GET", health.Path, token)
	var got struct{ Efficiency, Waiting map[string]any }
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	none := map[string]any{
		"parallel_efficiency": nil, "load_balance": nil, "load_balance_in_nodes": nil, "load_balance_between_nodes": nil, "communication_efficiency": nil,
		"seconds": nil, "computing_seconds": nil, "mpi_seconds": nil, "locations": 0.,
	}
	run := map[string]any{
		"parallel_efficiency": .5, "load_balance": .625, "load_balance_in_nodes": .78125, "load_balance_between_nodes": .8, "communication_efficiency": .8,
		"seconds": 100., "computing_seconds": 500., "mpi_seconds": 480., "locations": 10.,
	}
	want := map[string]any{"run": run, "minute": none, "bin_seconds": 6., "bins": []any{}, "age_seconds": 41., "ended": false, "why": "no rank reported anything for 41 s"}
	if d := cmp.Diff(want, got.Efficiency); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]any{"rank": 7., "world": 0., "call": "MPI_Recv", "callpath": "file.c:12", "seconds": 312.}, got.Waiting); d != "" {
		t.Error(d)
	}
}

// Without the token there is nothing to see, whatever is asked for, and it is counted.
func TestWithoutToken(t *testing.T) {
	s := serve(t, "127.0.0.1:0", running)
	for _, path := range []string{health.Path, MetricsPath, "/", health.Path + "?token=", health.Path + "?token=" + token + "0", MetricsPath + "?token=x"} {
		status, body := s.ask(t, "GET", path, "")
		if status != http.StatusUnauthorized || strings.Contains(body, "n1") {
			t.Errorf("%s: %d, %s", path, status, body)
		}
		s.http.CloseIdleConnections()
	}
	if status, _ := s.ask(t, "GET", health.Path+"?token="+token, "wrong"); status != http.StatusUnauthorized {
		t.Errorf("a wrong bearer: %d", status)
	}
	if n := s.admission.Refused()[admission.PageToken]; n != 7 {
		t.Errorf("%d refused", n)
	}
}

// On the loopback the page is one of the loopback's names alone; elsewhere the certificate says who it is, and hosts
// have many names.
func TestOtherHost(t *testing.T) {
	for listen, want := range map[string]int{"127.0.0.1:0": http.StatusMisdirectedRequest, ":0": http.StatusOK} {
		s := serve(t, listen, running)
		request, err := http.NewRequest(http.MethodGet, s.url+health.Path+"?token="+token, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = "evil.example"
		response, err := s.http.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		refused := uint64(0)
		if want != http.StatusOK {
			refused = 1
		}
		if n := s.admission.Refused()[admission.PageHost]; response.StatusCode != want || n != refused {
			t.Errorf("%s: status %d, %d refused", listen, response.StatusCode, n)
		}
	}
}

// The page is read-only.
func TestReadOnly(t *testing.T) {
	s := serve(t, "127.0.0.1:0", running)
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		if status, _ := s.ask(t, method, health.Path, token); status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, status)
		}
	}
	if status, _ := s.ask(t, "GET", "/else", token); status != http.StatusNotFound {
		t.Errorf("another page: %d", status)
	}
}

func TestMetrics(t *testing.T) {
	_, body := serve(t, "127.0.0.1:0", running).ask(t, "GET", MetricsPath, token)
	for _, line := range []string{
		"moriens_bursts_total 6", "moriens_records_dropped_total 5", "moriens_ranks_died_total 2", `moriens_turned_away_total{cause="wrong_token"} 4`,
		`moriens_agents{state="connected"} 2`, `moriens_agents{state="done"} 1`, `moriens_agents{state="away"} 1`, `moriens_ranks{state="left"} 1`,
		"moriens_explained_ratio 0.75", "moriens_journal_bytes 100", "moriens_journal_pending 9", "moriens_journal_cut_bytes_total 8",
		"moriens_journal_sync_seconds_total 0.25", "moriens_journal_failing 1", "moriens_agents_redirected_total 3", `moriens_member_bursts_total{host="n1",member="1"} 4`,
		`moriens_member_journal_bytes{host="n0",member="0"} 60`, "process_resident_memory_bytes ",
	} {
		if !strings.Contains(body, "\n"+line) {
			t.Errorf("no line %s", line)
		}
	}
	_, body = serve(t, "127.0.0.1:0", withEfficiency(running)).ask(t, "GET", MetricsPath, token)
	for _, line := range []string{
		`moriens_efficiency_ratio{factor="parallel_efficiency",window="run"} 0.5`, `moriens_efficiency_ratio{factor="load_balance",window="run"} 0.625`,
		`moriens_efficiency_ratio{factor="load_balance_in_nodes",window="run"} 0.78125`, `moriens_efficiency_ratio{factor="load_balance_between_nodes",window="run"} 0.8`,
		`moriens_efficiency_ratio{factor="communication_efficiency",window="run"} 0.8`, "moriens_computing_seconds_total 500", "moriens_mpi_seconds_total 480",
		"moriens_longest_call_seconds 312",
	} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(body, `window="minute"`) {
		t.Error("a factor that is not known has a value")
	}
	without := running
	without.Journal, without.Members = nil, nil
	if _, body := serve(t, "127.0.0.1:0", without).ask(t, "GET", MetricsPath, token); strings.Contains(body, "journal") {
		t.Error("metrics of a journal that there is not")
	}
}

// docs/operate.md names every metric, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if name, found := strings.CutPrefix(line, "| `moriens_"); found {
			name, _, _ = strings.Cut(name, "`")
			documented["moriens_"+name] = true
		}
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(source(func() health.Page { return withEfficiency(running) }))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !documented[f.GetName()] {
			t.Errorf("docs/operate.md does not name %s", f.GetName())
		}
		delete(documented, f.GetName())
	}
	for name := range documented {
		t.Errorf("docs/operate.md names %s, which is no metric", name)
	}
}
