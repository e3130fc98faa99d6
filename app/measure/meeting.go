package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"moriens/internal/rendezvous"
)

// A meeting is how the agents of a plain preload find the one that hosts the collector, without knowing what the run
// directory is called: a small file in the folder in which it was made, named after the run, which all ranks know.
type meeting struct {
	Run  string `json:"run"`
	Host string `json:"host"` // which agent hosts the collector; the same after a restart
	Dir  string `json:"dir"`  // run directory
}

func meetingPath(folder, run string) string { return filepath.Join(folder, ".moriens-"+run) }

// errStranger: another user has the meeting's name, where the folder is open to others, because it can be guessed. The
// meeting then has another name, with a random suffix.
var errStranger = errors.New("it belongs to another user or is not a file")

// readMeeting returns the meeting of a run; fs.ErrNotExist where there is none yet.
func readMeeting(folder, run string) (meeting, error) {
	// On NFS a file that was not there a moment ago is seen at once only when its folder is opened again.
	if f, err := os.Open(folder); err == nil {
		f.Close()
	}
	m, err := readMeetingFile(meetingPath(folder, run), run)
	if !errors.Is(err, errStranger) {
		return m, err
	}
	for _, path := range meetingsBeside(folder, run) {
		if m, err := readMeetingFile(path, run); err == nil {
			return m, nil
		}
	}
	return meeting{}, fs.ErrNotExist
}

// meetingsBeside lists the files of this user that may be the meeting of a run whose usual name another user has, in
// the same order for all processes.
func meetingsBeside(folder, run string) (list []string) {
	paths, _ := filepath.Glob(meetingPath(escaped(folder), run) + "-*")
	for _, path := range paths {
		if f, err := openOwn(path); err == nil {
			f.Close()
			list = append(list, path)
		}
	}
	return list
}

// escaped is a path without a meaning for Glob.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// openOwn opens a file of this user, and never waits for anybody.
func openOwn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, fmt.Errorf("%w: %w", errStranger, err)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid())) {
		err = fmt.Errorf("%s: %w", path, errStranger)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func readMeetingFile(path, run string) (m meeting, err error) {
	f, err := openOwn(path)
	if err != nil {
		return m, err
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxMeeting)).Decode(&m); err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	if m.Run != run || !filepath.IsAbs(m.Dir) {
		return m, fmt.Errorf("%s: not the meeting of run %s", path, run)
	}
	return m, nil
}

// maxMeeting is more than any meeting has, in bytes.
const maxMeeting = 64 << 10

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
	path := meetingPath(folder, m.Run)
	err = os.Link(tmp.Name(), path)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, ownErr := openOwn(path)
	if !errors.Is(ownErr, errStranger) {
		if ownErr == nil {
			f.Close()
		}
		return err
	}
	if _, readErr := readMeeting(folder, m.Run); !errors.Is(readErr, fs.ErrNotExist) {
		return errors.Join(readErr, fs.ErrExist)
	}
	path += "-" + rendezvous.NewSecret(8)
	if err := os.Link(tmp.Name(), path); err != nil {
		return err
	}
	// Another agent may have reached this point in the same moment.
	if first, err := readMeeting(folder, m.Run); err != nil || first != m {
		return errors.Join(os.Remove(path), err, fs.ErrExist)
	}
	return nil
}

// removeMeeting removes what this user has made of it.
func removeMeeting(folder, run string) error {
	paths := meetingsBeside(folder, run)
	if f, err := openOwn(meetingPath(folder, run)); err == nil {
		f.Close()
		paths = append(paths, meetingPath(folder, run))
	}
	var err error
	for _, path := range paths {
		if removeErr := os.Remove(path); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return err
}
