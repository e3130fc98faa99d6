package layout

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"moriens/internal/testenv"
)

// What is built has the version of the file VERSION, and the commit where there is one; the changelog knows it.
func TestVersion(t *testing.T) {
	testenv.Need(t, "make")
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(string(text))
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(version) {
		t.Errorf("version %q", version)
	}
	changes, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^## ` + regexp.QuoteMeta(version) + ` — \d{4}-\d\d-\d\d$`).Match(changes) {
		t.Errorf("CHANGELOG.md has no block of %s", version)
	}
	given := regexp.MustCompile(`-X main\.version=(\S+)`)
	for _, c := range []struct{ name, git, want string }{
		{"as it lies here", "", `^` + regexp.QuoteMeta(version) + `(\+g[0-9a-f]{7,}(-dirty)?)?$`},
		{"without git", "GIT_DIR=" + t.TempDir(), `^` + regexp.QuoteMeta(version) + `$`},
	} {
		dry := exec.Command("make", "-n", "-C", root, "moriens")
		dry.Env = append(os.Environ(), c.git)
		out, err := dry.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		m := given.FindSubmatch(out)
		if m == nil || !regexp.MustCompile(c.want).Match(m[1]) {
			t.Errorf("%s: %q in\n%s", c.name, m, out)
		}
	}
}
