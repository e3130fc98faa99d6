// Package modulefile_test loads the environment module.
package modulefile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// initBash is where systems keep what makes the command module in bash.
func initBash(t *testing.T) string {
	t.Helper()
	for _, path := range []string{"/usr/share/modules/init/bash", "/usr/share/Modules/init/bash", "/usr/share/lmod/lmod/init/bash"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	testenv.Lacking(t, "no environment modules")
	return ""
}

// Loaded, it gives the command and the library; unloaded, it leaves nothing.
func TestModule(t *testing.T) {
	module := initBash(t)
	program := mpitest.Program(t)
	root, modules := t.TempDir(), t.TempDir()
	for _, link := range [][2]string{{program, "bin/moriens"}, {filepath.Join(filepath.Dir(program), "libmoriens.so"), "lib/libmoriens.so"}} {
		to := filepath.Join(root, link[1])
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(link[0], to); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("moriens")
	if err != nil {
		t.Fatal(err)
	}
	const place = "set root /usr/local "
	if strings.Count(string(text), place) != 1 {
		t.Fatalf("no line %q to change", place)
	}
	if err := os.WriteFile(filepath.Join(modules, "moriens"), []byte(strings.Replace(string(text), place, "set root "+root+" ", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", `. "$1" && module use "$2" && module load moriens || exit
command -v moriens && moriens version >/dev/null && LD_PRELOAD=$MORIENS_LIB sh -c 'grep -o "/[^ ]*libmoriens.so" /proc/self/maps | head -n 1'
module unload moriens
command -v moriens; echo "left: $MORIENS_LIB"`, "bash", module, modules)
	cmd.Env = append(os.Environ(), "PATH=/usr/bin:/bin", "MORIENS_LIB=")
	out, err := cmd.CombinedOutput()
	library, _ := filepath.EvalSymlinks(filepath.Join(root, "lib", "libmoriens.so"))
	if want := root + "/bin/moriens\n" + library + "\nleft: \n"; string(out) != want || err != nil {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}
