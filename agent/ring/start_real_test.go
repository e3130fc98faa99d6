//go:build !quick

package ring

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestRetireBesideStart: a rank has relied on an agent that retires, and another one is starting a new agent then, in
// vain: the agent keeps running.
func TestRetireBesideStart(t *testing.T) {
	path := t.TempDir()
	own := hold(t, filepath.Join(path, AgentFile))
	d := NewDirectory(path)
	var starter sync.WaitGroup
	defer starter.Wait()
	retired, err := d.Retire(func() (bool, error) {
		hold(t, filepath.Join(path, "00000000000000a2.start"))
		starting := lockFrom(t, filepath.Join(path, AgentFile), 0)
		starter.Go(func() {
			time.Sleep(20 * time.Millisecond)
			os.Remove(starting.Name())
			starting.Close()
		})
		found, err := d.Scan()
		return found.Starting > 0, err
	})
	if err != nil || retired {
		t.Errorf("retired %v, %v", retired, err)
	}
	mine, err := own.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(filepath.Join(path, AgentFile)); err != nil || !os.SameFile(mine, now) {
		t.Errorf("the file is another one: %v", err)
	}
	if _, err := os.Stat(filepath.Join(path, "."+AgentFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its other name: %v", err)
	}
}
