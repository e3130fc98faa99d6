// Package rendezvous is how agents find the collector and how the two authenticate each other: the file collector.json
// in the run directory, readable to all who may read the user's files.
package rendezvous

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// File is the name of the rendezvous file in the run directory.
const File = "collector.json"

// maxFileBytes bounds what is read of a rendezvous file.
const maxFileBytes = 64 << 10

// runID is what a run's id looks like. It becomes part of a path.
var runID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// NewRun returns the id of a new run.
func NewRun() string { return NewSecret(8) }

// A Rendezvous says where a run's collector listens and what proves it to be that collector.
type Rendezvous struct {
	Run     string `json:"run"`     // MORIENS_RUN of the job
	Address string `json:"address"` // host:port, or unix:@NAME of a socket that is no file
	// Members are the addresses of all collectors of a run that has several, the first one's, Address, included; empty
	// where there is one.
	Members []string `json:"members,omitempty"`
	// Fingerprint is the SHA-256 of the collector's TLS certificate (DER), in hexadecimal; empty on a
	// Unix socket.
	Fingerprint string `json:"fingerprint,omitempty"`
	Token       string `json:"token"` // what an agent shows on every stream
	Host        string `json:"host"`  // where the collector runs
	// Command is the moriens command that collects: "collect", "run", or "preload", which libmoriens.so started.
	Command string `json:"command"`
	// Cells says how the run's agents keep their bursts as micro-cells; empty = they send them.
	Cells string `json:"cells,omitempty"`
	// Page is the address of the page that says how the collector is, http://… or https://…; empty = it has none.
	Page string `json:"page,omitempty"`
	// PageToken is what a reader of the page shows. It opens nothing else.
	PageToken string `json:"page_token,omitempty"`
}

// Commands that collect.
const (
	CommandCollect = "collect"
	CommandPreload = "preload"
	CommandRun     = "run"
)

// NewSecret returns n random bytes in hexadecimal.
func NewSecret(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails, crypto/rand
	return hex.EncodeToString(b)
}

// unfinished is what the file is called until it is whole.
const unfinished = ".collector-*"

// Write puts r into the run directory, readable by its owner only. Readers see all of it or nothing. What a collector
// that was killed over it has left goes.
func Write(dir string, r Rendezvous) error {
	left, err := filepath.Glob(filepath.Join(escape(dir), unfinished))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return write(dir, r, os.Rename)
}

// escape has a path stand for itself in a pattern.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// write makes the file and has put give it its name.
func write(dir string, r Rendezvous, put func(from, to string) error) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, unfinished) // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, File), err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(data, '\n'))
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, File), err)
	}
	return put(tmp.Name(), filepath.Join(dir, File))
}

// Remove takes the rendezvous away; it is no error if there is none.
func Remove(dir string) error {
	err := os.Remove(filepath.Join(dir, File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Read returns the rendezvous in the run directory; fs.ErrNotExist where there is none yet.
func Read(dir string) (Rendezvous, error) {
	path := filepath.Join(dir, File)
	// Neither a link nor a pipe, which would keep us waiting: anybody can put those into a directory that is open to all.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errors.Is(err, syscall.ELOOP) {
		return Rendezvous{}, fmt.Errorf("%s: not a rendezvous file", path)
	}
	if err != nil {
		return Rendezvous{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Rendezvous{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFileBytes {
		return Rendezvous{}, fmt.Errorf("%s: not a rendezvous file", path)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != uint32(os.Getuid()) {
		return Rendezvous{}, fmt.Errorf("%s: it belongs to user %d", path, owner)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Rendezvous{}, fmt.Errorf("%s: mode %04o lets others read its token; it has to be 0600", path, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes))
	if err != nil {
		return Rendezvous{}, err
	}
	r, err := parse(data)
	if err != nil {
		return Rendezvous{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// parse reads the text of a rendezvous. Fields that this version does not know are passed over.
func parse(data []byte) (Rendezvous, error) {
	var r Rendezvous
	if err := json.Unmarshal(data, &r); err != nil {
		return Rendezvous{}, err
	}
	return r, r.check()
}

func (r Rendezvous) check() error {
	for i, address := range r.Members {
		if address == "" || strings.HasPrefix(address, unixPrefix) || i == 0 && address != r.Address {
			return fmt.Errorf("%q is no address of collector %d of %d", address, i, len(r.Members))
		}
	}
	switch {
	case r.Run == "" || r.Address == "" || r.Token == "":
		return errors.New("run, address or token is missing")
	case !runID.MatchString(r.Run):
		return fmt.Errorf("%q is an invalid run id", r.Run)
	case !r.Unix() && len(r.Fingerprint) != 64:
		return fmt.Errorf("fingerprint of %d characters, want 64", len(r.Fingerprint))
	case strings.ContainsFunc(r.Token, func(c rune) bool { return c < ' ' || c > '~' }):
		return errors.New("the token is not plain text") // it travels as a header
	}
	return nil
}

const unixPrefix = "unix:"

// NewSocket returns an address of this host for a collector. The socket is no file: it goes with the process that
// listens there, however that ends. Others may know its name and take it after that, so both ends ask whose process is
// at the other one (PeerCredentials).
func NewSocket() string { return unixPrefix + "@moriens-" + NewSecret(16) }

// Unix reports whether the collector listens on a Unix socket of this host.
func (r Rendezvous) Unix() bool { return strings.HasPrefix(r.Address, unixPrefix) }

// Equal reports whether both lead to the same collectors.
func (r Rendezvous) Equal(o Rendezvous) bool { return reflect.DeepEqual(r, o) }

// At is the rendezvous of one of several collectors, by its number.
func (r Rendezvous) At(member uint32) (Rendezvous, error) {
	if int64(member) >= int64(len(r.Members)) {
		return r, fmt.Errorf("%s names %d collectors, and none of number %d", File, len(r.Members), member)
	}
	r.Address = r.Members[member]
	return r, nil
}

// Wait polls for the rendezvous until it is there or the time is up, or over, if it is not nil, says why there will be
// none.
func Wait(dir string, timeout time.Duration, over func() error) (Rendezvous, error) {
	deadline := time.Now().Add(timeout)
	for {
		r, err := Read(dir)
		if !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
		if over != nil {
			if err := over(); err != nil {
				return Rendezvous{}, err
			}
		}
		if time.Now().After(deadline) {
			return Rendezvous{}, fmt.Errorf("no %s within %v: %w", filepath.Join(dir, File), timeout, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
