package rendezvous

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/metadata"
)

var sound = Rendezvous{Run: "0123456789abcdef", Address: "127.0.0.1:1", Fingerprint: strings.Repeat("a", 64), Token: "t"}

func TestWriteRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of nothing: %v", err)
	}
	if err := Write(dir, sound); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, File))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got, err := Read(dir); !got.Equal(sound) || err != nil {
		t.Errorf("Read = %+v, %v", got, err)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Errorf("%d files left", len(entries))
	}
	if err := Remove(dir); err != nil {
		t.Error(err)
	}
	if err := Remove(dir); err != nil {
		t.Errorf("Remove of nothing: %v", err)
	}
}

// A collector that was killed while it wrote leaves a file; the one that resumes its run takes it away.
func TestWriteAfterKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b*")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.CreateTemp(dir, unfinished)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := Write(dir, sound); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != File {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestReadRefuses(t *testing.T) {
	text := `{"run":"0123456789abcdef","address":"h:1","fingerprint":"` + strings.Repeat("a", 64) + `","token":"t"}`
	for _, tt := range []struct {
		name, text string
		mode       fs.FileMode
		want       string
	}{
		{"others may read it", text, 0o644, "0600"},
		{"no JSON", "hello", 0o600, "invalid"},
		{"empty", "", 0o600, "unexpected end"},
		{"too long", text + strings.Repeat(" ", maxFileBytes), 0o600, "not a rendezvous"},
		{"no token", strings.Replace(text, `"t"}`, `""}`, 1), 0o600, "missing"},
		{"no run", strings.Replace(text, `"0123456789abcdef"`, `""`, 1), 0o600, "missing"},
		{"a run that leads elsewhere", strings.Replace(text, "0123456789abcdef", "x/../../victim", 1), 0o600, "is an invalid run id"},
		{"a token that is no header", strings.Replace(text, `"t"}`, `"t\n"}`, 1), 0o600, "plain text"},
		{"short fingerprint", strings.Replace(text, "aaaa", "a", 1), 0o600, "61 characters"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, File)
			if err := os.WriteFile(path, []byte(tt.text), tt.mode); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("Read: %v, want %q", err, tt.want)
			}
		})
	}
}

func TestWait(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		if _, err := Wait(dir, time.Millisecond, nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Wait for nothing: %v", err)
		}
		go func() {
			time.Sleep(9 * time.Second)
			Write(dir, sound)
		}()
		if got, err := Wait(dir, 10*time.Second, nil); !got.Equal(sound) || err != nil {
			t.Errorf("Wait = %+v, %v", got, err)
		}
		over, began := errors.New("over"), time.Now()
		if _, err := Wait(t.TempDir(), time.Hour, func() error { return over }); !errors.Is(err, over) || time.Since(began) > 0 {
			t.Errorf("Wait where none will come: %v after %v", err, time.Since(began))
		}
	})
}

func TestCheckToken(t *testing.T) {
	in := func(tokens ...string) metadata.MD { return metadata.MD{tokenKey: tokens} }
	for _, bad := range []metadata.MD{nil, in(), in("x"), in(""), in("t", "t"), in("tt")} {
		if sound.CheckToken(bad) == nil {
			t.Errorf("let in with %v", bad)
		}
	}
	if err := sound.CheckToken(in("t")); err != nil {
		t.Error(err)
	}
	out, _ := metadata.FromOutgoingContext(sound.ShowToken(context.Background()))
	if got := out.Get(tokenKey); len(got) != 1 || got[0] != "t" {
		t.Errorf("shown %v", got)
	}
}

func TestNewSecret(t *testing.T) {
	if a, b := NewSecret(16), NewSecret(16); len(a) != 32 || a == b {
		t.Errorf("%q, %q", a, b)
	}
}
