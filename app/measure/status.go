package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"moriens/app/console"
	"moriens/app/control"
	"moriens/collector/health"
	"moriens/internal/hint"
	"moriens/internal/rendezvous"
	"moriens/trace/rundir"
)

// States of a run directory.
const (
	StateRunning  = "running"
	StateFinished = "finished"
	StateLost     = "lost" // the collector does not answer
)

// A StatusConfig says which run directory to look at.
type StatusConfig struct {
	Dir     string
	JSON    bool          // print a State
	Long    bool          // print all figures of a run that has ended
	URL     bool          // print the address of the page, token and all
	Timeout time.Duration // for the collector's answer
	Stdout  io.Writer
}

// A State is what is known of a run directory.
type State struct {
	State     string           `json:"state"`
	Directory string           `json:"directory"`
	Error     string           `json:"error,omitempty"` // of StateLost
	Collector *health.Page     `json:"collector"`       // of StateRunning
	Manifest  *rundir.Manifest `json:"manifest"`        // of StateFinished
	clusters  *rundir.Clusters // likewise
}

// Status says how the run of a run directory is.
func Status(c StatusConfig) error {
	if c.URL {
		return printURL(c)
	}
	s, err := look(c.Dir, c.Timeout)
	if s == nil {
		return err
	}
	var printErr error
	switch {
	case c.JSON:
		printErr = json.NewEncoder(c.Stdout).Encode(s)
	case s.State == StateRunning:
		printErr = console.Progress(c.Stdout, s.Collector)
	case s.State == StateFinished:
		printErr = s.finished(c.Stdout, c.Long)
	}
	return s.verdict(errors.Join(err, printErr))
}

// look finds out how a run is. Without a State the directory is none of a run, or cannot be read; with StateLost there
// is an error too.
func look(dir string, timeout time.Duration) (*State, error) {
	meet, err := rendezvous.Read(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return finished(dir)
	case err != nil:
		return nil, meetHint(err)
	}
	client, err := control.Dial(meet)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	page, err := client.Status(ctx)
	if err == nil {
		return &State{State: StateRunning, Directory: dir, Collector: page}, nil
	}
	// It may have ended while we asked, or have been killed after the results were written.
	if s, finishedErr := finished(dir); finishedErr == nil {
		return s, nil
	}
	err = lost(meet, err)
	return &State{State: StateLost, Directory: dir, Error: err.Error()}, err
}

// finished reads what a complete run directory says.
func finished(dir string) (*State, error) {
	if unfinished(dir) {
		return nil, hint.With(fmt.Errorf("%s holds an unfinished run, and no collector runs", dir), "moriens collect --out "+dir+" analyzes it")
	}
	m, err := rundir.ReadManifest(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, hint.With(fmt.Errorf("%s is not a run directory: it has neither %s nor %s", dir, rendezvous.File, rundir.ManifestFile),
			"name a directory that moriens run, collect or analyze created")
	}
	if err != nil {
		return nil, err
	}
	if m.Nobody() {
		return &State{State: StateFinished, Directory: dir, Manifest: m, clusters: new(rundir.Clusters)}, nil
	}
	clusters, err := rundir.ReadClusters(dir)
	if err != nil {
		return nil, hint.With(err, "the run directory is not complete")
	}
	return &State{State: StateFinished, Directory: dir, Manifest: m, clusters: clusters}, nil
}

// lost says what it may mean that a collector does not answer.
func lost(meet rendezvous.Rendezvous, why error) error {
	host, _ := os.Hostname()
	where := "on " + meet.Host
	if meet.Host == host {
		where = "on this host"
	}
	switch {
	case meet.Unix() && meet.Host != host:
		return hint.With(fmt.Errorf("the collector of run %s listens only on a socket on %s", meet.Run, meet.Host), "run the command there")
	case errors.Is(why, context.DeadlineExceeded):
		return hint.With(fmt.Errorf("the collector of run %s %s has not answered in time", meet.Run, where),
			"it may be stopped or unreachable from this host; --timeout waits longer")
	case meet.Command == rendezvous.CommandRun:
		return hint.With(fmt.Errorf("the collector of run %s %s does not answer (%w)", meet.Run, where, why),
			"if `moriens run` was killed, `moriens collect` with the same --out makes results of the data received")
	}
	return hint.With(fmt.Errorf("the collector of run %s %s does not answer (%w)", meet.Run, where, why),
		"if it was killed, `moriens collect` with the same --out resumes the run; on another host, run the command on the collector's host")
}

func printURL(c StatusConfig) error {
	meet, err := rendezvous.Read(c.Dir)
	switch {
	case err != nil:
		return hint.With(err, "only a run in progress has a page")
	case meet.Page == "":
		return hint.With(errors.New("this run has no page"), "start it with --http 127.0.0.1:0")
	}
	_, err = fmt.Fprintf(c.Stdout, "%s/?token=%s\n", meet.Page, meet.PageToken)
	return err
}
