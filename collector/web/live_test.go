package web

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"moriens/collector/health"
	"moriens/collector/live"
	"moriens/trace/pack"
)

// An event is one of a stream of server-sent events.
type event struct{ name, data string }

// listen opens the stream and hands out its events until it ends.
func (s served) listen(t *testing.T) <-chan event {
	t.Helper()
	response, err := s.http.Get(s.url + LivePath + "?token=" + token)
	if err != nil {
		t.Fatal(err)
	}
	if kind := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("status %d, %s", response.StatusCode, kind)
	}
	events := make(chan event)
	go func() {
		defer close(events)
		defer response.Body.Close()
		var e event
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			name, isName := strings.CutPrefix(lines.Text(), "event: ")
			data, isData := strings.CutPrefix(lines.Text(), "data: ")
			switch {
			case isName:
				e.name = name
			case isData:
				e.data = data
			default:
				events <- e
			}
		}
	}()
	return events
}

// A viewer gets every stage as it begins, and of the end.
func TestLive(t *testing.T) {
	var stage atomic.Pointer[string]
	var end atomic.Pointer[End]
	begin := health.Collecting
	stage.Store(&begin)
	shown := Live{
		Profile:  live.Profile{BinNS: 1e9, Codes: []int32{live.CodeMPI, live.CodeCluster + 1}, Seconds: [][]float64{{.5, 3.5}}},
		Clusters: []Cluster{{ID: 1, Colour: "#0072b2", Bursts: 7, Seconds: 3.5, Before: "MPI_Send", After: "MPI_Recv"}},
		Points:   []live.Burst{{Rank: 3, StartNS: 12, DurationNS: 34, Counters: []*int64{nil}, Cluster: 1}},
	}
	s := start(t, Config{
		Listen: "127.0.0.1:0", Stage: func() string { return *stage.Load() }, End: end.Load,
		Live: func() Live {
			now := shown
			now.Health.Stage = *stage.Load()
			return now
		},
	})
	events := s.listen(t)
	next := func(name string, to any) {
		t.Helper()
		e, open := <-events
		if !open || e.name != name {
			t.Fatalf("event %q (more: %v), want %s", e.name, open, name)
		}
		if err := json.Unmarshal([]byte(e.data), to); err != nil {
			t.Fatal(err)
		}
	}
	var got Live
	next("page", &got)
	if got.Health.Stage != health.Collecting || len(got.Points) != 1 || got.Points[0].Cluster != 1 || got.Points[0].Counters[0] != nil || got.Profile.Seconds[0][1] != 3.5 ||
		len(got.Clusters) != 1 || got.Clusters[0].After != "MPI_Recv" {
		t.Errorf("%+v", got)
	}
	next("page", &got) // a second later
	analysing := health.Analysing
	stage.Store(&analysing)
	for next("page", &got); got.Health.Stage == health.Collecting; { // as long as it may have been on its way
		next("page", &got)
	}
	if got.Health.Stage != health.Analysing {
		t.Errorf("stage %s", got.Health.Stage)
	}
	s.endGrace = 2 * time.Minute // on a busy machine a second is soon over
	end.Store(&End{Directory: "/runs/1", Error: "disk full"})
	s.Close() // does not cut off viewers that have yet to receive it
	var how End
	for e := range events {
		if e.name == "end" {
			if err := json.Unmarshal([]byte(e.data), &how); err != nil {
				t.Fatal(err)
			}
		}
	}
	if how.Directory != "/runs/1" || how.Error != "disk full" {
		t.Errorf("it ended as %+v", how)
	}
}

func TestPage(t *testing.T) {
	s := serve(t, "127.0.0.1:0", running)
	response, err := s.http.Get(s.url + "/?token=" + token)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(text), `data-mode="live"`) {
		t.Errorf("%v: %.300s", err, text)
	}
	cookies := response.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("cookies %v", cookies)
	}
	// What the page asks for, by the cookie alone.
	request, err := http.NewRequest("GET", s.url+PackPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.AddCookie(cookies[0])
	answer, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	z, err := gzip.NewReader(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	document, _, err := pack.Read(b)
	if err != nil || !strings.Contains(string(document), `"mode":"live"`) {
		t.Errorf("%v: %.300s", err, document)
	}
	request.Header.Set("Cookie", cookies[0].Name+"=wrong")
	if answer, err = s.http.Do(request); err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("a wrong cookie: %v, %v", answer.Status, err)
	}
}
