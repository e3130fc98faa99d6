package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A meeting is how the agents of a plain preload find the one that hosts the collector, without knowing what the run directory is
// called: a small file in the folder in which it was made, named after the run, which all ranks know.
type meeting struct {
	Run  string `json:"run"`
	Host string `json:"host"` // which agent hosts the collector; the same after a restart
	Dir  string `json:"dir"`  // run directory
}

func meetingPath(folder, run string) string { return filepath.Join(folder, ".moriens-"+run) }

// readMeeting returns the meeting of a run; fs.ErrNotExist where there is none yet.
func readMeeting(folder, run string) (meeting, error) {
	// On NFS a file that was not there a moment ago is seen at once only when its folder is opened anew.
	if f, err := os.Open(folder); err == nil {
		f.Close()
	}
	path := meetingPath(folder, run)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return meeting{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return meeting{}, err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != uint32(os.Getuid()) {
		return meeting{}, fmt.Errorf("%s: it belongs to user %d", path, owner)
	}
	var m meeting
	if err := json.NewDecoder(f).Decode(&m); err != nil {
		return meeting{}, fmt.Errorf("%s: %w", path, err)
	}
	if m.Run != run || !filepath.IsAbs(m.Dir) {
		return meeting{}, fmt.Errorf("%s: not the meeting of run %s", path, run)
	}
	return m, nil
}

// writeMeeting makes the meeting, whole or not at all; fs.ErrExist where another agent was first.
func writeMeeting(folder string, m meeting) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(folder, ".moriens-new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(text, '\n'))
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Link(tmp.Name(), meetingPath(folder, m.Run))
}

func removeMeeting(folder, run string) error {
	err := os.Remove(meetingPath(folder, run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
