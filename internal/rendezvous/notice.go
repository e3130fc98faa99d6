package rendezvous

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// lookEvery is the time between two looks whether a rendezvous is still there.
const lookEvery = time.Second

// A Notice is the rendezvous of a collector that runs. It is put up again where it is removed, for without it neither
// agents nor the user's commands find the collector.
type Notice struct {
	dir     string
	meet    Rendezvous
	log     *slog.Logger
	said    string // what was logged last
	stop    chan struct{}
	stopped chan struct{}
	once    sync.Once
}

// Post writes r into the run directory and looks after it until Remove.
func Post(dir string, r Rendezvous, log *slog.Logger) (*Notice, error) {
	n := &Notice{dir: dir, meet: r, log: log, stop: make(chan struct{}), stopped: make(chan struct{})}
	if err := Write(dir, r); err != nil {
		return nil, err
	}
	go n.watch()
	return n, nil
}

// PostLater is Post where there is no room for the file: it is written when there is. That of a collector of this run
// that was killed leads nowhere.
func PostLater(dir string, r Rendezvous, log *slog.Logger) *Notice {
	if old, err := Read(dir); err == nil && old.Run == r.Run {
		if err := Remove(dir); err != nil {
			log.Warn("the rendezvous of a killed collector is left", "error", err)
		}
	}
	n := &Notice{dir: dir, meet: r, log: log, stop: make(chan struct{}), stopped: make(chan struct{})}
	go n.watch()
	return n
}

func (n *Notice) watch() {
	defer close(n.stopped)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-n.stop:
			return
		case <-tick.C:
			n.look()
		}
	}
}

// look puts the file up again where there is none. A file of another run, or of anybody, in its place is kept.
func (n *Notice) look() {
	ours, err := n.ours()
	switch {
	case ours:
		n.said = ""
	case !errors.Is(err, fs.ErrNotExist):
		n.say(slog.LevelError, "the rendezvous file was replaced: agents that start now do not find this collector", err)
	default:
		if err := write(n.dir, n.meet, os.Link); err != nil { // which replaces nothing
			n.say(slog.LevelError, "the rendezvous is missing, and cannot be written", err)
			return
		}
		n.say(slog.LevelWarn, "the rendezvous was missing: written again", nil)
	}
}

// ours reports whether what is there leads here. A file's number does not show: the next file gets it.
func (n *Notice) ours() (bool, error) {
	r, err := Read(n.dir)
	return err == nil && r.Equal(n.meet), err
}

// say logs what is new.
func (n *Notice) say(level slog.Level, text string, err error) {
	if text != n.said {
		n.said = text
		n.log.Log(context.Background(), level, text, "file", filepath.Join(n.dir, File), "error", err)
	}
}

// Leave looks after the notice no longer, and keeps the file. Of nil, as Remove, it does nothing.
func (n *Notice) Leave() {
	if n == nil {
		return
	}
	n.once.Do(func() {
		close(n.stop)
		<-n.stopped
	})
}

// Remove takes the notice down, unless another file is in its place.
func (n *Notice) Remove() error {
	if n == nil {
		return nil
	}
	n.Leave()
	if ours, _ := n.ours(); !ours {
		return nil
	}
	return Remove(n.dir)
}
